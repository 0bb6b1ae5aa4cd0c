//! Downloads: each byte once, wherever they break off.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use ringstorm_caller::{DownloadError, Downloaded, download};

use crate::model::Model;
use crate::requests::{good, serve};
use crate::server::{Does, Server, nobody, settings};

const KEY: &str = "words-1-1795972824-stormjar.jar";

fn content() -> Vec<u8> {
    (0..100_u8).collect()
}

fn model() -> Model {
    let mut model = Model::default();
    model.blobs.insert(KEY.into(), (7, content()));
    model
}

fn from(server: &Server, offset: u64) -> (Result<Downloaded, DownloadError>, Vec<u8>) {
    let mut bytes = Vec::new();
    let result = download(&settings(vec![server.address()]), KEY, offset, &mut bytes);
    (result, bytes)
}

#[test]
fn a_blob_comes_whole_or_from_any_byte_on() {
    for hides_size in [false, true] {
        for offset in [0, 1, 50, 99, 100] {
            let server = good(Model { hides_size, ..model() });
            let (result, bytes) = from(&server, offset);
            assert_eq!(result.unwrap(), Downloaded { version: 7, blob_bytes: 100 });
            assert_eq!(bytes, content()[offset as usize..]);
        }
    }
}

#[test]
fn a_download_that_breaks_off_at_every_chunk_goes_on_where_it_was() {
    let model = Arc::new(Mutex::new(model()));
    // Every second part comes; then the connection is cut, before or after nimbus has gone on.
    let server = serve(&model, |method, number, model, serve| {
        (method == "downloadBlobChunk" && number % 2 == 1).then(|| {
            if number % 4 == 1 {
                serve(model);
            }
            Does::Sends(vec![0, 0, 0])
        })
    });
    let (result, bytes) = from(&server, 3);
    assert_eq!(result.unwrap().blob_bytes, 100);
    assert_eq!(bytes, content()[3..], "more breaks than there are pauses, but each after progress");
}

#[test]
fn another_nimbus_goes_on_with_what_one_began() {
    let first = Arc::new(Mutex::new(model()));
    let breaks = serve(&first, |method, number, _, _| {
        (method == "downloadBlobChunk" && number >= 3).then(|| Does::Sends(Vec::new()))
    });
    let mut second = model();
    second.leader = Some(breaks.address());
    let second = good(second);
    let mut bytes = Vec::new();
    let seeds = vec![breaks.address(), second.address()];
    download(&settings(seeds), KEY, 0, &mut bytes).unwrap();
    assert_eq!(bytes, content());
    assert!(second.methods().contains(&"downloadBlobChunk"));
}

#[test]
fn two_versions_are_never_mixed() {
    let model = Arc::new(Mutex::new(model()));
    let server = serve(&model, |method, number, model, _| {
        (method == "downloadBlobChunk" && number == 3).then(|| {
            model.blobs.insert(KEY.into(), (8, vec![1; 200]));
            Does::Sends(Vec::new())
        })
    });
    let (result, bytes) = from(&server, 0);
    assert!(matches!(result, Err(DownloadError::Changed(_))), "{result:?}");
    assert_eq!(bytes, content()[..21]);
}

#[test]
fn a_blob_that_is_shorter_than_what_is_here_has_changed() {
    let (result, bytes) = from(&good(model()), 101);
    assert!(matches!(result, Err(DownloadError::Changed(_))) && bytes.is_empty(), "{result:?}");
}

#[test]
fn a_blob_that_ends_early_is_not_taken_for_whole() {
    let model = Arc::new(Mutex::new(model()));
    let server = serve(&model, |method, number, model, serve| {
        (method == "downloadBlobChunk" && number == 2).then(|| {
            // The size was said before.
            model.blobs.get_mut(KEY).unwrap().1.truncate(14);
            let message = serve(model);
            model.blobs.get_mut(KEY).unwrap().1 = content();
            Does::Answers(message)
        })
    });
    let (result, bytes) = from(&server, 0);
    assert_eq!((result.unwrap().blob_bytes, bytes), (100, content()));
}

#[test]
fn what_the_leader_does_not_have_is_not_there_but_a_standby_may_wait_for_it() {
    let leader = good(Model::default());
    let (result, _) = from(&leader, 0);
    assert!(matches!(&result, Err(DownloadError::NotFound(key)) if key == KEY), "{result:?}");
    // Nobody leads any more; the first seed has nothing yet.
    let gone = Some(nobody());
    let empty = good(Model { leader: gone.clone(), ..Model::default() });
    let full = good(Model { leader: gone, ..model() });
    let mut bytes = Vec::new();
    download(&settings(vec![empty.address(), full.address()]), KEY, 0, &mut bytes).unwrap();
    assert_eq!(bytes, content());
}

/// Takes so many bytes, and then no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.min(bytes.len()) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            taken => {
                self.0 -= taken;
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn whoever_cannot_write_any_more_ends_it() {
    let server = good(model());
    let result = download(&settings(vec![server.address()]), KEY, 0, &mut Full(20));
    assert!(matches!(&result, Err(DownloadError::Write { error, .. }) if error.kind() == io::ErrorKind::StorageFull));
    assert_eq!(server.methods().iter().filter(|method| **method == "downloadBlobChunk").count(), 3);
}

#[test]
fn without_anybody_it_is_given_up() {
    let error = download(&settings(vec![nobody()]), KEY, 0, &mut Vec::new()).unwrap_err();
    assert!(matches!(&error, DownloadError::GivenUp { why, .. } if why.contains("is not reached")), "{error}");
    assert!(matches!(download(&settings(Vec::new()), KEY, 0, &mut Vec::new()), Err(DownloadError::NoSeeds)));
}
