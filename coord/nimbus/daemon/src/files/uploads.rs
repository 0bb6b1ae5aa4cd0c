//! Files that clients upload: the inbox of nimbus (`<storm.local.dir>/nimbus/inbox`), as in Storm.
//!
//! An upload is a file under a name of its own that ends in `.part` until it is whole; then it is made durable and gets
//! its name, by which a submission names it. So what has the name is whole, also after a crash; what ends in `.part` when
//! a nimbus starts is a leftover, and goes. What is whole stays for a while, since a submission may be made again, and
//! goes then.
//!
//! Invariants: a name that a client sends only ever finds an upload that is known; it is never a path. Limits hold before
//! anything is written. Threading: belongs to the thread for files. Errors: [`UploadError`].

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ringstorm_control::time::Moment;
use sha2::{Digest as _, Sha256};

use super::sums::{hex, sum_of_file};
use crate::random::random_name;

/// How a client's file begins and ends; between them is what makes it one. Storm's.
const NAME: [&str; 2] = ["stormjar-", ".jar"];

/// What the name of an unfinished one has behind it.
const PART: &str = ".part";

/// What uploads may cost.
#[derive(Clone, Copy, Debug)]
pub struct UploadLimits {
    /// The largest file, in bytes.
    pub file_bytes_max: u64,
    /// How many bytes all of them may have together, with those that are whole.
    pub all_bytes_max: u64,
    /// How many may be under way at once.
    pub under_way_max: usize,
    /// After how long a silence an unfinished one is removed (`nimbus.file.copy.expiration.secs`).
    pub idle: Duration,
    /// How long one that is whole is kept (`nimbus.inbox.jar.expiration.secs`).
    pub kept: Duration,
}

impl Default for UploadLimits {
    fn default() -> Self {
        Self {
            file_bytes_max: 2 << 30,
            all_bytes_max: 16 << 30,
            under_way_max: 64,
            idle: Duration::from_secs(600),
            kept: Duration::from_secs(3600),
        }
    }
}

/// A file that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uploaded {
    /// Its name in the inbox.
    pub(crate) name: String,
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// What it holds, as 64 hexadecimal digits of SHA-256.
    pub(crate) sha256: String,
}

/// Why something was not done with an upload.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UploadError {
    /// There is no such upload, here or any more.
    #[error("there is no upload {0} at this nimbus: it expired, or was made to another one")]
    Unknown(String),
    /// It is not whole.
    #[error("the upload {0} is not finished")]
    Unfinished(String),
    /// It is whole already.
    #[error("the upload {0} is finished: nothing can be added to it")]
    Finished(String),
    /// It would be larger than a file may be.
    #[error("the upload {name} is larger than {bytes_max} bytes, and was removed; topologies are not that large")]
    TooLarge {
        /// Which.
        name: String,
        /// How large one may be.
        bytes_max: u64,
    },
    /// There are too many, or they are too large together.
    #[error("{0}; try again later")]
    Full(String),
    /// The disk.
    #[error("the upload {name} cannot be {done}: {error}")]
    Disk {
        /// Which.
        name: String,
        /// What was to be done with it.
        done: &'static str,
        /// Why it was not.
        error: io::Error,
    },
}

/// All uploads of a nimbus.
#[derive(Debug)]
pub(crate) struct Uploads {
    inbox: PathBuf,
    limits: UploadLimits,
    uploads: BTreeMap<String, Upload>,
}

#[derive(Debug)]
struct Upload {
    state: State,
    bytes: u64,
    touched: Moment,
}

#[derive(Debug)]
enum State {
    UnderWay {
        file: File,
        sum: Sha256,
    },
    /// `None` until somebody asks for it: it was whole when this nimbus started.
    Whole {
        sha256: Option<String>,
    },
}

