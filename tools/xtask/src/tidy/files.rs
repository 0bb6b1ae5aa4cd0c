//! The files of the project, as they lie in its folder; what is built or found by tools is left out.

use std::fs;
use std::path::Path;

use super::Finding;
use crate::steps::test::CORPUS_TESTS;

/// A text file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|of| of == extension)
    }

    /// A finding in one line of the file, counted from 1; 0 stands for the whole file.
    pub(crate) fn finding(&self, line: usize, what: impl std::fmt::Display) -> Finding {
        if line == 0 { format!("{}: {what}", self.path) } else { format!("{}:{line}: {what}", self.path) }
    }
}

/// Folders that hold nothing of ours.
const SKIPPED_FOLDERS: &[&str] = &["target", ".git", "fuzz-target", "artifacts", "corpus", "proptest-regressions"];

/// Every text file below `root`, in the order of paths. What cannot be read as text is no text file.
pub(crate) fn all(root: &Path) -> Vec<File> {
    let mut files = Vec::new();
    visit(root, &mut |path| {
        if let (Some(path_text), Ok(text)) = (relative(root, path), fs::read_to_string(path)) {
            files.push(File { path: path_text, text });
        }
    });
    files.sort_by(|left, right| left.path.cmp(&right.path));
    files
}

/// Folders of fuzz targets, from the root.
pub(crate) fn fuzz_folders(root: &Path) -> Vec<String> {
    let mut folders = Vec::new();
    visit(root, &mut |path| {
        let is_fuzz_manifest = path.ends_with("fuzz/Cargo.toml");
        if let Some(folder) = path.parent().filter(|_| is_fuzz_manifest).and_then(|folder| relative(root, folder)) {
            folders.push(folder);
        }
    });
    folders.sort();
    folders
}

/// Every corpus must be replayed by a test, since the fuzzers themselves are not part of a full check.
pub(crate) fn unreplayed_fuzz_folders(root: &Path) -> Vec<Finding> {
    let replayed = |folder: &str| {
        CORPUS_TESTS.iter().any(|(package, _, _)| {
            let own = package.trim_start_matches("ringstorm-");
            folder.split('/').any(|part| part == own)
        })
    };
    let folders = fuzz_folders(root).into_iter().filter(|folder| !replayed(folder));
    folders
        .map(|folder| format!("{folder}: no test replays its corpus; add one and name it in `CORPUS_TESTS`"))
        .collect()
}

fn visit(folder: &Path, file: &mut impl FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !SKIPPED_FOLDERS.iter().any(|skipped| name == *skipped) => {
                visit(&path, file);
            }
            Ok(kind) if kind.is_file() => file(&path),
            // Links lead to what is found elsewhere, or to what is not ours.
            _ => {}
        }
    }
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn built_files_and_bytes_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        for (path, bytes) in [
            ("a.md", &b"text"[..]),
            ("engine/x/fuzz/Cargo.toml", b""),
            ("engine/x/fuzz/corpus/one/input", b"text"),
            ("target/debug/built.rs", b"text"),
            ("picture.png", b"\xff\xfe"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let found: Vec<_> = all(root.path()).into_iter().map(|file| file.path).collect();
        assert_eq!(found, ["a.md", "engine/x/fuzz/Cargo.toml"]);
        assert_eq!(fuzz_folders(root.path()), ["engine/x/fuzz"]);
        assert_eq!(unreplayed_fuzz_folders(root.path()).len(), 1);
    }
}
