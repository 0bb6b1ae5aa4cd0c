//! What is found when the directory is opened.
//!
//! Leftovers of changes that did not come to their end go: files that have the names of contents and are named by no
//! manifest. Everything else that does not belong here is named in a line of the log and left aside: files of strangers,
//! manifests that cannot be read (which get another name, so that the blobs can be fetched anew), contents that are not
//! what the manifest says.
//!
//! Threading: before anybody else has the directory. Errors: only those that no start is possible with.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringstorm_file::read_bounded;
use ringstorm_lifecycle::conf;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_nimbus::interface::{Content, HeldBlob};
use ringstorm_records::payload;
use ringstorm_records::znode::NodeName;

use super::manifest::{Entry, Manifest, NAME, NEW, is_content_name};
use super::{CodeDirectory, Disk, Held, held_file};
use crate::files::sum_of;
use crate::random::random_suffix;

/// The folder of topologies' groups.
pub(super) const TOPOLOGIES: &str = "topologies";

/// The folder of all other groups.
pub(super) const BLOBS: &str = "blobs";

/// The folder of contents that are on their way here.
pub(super) const INCOMING: &str = "incoming";

/// What stands in the name of a manifest that could not be read.
const DAMAGED: &str = "damaged";

/// The longest record that is read of a blob, in bytes as it lies.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// A directory that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) directory: CodeDirectory,
    /// All that it holds and that can be read.
    pub(crate) blobs: Vec<HeldBlob>,
    /// Lines for the log.
    pub(crate) notes: Vec<String>,
}

impl CodeDirectory {
    /// Opens the directory, which is made where it is not there.
    ///
    /// # Errors
    /// It cannot be made or read.
    pub(crate) fn open(root: &Path, disk: Disk) -> io::Result<Opened> {
        let directory = Self { root: root.to_owned(), disk, held: Held::default() };
        let (mut blobs, mut notes) = (Vec::new(), Vec::new());
        for folder in [TOPOLOGIES, BLOBS, INCOMING] {
            directory.disk.make_folder(&root.join(folder))?;
        }
        for entry in fs::read_dir(root.join(INCOMING))? {
            directory.disk.remove_file(&entry?.path())?;
        }
        for folder in [TOPOLOGIES, BLOBS] {
            for entry in fs::read_dir(root.join(folder))? {
                let path = entry?.path();
                if path.is_dir() {
                    directory.open_group(&path, &mut blobs, &mut notes)?;
                } else {
                    notes.push(left_aside(&path));
                }
            }
        }
        Ok(Opened { directory, blobs, notes })
    }

    fn open_group(&self, folder: &Path, blobs: &mut Vec<HeldBlob>, notes: &mut Vec<String>) -> io::Result<()> {
        let manifest = match Manifest::read(folder) {
            Ok(manifest) => manifest.unwrap_or_default(),
            Err(why) => {
                let aside = folder.join(format!("{NAME}.{DAMAGED}-{}", random_suffix()));
                self.disk.rename(&folder.join(NAME), &aside)?;
                notes.push(format!("{why}; it is now {}, and is left aside", aside.display()));
                return Ok(());
            }
        };
        for (key, entry) in &manifest.blobs {
            match self.open_blob(folder, key, entry) {
                Ok(blob) => {
                    let file = held_file(folder, entry, blob.content.clone());
                    self.held.with(|held| held.insert(blob.key.clone(), file));
                    blobs.push(blob);
                }
                Err(why) => notes.push(format!("{key} in {} is left aside: {why}", folder.display())),
            }
        }
        notes.extend(tidy(&self.disk, folder, &manifest)?);
        Ok(())
    }

    fn open_blob(&self, folder: &Path, key: &str, entry: &Entry) -> Result<HeldBlob, String> {
        let key = NodeName::new(key).map_err(|error| error.to_string())?;
        if self.group(&key) != folder {
            return Err("it belongs to another folder".into());
        }
        let path = folder.join(&entry.file);
        let metadata = fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !metadata.is_file() {
            return Err(format!("{} is not a file", path.display()));
        }
        if metadata.len() != entry.bytes {
            return Err(format!("{} has {} bytes, and should have {}", path.display(), metadata.len(), entry.bytes));
        }
        let content = content_of(&key, &path)?;
        // A file is checked by whoever gets it: there may be very many, and they are large.
        if content != Content::Opaque {
            let sum = read_record(&path).map(|bytes| sum_of(&bytes))?;
            if sum != entry.sha256 {
                return Err(format!("{} is not what its checksum says", path.display()));
            }
        }
        Ok(HeldBlob { key, number: entry.number, content })
    }
}

/// What a blob holds, as far as a nimbus reads it.
pub(super) fn content_of(key: &NodeName, path: &Path) -> Result<Content, String> {
    let blob = TopologyBlob::of_key(key.as_str()).map(|(_, blob)| blob);
    let read = || read_record(path);
    let unreadable = |error: String| format!("{} cannot be read: {error}", path.display());
    match blob {
        None | Some(TopologyBlob::Jar) => Ok(Content::Opaque),
        Some(TopologyBlob::Code) => {
            let code = payload::decode(&read()?).map_err(|error| unreadable(error.to_string()))?;
            Ok(Content::Code(Arc::new(code)))
        }
        Some(TopologyBlob::Conf) => {
            let conf = conf::decode(&read()?).map_err(|error| unreadable(error.to_string()))?;
            Ok(Content::Conf(Arc::new(conf)))
        }
    }
}

fn read_record(path: &Path) -> Result<Vec<u8>, String> {
    read_bounded(path, RECORD_BYTES_MAX).map_err(|error| format!("{}: {error}", path.display()))
}

/// Removes what changes of a group have left, and the group if there is nothing in it; names what does not belong there.
pub(super) fn tidy(disk: &Disk, folder: &Path, manifest: &Manifest) -> io::Result<Vec<String>> {
    let entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_damaged = entries.iter().any(|path| name(path).contains(DAMAGED));
    let is_named = |file: &str| manifest.blobs.values().any(|entry| entry.file == file);
    let mut notes = Vec::new();
    for path in &entries {
        let file = name(path);
        if file == NEW {
            disk.remove_file(path)?;
        } else if is_content_name(&file) {
            // Beside a manifest that could not be read a content may be the last of its kind.
            if !is_named(&file) && !is_damaged {
                disk.remove_file(path)?;
            }
        } else if file != NAME {
            notes.push(left_aside(path));
        }
    }
    if manifest.blobs.is_empty() && !is_damaged && notes.is_empty() {
        disk.remove_file(&folder.join(NAME))?;
        disk.remove_folder(folder)?;
    }
    Ok(notes)
}

fn left_aside(path: &Path) -> String {
    format!("{} does not belong there, and is left aside", path.display())
}
