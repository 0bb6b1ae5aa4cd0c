//! Workers whose files are gone, or whose supervisor was away: none outlives its topology.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;

use crate::harness::{Cluster, Shape, WorkerProcess};

const SOON: Duration = Duration::from_secs(60);

/// B042: the files of a worker are deleted, or those of its topology, or its supervisor is away when the topology is killed.
#[test]
fn no_worker_outlives_its_topology_whatever_is_deleted() {
    let Some(mut cluster) = Cluster::start_or_skip(&Shape::default()) else { return };
    let source = Outside::start(&cluster.folder().join("source"), 10_000_000, 100.0);
    let names = ["without-its-files", "without-its-conf", "without-its-supervisor"];
    let workers = names.map(|name| {
        let before = cluster.workers();
        cluster.submit(name, &source, 1, &[]);
        let new = || cluster.workers().into_iter().find(|worker| !before.contains(worker));
        until("its worker", SOON, || new().is_some());
        new().unwrap()
    });
    until("acks of all", SOON, || source.under_way_by_spout().len() == 3 && source.fates().acked > 100);

    let folder = workers[0].launch.parent().unwrap();
    delete_files(folder);
    let supervisor = folder.parent().unwrap().with_file_name("supervisor");
    std::fs::remove_file(supervisor.with_file_name("workers").join("history")).unwrap();
    for host in &cluster.supervisors {
        let topologies = std::fs::read_dir(host.home.join("supervisor/stormdist")).unwrap().flatten();
        let is_its = |path: &PathBuf| path.display().to_string().contains("/without-its-conf-");
        topologies.map(|entry| entry.path()).filter(is_its).for_each(|topology| delete_files(&topology));
    }
    for (name, worker) in names.iter().zip(&workers).take(2) {
        cluster.ringstorm(&["kill", name, "-w", "0"]);
        assert_gone(&cluster, name, worker);
    }

    for host in &mut cluster.supervisors {
        host.stop();
    }
    cluster.ringstorm(&["kill", names[2], "-w", "0"]);
    until("nimbus to forget it", SOON, || {
        cluster.json(&["list"])["topologies"].as_array().is_some_and(|all| all.is_empty())
    });
    assert_eq!(cluster.workers(), [workers[2].clone()], "without a supervisor nobody stops it");
    for host in &mut cluster.supervisors {
        host.start();
    }
    assert_gone(&cluster, names[2], &workers[2]);
}

fn assert_gone(cluster: &Cluster, name: &str, worker: &WorkerProcess) {
    until(name, SOON, || !cluster.workers().contains(worker));
    let port = worker.port();
    until("its port to be free", Duration::from_secs(5), || TcpListener::bind(("0.0.0.0", port)).is_ok());
}

fn delete_files(folder: &Path) {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "{}", folder.display());
    files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
}
