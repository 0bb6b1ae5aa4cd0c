//! Submissions: what is looked at first, the upload, and that nothing is submitted twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ringstorm_caller::{CODE_SHA256, ClientError, ClientSettings, Progress, Success, UPLOAD_CHUNK_BYTES, perform};
use ringstorm_nimbus::interface::{Refusal, Reply, Request, Submission, Upload};
use ringstorm_records::nimbus::NimbusCall;
use ringstorm_records::records::{Credentials, StormTopology, SubmitOptions, TopologyInitialStatus};

use crate::model::Model;
use crate::requests::{good, serve, with_words};
use crate::server::{Does, Server, settings};

const PLAIN: SubmitOptions = SubmitOptions { initial_status: TopologyInitialStatus::Active, creds: None };

fn submission(name: &str, options: SubmitOptions) -> Request {
    Request::Submit(Box::new(Submission {
        name: name.into(),
        topology: StormTopology::default(),
        conf: r#"{"topology.workers": 2}"#.into(),
        options,
        upload: Upload { name: String::new(), checksum: String::new() },
        worker_secret: String::new(),
    }))
}

/// A file of two whole chunks and a bit.
fn file(folder: &Path) -> (PathBuf, Vec<u8>) {
    let path = folder.join("words");
    let content: Vec<u8> = (0..UPLOAD_CHUNK_BYTES * 2 + 17).map(|at| (at * 31 % 251) as u8).collect();
    fs::write(&path, &content).unwrap();
    (path, content)
}

fn submit(server: &Server, request: Request, path: &Path) -> Result<Success, ClientError> {
    perform(&settings(vec![server.address()]), request, Some(path), &mut |_| {})
}

fn submitted(id: &str) -> Result<Success, ClientError> {
    let topology = ringstorm_records::znode::NodeName::new(id).unwrap();
    Ok(Success::Answered(Reply::Submitted { topology }))
}

#[test]
fn the_file_goes_in_chunks_and_then_the_topology() {
    let folder = tempfile::tempdir().unwrap();
    let (path, content) = file(folder.path());
    let model = Arc::new(Mutex::new(Model::default()));
    let server = serve(&model, |_, _, _, _| None);
    let mut told = Vec::new();
    let settings = settings(vec![server.address()]);
    let result = perform(&settings, submission("words", PLAIN), Some(&path), &mut |progress| told.push(progress));
    assert_eq!(result, submitted("words-1-1795972824"));
    let expected = [
        "isTopologyNameAllowed",
        "getLeader",
        "beginFileUpload",
        "uploadChunk",
        "uploadChunk",
        "uploadChunk",
        "finishFileUpload",
        "submitTopology",
        "getTopologySummaryByName",
    ];
    assert_eq!(server.methods(), expected);
    let model = model.lock().unwrap();
    let living = &model.topologies["words"];
    assert_eq!(model.uploads[&living.jar], (content.clone(), true));
    // The checksum that `sha256sum` gives.
    let sum = living.conf[CODE_SHA256].as_str().unwrap();
    assert_eq!(sum, checksum(&content));
    assert_eq!(living.conf["topology.workers"], 2);
    let file_bytes = content.len() as u64;
    let chunk = UPLOAD_CHUNK_BYTES as u64;
    let sent: Vec<_> =
        [0, chunk, 2 * chunk, file_bytes].map(|sent_bytes| Progress::Uploading { sent_bytes, file_bytes }).into();
    assert_eq!(told, sent);
}

fn checksum(content: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn options_and_secrets_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(folder.path());
    let inactive = SubmitOptions { initial_status: TopologyInitialStatus::Inactive, creds: None };
    let secret = SubmitOptions { creds: Some(Credentials::default()), ..PLAIN };
    for options in [inactive, secret] {
        let server = good(Model::default());
        submit(&server, submission("words", options.clone()), &path).unwrap();
        let call = server.heard().into_iter().find_map(|heard| match heard.call {
            NimbusCall::SubmitTopologyWithOpts(call) => Some(call),
            _ => None,
        });
        assert_eq!(call.unwrap().options, Some(options));
    }
}

#[test]
fn a_name_that_is_taken_or_not_allowed_and_a_file_that_is_none_cost_no_upload() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(folder.path());
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    let server = good(with_words());
    let taken = submit(&server, submission("words", PLAIN), &path);
    assert_eq!(taken, Err(ClientError::Refused(Refusal::AlreadyAlive("words is already alive".into()))));
    assert_eq!(server.methods(), ["isTopologyNameAllowed", "getLeader", "getTopologySummaryByName"]);
    for name in ["", " ", "a/b", "a:b", "a.b", "a\\b", ".."] {
        let refused = submit(&server, submission(name, PLAIN), &path);
        assert!(matches!(refused, Err(ClientError::Refused(Refusal::InvalidTopology(_)))), "{name:?}: {refused:?}");
    }
    for odd in [folder.path().join("missing"), empty, folder.path().to_owned()] {
        let refused = submit(&server, submission("free", PLAIN), &odd);
        let name = odd.display().to_string();
        assert!(matches!(&refused, Err(ClientError::File(why)) if why.contains(&name)), "{refused:?}");
    }
    let settings = settings(vec![server.address()]);
    let none = perform(&settings, submission("free", PLAIN), None, &mut |_| {});
    assert!(matches!(none, Err(ClientError::File(_))), "{none:?}");
    assert_eq!(server.methods().len(), 3, "nothing else was asked");
}

