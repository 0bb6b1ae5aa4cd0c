//! One daemon of a kind per local directory.
//!
//! The lock is the kernel's (`flock`), so that it ends with the process, however that ends. The file holds the process id,
//! for people. Children do not have the lock: the file is closed when they are started.
//!
//! Threading: plain data. Errors: [`LockError`].

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use ringstorm_file::open_regular_with;

/// The lock of a directory, until it is dropped or the process ends.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
    path: PathBuf,
}

/// Why a directory is not locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error(
        "{daemon} runs already with the directory {}: {holder} has the lock {}; stop that one, or give this one another \
         storm.local.dir",
        path.parent().unwrap_or(path).display(),
        path.display()
    )]
    Held {
        /// The kind of daemon.
        daemon: String,
        /// The lock.
        path: PathBuf,
        /// Who has it: its process id, where that is known.
        holder: String,
    },
    /// The lock cannot be made.
    #[error("the lock {} cannot be taken: {error}; this user must be able to write there", path.display())]
    Io {
        /// The lock.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl DirectoryLock {
    /// Takes the lock of a kind of daemon (`nimbus`, `supervisor`) in a directory, which is made if it is not there. Never
    /// waits.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take(directory: &Path, daemon: &str) -> Result<Self, LockError> {
        let path = directory.join(format!("{daemon}.lock"));
        let failed = |error| LockError::Io { path: path.clone(), error };
        std::fs::create_dir_all(directory).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = open_regular_with(&mut options, &path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { daemon: daemon.to_owned(), holder: holder(&mut file), path });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        // The number is for people; a full disk does not keep a daemon from its lock.
        drop(written);
        Ok(Self { _file: file, path })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whoever has the lock.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // No more than a number needs: it may be anybody's file.
    let pid = file.take(32).read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok());
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_daemon_of_a_kind_is_told_which_process_has_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let local = directory.path().join("storm-local");
        let lock = DirectoryLock::take(&local, "nimbus").unwrap();
        assert_eq!(lock.path(), local.join("nimbus.lock"));
        let words = DirectoryLock::take(&local, "nimbus").unwrap_err().to_string();
        let process = format!("process {}", std::process::id());
        assert!(words.contains(&process) && words.contains(&local.display().to_string()), "{words}");
        DirectoryLock::take(&local, "supervisor").expect("another kind has another lock");
        drop(lock);
        DirectoryLock::take(&local, "nimbus").expect("nobody has it any more");
    }

    #[test]
    fn what_stands_in_the_file_does_not_matter() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nimbus.lock");
        std::fs::write(&path, "no number, and much too long for one, whoever wrote it").unwrap();
        let other = File::open(&path).unwrap();
        other.lock().unwrap();
        let words = DirectoryLock::take(directory.path(), "nimbus").unwrap_err().to_string();
        assert!(words.contains("another process"), "{words}");
        drop(other);
        DirectoryLock::take(directory.path(), "nimbus").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
    }

    #[test]
    fn a_pipe_in_the_place_of_a_lock_holds_nobody_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nimbus.lock");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let words = DirectoryLock::take(directory.path(), "nimbus").unwrap_err().to_string();
        assert!(words.contains("it is a pipe, not a file"), "{words}");
    }

    #[test]
    fn a_directory_that_cannot_be_made_costs_one_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        let words = DirectoryLock::take(&file.join("local"), "nimbus").unwrap_err().to_string();
        assert!(words.contains("cannot be taken") && words.contains("local"), "{words}");
    }
}
