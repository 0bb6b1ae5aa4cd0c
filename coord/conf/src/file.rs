//! Files that a person has named: read if they are files.
//!
//! Invariants: neither a pipe nor a device that stands where a file was meant holds anybody up, and no more is read than what
//! is wanted and a byte. Threading: whoever reads. Errors: those of the system, for whoever named the file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file to read it.
///
/// # Errors
/// It is not there, it is no regular file, or it may not be read. See [`is_wrong_path`].
pub fn open_regular(path: &Path) -> io::Result<File> {
    // The open of a pipe waits for whoever writes, unless it is asked not to.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    let what = match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () => "a device",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {what}, not a file")))
}

/// Reads a regular file, but of one that is too large no more than `bytes_max` and one byte, which is for the caller to
/// notice.
///
/// # Errors
/// Those of [`open_regular`], or it is not UTF-8.
pub fn read_regular(path: &Path, bytes_max: usize) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.take(bytes_max as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Whether the path is to blame for an error of [`open_regular`] or [`read_regular`], and not what lies there.
pub fn is_wrong_path(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for (path, wanted) in
            [(pipe.as_path(), "a pipe"), (folder.path(), "a folder"), (Path::new("/dev/null"), "a device")]
        {
            let error = read_regular(path, 10).unwrap_err();
            assert!(error.to_string().contains(wanted) && is_wrong_path(&error), "{path:?}: {error}");
        }
        assert!(is_wrong_path(&read_regular(&folder.path().join("gone"), 10).unwrap_err()));
        assert!(is_wrong_path(&read_regular(&pipe.join("below"), 10).unwrap_err()));
    }

    #[test]
    fn a_file_is_read_up_to_a_bound_and_what_it_holds_is_no_fault_of_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_regular(&path, 10).unwrap(), "0123456789");
        assert_eq!(read_regular(&path, 5).unwrap(), "012345");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(!is_wrong_path(&read_regular(&path, 10).unwrap_err()));
    }
}
