//! What lies on disk.
//!
//! A topology's folder holds its configuration, its structure, and a link to its executable, which lies among all
//! executables under the SHA-256 of its content. It comes into place whole, with the folder's name; something that a
//! crash has left lies in another folder and is removed at the start. What is run is what was checked: whatever seems to have
//! been changed since is read again before. Threading: see [`super`]. Errors: those of the file
//! system, with the path; a topology that is not whole is not here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ringstorm_caller::CODE_SHA256;
use ringstorm_lifecycle::conf;
use ringstorm_records::payload;
use ringstorm_records::records::StormTopology;
use ringstorm_records::znode::NodeName;
use ringstorm_supervisor::events::WorkerTimeouts;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::disk;
use crate::layout::{CODE_FILE, CONF_FILE, Layout, TOPOLOGY_FILE};

/// No configuration and no structure is larger, in bytes.
pub(super) const BLOB_BYTES_MAX: usize = payload::INFLATED_BYTES_MAX;

/// A part of an executable that nobody has gone on with for so long is removed.
const PART_KEPT: Duration = Duration::from_secs(24 * 3600);

/// The ending of an executable's name while only a part of it is here.
const PART: &str = ".part";

/// A file that has changed so lately may change again without its times showing it. More than the second in which it
/// changed, and than a tick of that clock.
const TIMES_TELL_AFTER: Duration = Duration::from_secs(2);

/// The code on this host's disk. Its clones share what they know of it.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    layout: Layout,
    /// Executables that were found to have their content, by that.
    checked: Arc<Mutex<BTreeMap<String, Fingerprint>>>,
}

/// By which it is seen that a file is the same and has not been changed. The time of the last change cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Fingerprint {
    fn of(path: &Path) -> io::Result<Self> {
        let it = fs::metadata(path)?;
        Ok(Self {
            device: it.dev(),
            inode: it.ino(),
            bytes: it.size(),
            modified: (it.mtime(), it.mtime_nsec()),
            changed: (it.ctime(), it.ctime_nsec()),
        })
    }

    /// Whether a change from now on would show: times are those of a clock that does not tick often.
    fn tells(&self) -> bool {
        let changed = Duration::from_secs(u64::try_from(self.changed.0).unwrap_or(u64::MAX));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        now.checked_sub(changed).is_some_and(|since| since >= TIMES_TELL_AFTER)
    }
}

