//! How a topology's code comes here.
//!
//! Its configuration says what the content of its executable is. An executable that is here already is not fetched; one
//! that is fetched lies beside its place until it is whole, so that a later fetch goes on where one broke off, also after
//! a restart. Invariant: an executable comes into place with its content checked, and on disk. Threading: one thread for
//! each fetch; one at a time fetches an executable. Errors: [`Failure`].

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Seek as _, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::PoisonError;

use ringstorm_caller::DownloadError;
use ringstorm_file::open_regular_with;
use ringstorm_lifecycle::conf;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_supervisor::events::{FetchFailure, WorkerTimeouts};
use sha2::{Digest as _, Sha256};

use super::Shared;
use super::local::{BLOB_BYTES_MAX, code_of_conf, damaged, hash, hex, timeouts};
use crate::disk;

/// How often something is put in place of which somebody removed a part meanwhile.
const PLACE_TRIES: usize = 3;

/// Why code was not fetched.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) why: String,
    pub(super) cause: FetchFailure,
}

impl Failure {
    fn new(cause: FetchFailure, why: impl Into<String>) -> Self {
        Self { why: why.into(), cause }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(FetchFailure::Host, error.to_string())
    }
}

impl From<DownloadError> for Failure {
    fn from(error: DownloadError) -> Self {
        let cause = match &error {
            // A leader that is new may not hold it yet.
            DownloadError::NotFound(_) | DownloadError::Changed(_) => FetchFailure::Passing,
            DownloadError::Refused { .. } => FetchFailure::Lasting,
            // It is not the system that finds a blob too large.
            DownloadError::Write { error, .. } if disk::os_error(error).is_none() => FetchFailure::Lasting,
            DownloadError::Write { .. } => FetchFailure::Host,
            DownloadError::NoSeeds | DownloadError::GivenUp { .. } => FetchFailure::Unreachable,
        };
        Self::new(cause, error.to_string())
    }
}

impl Shared {
    pub(super) fn fetch(&self, topology: &str) -> Result<WorkerTimeouts, Failure> {
        let lasting = |why: String| Failure::new(FetchFailure::Lasting, why);
        let conf_bytes = self.blob(topology, TopologyBlob::Conf)?;
        let conf = conf::decode(&conf_bytes).map_err(|error| lasting(error.to_string()))?;
        let sha256 = code_of_conf(&conf).map_err(lasting)?;
        let structure = self.blob(topology, TopologyBlob::Code)?;
        for _ in 0..PLACE_TRIES {
            self.fetch_code(topology, &sha256)?;
            let _placing = self.placing();
            if self.local.place(topology, &conf_bytes, &structure, &sha256)? {
                return Ok(timeouts(&conf, self.worker_timeout_max));
            }
        }
        Err(Failure::new(FetchFailure::Passing, "somebody removed its executable meanwhile"))
    }

    /// A small blob.
    pub(super) fn blob(&self, topology: &str, blob: TopologyBlob) -> Result<Vec<u8>, DownloadError> {
        let mut bytes = Bounded(Vec::new());
        self.source.download(&blob.key(topology), 0, &mut bytes)?;
        Ok(bytes.0)
    }

    /// Fetches an executable, unless it is here.
    fn fetch_code(&self, topology: &str, sha256: &str) -> Result<(), Failure> {
        let fetching = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.fetched.wait_while(fetching, |fetching| fetching.contains(sha256));
        let mut fetching = wait.unwrap_or_else(PoisonError::into_inner);
        if self.local.code(sha256).is_file() {
            return Ok(());
        }
        fetching.insert(sha256.to_owned());
        drop(fetching);
        let fetched = self.fetch_content(topology, sha256);
        self.fetching.lock().unwrap_or_else(PoisonError::into_inner).remove(sha256);
        self.fetched.notify_all();
        fetched
    }

    fn fetch_content(&self, topology: &str, sha256: &str) -> Result<(), Failure> {
        let (part, place) = (self.local.part(sha256), self.local.code(sha256));
        let open = || open_regular_with(OpenOptions::new().read(true).write(true).create(true).truncate(false), &part);
        let mut file = open().or_else(|error| match error.kind() {
            // No file, but a pipe, say: it goes, like a part of no use.
            io::ErrorKind::InvalidInput => disk::remove_file(&part).and_then(|()| open()),
            _ => Err(error),
        })?;
        let mut hasher = Sha256::new();
        let offset = hash(&mut file, &mut hasher)?;
        file.seek(io::SeekFrom::End(0))?;
        let mut writer = Hashing { file, hasher };
        match self.source.download(&TopologyBlob::Jar.key(topology), offset, &mut writer) {
            Ok(()) => {}
            Err(error) => {
                let failure = Failure::from(error);
                // What is of no use goes, and so does what would keep a disk full for others.
                if matches!(failure.cause, FetchFailure::Passing | FetchFailure::Host) {
                    disk::remove_file(&part)?;
                }
                return Err(failure);
            }
        }
        let Hashing { file, hasher } = writer;
        if hex(hasher) != sha256 {
            disk::remove_file(&part)?;
            // What was here before may have been wrong.
            let cause = if offset > 0 { FetchFailure::Passing } else { FetchFailure::Lasting };
            return Err(Failure::new(cause, damaged(sha256)));
        }
        file.set_permissions(Permissions::from_mode(0o555))?;
        file.sync_all()?;
        drop(file);
        let _placing = self.placing();
        fs::rename(&part, &place)?;
        disk::sync_folder_of(&place)?;
        Ok(())
    }
}

/// Takes so much and no more.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > BLOB_BYTES_MAX {
            let why = format!("it has more than {BLOB_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file whose content is hashed while it is written.
struct Hashing {
    file: File,
    hasher: Sha256,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests;
