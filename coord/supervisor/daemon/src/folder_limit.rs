//! How much of the disk a worker's working folder may take: `ringstorm.worker.disk.mb`.
//!
//! A worker that writes without end would take the disk from its neighbours, and from the supervisor. What it wrote goes with
//! it, since its folder does. What it writes elsewhere is not seen here, nor is a file that it has removed and holds open.
//!
//! Invariants: a look takes [`LOOK_MAX`] at most, whatever is in the folder, and has one file open; a folder with more entries
//! than that is looked at in parts, over several looks. Links are not followed. Threading: belongs to the worker's guard.
//! Errors: what cannot be read counts nothing; user code removes files at any moment.

use std::fs::ReadDir;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long one look may take.
const LOOK_MAX: Duration = Duration::from_millis(50);

/// The clock is read after so many entries.
const ENTRIES_PER_CLOCK: usize = 64;

/// What an entry takes at least: small files use up a file system, too.
const ENTRY_BYTES: u64 = 4096;

/// The key that sets the limit.
pub(crate) const KEY: &str = "ringstorm.worker.disk.mb";

/// What a worker's folder may take, and how far the look at it has come.
#[derive(Debug)]
pub(crate) struct FolderLimit {
    folder: PathBuf,
    limit_bytes: u64,
    /// What was found since the look began.
    found_bytes: u64,
    /// Folders that are still to be read.
    waiting: Vec<PathBuf>,
    reading: Option<ReadDir>,
}

impl FolderLimit {
    /// That of a folder.
    pub(crate) fn new(folder: &Path, limit_bytes: u64) -> Self {
        Self { folder: folder.to_owned(), limit_bytes, found_bytes: 0, waiting: Vec::new(), reading: None }
    }

    /// Looks at the folder, or goes on with that. Why its worker is to be stopped, if so.
    pub(crate) fn look(&mut self) -> Option<String> {
        let until = Instant::now() + LOOK_MAX;
        if self.reading.is_none() && self.waiting.is_empty() {
            self.found_bytes = 0;
            self.waiting.push(self.folder.clone());
        }
        while self.go_on() && self.found_bytes <= self.limit_bytes && Instant::now() < until {}
        let (found, limit) = (self.found_bytes >> 20, self.limit_bytes >> 20);
        (self.found_bytes > self.limit_bytes)
            .then(|| format!("disk limit: its working folder has {found} MiB, and its limit is {limit} MiB ({KEY})"))
    }

    /// Reads some entries. Whether there are more.
    fn go_on(&mut self) -> bool {
        let Some(reading) = &mut self.reading else {
            let Some(folder) = self.waiting.pop() else { return false };
            self.reading = std::fs::read_dir(folder).ok();
            return true;
        };
        for _ in 0..ENTRIES_PER_CLOCK {
            let Some(entry) = reading.next() else {
                self.reading = None;
                return true;
            };
            let Some((entry, of_it)) = entry.ok().and_then(|entry| Some((entry.metadata().ok()?, entry.path()))) else {
                continue;
            };
            // Blocks are of 512 bytes everywhere; a file with holes takes no more than it has.
            let bytes = entry.blocks().saturating_mul(512).max(ENTRY_BYTES);
            self.found_bytes = self.found_bytes.saturating_add(bytes);
            if entry.is_dir() {
                self.waiting.push(of_it);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    /// Looks until the whole folder was seen once.
    fn whole_look(limit: &mut FolderLimit) -> Option<String> {
        loop {
            let why = limit.look();
            if why.is_some() || limit.reading.is_none() && limit.waiting.is_empty() {
                return why;
            }
        }
    }

    #[test]
    fn what_lies_anywhere_below_counts_and_what_links_lead_to_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        create_dir_all(own.join("a/b")).unwrap();
        write(folder.path().join("elsewhere"), vec![1; 8 << 20]).unwrap();
        symlink("..", own.join("a/up")).unwrap();
        symlink("../elsewhere", own.join("link")).unwrap();
        let mut limit = FolderLimit::new(&own, 2 << 20);
        assert_eq!(whole_look(&mut limit), None);
        std::fs::File::create(own.join("holes")).unwrap().set_len(1 << 40).unwrap();
        write(own.join("a/b/file"), vec![1; 1 << 20]).unwrap();
        assert_eq!(whole_look(&mut limit), None);
        write(own.join("a/file"), vec![1; 3 << 20]).unwrap();
        let why = whole_look(&mut limit).unwrap();
        assert!(why.contains("disk limit") && why.contains("limit is 2 MiB") && why.contains(KEY), "{why}");
        std::fs::remove_file(own.join("a/file")).unwrap();
        let mut limit = FolderLimit::new(&own, 2 << 20);
        assert_eq!(whole_look(&mut limit), None);
        assert_eq!(whole_look(&mut FolderLimit::new(&own.join("nowhere"), 0)), None);
    }

    #[test]
    fn very_many_small_files_count_and_a_look_at_them_is_short() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20_000 {
            std::fs::File::create(folder.path().join(number.to_string())).unwrap();
        }
        let mut limit = FolderLimit::new(folder.path(), 64 << 20);
        let started = Instant::now();
        let mut looks = 0;
        let why = std::iter::repeat_with(|| {
            looks += 1;
            limit.look()
        });
        let why = why.take(10_000).find_map(|why| why).unwrap();
        assert!(why.contains("limit is 64 MiB"), "{why}");
        let each = started.elapsed() / looks;
        assert!(each < 10 * LOOK_MAX, "{each:?}");
    }
}
