//! Contents from other nimbuses, by their ports.
//!
//! What comes goes into a file of its own, and is taken only when its length and checksum are those that the other nimbus
//! named before: the session of a download ends in the checksum (see [`Session`](crate::files::SessionText)). A download
//! that breaks goes on where it broke, with the same nimbus.
//!
//! Threading: each fetch belongs to the thread that wants it, and blocks it. Errors: [`CodeFailure::Other`], since the next
//! nimbus that is asked may do better.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ringstorm_caller::{CallFailure, Connection, Timeouts};
use ringstorm_nimbus::interface::CodeFailure;
use ringstorm_records::nimbus::{BeginBlobDownload, DownloadBlobChunk};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::BeginDownloadResult;
use ringstorm_records::thrift::Binary;
use ringstorm_records::znode::NodeName;
use sha2::{Digest as _, Sha256};

use super::opening::INCOMING;
use crate::files::{SessionText, hex};
use crate::random::random_suffix;

/// How often a download that breaks goes on.
const TRIES_MAX: u32 = 3;

/// What a fetch may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchLimits {
    /// The largest content, in bytes.
    pub(crate) bytes_max: u64,
    /// How long the parts of a call may take.
    pub(crate) timeouts: Timeouts,
}

/// Fetches contents.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    incoming: PathBuf,
    limits: FetchLimits,
}

/// A content that came whole. Its file goes with it.
#[derive(Debug)]
pub(crate) struct Came {
    /// The number of the content.
    pub(crate) number: u32,
    /// What it holds.
    pub(crate) sha256: String,
    file: Passing,
}

impl Came {
    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.file.0
    }
}

/// A file that is removed when nobody has it any more.
#[derive(Debug)]
struct Passing(PathBuf);

impl Drop for Passing {
    fn drop(&mut self) {
        // What stays is removed at the next start.
        let _ = fs::remove_file(&self.0);
    }
}

/// A download under way.
struct Download {
    file: File,
    sum: Sha256,
    bytes: u64,
    /// What the nimbus said when it began.
    begun: Option<Begun>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Begun {
    number: u32,
    bytes: u64,
    sha256: String,
}

impl Fetcher {
    /// One that puts what comes beside the directory at `root`.
    pub(crate) fn new(root: &Path, limits: FetchLimits) -> Self {
        Self { incoming: root.join(INCOMING), limits }
    }

    /// Fetches a content, or a newer one.
    pub(crate) fn fetch(&self, key: &NodeName, number: u32, from: &NimbusAddress) -> Result<Came, CodeFailure> {
        let failed = |why: String| CodeFailure::Other(format!("{key} from nimbus {from}: {why}"));
        let passing = Passing(self.incoming.join(random_suffix()));
        let file = File::create_new(&passing.0).map_err(|error| failed(on_disk(&passing.0, &error)))?;
        let mut download = Download { file, sum: Sha256::new(), bytes: 0, begun: None };
        let mut tries = 0;
        let begun = loop {
            tries += 1;
            match self.go_on(&mut download, &passing.0, key, from) {
                Ok(begun) => break begun,
                Err(Broken::ForNow(_)) if tries < TRIES_MAX => {}
                Err(Broken::ForNow(why) | Broken::ForGood(why)) => return Err(failed(why)),
            }
        };
        if begun.number < number {
            return Err(failed(format!("it holds content {} and not {number}", begun.number)));
        }
        let sha256 = hex(&download.sum.finalize());
        if sha256 != begun.sha256 {
            return Err(failed("what came is not what its checksum says".into()));
        }
        Ok(Came { number: begun.number, sha256, file: passing })
    }

    /// Goes on with a download, from its beginning or from where it broke, to its end.
    fn go_on(
        &self,
        download: &mut Download,
        path: &Path,
        key: &NodeName,
        from: &NimbusAddress,
    ) -> Result<Begun, Broken> {
        let mut connection = Connection::open(from, self.limits.timeouts)?;
        let result = connection.call(&BeginBlobDownload { key: Some(key.to_string()) })?;
        let session = result.session.clone();
        let begun = self.begun(result).map_err(Broken::ForGood)?;
        if download.begun.get_or_insert_with(|| begun.clone()) != &begun {
            return Err(Broken::ForGood("it has another content by now".into()));
        }
        while download.bytes < begun.bytes {
            let session = SessionText::at(&session, download.bytes);
            let Binary(chunk) = connection.call(&DownloadBlobChunk { session: Some(session) })?;
            if chunk.is_empty() || download.bytes + chunk.len() as u64 > begun.bytes {
                let why = format!("it ends at another place than at {} bytes", begun.bytes);
                return Err(Broken::ForGood(why));
            }
            download.file.write_all(&chunk).map_err(|error| Broken::ForGood(on_disk(path, &error)))?;
            download.sum.update(&chunk);
            download.bytes += chunk.len() as u64;
        }
        Ok(begun)
    }

    /// What a nimbus says of a content.
    fn begun(&self, result: BeginDownloadResult) -> Result<Begun, String> {
        let number = u32::try_from(result.version).map_err(|_| format!("{} is no number", result.version))?;
        let bytes = result.data_size.and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = bytes.ok_or("it does not say how long the content is")?;
        if bytes > self.limits.bytes_max {
            return Err(format!("it has {bytes} bytes, and {} are taken", self.limits.bytes_max));
        }
        let sha256 = SessionText::sha256(&result.session).ok_or("it gives no checksum, and is no Ringstorm")?;
        Ok(Begun { number, bytes, sha256: sha256.to_owned() })
    }
}

/// Why a download did not come to its end.
#[derive(Debug)]
enum Broken {
    /// To go on may help.
    ForNow(String),
    /// It does not.
    ForGood(String),
}

impl From<CallFailure> for Broken {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::NotSent(why) | CallFailure::Unknown(why) => Self::ForNow(why),
            refused => Self::ForGood(refused.to_string()),
        }
    }
}

fn on_disk(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