#[test]
fn a_definition_that_nimbus_would_not_take_is_refused_with_size_limit_and_setting() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(folder.path());
    let server = good(Model { call_bytes_max: Some(3 << 20), ..Model::default() });
    let Request::Submit(mut large) = submission("words", PLAIN) else { unreachable!("it is a submission") };
    large.conf = format!(r#"{{"words": "{}"}}"#, "x".repeat(2_000_000));
    let refused = submit(&server, Request::Submit(large.clone()), &path).unwrap_err().to_string();
    for words in ["takes 200", "1048576", "nimbus.thrift.max_buffer_size"] {
        assert!(refused.contains(words), "{refused}");
    }
    let settings = ClientSettings { call_bytes_max: 4 << 20, ..settings(vec![server.address()]) };
    let result = perform(&settings, Request::Submit(large.clone()), Some(&path), &mut |_| {});
    assert_eq!(result, submitted("words-1-1795972824"), "the setting counts");
    // Nimbus does not say what it takes, or it says that it takes less than the client thinks.
    let mute = good(Model::default());
    let settings = ClientSettings { seeds: vec![mute.address()], ..settings };
    let result = perform(&settings, Request::Submit(large.clone()), Some(&path), &mut |_| {});
    assert_eq!(result, submitted("words-1-1795972824"));
    let small = good(Model { call_bytes_max: Some(1_500_000), ..Model::default() });
    let settings = ClientSettings { seeds: vec![small.address()], ..settings };
    let refused = perform(&settings, Request::Submit(large), Some(&path), &mut |_| {}).unwrap_err().to_string();
    for words in ["takes 200", "1500000", "nimbus.thrift.max_buffer_size, for nimbus"] {
        assert!(refused.contains(words), "{refused}");
    }
    assert_eq!(small.methods(), ["getLeader", "getNimbusConf"], "nothing of it was sent");
}

#[test]
fn a_submission_whose_answer_is_lost_is_made_again_and_is_the_same_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(folder.path());
    let model = Arc::new(Mutex::new(Model::default()));
    let server = serve(&model, |method, number, model, serve| {
        (method == "submitTopology" && number < 2).then(|| {
            serve(model);
            Does::Sends(vec![0, 0])
        })
    });
    assert_eq!(submit(&server, submission("words", PLAIN), &path), submitted("words-1-1795972824"));
    assert_eq!(server.methods().iter().filter(|method| **method == "submitTopology").count(), 3);
    assert_eq!(server.methods().iter().filter(|method| **method == "beginFileUpload").count(), 1);
}

#[test]
fn an_upload_that_breaks_off_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, content) = file(folder.path());
    let model = Arc::new(Mutex::new(Model::default()));
    let server =
        serve(&model, |method, number, _, _| (method == "uploadChunk" && number == 1).then(|| Does::Sends(Vec::new())));
    assert_eq!(submit(&server, submission("words", PLAIN), &path), submitted("words-1-1795972824"));
    let model = model.lock().unwrap();
    assert_eq!(model.uploads[&model.topologies["words"].jar], (content, true));
    assert_eq!(model.uploads.len(), 2);
}

#[test]
fn without_an_id_it_was_submitted_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(folder.path());
    let model = Arc::new(Mutex::new(Model::default()));
    let server =
        serve(&model, |method, _, _, _| (method == "getTopologySummaryByName").then(|| Does::Sends(Vec::new())));
    assert_eq!(submit(&server, submission("words", PLAIN), &path), Ok(Success::Answered(Reply::Done)));
    assert_eq!(model.lock().unwrap().topologies.len(), 1);
}

#[test]
fn a_file_that_is_written_to_meanwhile_is_not_submitted() {
    let longer = |path: &Path| {
        let mut all = fs::read(path).unwrap();
        all.push(1);
        fs::write(path, all).unwrap();
    };
    let shorter = |path: &Path| fs::write(path, "x").unwrap();
    let other = |path: &Path| {
        let mut all = fs::read(path).unwrap();
        all[0] ^= 1;
        // The clock of a file system is coarse.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(path, all).unwrap();
    };
    let changes: [fn(&Path); 3] = [longer, shorter, other];
    for change in changes {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = file(folder.path());
        let model = Arc::new(Mutex::new(Model::default()));
        let changed = path.clone();
        let server = serve(&model, move |method, number, _, _| {
            if method == "uploadChunk" && number == 1 {
                change(&changed);
            }
            None
        });
        let refused = submit(&server, submission("words", PLAIN), &path);
        assert!(matches!(&refused, Err(ClientError::File(why)) if why.contains("written to")), "{refused:?}");
        assert!(model.lock().unwrap().topologies.is_empty());
    }
}

#[test]
fn a_file_that_is_spoiled_after_a_lost_answer_leaves_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(folder.path());
    let model = Arc::new(Mutex::new(Model::default()));
    let spoiled = path.clone();
    let server = serve(&model, move |method, number, model, serve| {
        if method != "submitTopology" {
            return None;
        }
        match number {
            0 => {
                serve(model);
                fs::write(&spoiled, "x").unwrap();
                Some(Does::Sends(Vec::new()))
            }
            // It has lost its files.
            _ => {
                model.uploads.clear();
                None
            }
        }
    });
    let result = submit(&server, submission("words", PLAIN), &path);
    assert!(matches!(&result, Err(ClientError::InDoubt(why)) if why.contains("written to")), "{result:?}");
}
