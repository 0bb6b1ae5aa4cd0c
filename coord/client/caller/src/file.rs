//! The file of a submission, and how it is sent.
//!
//! The file is opened once, so that every upload of a submission sends the same one, whatever becomes of its path. That it
//! was not written to meanwhile is looked at after each upload.
//!
//! Invariant: an upload is what the file was when it was opened, or an error. Threading: one caller, who waits. Errors: of
//! nimbus, which may go better elsewhere; of the file, which may not.

use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringstorm_nimbus::interface::Upload;
use ringstorm_records::nimbus::{BeginFileUpload, FinishFileUpload, UploadChunk};
use ringstorm_records::thrift::Binary;
use sha2::{Digest as _, Sha256};

use crate::connection::Connection;

/// How many bytes of a file go in one call. Storm's client sends as many.
pub const UPLOAD_CHUNK_BYTES: usize = 307_200;

/// Why a file was not uploaded.
#[derive(Debug)]
pub(crate) enum UploadFailure {
    /// Nimbus did not take it.
    Nimbus(String),
    /// It cannot be read, or is not what it was.
    File(String),
}

/// A file that is to be uploaded.
#[derive(Debug)]
pub(crate) struct UploadFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl UploadFile {
    /// Opens it; says what is wrong with it otherwise.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let cannot = |error| format!("the file {} cannot be read: {error}", path.display());
        // Before it is opened, since opening a pipe may wait for ever.
        if !std::fs::metadata(path).map_err(cannot)?.is_file() {
            return Err(format!("{} is not a file; give the executable of the topology", path.display()));
        }
        let file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.len() == 0 {
            return Err(format!("the file {} is empty; give the executable of the topology", path.display()));
        }
        Ok(Self { path: path.to_owned(), file, bytes: metadata.len(), modified: modified(&metadata) })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sends all of it. `sent` is told how many bytes were taken so far.
    pub(crate) fn upload(
        &mut self,
        connection: &mut Connection,
        sent: &mut dyn FnMut(u64),
    ) -> Result<Upload, UploadFailure> {
        let nimbus = |failure: crate::CallFailure| UploadFailure::Nimbus(failure.to_string());
        self.file.rewind().map_err(|error| self.unreadable(&error))?;
        let location = connection.call(&BeginFileUpload {}).map_err(nimbus)?;
        let mut checksum = Sha256::new();
        let mut sent_bytes = 0;
        loop {
            let mut chunk = Vec::with_capacity(UPLOAD_CHUNK_BYTES);
            let part = (&self.file).take(UPLOAD_CHUNK_BYTES as u64).read_to_end(&mut chunk);
            part.map_err(|error| self.unreadable(&error))?;
            if chunk.is_empty() {
                break;
            }
            sent_bytes += chunk.len() as u64;
            if sent_bytes > self.bytes {
                return Err(self.changed());
            }
            checksum.update(&chunk);
            let call = UploadChunk { location: Some(location.clone()), chunk: Some(Binary(chunk)) };
            connection.call(&call).map_err(nimbus)?;
            sent(sent_bytes);
        }
        let now = self.file.metadata().map_err(|error| self.unreadable(&error))?;
        if (sent_bytes, now.len(), modified(&now)) != (self.bytes, self.bytes, self.modified) {
            return Err(self.changed());
        }
        connection.call(&FinishFileUpload { location: Some(location.clone()) }).map_err(nimbus)?;
        let checksum = checksum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Upload { name: location, checksum })
    }

    fn unreadable(&self, error: &std::io::Error) -> UploadFailure {
        UploadFailure::File(format!("the file {} cannot be read: {error}", self.path.display()))
    }

    fn changed(&self) -> UploadFailure {
        UploadFailure::File(format!(
            "the file {} was written to while it was uploaded; submit it again when nobody writes it",
            self.path.display()
        ))
    }
}

fn modified(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}
