//! Files that grow, are removed, and cannot be written.

use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::*;

fn rotation(file_bytes_max: u64, old_files_max: u32) -> Rotation {
    Rotation { file_bytes_max, old_files_max }
}

/// The files, oldest first.
fn contents(path: &Path, old_files_max: u32) -> Vec<Vec<u8>> {
    let file = RotatedFile::new(path, rotation(1, old_files_max));
    let old = (1..=old_files_max + 3).rev().filter_map(|number| fs::read(file.old(number)).ok());
    old.chain(fs::read(path).ok()).collect()
}

fn over(file: &mut RotatedFile) {
    if let Some(trouble) = &mut file.trouble {
        trouble.until = Instant::now();
    }
    if let Some(open) = &mut file.open {
        open.looked -= LOOK_PERIOD;
    }
}

#[test]
fn a_full_file_becomes_an_old_one_at_the_end_of_a_line_and_the_oldest_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/worker.log");
    let mut file = RotatedFile::new(&path, rotation(10, 2));
    for line in ["one\n", "two\n", "three\n", "four\n", "five\n", "six\n", "a long line\n", "end"] {
        assert_eq!(file.append(line.as_bytes()), None);
    }
    let found: Vec<_> = contents(&path, 2).into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect();
    assert_eq!(found, ["six\n", "a long lin", "e\nend"]);
}

#[test]
fn a_restart_goes_on_where_the_file_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nimbus.log");
    for line in ["one\n", "two\n", "three\n"] {
        assert_eq!(RotatedFile::new(&path, rotation(10, 2)).append(line.as_bytes()), None);
    }
    assert_eq!(contents(&path, 2), [b"one\ntwo\n".to_vec(), b"three\n".to_vec()]);
}

proptest! {
    // Each case makes, renames and removes files.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_lost_but_the_oldest_and_no_file_is_too_long(
        parts in prop::collection::vec("[a\n]{0,30}", 0..30),
        bytes_max in 1_u64..20,
        old_files_max in 0_u32..4,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = RotatedFile::new(&path, rotation(bytes_max, old_files_max));
        for part in &parts {
            prop_assert_eq!(file.append(part.as_bytes()), None);
        }
        let found = contents(&path, old_files_max);
        prop_assert!(found.len() <= old_files_max as usize + 1);
        prop_assert!(found.iter().all(|bytes| bytes.len() as u64 <= bytes_max));
        let all = parts.concat().into_bytes();
        prop_assert!(all.ends_with(&found.concat()));
        prop_assert!(found.len() == old_files_max as usize + 1 || found.concat() == all);
    }
}

#[test]
fn a_file_that_somebody_removed_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut file = RotatedFile::new(&path, Rotation::default());
    file.append(b"one\n");
    fs::remove_file(&path).unwrap();
    file.open.as_mut().unwrap().looked -= LOOK_PERIOD;
    file.append(b"two\n");
    assert_eq!(fs::read(&path).unwrap(), b"two\n");
}

#[test]
fn a_full_disk_is_said_once_and_so_is_that_there_is_room_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    // Whatever is written there finds the disk full.
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let mut file = RotatedFile::new(&path, Rotation::default());
    let Some(FileNews::Discarding { why, .. }) = file.append(b"one\n") else { panic!("it was written") };
    assert_eq!(why, "it is a device, not a file");
    assert_eq!((file.append(b"two\n"), file.discarded_bytes()), (None, 8));
    over(&mut file);
    assert_eq!((file.append(b"three\n"), file.discarded_bytes()), (None, 14), "it is tried again, and not said again");
    fs::remove_file(&path).unwrap();
    over(&mut file);
    let news = file.append(b"four\n");
    assert_eq!(news, Some(FileNews::Recovered { path: path.clone(), discarded_bytes: 14 }));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "[14 bytes are missing here: they could not be written]\nfour\n");
    assert_eq!((file.append(b"five\n"), file.discarded_bytes()), (None, 0));
}

#[test]
fn a_file_that_cannot_be_rotated_does_not_grow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    // A folder with something in it stands where the old file should.
    fs::create_dir_all(folder.path().join("log.1/full")).unwrap();
    let mut file = RotatedFile::new(&path, rotation(8, 1));
    assert_eq!(file.append(b"one\ntwo\n"), None);
    assert!(matches!(file.append(b"three\n"), Some(FileNews::Discarding { .. })));
    over(&mut file);
    assert_eq!(file.append(b"four\n"), None);
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
    fs::remove_dir_all(folder.path().join("log.1")).unwrap();
    over(&mut file);
    assert!(matches!(file.append(b"x\n"), Some(FileNews::Recovered { discarded_bytes: 11, .. })));
}

#[test]
fn a_pipe_without_a_reader_and_a_folder_that_may_not_be_made_keep_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let mut file = RotatedFile::new(&pipe, Rotation::default());
    assert!(matches!(file.append(b"one\n"), Some(FileNews::Discarding { .. })));
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    let under_a_file = folder.path().join("file");
    fs::write(&under_a_file, "").unwrap();
    let mut file = RotatedFile::new(under_a_file.join("logs/log"), Rotation::default());
    assert!(matches!(file.append(b"one\n"), Some(FileNews::Discarding { .. })));
}
