//! What users of such systems ran into elsewhere, tried on worker processes: deaths, links that are down for long, order,
//! load, values, and ends that must be truthful.
//!
//! Longer, and with more workers, by `RINGSTORM_SOAK_SECS`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod ends;
mod failures;
mod links;
mod load;
mod order;
mod restarts;
mod starts;
mod values;

use std::process::Command;
use std::time::{Duration, Instant};

use ringstorm_tests::journal::{Note, Notes};
use ringstorm_tests::run::{Run, assert_deaths};
use ringstorm_tests::waiting::{soak_secs, until};
use rustix::process::Pid;

/// Far above what anything takes that no case sets a bound for.
const AMPLE: Duration = Duration::from_secs(60);

/// A run of one of the small topologies here, its notes, and the directory that is `TMPDIR` to it.
struct Case {
    run: Run,
    notes: Notes,
    directory: tempfile::TempDir,
}

/// How a run ended.
#[derive(Debug)]
struct End {
    code: Option<i32>,
    errors: String,
    notes: Vec<Note>,
}

impl Case {
    fn sequence(workers: Option<usize>, arguments: &[&str]) -> Self {
        Self::start(env!("CARGO_BIN_EXE_sequence"), workers, arguments)
    }

    fn values(workers: Option<usize>, arguments: &[&str]) -> Self {
        Self::start(env!("CARGO_BIN_EXE_values"), workers, arguments)
    }

    fn start(executable: &str, workers: Option<usize>, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::of(&directory.path().join("notes"));
        let temporary = directory.path().join("temporary");
        std::fs::create_dir(&temporary).unwrap();
        let mut command: Command = Run::command(executable, workers);
        command.args(["--notes", notes.path()]).args(arguments).env("TMPDIR", temporary);
        Self { run: Run::spawn(command, directory.path()), notes, directory }
    }

    /// Waits until somebody has noted a line that begins so.
    #[track_caller]
    fn wait_for_note(&self, words: &str) -> Note {
        self.wait_for_notes(words, 1).remove(0)
    }

    /// Waits until there are so many lines that begin so.
    #[track_caller]
    fn wait_for_notes(&self, words: &str, count: usize) -> Vec<Note> {
        let started = Instant::now();
        loop {
            let notes = self.notes.starting(words);
            if notes.len() >= count {
                return notes;
            }
            assert!(started.elapsed() < AMPLE, "no note of {words:?}\n{}", self.run.errors());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The process of a worker, now.
    fn process_of(&self, worker: usize) -> Option<Pid> {
        self.run.workers().into_iter().find(|(number, _)| *number == worker).map(|(_, pid)| pid)
    }

    /// The run ends by itself, and neither a process nor a socket is left.
    #[track_caller]
    fn finish(mut self) -> End {
        let workers = self.run.workers();
        let Some(status) = self.run.wait(AMPLE) else {
            panic!("the run hangs\n{}\n{:?}", self.run.errors(), self.notes.read());
        };
        let errors = self.run.errors();
        for (worker, pid) in workers {
            let is_there = std::fs::exists(format!("/proc/{}", pid.as_raw_nonzero())).unwrap();
            assert!(!is_there, "worker {worker} outlives its run\n{errors}");
        }
        let left = std::fs::read_dir(self.directory.path().join("temporary")).unwrap().count();
        assert_eq!(left, 0, "something is left in the directory of temporary files\n{errors}");
        End { code: status.code(), errors, notes: self.notes.read() }
    }
}

impl End {
    #[track_caller]
    fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{:?}", self.errors, self.notes);
        self
    }

    /// It drained, and its errors are the deaths of these workers, which were killed while tuples flowed.
    #[track_caller]
    fn expect_deaths(self, workers: &[usize]) -> Self {
        let end = self.expect_code(4);
        assert_deaths(&end.errors, workers);
        let lacks = match workers.len() {
            1 => "a worker died: what it had counted is not in these figures".to_owned(),
            deaths => format!("workers died {deaths} times: what they had counted is not in these figures"),
        };
        assert!(end.errors.contains(&lacks), "{}", end.errors);
        end
    }

    /// The one line that begins so.
    #[track_caller]
    fn only(&self, words: &str) -> &Note {
        let mut all = self.notes.iter().filter(|note| note.line.starts_with(words));
        let first = all.next().unwrap_or_else(|| panic!("no note of {words:?}: {self:?}"));
        assert!(all.next().is_none(), "more than one note of {words:?}: {self:?}");
        first
    }

    /// All lines that begin so.
    fn all(&self, words: &str) -> Vec<&Note> {
        self.notes.iter().filter(|note| note.line.starts_with(words)).collect()
    }

    /// What the spout has emitted, and the acks and fails that it has heard, at the end.
    #[track_caller]
    fn spout_counts(&self) -> (u64, u64, u64) {
        let closed = self.only("closed");
        (closed.number("emitted"), closed.number("acked"), closed.number("failed"))
    }

    /// The last line of what the run said.
    fn verdict(&self) -> &str {
        self.errors.lines().last().unwrap_or_default()
    }
}
