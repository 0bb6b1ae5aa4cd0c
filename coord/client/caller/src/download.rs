//! Blobs from a nimbus, from any of their bytes on.
//!
//! The session that a download begins with may be written `SESSION@OFFSET` once, which is Ringstorm's own: nimbus goes on
//! from that byte. A download that broke off, at this nimbus or another, goes on where it was, provided that the blob has
//! the version that it had.
//!
//! Invariants: each byte of the blob from the first one wanted goes to the writer once, in order; those of two versions
//! are never mixed within a download. Whoever goes on with what an earlier download left compares a checksum at the end.
//! Threading: one caller, who waits; a writer that fails ends it. Errors: [`DownloadError`].

use std::io::{self, Write};

use ringstorm_client::ClientSettings;
use ringstorm_records::nimbus::{BeginBlobDownload, DownloadBlobChunk, NimbusException};

use crate::connection::{CallFailure, Connection, shown};
use crate::nimbuses::{NoAnswer, Rank, Tried, ask_any};

/// A blob that is here to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downloaded {
    /// Its version.
    pub version: i64,
    /// All of its bytes, those before the first one wanted included.
    pub blob_bytes: u64,
}

/// Why a blob is not here to its end. What was written stays; except after [`DownloadError::Changed`] a later download
/// may go on behind it.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// There is no such blob.
    #[error("there is no blob {0}")]
    NotFound(String),
    /// Nimbus does not give it.
    #[error("the blob {key} is not given: {exception}")]
    Refused {
        /// The blob.
        key: String,
        /// Why.
        exception: NimbusException,
    },
    /// The blob is another one by now, or shorter than what is here. What was written is of no use.
    #[error("the blob {0} has changed meanwhile; download it from its start")]
    Changed(String),
    /// What came could not be written, or whoever writes wants no more.
    #[error("the blob {key} cannot be written: {error}")]
    Write {
        /// The blob.
        key: String,
        /// Why.
        error: io::Error,
    },
    /// There is nobody to ask.
    #[error("there is no nimbus to ask; set nimbus.seeds")]
    NoSeeds,
    /// Nobody gave it, however often it was tried.
    #[error("the blob {key} was not downloaded: {why}")]
    GivenUp {
        /// The blob.
        key: String,
        /// The last reason.
        why: String,
    },
}

/// Downloads a blob from byte `offset` on: from the leader, or else from any of the seeds, and again after pauses, going on
/// where it broke off.
///
/// # Errors
/// See [`DownloadError`].
pub fn download(
    settings: &ClientSettings,
    key: &str,
    offset: u64,
    writer: &mut dyn Write,
) -> Result<Downloaded, DownloadError> {
    let mut transfer = Transfer { key, at: offset, version: None, writer };
    let asked = ask_any(settings, &mut |_| {}, |connection, rank| {
        let before = transfer.at;
        match transfer.go_on(connection) {
            Ok(downloaded) => Tried::Done(Ok(downloaded)),
            Err(Stop::Failed(DownloadError::NotFound(_))) if rank == Rank::Seed => {
                Tried::Trouble(format!("nimbus {} does not hold it", shown(connection.address())))
            }
            Err(Stop::Failed(error)) => Tried::Done(Err(error)),
            Err(Stop::Broken(why)) if transfer.at > before => Tried::Progress(why),
            Err(Stop::Broken(why)) => Tried::Trouble(why),
        }
    });
    match asked {
        Ok(result) => result,
        Err(NoAnswer::NoSeeds) => Err(DownloadError::NoSeeds),
        Err(NoAnswer::GivenUp(why)) => Err(DownloadError::GivenUp { key: key.to_owned(), why }),
    }
}

/// Why a download stands still.
enum Stop {
    /// It makes no sense to go on.
    Failed(DownloadError),
    /// Another nimbus, or a later try, may go on. With the reason.
    Broken(String),
}

/// A download under way.
struct Transfer<'a> {
    key: &'a str,
    /// The byte that is wanted next.
    at: u64,
    /// Of the blob that the bytes so far are from.
    version: Option<i64>,
    writer: &'a mut dyn Write,
}

impl Transfer<'_> {
    /// Takes all that is left.
    fn go_on(&mut self, connection: &mut Connection) -> Result<Downloaded, Stop> {
        let begin = BeginBlobDownload { key: Some(self.key.to_owned()) };
        let begun = connection.call(&begin).map_err(|failure| self.stop(failure))?;
        let blob_bytes = begun.data_size.and_then(|bytes| u64::try_from(bytes).ok());
        let is_other = self.version.is_some_and(|version| version != begun.version);
        if is_other || blob_bytes.is_some_and(|bytes| bytes < self.at) {
            return Err(self.changed());
        }
        self.version = Some(begun.version);
        let mut session = if self.at == 0 { begun.session.clone() } else { format!("{}@{}", begun.session, self.at) };
        loop {
            let call = DownloadBlobChunk { session: Some(std::mem::replace(&mut session, begun.session.clone())) };
            let chunk = connection.call(&call).map_err(|failure| self.stop(failure))?.0;
            if chunk.is_empty() {
                break;
            }
            self.writer
                .write_all(&chunk)
                .map_err(|error| Stop::Failed(DownloadError::Write { key: self.key.to_owned(), error }))?;
            self.at += chunk.len() as u64;
            if blob_bytes.is_some_and(|bytes| bytes < self.at) {
                return Err(self.changed());
            }
        }
        match blob_bytes {
            Some(bytes) if bytes != self.at => Err(Stop::Broken(format!(
                "nimbus {} ended after {} of {bytes} bytes",
                shown(connection.address()),
                self.at
            ))),
            _ => Ok(Downloaded { version: begun.version, blob_bytes: self.at }),
        }
    }

    fn changed(&self) -> Stop {
        Stop::Failed(DownloadError::Changed(self.key.to_owned()))
    }

    fn stop(&self, failure: CallFailure) -> Stop {
        let key = self.key.to_owned();
        match failure {
            CallFailure::Refused(NimbusException::KeyNotFound(_)) => Stop::Failed(DownloadError::NotFound(key)),
            CallFailure::Refused(exception) => Stop::Failed(DownloadError::Refused { key, exception }),
            // A session that nimbus forgot is such a failure, too.
            CallFailure::Failed(exception) => Stop::Broken(exception.to_string()),
            CallFailure::NotSent(why) | CallFailure::Unknown(why) => Stop::Broken(why),
        }
    }
}