impl Uploads {
    /// Opens the inbox, and removes what an earlier nimbus left unfinished; with lines for the log.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub(crate) fn open(inbox: &Path, limits: UploadLimits, now: Moment) -> io::Result<(Self, Vec<String>)> {
        fs::create_dir_all(inbox)?;
        let mut uploads = BTreeMap::new();
        let mut notes = Vec::new();
        for entry in fs::read_dir(inbox)? {
            let entry = entry?;
            let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
            let metadata = entry.metadata()?;
            let is_file = metadata.is_file();
            if is_file && name.strip_suffix(PART).is_some_and(is_name) {
                fs::remove_file(&path)?;
                notes.push(format!("the unfinished upload {name} of before was removed"));
            } else if is_file && is_name(&name) {
                let age = metadata.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
                if age.is_some_and(|age| age >= limits.kept) {
                    fs::remove_file(&path)?;
                    notes.push(format!("the upload {name} of long ago was removed"));
                } else {
                    let state = State::Whole { sha256: None };
                    uploads.insert(name, Upload { state, bytes: metadata.len(), touched: now });
                }
            } else {
                notes.push(format!("{} is no upload, and is left aside", path.display()));
            }
        }
        Ok((Self { inbox: inbox.to_owned(), limits, uploads }, notes))
    }

    /// Begins one; what the client calls it by from now on, which is a path here, as in Storm.
    ///
    /// # Errors
    /// [`UploadError`].
    pub(crate) fn begin(&mut self, now: Moment) -> Result<String, UploadError> {
        let under_way = self.uploads.values().filter(|upload| matches!(upload.state, State::UnderWay { .. })).count();
        if under_way >= self.limits.under_way_max {
            return Err(UploadError::Full(format!("{under_way} uploads are under way")));
        }
        let name = format!("{}{}{}", NAME[0], random_name(), NAME[1]);
        let path = self.part(&name);
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| UploadError::Disk { name: name.clone(), done: "begun", error })?;
        let state = State::UnderWay { file, sum: Sha256::new() };
        let location = self.inbox.join(&name).display().to_string();
        self.uploads.insert(name, Upload { state, bytes: 0, touched: now });
        Ok(location)
    }

    /// Adds to one.
    ///
    /// # Errors
    /// [`UploadError`]; after one of a disk, or a file that is too large, the upload is gone.
    pub(crate) fn add(&mut self, location: &str, chunk: &[u8], now: Moment) -> Result<(), UploadError> {
        let all: u64 = self.uploads.values().map(|upload| upload.bytes).sum();
        let limits = self.limits;
        let (name, upload) = self.known(location)?;
        let State::UnderWay { file, sum } = &mut upload.state else { return Err(UploadError::Finished(name)) };
        let added = chunk.len() as u64;
        let result = if upload.bytes + added > limits.file_bytes_max {
            Err(UploadError::TooLarge { name: name.clone(), bytes_max: limits.file_bytes_max })
        } else if all + added > limits.all_bytes_max {
            Err(UploadError::Full(format!("uploads have {} bytes together", limits.all_bytes_max)))
        } else {
            upload.touched = now;
            upload.bytes += added;
            sum.update(chunk);
            file.write_all(chunk).map_err(|error| UploadError::Disk { name: name.clone(), done: "written", error })
        };
        if result.is_err() {
            self.drop_upload(&name);
        }
        result
    }

    /// Ends one: it is whole, and survives a crash.
    ///
    /// # Errors
    /// [`UploadError`]; after one of a disk the upload is gone.
    pub(crate) fn finish(&mut self, location: &str, now: Moment) -> Result<(), UploadError> {
        let (part, whole, inbox);
        {
            let (name, _) = self.known(location)?;
            (part, whole, inbox) = (self.part(&name), self.inbox.join(&name), self.inbox.clone());
        }
        let (name, upload) = self.known(location)?;
        // Asked for again, since the answer was lost.
        let State::UnderWay { file, sum } = &upload.state else { return Ok(()) };
        let durable = file.sync_all().and_then(|()| fs::rename(&part, &whole));
        let durable = durable.and_then(|()| File::open(&inbox)?.sync_all());
        match durable {
            Ok(()) => {
                upload.state = State::Whole { sha256: Some(hex(&sum.clone().finalize())) };
                upload.touched = now;
                Ok(())
            }
            Err(error) => {
                self.drop_upload(&name);
                Err(UploadError::Disk { name, done: "finished", error })
            }
        }
    }

    /// One that is whole, with what it holds.
    ///
    /// # Errors
    /// [`UploadError`].
    pub(crate) fn find(&mut self, location: &str) -> Result<Uploaded, UploadError> {
        let inbox = self.inbox.clone();
        let (name, upload) = self.known(location)?;
        let path = inbox.join(&name);
        let State::Whole { sha256 } = &mut upload.state else { return Err(UploadError::Unfinished(name)) };
        let sum = match sha256 {
            Some(sum) => sum.clone(),
            None => match sum_of_file(&path) {
                Ok(sum) => sha256.insert(sum).clone(),
                Err(error) => return Err(UploadError::Disk { name, done: "read", error }),
            },
        };
        Ok(Uploaded { name, path, sha256: sum })
    }

    /// Removes what is too old; with lines for the log.
    pub(crate) fn expire(&mut self, now: Moment) -> Vec<String> {
        let limits = self.limits;
        let is_old = |upload: &Upload| match upload.state {
            State::UnderWay { .. } => now.since(upload.touched) >= limits.idle,
            State::Whole { .. } => now.since(upload.touched) >= limits.kept,
        };
        let old: Vec<String> =
            self.uploads.iter().filter(|(_, upload)| is_old(upload)).map(|(name, _)| name.clone()).collect();
        old.into_iter()
            .map(|name| {
                self.drop_upload(&name);
                format!("the upload {name} expired and was removed")
            })
            .collect()
    }

    fn part(&self, name: &str) -> PathBuf {
        self.inbox.join(format!("{name}{PART}"))
    }

    /// The upload that a client means.
    fn known(&mut self, location: &str) -> Result<(String, &mut Upload), UploadError> {
        let name = location.rsplit('/').next().unwrap_or_default();
        match self.uploads.get_mut(name) {
            Some(upload) => Ok((name.to_owned(), upload)),
            None => Err(UploadError::Unknown(location.chars().take(300).collect())),
        }
    }

    fn drop_upload(&mut self, name: &str) {
        if let Some(upload) = self.uploads.remove(name) {
            let path = match upload.state {
                State::UnderWay { .. } => self.part(name),
                State::Whole { .. } => self.inbox.join(name),
            };
            // What cannot be removed now is looked at again by the next nimbus.
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether a file of this name is one of ours.
fn is_name(name: &str) -> bool {
    let middle = name.strip_prefix(NAME[0]).and_then(|name| name.strip_suffix(NAME[1]));
    middle
        .is_some_and(|middle| middle.len() == 36 && middle.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment(Duration::from_secs(1000));

    fn later(secs: u64) -> Moment {
        NOW + Duration::from_secs(secs)
    }

    fn open(inbox: &Path) -> Uploads {
        Uploads::open(inbox, UploadLimits::default(), NOW).unwrap().0
    }

    fn upload(uploads: &mut Uploads, chunks: &[&[u8]]) -> String {
        let location = uploads.begin(NOW).unwrap();
        for chunk in chunks {
            uploads.add(&location, chunk, NOW).unwrap();
        }
        uploads.finish(&location, NOW).unwrap();
        location
    }

    #[test]
    fn what_was_uploaded_is_found_with_its_sum_also_by_the_nimbus_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let mut uploads = open(folder.path());
        let location = upload(&mut uploads, &[b"ab", b"", b"c"]);
        let found = uploads.find(&location).unwrap();
        assert_eq!(found.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(fs::read(&found.path).unwrap(), b"abc");
        let unfinished = uploads.begin(NOW).unwrap();
        uploads.add(&unfinished, b"abc", NOW).unwrap();
        drop(uploads);
        let (mut uploads, notes) = Uploads::open(folder.path(), UploadLimits::default(), NOW).unwrap();
        assert_eq!(uploads.find(&location).unwrap(), found);
        assert!(matches!(uploads.find(&unfinished), Err(UploadError::Unknown(_))));
        assert!(notes.len() == 1 && notes[0].contains("unfinished upload"), "{notes:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_client_names_is_never_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "x").unwrap();
        let mut uploads = open(&folder.path().join("inbox"));
        let real = uploads.begin(NOW).unwrap();
        for location in ["../secret", "", "/", &secret.display().to_string(), "stormjar-..jar", &format!("{real}.part")]
        {
            assert!(matches!(uploads.find(location), Err(UploadError::Unknown(_))), "{location}");
            assert!(uploads.add(location, b"x", NOW).is_err() && uploads.finish(location, NOW).is_err());
        }
        assert!(matches!(uploads.find(&real), Err(UploadError::Unfinished(_))));
    }

    #[test]
    fn limits_hold_and_what_broke_them_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let limits = UploadLimits { file_bytes_max: 4, all_bytes_max: 6, under_way_max: 2, ..UploadLimits::default() };
        let (mut uploads, _) = Uploads::open(folder.path(), limits, NOW).unwrap();
        let (first, second) = (uploads.begin(NOW).unwrap(), uploads.begin(NOW).unwrap());
        assert!(matches!(uploads.begin(NOW), Err(UploadError::Full(_))));
        uploads.add(&first, b"1234", NOW).unwrap();
        assert!(matches!(uploads.add(&second, b"12345", NOW), Err(UploadError::TooLarge { .. })));
        assert!(matches!(uploads.add(&second, b"1", NOW), Err(UploadError::Unknown(_))));
        let third = uploads.begin(NOW).unwrap();
        assert!(matches!(uploads.add(&third, b"123", NOW), Err(UploadError::Full(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        uploads.finish(&first, NOW).unwrap();
        uploads.finish(&first, NOW).unwrap();
        assert!(matches!(uploads.add(&first, b"5", NOW), Err(UploadError::Finished(_))));
    }

    #[test]
    fn what_is_silent_expires_and_foreign_files_are_left_aside() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        let (mut uploads, notes) = Uploads::open(folder.path(), UploadLimits::default(), NOW).unwrap();
        assert!(notes[0].contains("notes.txt is no upload"), "{notes:?}");
        let whole = upload(&mut uploads, &[b"1"]);
        let part = uploads.begin(NOW).unwrap();
        assert_eq!(uploads.expire(later(599)).len(), 0);
        uploads.add(&part, b"1", later(599)).unwrap();
        assert_eq!(uploads.expire(later(1198)).len(), 0);
        assert_eq!(uploads.expire(later(1199)).len(), 1);
        assert!(uploads.find(&whole).is_ok());
        assert_eq!(uploads.expire(later(3600)).len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
