//! Logs of workers: which topology is meant, the last lines, files that are rotated and files that come later.

use std::fs::OpenOptions;
use std::io::Write as _;

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn append(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn shown(&self, port: Option<u16>) -> Shown {
        Shown::new(self.0.path().to_owned(), port, false)
    }
}

#[test]
fn the_newest_topology_of_a_name_is_meant_and_an_id_names_itself() {
    let folder = Folder::new();
    for id in ["words-1-100", "words-2-200", "words-10-150", "words-more-3-900", "other-1-950"] {
        folder.append(&format!("{id}/6700/worker.log"), "");
    }
    let newest = |name: &str| newest_id(folder.0.path(), name).map_err(|failure| failure.text);
    assert_eq!(newest("words").unwrap(), "words-2-200");
    assert_eq!(newest("words-more").unwrap(), "words-more-3-900");
    assert_eq!(newest("words-1-100").unwrap(), "words-1-100");
    assert!(newest("word").unwrap_err().contains("no worker of a topology word has run on this host"));
    let gone = newest_id(&folder.0.path().join("gone"), "words").unwrap_err();
    assert!(gone.text.contains("storm.workers.artifacts.dir says another place"), "{}", gone.text);
}

#[test]
fn the_last_lines_of_each_worker_are_shown_under_its_file() {
    let folder = Folder::new();
    folder.append("6700/worker.log", "one\ntwo\nthree\n");
    folder.append("6701/worker.log", "four\nfive");
    folder.append("note", "no worker");
    let text = folder.shown(None).begin(2).replace(&folder.0.path().display().to_string(), "");
    assert_eq!(text, "==> /6700/worker.log <==\ntwo\nthree\n\n==> /6701/worker.log <==\nfour\nfive");
    assert_eq!(folder.shown(Some(6701)).begin(1).lines().last(), Some("five"));
    assert_eq!(folder.shown(Some(6700)).begin(0), "");
}

#[test]
fn what_is_written_later_is_shown_once_also_in_a_rotated_file_and_by_a_new_worker() {
    let folder = Folder::new();
    folder.append("6700/worker.log", "one\n");
    let mut shown = folder.shown(None);
    shown.begin(10);
    assert_eq!(shown.look(), "");
    folder.append("6700/worker.log", "two\n");
    assert_eq!(shown.look(), "two\n");
    folder.append("6700/worker.log", "three\n");
    fs::rename(folder.0.path().join("6700/worker.log"), folder.0.path().join("6700/worker.log.1")).unwrap();
    folder.append("6700/worker.log", "four\n");
    assert_eq!(shown.look(), "three\nfour\n");
    folder.append("6701/worker.log", "five\n");
    assert!(shown.look().ends_with("6701/worker.log <==\nfive\n"));
    assert_eq!(shown.look(), "");
}

#[test]
fn a_pipe_in_the_place_of_a_log_holds_nobody_up() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = Folder::new();
    folder.append("6700/worker.log", "one\n");
    folder.append("6701/other", "");
    mknodat(CWD, folder.0.path().join("6701/worker.log"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let mut shown = folder.shown(None);
    assert!(shown.begin(10).ends_with("6700/worker.log <==\none\n"));
    assert_eq!(shown.look(), "");
}
