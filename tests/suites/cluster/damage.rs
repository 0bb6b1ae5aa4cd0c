//! What a supervisor has on its disk, damaged as by a loss of power.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::{is_so_within, until};

use crate::harness::{Cluster, Daemon, Shape};

const SOON: Duration = Duration::from_secs(60);

/// What becomes of a file; each supervisor of the cluster has one kind.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Emptied,
    Halved,
    Random,
    Deleted,
}

const DAMAGES: [Damage; 4] = [Damage::Emptied, Damage::Halved, Damage::Random, Damage::Deleted];

/// B044: whatever file of its local folder is damaged, in each of four ways, a supervisor that is started again offers its
/// slots and runs a worker soon.
#[test]
fn whatever_file_of_a_supervisor_is_damaged_it_soon_runs_its_assignment_again() {
    // Who has lost its state has another id, and its work is moved there when the session of the old one is over.
    let settings = ["storm.zookeeper.session.timeout: 4000", "nimbus.monitor.freq.secs: 1"];
    let settings = settings.map(str::to_owned).to_vec();
    let shape = Shape { supervisors: DAMAGES.len(), slots: 1, settings, ..Shape::default() };
    let Some(mut cluster) = Cluster::start_or_skip(&shape) else { return };
    let source = Outside::start(&cluster.folder().join("source"), 100_000_000, 200.0);
    cluster.submit("numbers", &source, 4, &["topology.workers=4"]);
    until("all to run", SOON, || source.under_way_by_spout().len() == 4 && source.fates().acked > 100);

    let count = files_of(&cluster.supervisors[0]).len();
    assert!(count >= 8, "{:?}", files_of(&cluster.supervisors[0]));
    let mut slowest = Duration::ZERO;
    for index in 0..count {
        let mut damaged = Vec::new();
        for (host, damage) in cluster.supervisors.iter_mut().zip(DAMAGES) {
            host.kill();
            host.kill_workers();
            let files = files_of(host);
            // Of a worker that was just being started there may be less.
            let Some(file) = files.get(index.min(files.len() - 1)) else { continue };
            inflict(damage, file);
            damaged.push(format!("{} {damage:?}", file.display()));
        }
        let acked = source.fates().acked;
        let since = Instant::now();
        cluster.supervisors.iter_mut().for_each(Daemon::start);
        let beats = |cluster: &Cluster| {
            let answer = cluster.json(&["cluster"]);
            let young = |host: &&serde_json::Value| {
                host["uptime_secs"].as_u64().is_some_and(|secs| secs <= since.elapsed().as_secs() + 1)
            };
            answer["supervisors"].as_array().is_some_and(|all| all.iter().filter(young).count() == DAMAGES.len())
        };
        let works = || cluster.supervisors.iter().all(|host| host.workers().len() == 1) && source.fates().acked > acked;
        let is_well = is_so_within(Duration::from_secs(20), || works() && beats(&cluster));
        assert!(is_well, "{damaged:#?}\n{}", cluster.ringstorm(&["cluster"]));
        slowest = slowest.max(since.elapsed());
        cluster.assert_daemons_run();
        eprintln!("{:?}: {}", since.elapsed(), damaged.join(", "));
    }
    eprintln!("{count} files, {} damages: at the slowest well after {slowest:?}", DAMAGES.len());
}

/// Every file, link and socket that a supervisor needs, in the order of names: what it has put aside is for people.
fn files_of(host: &Daemon) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![host.home.join("supervisor"), host.home.join("workers")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_none_or(|ending| ending != "broken") {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn inflict(damage: Damage, file: &Path) {
    let before = match fs::symlink_metadata(file).unwrap() {
        it if it.is_file() => fs::read(file).unwrap(),
        it if it.is_symlink() => fs::read_link(file).unwrap().into_os_string().into_encoded_bytes(),
        _ => vec![0; 100],
    };
    // Executables are read-only; whoever looks at the mode finds it as it was.
    let mode = fs::symlink_metadata(file).unwrap().permissions();
    fs::remove_file(file).unwrap();
    let after = match damage {
        Damage::Emptied => Vec::new(),
        Damage::Halved => before[..before.len() / 2].to_vec(),
        Damage::Random => {
            let mut state = before.len() as u64 + 1;
            let byte = |_: &u8| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            };
            before.iter().map(byte).collect()
        }
        Damage::Deleted => return,
    };
    fs::write(file, after).unwrap();
    fs::set_permissions(file, mode).unwrap();
}
