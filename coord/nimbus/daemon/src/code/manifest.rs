//! The manifest of a group of blobs: which file holds which content.
//!
//! JSON, so that people can read it: `{"format": 1, "blobs": {"<key>": {"number", "file", "bytes", "sha256"}}}`. What a later
//! version adds is passed over, so that a nimbus that goes back to this one keeps its code; whatever this one must not pass
//! over has another format.
//! Threading: plain data. Errors: texts that name the file; a manifest that cannot be read is garbage, and left aside.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use ringstorm_file::read_bounded;
use serde::{Deserialize, Serialize};

/// Its name in the folder of the group.
pub(super) const NAME: &str = "manifest.json";

/// The name of one that is not in force yet.
pub(super) const NEW: &str = "manifest.json.new";

/// The longest that is read, in bytes. A group has three blobs at most.
const BYTES_MAX: usize = 1 << 20;

/// The format of manifests that is written and read.
const FORMAT: u32 = 1;

/// The manifest of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    /// By key.
    pub(super) blobs: BTreeMap<String, Entry>,
}

/// A content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Its number, from 1.
    pub(super) number: u32,
    /// Its file, beside the manifest.
    pub(super) file: String,
    /// How long it is.
    pub(super) bytes: u64,
    /// What it holds.
    pub(super) sha256: String,
}

impl Default for Manifest {
    fn default() -> Self {
        Self { format: FORMAT, blobs: BTreeMap::new() }
    }
}

impl Manifest {
    /// That of a group; `None` where there is none.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(NAME);
        let garbage = |why: &str| format!("{} cannot be read: {why}", path.display());
        let bytes = match read_bounded(&path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(garbage(&error.to_string())),
        };
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| garbage(&error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(garbage(&format!("its format is {}, and {FORMAT} is read", manifest.format)));
        }
        match manifest.blobs.values().find(|entry| !is_content_name(&entry.file)) {
            Some(entry) => Err(garbage(&format!("{:?} is no name of a content", entry.file))),
            None => Ok(Some(manifest)),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("keys are texts, values numbers and texts");
        bytes.push(b'\n');
        bytes
    }
}

/// Whether a file has the name of a content: a number, and what makes it one of its kind.
pub(super) fn is_content_name(name: &str) -> bool {
    name.split_once('-').is_some_and(|(number, suffix)| {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && suffix.len() == 16 && suffix.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
