//! Files that are whole after a crash at any moment.
//!
//! Invariants: a file under its final name is whole, and outlives a power failure once the call has returned; a pipe or
//! whatever else somebody has put where a file was holds nobody up. Threading: any thread; two that write the same file must
//! not do so at once. Errors: those of the file system, with the path.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ringstorm_file::open_regular_with;
use rustix::fs::{CWD, RenameFlags};

/// The least room that a text has which is written within what is there, in bytes.
const ROOM_BYTES: usize = 64 << 10;

/// Writes a file whole, in place of what is there. `mode` is that of the file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let new = beside(path, ".new");
    let write = || {
        // One that a crash has left may have another mode.
        remove_file(&new)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        sync_folder_of(path)
    };
    write().map_err(|error| {
        let _ = remove_file(&new);
        about(path, "cannot be written", error)
    })
}

/// Writes a text whole, in place of what is there, and needs no room on the disk that it did not have before: what is
/// written goes into a second file that is kept for that, and the two change places. The text is followed by line breaks up
/// to the size of the file, which never shrinks. So a disk that somebody else has filled does no harm, as long as the file
/// system overwrites in place, and the text does not grow much.
pub(crate) fn write_whole_within(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let spare = beside(path, ".spare");
    let write = || {
        let mut file =
            open_regular_with(OpenOptions::new().write(true).create(true).truncate(false).mode(mode), &spare)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let wanted = if text.len() <= length { length } else { (2 * text.len()).max(ROOM_BYTES) };
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(wanted, b'\n');
        file.write_all(&bytes)?;
        file.sync_all()?;
        if path.exists() {
            rustix::fs::renameat_with(CWD, &spare, CWD, path, RenameFlags::EXCHANGE)?;
        } else {
            std::fs::rename(&spare, path)?;
        }
        sync_folder_of(path)
    };
    // Not every file system lets two files change places.
    write().or_else(|_| write_whole(path, text.as_bytes(), mode))
}

/// Writes a file that needs not outlive a power failure: what reads it does not either.
pub(crate) fn write_plain(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let write = || {
        let mut file = open_regular_with(OpenOptions::new().write(true).create(true).truncate(true).mode(mode), path)?;
        file.write_all(bytes)
    };
    write().map_err(|error| about(path, "cannot be written", error))
}

/// Reads a file of at most so many bytes.
pub(crate) fn read_bounded(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    ringstorm_file::read_bounded(path, bytes_max).map_err(|error| about(path, "cannot be read", error))
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path).map_err(|error| about(path, "cannot be made", error))
}

/// Removes a file, if it is there.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    absent_is_fine(std::fs::remove_file(path)).map_err(|error| about(path, "cannot be removed", error))
}

/// Removes a folder with everything in it, if it is there, or what is there in its place. What its owner may not write is
/// made so first.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok_and(|data| !data.is_dir()) {
        return remove_file(path);
    }
    let removed = absent_is_fine(std::fs::remove_dir_all(path)).or_else(|_| {
        make_removable(path);
        absent_is_fine(std::fs::remove_dir_all(path))
    });
    removed.map_err(|error| about(path, "cannot be removed", error))
}

/// What was renamed, made or removed in the folder of this path outlives a power failure.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder)?.sync_all()
}

/// A path in the same folder whose name has so much more at its end.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

fn absent_is_fine(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// User code may have made folders that nobody may write.
fn make_removable(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let _ = std::fs::set_permissions(&folder, Permissions::from_mode(0o700));
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        // A link is no folder here, whatever it leads to.
        folders.extend(entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).map(|it| it.path()));
    }
}

/// The number of the system's error, also behind words about a file.
pub(crate) fn os_error(error: &io::Error) -> Option<i32> {
    let about = || error.get_ref()?.downcast_ref::<AboutFile>();
    error.raw_os_error().or_else(|| about()?.source.raw_os_error())
}

#[derive(Debug, thiserror::Error)]
#[error("{} {what}: {source}", path.display())]
struct AboutFile {
    path: PathBuf,
    what: &'static str,
    source: io::Error,
}

pub(crate) fn about(path: &Path, what: &'static str, source: io::Error) -> io::Error {
    io::Error::new(source.kind(), AboutFile { path: path.to_owned(), what, source })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_file_is_written_whole_and_read_within_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        for text in ["first", "second, longer", ""] {
            write_whole(&path, text.as_bytes(), 0o600).unwrap();
            assert_eq!(read_bounded(&path, 20).unwrap(), text.as_bytes());
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        write_whole(&path, b"more than that", 0o600).unwrap();
        let why = read_bounded(&path, 4).unwrap_err().to_string();
        assert!(why.contains("more than 4 bytes") && why.contains("state"), "{why}");
        let why = write_whole(&folder.path().join("none/state"), b"", 0o600).unwrap_err().to_string();
        assert!(why.contains("none/state cannot be written"), "{why}");
    }

    #[test]
    fn what_is_written_within_its_room_takes_no_more_of_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let write = |text: &str| {
            write_whole_within(&path, text, 0o600).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap().trim_end(), text);
        };
        let files = || {
            let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap());
            files.map(|it| (it.ino(), it.len())).collect::<std::collections::BTreeSet<_>>()
        };
        write("first");
        write("second");
        let before = files();
        assert_eq!(before.len(), 2);
        for text in ["third, longer", "4", ""] {
            write(text);
            assert_eq!(files(), before);
        }
        write(&"x".repeat(ROOM_BYTES + 1));
        write("short again");
        assert_eq!(files().len(), 2);
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_or_a_folder_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = |name: &str| {
            let path = folder.path().join(name);
            rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
            path
        };
        let path = pipe("read");
        assert!(read_bounded(&path, 10).unwrap_err().to_string().contains("it is a pipe, not a file"));
        assert!(write_plain(&path, b"x", 0o600).is_err());
        remove_folder(&path).unwrap();
        assert!(!path.exists());
        pipe("state.spare");
        let state = pipe("state");
        write_whole_within(&state, "text", 0o600).unwrap();
        write_whole_within(&state, "text", 0o600).unwrap();
        assert_eq!(read_bounded(&state, ROOM_BYTES).unwrap().trim_ascii_end(), b"text");
    }

    #[test]
    fn a_folder_is_removed_whatever_its_owner_did_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, inner) = (folder.path().join("outer"), folder.path().join("outer/inner"));
        make_folder(&inner).unwrap();
        std::fs::write(inner.join("file"), "").unwrap();
        std::os::unix::fs::symlink("/", inner.join("link")).unwrap();
        std::fs::set_permissions(&inner, Permissions::from_mode(0o500)).unwrap();
        remove_folder(&outer).unwrap();
        assert!(!outer.exists());
        remove_folder(&outer).unwrap();
    }
}
