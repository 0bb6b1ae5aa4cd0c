//! Downloads over a code directory on disk.

use std::sync::Arc;

use ringstorm_nimbus::interface::{Content, HeldBlob};
use ringstorm_records::znode::NodeName;
use serde_json::json;

use super::*;
use crate::code::{CodeDirectory, Disk};
use crate::files::sum_of;

const NOW: Moment = Moment(Duration::from_secs(1000));
const KEY: &str = "words-1-1-stormconf.ser";

fn replace(directory: &mut CodeDirectory, number: u32, workers: u32) {
    let conf = Arc::new(json!({ "topology.workers": workers }).as_object().unwrap().clone());
    let blob = HeldBlob { key: NodeName::new(KEY).unwrap(), number, content: Content::Conf(conf) };
    directory.replace(&blob).unwrap();
}

/// A directory with one blob, and downloads in pieces of seven bytes.
fn downloads(folder: &tempfile::TempDir) -> (CodeDirectory, Downloads) {
    let mut directory = CodeDirectory::open(folder.path(), Disk::new()).unwrap().directory;
    replace(&mut directory, 1, 3);
    let limits = DownloadLimits { chunk_bytes: 7, sessions_max: 3, idle: Duration::from_secs(600) };
    let downloads = Downloads::new(directory.held(), limits);
    (directory, downloads)
}

fn whole(downloads: &mut Downloads, session: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let chunk = downloads.chunk(session, NOW).unwrap();
        if chunk.is_empty() {
            return bytes;
        }
        assert!(chunk.len() <= 7);
        bytes.extend(chunk);
    }
}

#[test]
fn a_blob_comes_in_pieces_with_its_number_length_and_checksum_said_before() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut downloads) = downloads(&folder);
    let begun = downloads.begin(KEY, NOW).unwrap();
    let bytes = whole(&mut downloads, &begun.session);
    assert_eq!((begun.version, begun.data_size), (1, Some(bytes.len() as i64)));
    assert_eq!(SessionText::sha256(&begun.session), Some(&*sum_of(&bytes)));
    // Its end ended the session.
    assert!(matches!(downloads.chunk(&begun.session, NOW), Err(DownloadError::NoSession(_))));
    assert!(matches!(downloads.begin("other", NOW), Err(DownloadError::NoBlob(_))));
}

#[test]
fn a_download_goes_on_from_any_offset_in_another_session() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut downloads) = downloads(&folder);
    let first = downloads.begin(KEY, NOW).unwrap().session;
    let bytes = whole(&mut downloads, &first);
    let second = downloads.begin(KEY, NOW).unwrap().session;
    assert_eq!(downloads.chunk(&SessionText::at(&second, 10), NOW).unwrap(), bytes[10..17]);
    // From there on without an offset, too.
    assert_eq!(downloads.chunk(&second, NOW).unwrap(), bytes[17..24]);
    assert_eq!(downloads.chunk(&SessionText::at(&second, 0), NOW).unwrap(), bytes[..7]);
    assert_eq!(downloads.chunk(&SessionText::at(&second, 1 << 40), NOW).unwrap(), b"");
    assert!(downloads.chunk(&format!("{second}@x"), NOW).is_ok());
}

#[test]
fn what_is_replaced_meanwhile_stays_the_same_for_whoever_began() {
    let folder = tempfile::tempdir().unwrap();
    let (mut directory, mut downloads) = downloads(&folder);
    let old = downloads.begin(KEY, NOW).unwrap();
    downloads.chunk(&old.session, NOW).unwrap();
    replace(&mut directory, 2, 4);
    let new = downloads.begin(KEY, NOW).unwrap();
    assert_eq!(new.version, 2);
    let rest = downloads.chunk(&SessionText::at(&old.session, 0), NOW).unwrap();
    let mut bytes = rest;
    bytes.extend(whole(&mut downloads, &old.session));
    assert_eq!(SessionText::sha256(&old.session), Some(&*sum_of(&bytes)));
}

#[test]
fn sessions_are_few_and_end_when_they_are_silent() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut downloads) = downloads(&folder);
    let at = |secs| NOW + Duration::from_secs(secs);
    let sessions: Vec<String> = (0..4).map(|second| downloads.begin(KEY, at(second)).unwrap().session).collect();
    assert!(downloads.chunk(&sessions[0], at(4)).is_err());
    assert!(downloads.chunk(&sessions[1], at(4)).is_ok());
    downloads.expire(at(602));
    assert!(downloads.chunk(&sessions[2], at(602)).is_err());
    assert!(downloads.chunk(&sessions[1], at(602)).is_ok());
}

#[test]
fn keys_come_in_pages_and_an_empty_one_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut downloads) = downloads(&folder);
    let first = downloads.list("", NOW).unwrap();
    assert_eq!(first.keys, [KEY]);
    let second = downloads.list(&first.session, NOW).unwrap();
    assert_eq!((second.keys.len(), second.session == first.session), (0, true));
    assert!(matches!(downloads.list(&first.session, NOW), Err(DownloadError::NoSession(_))));
}
