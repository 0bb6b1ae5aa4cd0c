//! The code directory: blobs of topologies on disk (`<storm.local.dir>/nimbus/code`), each with the number of its content.
//!
//! Blobs that come and go together lie in one folder, a *group*: those of a topology in `topologies/<id>`, any other in
//! `blobs/<key>`. A group has a manifest, which says which file holds which content; the files have names that are never
//! used twice and are never written again. So a change of a group is one rename, of its manifest, and everything before
//! that rename is only preparation: after a crash at any moment a group is as it was before the change, or as it is after
//! it, with all of its blobs.
//!
//! - [`disk`]: the steps that a change is made of, each of which a test may make the last.
//! - [`manifest`]: the manifest of a group.
//! - [`opening`]: what is found at the start; garbage is named and left aside.
//! - [`fetch`]: contents from other nimbuses.
//! - [`thread`]: what serves the machine's requests.
//!
//! Invariants: what a manifest names was made durable before; nothing of a stranger's is removed. Threading: a directory
//! belongs to whoever holds its lock; what is read from [`Held`] needs none. Errors: [`CodeFailure`], after which the
//! directory is as before.

mod disk;
mod fetch;
mod manifest;
mod opening;
mod thread;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ringstorm_lifecycle::conf;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_nimbus::interface::{BlobNumbers, CodeFailure, Conf, Content, HeldBlob};
use ringstorm_records::payload;
use ringstorm_records::records::StormTopology;
use ringstorm_records::znode::NodeName;

use crate::files::sum_of;
use crate::random::random_suffix;

pub(crate) use disk::Disk;
pub(crate) use fetch::{FetchLimits, Fetcher};
use manifest::{Entry, Manifest};
pub(crate) use thread::CodeThreads;

/// A content that can be read now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldFile {
    /// The number of the content.
    pub(crate) number: u32,
    /// Where it lies. The file is never written again, and may be removed when there is another content.
    pub(crate) path: PathBuf,
    /// How long it is.
    pub(crate) bytes: u64,
    /// What it holds, as 64 hexadecimal digits of SHA-256.
    pub(crate) sha256: String,
    /// What it holds, as far as a nimbus reads it.
    pub(crate) content: Content,
}

/// What is held, for whoever reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Arc<Mutex<BTreeMap<NodeName, HeldFile>>>);

impl Held {
    /// A blob.
    pub(crate) fn get(&self, key: &str) -> Option<HeldFile> {
        let key = NodeName::new(key).ok()?;
        self.with(|held| held.get(&key).cloned())
    }

    /// All keys, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.with(|held| held.keys().map(NodeName::to_string).collect())
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<NodeName, HeldFile>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where a content comes from.
#[derive(Debug)]
enum Source<'a> {
    /// Bytes.
    Bytes(Vec<u8>),
    /// A file that is never written again.
    File { path: &'a Path, sha256: String },
}

/// A content that is to be stored.
#[derive(Debug)]
struct NewContent<'a> {
    key: NodeName,
    number: u32,
    source: Source<'a>,
    content: Content,
}

/// The directory.
#[derive(Debug)]
pub(crate) struct CodeDirectory {
    root: PathBuf,
    disk: Disk,
    held: Held,
}

impl CodeDirectory {
    /// What it holds, for whoever reads.
    pub(crate) fn held(&self) -> Held {
        self.held.clone()
    }

    /// Stores the blobs of a topology, all of them or none. `file` was uploaded, and holds what `sha256` says.
    pub(crate) fn store(
        &mut self,
        topology: &NodeName,
        file: (&Path, &str),
        code: &Arc<StormTopology>,
        conf: &Arc<Conf>,
        numbers: BlobNumbers,
    ) -> Result<(), CodeFailure> {
        let key = |blob: TopologyBlob| {
            NodeName::new(&blob.key(topology.as_str())).map_err(|error| CodeFailure::Other(error.to_string()))
        };
        let (path, sha256) = (file.0, file.1.to_owned());
        let contents = vec![
            NewContent {
                key: key(TopologyBlob::Jar)?,
                number: numbers.jar,
                source: Source::File { path, sha256 },
                content: Content::Opaque,
            },
            NewContent {
                key: key(TopologyBlob::Code)?,
                number: numbers.code,
                source: Source::Bytes(payload::encode(&**code)),
                content: Content::Code(Arc::clone(code)),
            },
            NewContent {
                key: key(TopologyBlob::Conf)?,
                number: numbers.conf,
                source: Source::Bytes(conf::encode(conf)),
                content: Content::Conf(Arc::clone(conf)),
            },
        ];
        self.change(contents)
    }

