//! Daemons and workers of several versions, side by side and one after the other, under load.
//!
//! What a later version says of itself its daemons say; what it writes that this one does not know is added to what they
//! have written, by the test: fields of records in the tree, of the supervisor's local state, of nimbus's manifests.
//!
//! With [`OLDER`], as `cargo xtask upgrade` sets it, what runs first, and again at the end, is what was built of an older
//! commit: its daemons, its topology.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ringstorm_records::payload::{self, gunzip, gzip};
use ringstorm_records::records::StormBase;
use ringstorm_records::znode::{Node, NodeName, Root};
use ringstorm_store::control::Control;
use ringstorm_store::operation::{Answer, Operation};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;
use ringstorm_zookeeper::ZooKeeperStore;
use serde_json::Value;

use crate::deaths::Load;
use crate::harness::{Cluster, NUMBERS, RINGSTORM, RINGSTORM_NEXT, Shape};

const SOON: Duration = Duration::from_secs(30);
/// The variable that names the folder of an older build's executables.
const OLDER: &str = "RINGSTORM_OLDER_BUILD";
/// A number of four bytes, as Thrift has it in a record. No version has a field of this number.
const LATER_FIELD: [u8; 7] = [8, 0x27, 0x0f, 0, 0, 0, 7];
const LATER_FIELD_ID: i16 = 0x270f;

/// An executable of the older build, if there is one.
fn older(own: &str) -> Option<String> {
    let folder = PathBuf::from(std::env::var_os(OLDER)?);
    let path = folder.join(Path::new(own).file_name().expect("it is a file"));
    assert!(path.is_file(), "{OLDER}: {} is not there", path.display());
    eprintln!("an older build: {}", path.display());
    Some(path.to_str().expect("a path of UTF-8").to_owned())
}

fn done(tree: &mut Control<ZooKeeperStore>, operation: Operation) -> Answer {
    let session = tree.opened(SOON).unwrap();
    match tree.ask(session, operation, SOON).unwrap() {
        Outcome::Done(answer) => answer,
        other => panic!("{other:?}"),
    }
}

fn get(tree: &mut Control<ZooKeeperStore>, path: &ZnodePath) -> Vec<u8> {
    match done(tree, Operation::Get { path: path.clone(), watch: false }) {
        Answer::Data { data, .. } => data,
        other => panic!("{other:?}"),
    }
}

/// What stands in the tree of the one topology.
fn records(cluster: &Cluster) -> [ZnodePath; 2] {
    let id = cluster.json(&["list"])["topologies"][0]["id"].as_str().unwrap().to_owned();
    let topology = NodeName::new(&id).unwrap();
    let root = Root::new("/storm").unwrap();
    [Node::Storm { topology: topology.clone() }, Node::Assignment { topology }].map(|node| ZnodePath::of(&root, &node))
}

/// A later version has written what is in the tree.
fn add_to_records(cluster: &Cluster) {
    let mut tree = cluster.tree();
    for path in records(cluster) {
        let mut bytes = gunzip(&get(&mut tree, &path), payload::INFLATED_BYTES_MAX).unwrap();
        let end = bytes.pop();
        assert_eq!(end, Some(0), "a record ends with a zero");
        bytes.extend(LATER_FIELD);
        bytes.push(0);
        done(&mut tree, Operation::set(path, gzip(&bytes)));
    }
}

fn has_later_field(cluster: &Cluster) -> bool {
    let [base, _] = records(cluster);
    let base: StormBase = payload::decode(&get(&mut cluster.tree(), &base)).unwrap();
    base.unknown.iter().any(|field| field.id() == LATER_FIELD_ID)
}

/// A later version has written these files of JSON.
fn add_to_files(files: &[PathBuf]) {
    assert!(!files.is_empty());
    for path in files {
        let mut value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        value.as_object_mut().unwrap().insert("of a later version".to_owned(), 1.into());
        std::fs::write(path, value.to_string()).unwrap();
    }
}

