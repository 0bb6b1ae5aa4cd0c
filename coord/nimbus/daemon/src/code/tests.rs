//! The code directory, with a crash before each step of each change.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringstorm_records::records::{Bolt, ComponentCommon, ComponentObject, JavaObject};
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

fn open(root: &Path) -> (CodeDirectory, Vec<HeldBlob>, Vec<String>) {
    let opened = CodeDirectory::open(root, Disk::new()).unwrap();
    (opened.directory, opened.blobs, opened.notes)
}

/// A directory on whose disk a crash comes before the step of this number, from 0.
fn crashing(root: &Path, at: usize) -> CodeDirectory {
    let opened = CodeDirectory::open(root, Disk::new()).unwrap();
    let steps = AtomicUsize::new(0);
    let disk = Disk::asking(move |what| match steps.fetch_add(1, Ordering::Relaxed) {
        step if step < at => Ok(()),
        _ => Err(io::Error::other(format!("a crash before it could {what}"))),
    });
    CodeDirectory { disk, ..opened.directory }
}

fn code(bolt: &str) -> Arc<StormTopology> {
    let object = JavaObject { full_class_name: "ringstorm.Component".into(), args_list: Vec::new() };
    let bolt_object = ComponentObject::JavaObject(object);
    let bolts = [(bolt.to_owned(), Bolt { bolt_object, common: ComponentCommon::default() })].into();
    Arc::new(StormTopology { bolts, ..StormTopology::default() })
}

fn conf(workers: u32) -> Arc<Conf> {
    Arc::new(json!({ "topology.workers": workers }).as_object().unwrap().clone())
}

const ID: &str = "words-1-1795972824";

/// The file of a topology, as it was uploaded.
fn file(folder: &TempDir) -> (PathBuf, String) {
    let path = folder.path().join("upload");
    fs::write(&path, "the executable").unwrap();
    let sum = sum_of(b"the executable");
    (path, sum)
}

fn numbers(number: u32) -> BlobNumbers {
    BlobNumbers { jar: number, code: number, conf: number }
}

fn store(directory: &mut CodeDirectory, folder: &TempDir, number: u32) -> Result<(), CodeFailure> {
    let (path, sum) = file(folder);
    directory.store(&name(ID), (&path, &sum), &code("count"), &conf(number), numbers(number))
}

/// Keys and numbers of what is held.
fn held(blobs: &[HeldBlob]) -> Vec<(String, u32)> {
    let mut held: Vec<_> = blobs.iter().map(|blob| (blob.key.to_string(), blob.number)).collect();
    held.sort();
    held
}

fn all_three(number: u32) -> Vec<(String, u32)> {
    [TopologyBlob::Code, TopologyBlob::Conf, TopologyBlob::Jar].map(|blob| (blob.key(ID), number)).to_vec()
}

/// All files below a folder.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn what_is_stored_is_held_now_and_after_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("code");
    let (mut directory, blobs, _) = open(&root);
    assert_eq!(held(&blobs), []);
    store(&mut directory, &folder, 1).unwrap();
    let jar = directory.held().get(&TopologyBlob::Jar.key(ID)).unwrap();
    assert_eq!((jar.number, jar.bytes, jar.sha256.as_str()), (1, 14, &*sum_of(b"the executable")));
    assert_eq!(fs::read(&jar.path).unwrap(), b"the executable");
    let (_, blobs, notes) = open(&root);
    assert_eq!((held(&blobs), notes), (all_three(1), Vec::new()));
    let of = |blob: TopologyBlob| blobs.iter().find(|held| held.key == name(&blob.key(ID))).unwrap().content.clone();
    assert_eq!(of(TopologyBlob::Code), Content::Code(code("count")));
    assert_eq!(of(TopologyBlob::Conf), Content::Conf(conf(1)));
    assert_eq!(of(TopologyBlob::Jar), Content::Opaque);
}

