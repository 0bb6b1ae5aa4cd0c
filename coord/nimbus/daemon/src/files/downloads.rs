//! Blobs, piece by piece, and lists of their keys.
//!
//! A download has a session, as in Storm, which holds its file open: what is downloaded stays the same to its end,
//! whatever is stored meanwhile. The text of a session is `<name>-<sha256>`, so that whoever begins a download knows what
//! must come; a client may write `<session>@<offset>` for any piece, and so goes on where a download broke. Storm's clients
//! take the text for what it is, and get one piece after another.
//!
//! Invariants: there are at most so many sessions; the one that was silent for longest gives way. Threading: belongs to
//! the thread for files. Errors: [`DownloadError`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use ringstorm_control::time::Moment;
use ringstorm_file::open_regular;
use ringstorm_records::records::{BeginDownloadResult, ListBlobsResult};

use crate::code::{Held, HeldFile};
use crate::random::random_name;

/// How many keys a page has. Storm's.
const PAGE: usize = 100;

/// What downloads may cost.
#[derive(Clone, Copy, Debug)]
pub struct DownloadLimits {
    /// How long a piece is, in bytes. Storm's default is an eighth of ours: each piece costs a client a round trip.
    pub chunk_bytes: usize,
    /// How many sessions there may be.
    pub sessions_max: usize,
    /// After how long a silence one is over (`nimbus.blobstore.expiration.secs`).
    pub idle: Duration,
}

impl Default for DownloadLimits {
    fn default() -> Self {
        Self { chunk_bytes: 512 << 10, sessions_max: 1000, idle: Duration::from_secs(600) }
    }
}

/// Texts of sessions.
pub(crate) struct SessionText;

impl SessionText {
    fn made(sha256: &str) -> String {
        format!("{}-{sha256}", random_name())
    }

    /// A session from an offset on.
    pub(crate) fn at(session: &str, offset: u64) -> String {
        format!("{session}@{offset}")
    }

    /// The checksum of what is downloaded.
    pub(crate) fn sha256(session: &str) -> Option<&str> {
        let (_, sum) = session.rsplit_once('-')?;
        (sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(sum)
    }

    /// The session, and the offset if there is one.
    fn split(text: &str) -> (&str, Option<u64>) {
        match text.rsplit_once('@') {
            Some((session, offset)) => (session, offset.parse().ok()),
            None => (text, None),
        }
    }
}

/// Why a piece does not come.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DownloadError {
    /// There is no such blob here.
    #[error("{0}")]
    NoBlob(String),
    /// There is no such session, or no more.
    #[error("there is no session {0} at this nimbus: it was silent for too long, or began at another one; begin again")]
    NoSession(String),
    /// The disk.
    #[error("a blob cannot be read: {0}")]
    Disk(#[from] io::Error),
}

/// Sessions of downloads and of lists.
#[derive(Debug)]
pub(crate) struct Downloads {
    held: Held,
    limits: DownloadLimits,
    sessions: BTreeMap<String, Session>,
}

#[derive(Debug)]
struct Session {
    of: Of,
    touched: Moment,
}

#[derive(Debug)]
enum Of {
    Download { file: File, offset: u64 },
    List { rest: Vec<String> },
}

impl Downloads {
    pub(crate) fn new(held: Held, limits: DownloadLimits) -> Self {
        Self { held, limits, sessions: BTreeMap::new() }
    }

    /// Begins one.
    pub(crate) fn begin(&mut self, key: &str, now: Moment) -> Result<BeginDownloadResult, DownloadError> {
        let (held, file) = self.open(key)?;
        let session = SessionText::made(&held.sha256);
        self.add(session.clone(), Of::Download { file, offset: 0 }, now);
        Ok(BeginDownloadResult { version: held.number.into(), session, data_size: i64::try_from(held.bytes).ok() })
    }

    /// The next piece; an empty one is the end, and ends the session, as in Storm.
    pub(crate) fn chunk(&mut self, text: &str, now: Moment) -> Result<Vec<u8>, DownloadError> {
        let (session, at) = SessionText::split(text);
        let chunk_bytes = self.limits.chunk_bytes;
        let found = self.sessions.get_mut(session);
        let Some(Session { of: Of::Download { file, offset }, touched }) = found else {
            return Err(DownloadError::NoSession(session.chars().take(200).collect()));
        };
        *touched = now;
        *offset = at.unwrap_or(*offset);
        let mut chunk = vec![0; chunk_bytes];
        let mut read = 0;
        while read < chunk.len() {
            match file.read_at(&mut chunk[read..], *offset)? {
                0 => break,
                count => {
                    read += count;
                    *offset += count as u64;
                }
            }
        }
        chunk.truncate(read);
        if read == 0 && at.is_none() {
            self.sessions.remove(session);
        }
        Ok(chunk)
    }

    /// A page of keys; an empty session begins, an empty page ends, as in Storm.
    pub(crate) fn list(&mut self, session: &str, now: Moment) -> Result<ListBlobsResult, DownloadError> {
        let (session, mut rest) = if session.is_empty() {
            (random_name(), self.held.keys())
        } else {
            match self.sessions.remove(session) {
                Some(Session { of: Of::List { rest }, .. }) => (session.to_owned(), rest),
                other => {
                    if let Some(other) = other {
                        self.sessions.insert(session.to_owned(), other);
                    }
                    return Err(DownloadError::NoSession(session.chars().take(200).collect()));
                }
            }
        };
        let after = rest.split_off(rest.len().min(PAGE));
        if !rest.is_empty() {
            self.add(session.clone(), Of::List { rest: after }, now);
        }
        Ok(ListBlobsResult { keys: rest, session })
    }

    /// Ends the sessions that were silent for too long.
    pub(crate) fn expire(&mut self, now: Moment) {
        let idle = self.limits.idle;
        self.sessions.retain(|_, session| now.since(session.touched) < idle);
    }

    fn add(&mut self, session: String, of: Of, now: Moment) {
        if self.sessions.len() >= self.limits.sessions_max.max(1) {
            let most_silent = self.sessions.iter().min_by_key(|(_, session)| session.touched);
            if let Some(session) = most_silent.map(|(session, _)| session.clone()) {
                self.sessions.remove(&session);
            }
        }
        self.sessions.insert(session, Session { of, touched: now });
    }

    /// The content that is held now.
    fn open(&self, key: &str) -> Result<(HeldFile, File), DownloadError> {
        let held = || self.held.get(key).ok_or_else(|| DownloadError::NoBlob(key.chars().take(300).collect()));
        let found = held()?;
        match open_regular(&found.path) {
            Ok(file) => Ok((found, file)),
            // It was replaced just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let found = held()?;
                let file = open_regular(&found.path)?;
                Ok((found, file))
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
