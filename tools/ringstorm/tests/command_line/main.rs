//! The command as a process, against a nimbus that answers what a real Storm 2.8.2 answered.
//!
//! What is printed is compared with the files of `tests/golden`; `COMMAND_LINE_GOLDEN=overwrite` writes them anew, for a
//! look at the difference. Each test has a nimbus and a folder of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod checks;
mod configuration;
mod nimbus;
mod requests;
mod views;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nimbus::Nimbus;
use tempfile::TempDir;

/// A folder that is a home, and a nimbus, or none.
pub(crate) struct Terminal {
    folder: TempDir,
    port: u16,
}

impl Terminal {
    /// With a nimbus to talk to.
    pub(crate) fn at(nimbus: &Nimbus) -> Self {
        Self { folder: TempDir::new().unwrap(), port: nimbus.port() }
    }

    /// With whoever listens at a port of this machine to talk to.
    pub(crate) fn to(port: u16) -> Self {
        Self { folder: TempDir::new().unwrap(), port }
    }

    /// With nobody to talk to.
    pub(crate) fn alone() -> Self {
        Self::to(1)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file below the folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Types a command.
    pub(crate) fn types(&self, words: &[&str]) -> Output {
        let seeds = format!("nimbus.seeds=[\"127.0.0.1:{}\"]", self.port);
        let settings = ["-c", &seeds, "-c", "storm.nimbus.retry.times=0"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringstorm"));
        command.args(settings).args(words).current_dir(self.folder()).stdin(Stdio::null());
        command.env_clear().env("HOME", self.folder()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.output().unwrap()
    }

    /// Types a command that is done.
    #[track_caller]
    pub(crate) fn gets(&self, words: &[&str]) -> String {
        let output = self.types(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{words:?}");
        text(&output.stdout)
    }

    /// Types a command that is not done: its exit code and what it says.
    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str]) -> (i32, String) {
        let output = self.types(words);
        assert_ne!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stdout));
        (output.status.code().unwrap(), text(&output.stderr))
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Compares a text with a file of `tests/golden`.
#[track_caller]
pub(crate) fn is_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var("COMMAND_LINE_GOLDEN").is_ok_and(|word| word == "overwrite") {
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, wanted, "{} differs", path.display());
}