fn manifests(nimbus: &Path) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![nimbus.join("nimbus/code")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("manifest.json") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn the_daemons_become_another_version_and_the_older_one_again_and_no_worker_notices() {
    let own = concat!("2.8.2-ringstorm.", env!("CARGO_PKG_VERSION"));
    let (first, later, version_of_later) = match older(RINGSTORM) {
        None => (RINGSTORM.to_owned(), RINGSTORM_NEXT, "2.8.2-ringstorm.9.9.9"),
        Some(older) => (older, RINGSTORM, own),
    };
    let shape = Shape { nimbuses: 2, program: first.clone().into(), ..Shape::default() };
    let build = older(NUMBERS).unwrap_or_else(|| NUMBERS.to_owned());
    let Some(mut load) = Load::of_build_or_skip(&build, &shape) else { return };
    let workers = load.cluster.workers();
    let version_of_first = load.cluster.json(&["cluster"])["leader"]["version"].as_str().unwrap().to_owned();
    for (program, version) in [(later, version_of_later), (&first, &version_of_first)] {
        for index in 0..2 {
            let cluster = &mut load.cluster;
            cluster.nimbuses[index].stop();
            add_to_files(&manifests(&cluster.nimbuses[index].home));
            cluster.nimbuses[index].program = program.into();
            cluster.nimbuses[index].start();
            cluster.supervisors[index].stop();
            add_to_files(&[cluster.supervisors[index].home.join("supervisor/local-state.json")]);
            cluster.supervisors[index].program = program.into();
            cluster.supervisors[index].start();
            // Now both versions are there, and each reads what the other has written.
            until("somebody to lead", SOON, || load.cluster.try_ringstorm(&["list"]).status.success());
            add_to_records(&load.cluster);
            load.assert_undisturbed(&workers);
        }
        let said = |cluster: &Cluster| cluster.ringstorm(&["cluster"]).matches(version).count();
        until("all to be of that version", SOON, || said(&load.cluster) == 4);
        // Nimbus writes anew what it has read, and loses nothing of it.
        load.cluster.ringstorm(&["set_log_level", "-l", "peer=DEBUG:30", "numbers"]);
        load.cluster.ringstorm(&["activate", "numbers"]);
        assert!(has_later_field(&load.cluster));
        load.assert_undisturbed(&workers);
    }
    // What it holds is still what it gives.
    let more = Outside::start(&load.cluster.folder().join("more"), 1_000_000, 100.0);
    load.cluster.submit("more", &more, 1, &[]);
    until("its first acks", SOON, || more.fates().acked > 0);
    for nimbus in &load.cluster.nimbuses {
        assert!(!nimbus.log().contains("cannot be read"), "{}", nimbus.log());
    }
}

/// The same program, which says that it was built with another Ringstorm.
fn of_another_version(folder: &Path) -> PathBuf {
    let mut bytes = std::fs::read(NUMBERS).unwrap();
    let said = |version: &str| format!("{}\n{version}\n", ringstorm_types::wire_format::WIRE_FORMAT);
    let (own, other) = (said(env!("CARGO_PKG_VERSION")), said("9.9.9"));
    let at = bytes.windows(own.len()).position(|bytes| bytes == own.as_bytes()).unwrap();
    bytes[at..at + own.len()].copy_from_slice(other.as_bytes());
    let build = folder.join("numbers-of-another-version");
    std::fs::copy(NUMBERS, &build).unwrap();
    std::fs::write(&build, bytes).unwrap();
    build
}

#[test]
fn a_worker_of_another_version_runs_under_these_daemons() {
    let Some(cluster) = Cluster::start_or_skip(&Shape { supervisors: 1, ..Shape::default() }) else { return };
    let build = older(NUMBERS).map_or_else(|| of_another_version(cluster.folder()), PathBuf::from);
    let source = Outside::start(&cluster.folder().join("source"), 1_000_000, 1000.0);
    cluster.submit_built(build.to_str().unwrap(), "numbers", &source, 1, &["topology.workers=2"]);
    until("acks", SOON, || source.fates().acked > 1000);
    assert_eq!(source.fates().failed, 0);
}