#[test]
fn after_a_crash_at_any_step_a_topology_is_stored_whole_or_not_at_all() {
    for before in [None, Some(1)] {
        for at in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("code");
            let mut crashing = crashing(&root, at);
            if before.is_some() {
                let mut whole = open(&root).0;
                store(&mut whole, &folder, 1).unwrap();
            }
            let stored = store(&mut crashing, &folder, 2);
            let (_, blobs, notes) = open(&root);
            assert_eq!(notes, Vec::<String>::new(), "a crash at step {at} leaves nothing that would be named");
            let old = before.map(all_three).unwrap_or_default();
            let is_whole = held(&blobs) == all_three(2);
            assert!(is_whole || held(&blobs) == old, "at step {at}: {:?}", held(&blobs));
            assert!(stored.is_err() || is_whole, "what is answered is so");
            // Three contents and a manifest, and no leftovers.
            assert_eq!(files(&root).len(), if held(&blobs).is_empty() { 0 } else { 4 }, "{:?}", files(&root));
            if crashing.disk.is_past(at) {
                assert!(at > 10, "there are more steps than {at}");
                break;
            }
        }
    }
}

#[test]
fn after_a_crash_at_any_step_a_content_is_the_old_one_or_the_new_one() {
    let conf_key = name(&TopologyBlob::Conf.key(ID));
    let blob = HeldBlob { key: conf_key.clone(), number: 5, content: Content::Conf(conf(9)) };
    for at in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("code");
        store(&mut open(&root).0, &folder, 1).unwrap();
        let mut crashing = crashing(&root, at);
        let replaced = crashing.replace(&blob);
        let (directory, blobs, _) = open(&root);
        let found = blobs.iter().find(|found| found.key == conf_key).unwrap();
        assert!(*found == blob || found.content == Content::Conf(conf(1)), "at step {at}");
        assert!(replaced.is_err() || *found == blob);
        assert_eq!(directory.held().get(conf_key.as_str()).unwrap().number, found.number);
        assert_eq!((blobs.len(), files(&root).len()), (3, 4));
        if crashing.disk.is_past(at) {
            break;
        }
    }
}

#[test]
fn after_a_crash_at_any_step_a_blob_is_there_or_gone() {
    for at in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("code");
        store(&mut open(&root).0, &folder, 1).unwrap();
        let mut crashing = crashing(&root, at);
        let removed = TopologyBlob::ALL.map(|blob| crashing.remove(&name(&blob.key(ID))));
        let (_, blobs, notes) = open(&root);
        assert_eq!(notes, Vec::<String>::new());
        let failed = removed.iter().filter(|removed| removed.is_err()).count();
        assert!(blobs.len() <= failed, "at step {at}");
        if crashing.disk.is_past(at) {
            assert!(files(&root).is_empty() && fs::read_dir(root.join("topologies")).unwrap().next().is_none());
            break;
        }
    }
}

#[test]
fn a_failed_change_leaves_everything_as_it_was_and_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("code");
    let (mut directory, _, _) = open(&root);
    store(&mut directory, &folder, 1).unwrap();
    let missing = folder.path().join("gone");
    let failed = directory.store(&name(ID), (&missing, "0"), &code("count"), &conf(2), numbers(2));
    assert!(matches!(failed, Err(CodeFailure::Other(_))));
    assert_eq!(directory.held().get(&TopologyBlob::Code.key(ID)).unwrap().number, 1);
    store(&mut directory, &folder, 3).unwrap();
    assert_eq!(held(&open(&root).1), all_three(3));
}

#[test]
fn a_step_that_fails_leaves_nothing_behind() {
    for at in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("code");
        let opened = CodeDirectory::open(&root, Disk::new()).unwrap();
        let steps = AtomicUsize::new(0);
        // The disk is full for one step only.
        let disk = Disk::asking(move |_| match steps.fetch_add(1, Ordering::Relaxed) == at {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        });
        let mut directory = CodeDirectory { disk, ..opened.directory };
        let stored = store(&mut directory, &folder, 1);
        let left = files(&root).len();
        assert!(left == 0 || (left == 4 && held(&open(&root).1) == all_three(1)), "at step {at}: {left} files");
        if stored.is_ok() {
            if directory.disk.is_past(at) {
                break;
            }
            continue;
        }
        assert_eq!(store(&mut directory, &folder, 2), Ok(()));
        assert_eq!((held(&open(&root).1), files(&root).len()), (all_three(2), 4));
    }
}