impl Local {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, checked: Arc::default() }
    }

    /// The topologies that are here whole, with what their configurations say of workers. Everything else is removed.
    /// Lines for operators, too.
    ///
    /// # Errors
    /// The folders cannot be made or read.
    pub(crate) fn found(&self, timeout_max: Duration) -> io::Result<(BTreeMap<String, WorkerTimeouts>, Vec<String>)> {
        disk::remove_folder(&self.incoming())?;
        for folder in [self.layout.topologies(), self.layout.code_folder()] {
            disk::make_folder(&folder)?;
        }
        let (mut found, mut lines) = (BTreeMap::new(), Vec::new());
        let mut checked: BTreeMap<String, bool> = BTreeMap::new();
        for entry in fs::read_dir(self.layout.topologies())? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).filter(|name| NodeName::new(name).is_ok());
            let whole = name.ok_or_else(|| "it is no topology's".to_owned()).and_then(|name| {
                let conf = self.conf(name)?;
                self.structure(name).ok_or_else(|| "its structure cannot be read".to_owned())?;
                let code = self.code_of(name)?;
                let is_whole = *checked.entry(code.clone()).or_insert_with(|| self.has_its_content(&code));
                if is_whole { Ok((name.to_owned(), timeouts(&conf, timeout_max))) } else { Err(damaged(&code)) }
            });
            match whole {
                Ok((name, timeouts)) => drop(found.insert(name, timeouts)),
                Err(why) => {
                    lines.push(format!("{} is removed, and fetched again when it is needed: {why}", path.display()));
                    disk::remove_folder(&path).or_else(|_| disk::remove_file(&path))?;
                }
            }
        }
        checked
            .iter()
            .filter(|(_, is_whole)| !**is_whole)
            .try_for_each(|(code, _)| disk::remove_file(&self.code(code)))?;
        self.remove_unused()?;
        Ok((found, lines))
    }

    /// A topology's configuration.
    ///
    /// # Errors
    /// It is not here, or damaged.
    pub(crate) fn conf(&self, topology: &str) -> Result<Map<String, Value>, String> {
        let bytes = self.conf_bytes(topology).map_err(|error| error.to_string())?;
        conf::decode(&bytes).map_err(|error| format!("the configuration of {topology}: {error}"))
    }

    pub(super) fn conf_bytes(&self, topology: &str) -> io::Result<Vec<u8>> {
        disk::read_bounded(&self.layout.topology(topology).join(CONF_FILE), BLOB_BYTES_MAX)
    }

    /// A topology's structure, if it is here.
    pub(crate) fn structure(&self, topology: &str) -> Option<StormTopology> {
        let bytes = disk::read_bounded(&self.layout.topology(topology).join(TOPOLOGY_FILE), BLOB_BYTES_MAX).ok()?;
        payload::decode(&bytes).ok()
    }

    /// A topology's executable, which has the content that it should have. One that has another is removed.
    ///
    /// # Errors
    /// It is not here, or was changed since it came.
    pub(crate) fn executable(&self, topology: &str) -> Result<PathBuf, String> {
        let sha256 = self.code_of(topology)?;
        let path = self.code(&sha256);
        if !path.is_file() {
            return Err(format!("{} is not there", path.display()));
        }
        if self.has_its_content(&sha256) {
            return Ok(path);
        }
        // What cannot be removed is not run the next time either.
        let _ = disk::remove_file(&path);
        Err(damaged(&sha256))
    }

    /// How many executables need not be read again.
    #[cfg(test)]
    pub(super) fn checked_count(&self) -> usize {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether an executable has the content of its name. It is read, unless it was before and has not been changed since.
    fn has_its_content(&self, sha256: &str) -> bool {
        let path = self.code(sha256);
        let Ok(before) = Fingerprint::of(&path) else { return false };
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked().get(sha256) == Some(&before) {
            return true;
        }
        let tells = before.tells();
        let is_right = sha256_of(&path).is_ok_and(|found| found == sha256);
        let is_same = Fingerprint::of(&path).is_ok_and(|after| after == before);
        let mut checked = checked();
        if is_right && is_same && tells {
            checked.insert(sha256.to_owned(), before);
        } else {
            checked.remove(sha256);
        }
        is_right
    }

    /// Every topology that has a folder.
    pub(crate) fn topologies(&self) -> Vec<String> {
        let entries = fs::read_dir(self.layout.topologies()).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// The executable with this content.
    pub(super) fn code(&self, sha256: &str) -> PathBuf {
        self.layout.code_folder().join(sha256)
    }

    /// What there is of it while it is fetched.
    pub(super) fn part(&self, sha256: &str) -> PathBuf {
        self.layout.code_folder().join(format!("{sha256}{PART}"))
    }

    /// Puts a topology in place, or in the place of what is here of it. False if its executable is not here.
    pub(super) fn place(&self, topology: &str, conf: &[u8], structure: &[u8], sha256: &str) -> io::Result<bool> {
        if !self.code(sha256).is_file() {
            return Ok(false);
        }
        let (incoming, place) = (self.incoming().join(topology), self.layout.topology(topology));
        disk::remove_folder(&incoming)?;
        disk::make_folder(&incoming)?;
        // The configuration has secrets.
        disk::write_whole(&incoming.join(CONF_FILE), conf, 0o600)?;
        disk::write_whole(&incoming.join(TOPOLOGY_FILE), structure, 0o600)?;
        symlink(Path::new("../../code").join(sha256), incoming.join(CODE_FILE))?;
        disk::sync_folder_of(&incoming.join(CODE_FILE))?;
        disk::remove_folder(&place)?;
        fs::rename(&incoming, &place)?;
        disk::sync_folder_of(&place)?;
        Ok(true)
    }

    /// Removes a topology, and its executable unless another topology has it, too.
    pub(super) fn remove(&self, topology: &str) -> io::Result<()> {
        disk::remove_folder(&self.layout.topology(topology))?;
        self.remove_unused()
    }

    fn remove_unused(&self) -> io::Result<()> {
        let used: BTreeSet<String> = self.topologies().iter().filter_map(|it| self.code_of(it).ok()).collect();
        for entry in fs::read_dir(self.layout.code_folder())?.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let modified = entry.metadata().and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            // Somebody may be about to go on with it.
            let is_recent = modified.elapsed().unwrap_or_default() < PART_KEPT;
            if !(used.contains(&name) || name.ends_with(PART) && is_recent) {
                disk::remove_file(&entry.path())?;
            }
        }
        Ok(())
    }

    /// The content of a topology's executable, by its link.
    fn code_of(&self, topology: &str) -> Result<String, String> {
        let link = self.layout.topology(topology).join(CODE_FILE);
        let target = fs::read_link(&link).map_err(|error| format!("{}: {error}", link.display()))?;
        let name = target.file_name().and_then(|name| name.to_str()).filter(|name| is_sha256(name));
        name.map(str::to_owned).ok_or_else(|| format!("{} leads to no executable", link.display()))
    }

    fn incoming(&self) -> PathBuf {
        self.layout.supervisor().join("incoming")
    }
}

/// What a configuration says its executable's content is.
pub(super) fn code_of_conf(conf: &Map<String, Value>) -> Result<String, String> {
    let said = conf.get(CODE_SHA256).and_then(Value::as_str);
    let sha256 = said.filter(|text| is_sha256(text)).map(str::to_owned);
    sha256.ok_or_else(|| format!("its configuration has no {CODE_SHA256}; it was not submitted to Ringstorm"))
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// What a configuration says of workers.
pub(super) fn timeouts(conf: &Map<String, Value>, timeout_max: Duration) -> WorkerTimeouts {
    let secs = |key: &str| conf.get(key).and_then(Value::as_u64).map(Duration::from_secs);
    WorkerTimeouts {
        worker: secs("topology.worker.timeout.secs").map(|timeout| timeout.min(timeout_max)),
        start: secs("supervisor.worker.start.timeout.secs"),
    }
}

pub(super) fn damaged(sha256: &str) -> String {
    format!("its executable does not have the content that it should have, {sha256}")
}

fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    hash(&mut ringstorm_file::open_regular(path)?, &mut hasher)?;
    Ok(hex(hasher))
}

/// Adds what is left of a file.
pub(super) fn hash(file: &mut File, hasher: &mut Sha256) -> io::Result<u64> {
    let mut bytes = vec![0; 256 << 10];
    let mut total = 0;
    loop {
        let count = file.read(&mut bytes)?;
        if count == 0 {
            return Ok(total);
        }
        hasher.update(&bytes[..count]);
        total += count as u64;
    }
}

pub(super) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