    /// Stores a content that this nimbus made.
    pub(crate) fn replace(&mut self, blob: &HeldBlob) -> Result<(), CodeFailure> {
        let bytes = match &blob.content {
            Content::Code(code) => payload::encode(&**code),
            Content::Conf(conf) => conf::encode(conf),
            Content::Opaque => {
                let why = format!("{} is a file, of which only the first content is made here", blob.key);
                return Err(CodeFailure::Other(why));
            }
        };
        let (key, number, content) = (blob.key.clone(), blob.number, blob.content.clone());
        self.change(vec![NewContent { key, number, source: Source::Bytes(bytes), content }])
    }

    /// Stores a content that came whole into a file of its own; the file goes.
    pub(crate) fn adopt(&mut self, key: &NodeName, number: u32, file: (&Path, &str)) -> Result<HeldBlob, CodeFailure> {
        let content = opening::content_of(key, file.0).map_err(CodeFailure::Other)?;
        let (path, sha256) = (file.0, file.1.to_owned());
        let source = Source::File { path, sha256 };
        self.change(vec![NewContent { key: key.clone(), number, source, content: content.clone() }])?;
        Ok(HeldBlob { key: key.clone(), number, content })
    }

    /// Removes a blob; one that is not there is fine.
    pub(crate) fn remove(&mut self, key: &NodeName) -> Result<(), CodeFailure> {
        let folder = self.group(key);
        let failed = |error: io::Error| CodeFailure::Other(format!("{key} cannot be removed: {error}"));
        let Some(mut manifest) = Manifest::read(&folder).map_err(CodeFailure::Other)? else {
            self.held.with(|held| held.remove(key));
            return Ok(());
        };
        if manifest.blobs.remove(key.as_str()).is_none() {
            return Ok(());
        }
        self.disk.commit(&folder, &manifest).map_err(failed)?;
        self.held.with(|held| held.remove(key));
        // What follows may be left to the next start.
        self.tidy(&folder, &manifest);
        Ok(())
    }

    /// The folder of the group that a blob belongs to.
    fn group(&self, key: &NodeName) -> PathBuf {
        // Not every text before the end of such a key may be the name of a folder.
        let topology = TopologyBlob::of_key(key.as_str()).and_then(|(topology, _)| NodeName::new(topology).ok());
        match topology {
            Some(topology) => self.root.join(opening::TOPOLOGIES).join(topology.as_str()),
            None => self.root.join(opening::BLOBS).join(key.as_str()),
        }
    }

    /// Stores contents of one group, all of them or none.
    fn change(&mut self, contents: Vec<NewContent<'_>>) -> Result<(), CodeFailure> {
        let Some(folder) = contents.first().map(|content| self.group(&content.key)) else { return Ok(()) };
        let changed = self.change_group(&folder, contents);
        // What was prepared in vain goes at once: the disk may be full.
        if let Ok(manifest) = Manifest::read(&folder) {
            self.tidy(&folder, &manifest.unwrap_or_default());
        }
        changed
    }

    fn change_group(&self, folder: &Path, contents: Vec<NewContent<'_>>) -> Result<(), CodeFailure> {
        let failed = |error: io::Error| CodeFailure::Other(format!("{} cannot be changed: {error}", folder.display()));
        let mut manifest = Manifest::read(folder).map_err(CodeFailure::Other)?.unwrap_or_default();
        self.disk.make_folder(folder).map_err(failed)?;
        let mut stored = Vec::new();
        for content in contents {
            let entry = self.prepare(folder, &content).map_err(failed)?;
            manifest.blobs.insert(content.key.to_string(), entry.clone());
            stored.push((content.key, held_file(folder, &entry, content.content)));
        }
        self.disk.commit(folder, &manifest).map_err(failed)?;
        self.held.with(|held| held.extend(stored));
        Ok(())
    }

    /// Puts a content into a file of its own, durably.
    fn prepare(&self, folder: &Path, content: &NewContent<'_>) -> io::Result<Entry> {
        let file = format!("{}-{}", content.number, random_suffix());
        let path = folder.join(&file);
        let (bytes, sha256) = match &content.source {
            Source::Bytes(bytes) => {
                self.disk.write(&path, bytes)?;
                (bytes.len() as u64, sum_of(bytes))
            }
            Source::File { path: from, sha256 } => (self.disk.link(from, &path)?, sha256.clone()),
        };
        Ok(Entry { number: content.number, file, bytes, sha256 })
    }

    /// Removes contents of a group that its manifest does not name, and a group without blobs.
    fn tidy(&self, folder: &Path, manifest: &Manifest) {
        // What stays here is found again at the next start.
        let _ = opening::tidy(&self.disk, folder, manifest);
    }
}

fn held_file(folder: &Path, entry: &Entry, content: Content) -> HeldFile {
    HeldFile {
        number: entry.number,
        path: folder.join(&entry.file),
        bytes: entry.bytes,
        sha256: entry.sha256.clone(),
        content,
    }
}

#[cfg(test)]
mod tests;
