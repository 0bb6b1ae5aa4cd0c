//! What a file says, and what it says when it is broken.

use std::num::NonZeroUsize;

use ringstorm_types::assignment::{AssignedWorker, WorkerSecret};

use super::*;

fn assignment(version: i64) -> Assignment {
    let worker = AssignedWorker {
        number: 0,
        incarnation: 1,
        address: "127.0.0.1:6700".into(),
        cores: NonZeroUsize::MIN,
        executors: Vec::new(),
    };
    let secret = WorkerSecret("0".repeat(32));
    Assignment { topology_id: "t".into(), version, secret, acker_executors: 1, active: true, workers: vec![worker] }
}

fn put(path: &std::path::Path, content: &[u8]) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, content).unwrap();
    std::fs::rename(beside, path).unwrap();
}

#[test]
fn a_file_says_each_content_once_and_its_absence() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("assignment.json");
    let mut file = AssignmentFile::new(&path);
    assert!(matches!(file.look(), Some(AssignmentNews::Withdrawn)));
    for version in [1, 2] {
        put(&path, &serde_json::to_vec(&assignment(version)).unwrap());
        match file.look() {
            Some(AssignmentNews::Current(read)) => assert_eq!(*read, assignment(version)),
            other => panic!("{other:?}"),
        }
        assert!(file.look().is_none(), "it is not said again");
    }
}

#[test]
fn what_is_no_assignment_is_said_once_and_costs_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("assignment.json");
    let mut file = AssignmentFile::new(&path);
    let whole = serde_json::to_vec(&assignment(1)).unwrap();
    let misspelled = String::from_utf8(whole.clone()).unwrap().replace("\"secret\"", "\"secrets\"");
    for broken in [b"".as_slice(), b"\xff\xfe", &whole[..whole.len() / 2], b"[]", misspelled.as_bytes()] {
        put(&path, broken);
        match file.look() {
            Some(AssignmentNews::Unreadable(text)) => assert!(text.contains("assignment.json"), "{text}"),
            other => panic!("{broken:?}: {other:?}"),
        }
        assert!(file.look().is_none(), "{broken:?} is not said again");
    }
    put(&path, &whole);
    assert!(matches!(file.look(), Some(AssignmentNews::Current(_))));
}

#[test]
fn what_is_no_file_is_refused_at_once_and_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for (path, wanted) in
        [(pipe.as_path(), "a pipe"), ("/dev/zero".as_ref(), "a device"), (directory.path(), "a folder")]
    {
        match AssignmentFile::new(path).look() {
            Some(AssignmentNews::Unreadable(text)) => assert!(text.contains(wanted), "{text}"),
            other => panic!("{path:?}: {other:?}"),
        }
    }
}
