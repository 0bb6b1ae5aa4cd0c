//! Logs of topologies that have gone: removed when nothing was written there for `logviewer.cleanup.age.mins`, as Storm's
//! log viewer does.
//!
//! Invariant: what belongs to a topology that is on this host stays. Threading: a thread of its own. Errors: what cannot be
//! removed is said, and tried again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk;

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(3600);

/// Looks from time to time, for as long as the process lives.
///
/// # Errors
/// No thread can be started.
pub(crate) fn watch(
    artifacts: PathBuf,
    kept_for: Duration,
    is_here: impl Fn(&str) -> bool + Send + 'static,
    note: impl Fn(&str) + Send + 'static,
) -> io::Result<()> {
    let look = move || {
        loop {
            clean(&artifacts, kept_for, SystemTime::now(), &is_here).iter().for_each(|line| note(line));
            std::thread::sleep(PERIOD);
        }
    };
    std::thread::Builder::new().name("old-logs".into()).spawn(look).map(drop)
}

/// Removes what is old; a line for each topology.
fn clean(artifacts: &Path, kept_for: Duration, now: SystemTime, is_here: &impl Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(artifacts).into_iter().flatten().flatten();
    let is_old = |path: &Path| now.duration_since(newest(path)).is_ok_and(|age| age >= kept_for);
    let old = entries.filter(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && !entry.file_name().to_str().is_some_and(is_here) && is_old(&entry.path())
    });
    let line = |entry: fs::DirEntry| {
        let path = entry.path();
        match disk::remove_folder(&path) {
            Ok(()) => format!("the old logs {} are removed", path.display()),
            Err(error) => format!("old logs stay: {error}"),
        }
    };
    old.map(line).collect()
}

/// When something in a folder was written last.
fn newest(folder: &Path) -> SystemTime {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let modified = |metadata: &fs::Metadata| metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        newest = newest.max(fs::symlink_metadata(&folder).as_ref().map_or(SystemTime::UNIX_EPOCH, modified));
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            // That of a link itself.
            let Ok(metadata) = entry.metadata() else { continue };
            newest = newest.max(modified(&metadata));
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_a_topology_that_is_gone_are_removed_when_they_are_old() {
        let artifacts = tempfile::tempdir().unwrap();
        for topology in ["here-1-1", "gone-2-1"] {
            let folder = artifacts.path().join(topology).join("6700");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("worker.log"), "words").unwrap();
        }
        fs::write(artifacts.path().join("somebody's file"), "").unwrap();
        let age = Duration::from_secs(600);
        let left = |now: SystemTime| {
            let lines = clean(artifacts.path(), age, now, &|topology| topology == "here-1-1");
            let entries = fs::read_dir(artifacts.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            (names, lines.len())
        };
        let now = SystemTime::now();
        assert_eq!(left(now).0.len(), 3);
        // A clock that was set back makes nothing old.
        assert_eq!(left(now - age * 2).0.len(), 3);
        assert_eq!(left(now + age * 2), (vec!["here-1-1".to_owned(), "somebody's file".to_owned()], 1));
    }
}
