//! The steps that a change on disk is made of.
//!
//! Each step is announced before it is done, so that a test may let a crash come before any of them: it refuses that step
//! and all that follow. What a step leaves is there for the next start, as after `kill -9`; what must survive the loss of
//! power as well is made durable before anything names it.
//!
//! Threading: plain data. Errors: those of the file system, with the path.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::manifest::{Manifest, NAME, NEW};

/// Asked before each step.
type Before = Box<dyn Fn(&str) -> io::Result<()> + Send + Sync>;

/// The disk.
pub(crate) struct Disk {
    before: Before,
    /// How many steps were asked for.
    #[cfg(test)]
    steps: std::sync::atomic::AtomicUsize,
}

impl Disk {
    /// One on which every step is done.
    pub(crate) fn new() -> Self {
        Self::asking(|_| Ok(()))
    }

    /// One whose steps are done as long as `before` allows it.
    pub(super) fn asking(before: impl Fn(&str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self {
            before: Box::new(before),
            #[cfg(test)]
            steps: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Whether no step was asked for after this one.
    #[cfg(test)]
    pub(super) fn is_past(&self, step: usize) -> bool {
        self.steps.load(std::sync::atomic::Ordering::Relaxed) <= step
    }

    fn step(&self, what: &str, path: &Path, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        #[cfg(test)]
        self.steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (self.before)(what)?;
        act().map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    /// Makes a folder and those above it; what is there is fine. Its name is durable.
    pub(super) fn make_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.make_folder(parent)?;
        }
        self.step("make a folder", path, || match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        })?;
        path.parent().map_or(Ok(()), |parent| self.sync_folder(parent))
    }

    /// Writes a new file, durably but for its name.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step("write a file", path, || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
            file.write_all(bytes)
        })?;
        self.step("make a file durable", path, || File::open(path)?.sync_all())
    }

    /// Gives a file another name as well, or copies it where that cannot be; how long it is.
    pub(super) fn link(&self, from: &Path, to: &Path) -> io::Result<u64> {
        self.step("link a file", to, || match fs::hard_link(from, to) {
            Ok(()) => Ok(()),
            // Another file system, or one without such names.
            Err(_) => fs::copy(from, to).map(drop),
        })?;
        self.step("make a file durable", to, || File::open(to)?.sync_all())?;
        Ok(fs::metadata(to)?.len())
    }

    /// Makes a manifest the one of its folder: the one moment at which a change happens.
    pub(super) fn commit(&self, folder: &Path, manifest: &Manifest) -> io::Result<()> {
        let (new, path) = (folder.join(NEW), folder.join(NAME));
        self.write(&new, &manifest.to_bytes())?;
        self.step("rename a manifest", &path, || fs::rename(&new, &path))?;
        self.sync_folder(folder)
    }

    pub(super) fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step("remove a file", path, || match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        })
    }

    /// Removes a folder, if there is nothing in it.
    pub(super) fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.step("remove a folder", path, || fs::remove_dir(path))
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename a file", to, || fs::rename(from, to))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.step("make a folder durable", path, || File::open(path)?.sync_all())
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Disk")
    }
}
