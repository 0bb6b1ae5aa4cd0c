//! Files that come and go by the port: uploads, and downloads of blobs. One thread does all of it.
//!
//! - [`uploads`][]: the inbox.
//! - [`downloads`][]: blobs, piece by piece, and lists of their keys.
//! - [`sums`][]: checksums.

mod downloads;
mod sums;
mod uploads;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use ringstorm_control::time::Moment;

pub use downloads::DownloadLimits;
pub(crate) use downloads::{DownloadError, Downloads, SessionText};
pub(crate) use sums::{hex, sum_of};
pub use uploads::UploadLimits;
pub(crate) use uploads::{UploadError, Uploaded, Uploads};

/// How often it is looked at what has expired.
pub(crate) const EXPIRY_PERIOD: Duration = Duration::from_secs(10);

/// The uploads, for everybody who needs them.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    uploads: Arc<Mutex<Uploads>>,
    start: Instant,
}

impl Inbox {
    /// Opens the inbox; with lines for the log.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub(crate) fn open(inbox: &Path, limits: UploadLimits) -> io::Result<(Self, Vec<String>)> {
        let (uploads, notes) = Uploads::open(inbox, limits, Moment::default())?;
        Ok((Self { uploads: Arc::new(Mutex::new(uploads)), start: Instant::now() }, notes))
    }

    fn uploads(&self) -> MutexGuard<'_, Uploads> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Moment {
        Moment(self.start.elapsed())
    }

    /// As [`Uploads::find`].
    pub(crate) fn find(&self, location: &str) -> Result<Uploaded, UploadError> {
        self.uploads().find(location)
    }
}

/// What the thread for files has.
pub(crate) struct Files {
    inbox: Inbox,
    pub(crate) downloads: Downloads,
    note: Box<dyn Fn(&str) + Send>,
    expires_at: Instant,
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Files").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

impl Files {
    pub(crate) fn new(inbox: Inbox, downloads: Downloads, note: impl Fn(&str) + Send + 'static) -> Self {
        Self { inbox, downloads, note: Box::new(note), expires_at: Instant::now() + EXPIRY_PERIOD }
    }

    pub(crate) fn begin_upload(&self) -> Result<String, UploadError> {
        self.inbox.uploads().begin(self.inbox.now())
    }

    pub(crate) fn add_to_upload(&self, location: &str, chunk: &[u8]) -> Result<(), UploadError> {
        self.inbox.uploads().add(location, chunk, self.inbox.now())
    }

    pub(crate) fn finish_upload(&self, location: &str) -> Result<(), UploadError> {
        self.inbox.uploads().finish(location, self.inbox.now())
    }

    pub(crate) fn find_upload(&self, location: &str) -> Result<Uploaded, UploadError> {
        self.inbox.find(location)
    }

    /// Removes what has expired, when it is time to look.
    pub(crate) fn tick(&mut self) {
        if Instant::now() >= self.expires_at {
            self.expires_at = Instant::now() + EXPIRY_PERIOD;
            let notes = self.inbox.uploads().expire(self.inbox.now());
            notes.iter().for_each(|note| (self.note)(note));
            self.downloads.expire(self.inbox.now());
        }
    }

    /// The time as uploads and downloads know it.
    pub(crate) fn now(&self) -> Moment {
        self.inbox.now()
    }
}