#[test]
fn garbage_is_named_and_left_aside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("code");
    store(&mut open(&root).0, &folder, 1).unwrap();
    let group = root.join("topologies").join(ID);
    fs::write(group.join("notes.txt"), "mine").unwrap();
    fs::write(root.join("topologies").join("loose"), "mine").unwrap();
    fs::create_dir(root.join("topologies").join("empty")).unwrap();
    fs::create_dir(root.join("blobs").join("other")).unwrap();
    fs::write(root.join("blobs").join("other").join(manifest::NAME), "{ not a manifest").unwrap();
    let held_now = open(&root).0.held();
    fs::write(held_now.get(&TopologyBlob::Code.key(ID)).unwrap().path, "garbage").unwrap();
    let (_, blobs, notes) = open(&root);
    assert_eq!(held(&blobs), [(TopologyBlob::Conf.key(ID), 1), (TopologyBlob::Jar.key(ID), 1)]);
    for expected in ["notes.txt does not belong", "loose does not belong", "-stormcode.ser in "] {
        assert!(notes.iter().any(|note| note.contains(expected)), "{expected}: {notes:#?}");
    }
    assert!(files(&root).iter().any(|file| file.to_string_lossy().contains("manifest.json.damaged-")));
    assert!(group.join("notes.txt").exists() && root.join("topologies").join("loose").exists());
    assert!(!root.join("topologies").join("empty").exists());
    // A content of the same kind can be stored again.
    let code_blob =
        HeldBlob { key: name(&TopologyBlob::Code.key(ID)), number: 2, content: Content::Code(code("count")) };
    open(&root).0.replace(&code_blob).unwrap();
    assert_eq!(open(&root).1.len(), 3);
}

#[test]
fn pipes_in_the_place_of_contents_and_manifests_hold_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("code");
    store(&mut open(&root).0, &folder, 1).unwrap();
    let group = root.join("topologies").join(ID);
    let manifest = group.join(manifest::NAME);
    let text = fs::read_to_string(&manifest).unwrap();
    let of = |blob: TopologyBlob| open(&root).0.held().get(&blob.key(ID)).unwrap();
    let places = [TopologyBlob::Jar, TopologyBlob::Code].map(of);
    // Empty, as pipes are, as far as the manifest knows.
    let text =
        places.iter().fold(text, |text, held| text.replace(&format!("\"bytes\": {}", held.bytes), "\"bytes\": 0"));
    fs::write(&manifest, text).unwrap();
    let pipe = |path: &Path| {
        fs::remove_file(path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    };
    places.iter().for_each(|held| pipe(&held.path));
    let (_, blobs, notes) = open(&root);
    assert_eq!(held(&blobs), [(TopologyBlob::Conf.key(ID), 1)]);
    assert_eq!(notes.iter().filter(|note| note.contains("is not a file")).count(), 2, "{notes:#?}");
    pipe(&manifest);
    let (_, _, notes) = open(&root);
    assert!(notes.iter().any(|note| note.contains("it is a pipe, not a file")), "{notes:#?}");
}

#[test]
fn keys_that_would_lead_elsewhere_stay_in_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("code");
    let (mut directory, _, _) = open(&root);
    for key in ["..-stormconf.ser", "-stormconf.ser", "manifest.json", ".hidden"] {
        let incoming = root.join(opening::INCOMING).join("1");
        fs::write(&incoming, conf::encode(&conf(1))).unwrap();
        let sum = sum_of(&fs::read(&incoming).unwrap());
        directory.adopt(&name(key), 1, (&incoming, &sum)).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(open(&root).1.len(), 4);
    let long = "x".repeat(300);
    let incoming = root.join(opening::INCOMING).join("1");
    fs::write(&incoming, "x").unwrap();
    assert!(matches!(directory.adopt(&name(&long), 1, (&incoming, "0")), Err(CodeFailure::Other(_))));
}
