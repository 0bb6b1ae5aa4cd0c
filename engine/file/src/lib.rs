//! Files that others have named or left: read if they are files, and no more of them than is wanted.
//!
//! Invariants: neither a pipe nor a device that stands where a file was meant holds anybody up, and memory is bounded by what
//! is wanted and a byte. What is there and is no file is never taken for absent, a link that leads nowhere included.
//! Threading: whoever reads. Errors: those of the system, for whoever named the file.
#![forbid(unsafe_code)]

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Opens a regular file to read it.
///
/// # Errors
/// See [`open_regular_with`].
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file. Nobody waits for the other end of a pipe.
///
/// # Errors
/// It is not there, or may not be opened; of the kind [`ErrorKind::InvalidInput`] with what it is, if it is no regular file
/// but something else, or a link that leads nowhere. See [`is_wrong_path`].
pub fn open_regular_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // The open of a pipe waits for whoever is at its other end, unless it is asked not to.
    let file = match options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path) {
        Ok(file) => file,
        Err(error) => return Err(what_stands_there(path, &error).map_or(error, no_file)),
    };
    let kind = file.metadata()?.file_type();
    if kind.is_file() { Ok(file) } else { Err(no_file(name_of(kind))) }
}

/// What is no file and cannot even be opened.
fn what_stands_there(path: &Path, error: &io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::NOENT => {
            let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
            is_link.then_some("a link that leads nowhere")
        }
        Errno::LOOP => Some("a link that leads back to itself"),
        // A socket, or a pipe that is to be written and that nobody reads; a folder that is to be written.
        Errno::NXIO | Errno::ISDIR => Some(name_of(fs::metadata(path).ok()?.file_type())),
        _ => None,
    }
}

fn name_of(kind: FileType) -> &'static str {
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

fn no_file(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("it is {what}, not a file"))
}

/// Reads a regular file of at most so many bytes.
///
/// # Errors
/// Those of [`open_regular`]; of the kind [`ErrorKind::FileTooLarge`], if it has more.
pub fn read_bounded(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes")));
    }
    Ok(bytes)
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

/// Reads the end of a regular file: at most so many bytes.
///
/// # Errors
/// Those of [`open_regular`].
pub fn read_end(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(bytes_max)))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the path is to blame for an error of this module, and not what the file holds or who may read it.
pub fn is_wrong_path(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixDatagram;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_is_no_file_is_refused_at_once_with_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _socket = UnixDatagram::bind(at("socket")).unwrap();
        symlink("none", at("nowhere")).unwrap();
        symlink("circle", at("circle")).unwrap();
        for (path, wanted) in [
            (at("pipe"), "a pipe"),
            (at(""), "a folder"),
            ("/dev/zero".into(), "a device"),
            (at("socket"), "a socket"),
            (at("nowhere"), "a link that leads nowhere"),
            (at("circle"), "a link that leads back to itself"),
        ] {
            for error in [read_regular(&path, 10).unwrap_err(), read_bounded(&path, 10).unwrap_err()] {
                assert!(error.to_string().contains(wanted) && is_wrong_path(&error), "{path:?}: {error}");
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path:?}");
            }
            if wanted.starts_with("a link that leads nowhere") {
                continue;
            }
            let error = open_regular_with(OpenOptions::new().append(true), &path).unwrap_err();
            assert!(error.to_string().contains(wanted), "{path:?}: {error}");
        }
        for gone in [at("gone"), at("pipe/below")] {
            let error = read_regular(&gone, 10).unwrap_err();
            assert!(is_wrong_path(&error) && error.kind() != ErrorKind::InvalidInput, "{gone:?}: {error}");
        }
    }

    #[test]
    fn a_file_is_read_up_to_a_bound_and_what_it_holds_is_no_fault_of_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        symlink("file", folder.path().join("link")).unwrap();
        assert_eq!(read_regular(&folder.path().join("link"), 10).unwrap(), "0123456789");
        assert_eq!(read_regular(&path, 5).unwrap(), "012345");
        assert_eq!(read_bounded(&path, 10).unwrap(), b"0123456789");
        assert_eq!((read_end(&path, 3).unwrap(), read_end(&path, 30).unwrap().len()), (b"789".to_vec(), 10));
        let error = read_bounded(&path, 5).unwrap_err();
        assert!(error.to_string().contains("more than 5 bytes") && !is_wrong_path(&error), "{error}");
        fs::write(&path, b"\xff").unwrap();
        assert!(!is_wrong_path(&read_regular(&path, 10).unwrap_err()));
    }
}
