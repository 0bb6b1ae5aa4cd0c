//! The local state on disk.
//!
//! A state that cannot be read is put aside, with one line for operators, and the supervisor begins anew under another id:
//! its workers are then none that it knows, and it stops them. No incarnation comes twice: those of folders and of the
//! history count, and new ones are of the clock. Threading: the daemon's. Errors: a state that cannot be saved ends the
//! daemon.

use std::io;
use std::path::Path;

use ringstorm_supervisor::LocalState;

use crate::disk;
use crate::history;
use crate::layout::{Layout, worker_of_name};

/// No state is larger, in bytes.
pub(crate) const BYTES_MAX: usize = 256 << 20;

/// Reads what the daemon before has left; a line if there was something that cannot be used.
///
/// # Errors
/// The disk cannot be read, or what cannot be used cannot be put aside.
pub(crate) fn load(layout: &Layout, local_dir: &Path) -> io::Result<(LocalState, Option<String>)> {
    let path = layout.local_state();
    let read = match disk::read_bounded(&path, BYTES_MAX) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|error| error.to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((LocalState::default(), None)),
        // What is too large or no file at all stays so.
        Err(error) if matches!(error.kind(), io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidInput) => {
            Err(error.to_string())
        }
        // The disk may be well again: nothing is decided without knowing.
        Err(error) => return Err(error),
    };
    let why = match read.map(|text| LocalState::from_text(&text)) {
        Ok(Ok(state)) => return Ok((state, None)),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error,
    };
    let aside = disk::beside(&path, ".broken");
    std::fs::rename(&path, &aside)?;
    disk::sync_folder_of(&path)?;
    let line = format!(
        "the local state was put aside as {}, and this supervisor begins anew under another id and stops the workers that \
         run: {why}",
        aside.display()
    );
    Ok((anew(layout, local_dir), Some(line)))
}

/// The id of the supervisor that has this `storm.local.dir`, once it has one.
pub fn supervisor_id(local_dir: &Path) -> Option<String> {
    let bytes = disk::read_bounded(&Layout::new(local_dir, local_dir).local_state(), BYTES_MAX).ok()?;
    LocalState::from_text(std::str::from_utf8(&bytes).ok()?).ok()?.supervisor
}

/// A state that knows nothing but the highest incarnations.
fn anew(layout: &Layout, local_dir: &Path) -> LocalState {
    let mut state = LocalState::default();
    let entries = std::fs::read_dir(layout.workers()).into_iter().flatten().flatten();
    let folders = entries.filter_map(|entry| worker_of_name(&entry.file_name()));
    let remembered = history::read(local_dir).into_iter().map(|entry| (entry.port, entry.incarnation));
    for (port, incarnation) in folders.chain(remembered) {
        // Nobody's mistake may use up all numbers.
        if incarnation < ringstorm_supervisor::local_state::INCARNATION_MAX / 2 {
            let slot = state.slots.entry(port).or_default();
            slot.last_incarnation = slot.last_incarnation.max(incarnation);
        }
    }
    state
}

/// Saves the state, so that it outlives a power failure. User code that fills the disk does not keep it from that.
///
/// # Errors
/// It cannot be written.
pub(crate) fn save(layout: &Layout, state: &LocalState) -> io::Result<()> {
    disk::write_whole_within(&layout.local_state(), &state.to_text(), 0o600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, What};

    fn layout() -> (tempfile::TempDir, Layout) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &folder.path().join("logs"));
        disk::make_folder(&layout.supervisor()).unwrap();
        disk::make_folder(&layout.workers()).unwrap();
        (folder, layout)
    }

    #[test]
    fn what_was_saved_is_read_again() {
        let (folder, layout) = layout();
        assert_eq!(load(&layout, folder.path()).unwrap(), (LocalState::default(), None));
        let state = LocalState { supervisor: Some("id".into()), sessions: vec![1], ..LocalState::default() };
        save(&layout, &state).unwrap();
        assert_eq!(load(&layout, folder.path()).unwrap(), (state, None));
    }

    #[test]
    fn what_is_no_file_is_put_aside_like_a_broken_state() {
        for what in ["a socket", "a link that leads nowhere"] {
            let (folder, layout) = layout();
            if what == "a socket" {
                std::os::unix::net::UnixDatagram::bind(layout.local_state()).unwrap();
            } else {
                std::os::unix::fs::symlink("nowhere", layout.local_state()).unwrap();
            }
            let (_, line) = load(&layout, folder.path()).unwrap();
            let line = line.unwrap();
            assert!(line.contains("local-state.json.broken") && line.contains(what), "{line}");
            assert_eq!(load(&layout, folder.path()).unwrap(), (LocalState::default(), None));
        }
    }

    #[test]
    fn a_broken_state_costs_one_line_and_no_incarnation_twice() {
        for broken in [&b"{"[..], b"", b"\xff\xfe", b"[]"] {
            let (folder, layout) = layout();
            std::fs::write(layout.local_state(), broken).unwrap();
            disk::make_folder(&layout.worker(6700, 7)).unwrap();
            disk::make_folder(&layout.worker(6700, 5)).unwrap();
            let history = History::new(&layout.history());
            history.add(6701, 9, "words-1-1", What::Started { pid: 1, assignment_version: 1 });
            history.add(6701, u64::MAX, "words-1-1", What::Started { pid: 1, assignment_version: 1 });
            let (state, line) = load(&layout, folder.path()).unwrap();
            assert!(line.unwrap().contains("local-state.json.broken"));
            let last = |port: u16| state.slots[&port].last_incarnation;
            assert_eq!((last(6700), last(6701), state.supervisor.clone()), (7, 9, None));
            assert_eq!(load(&layout, folder.path()).unwrap(), (LocalState::default(), None));
        }
    }
}
