//! The code of a topology on its way to where it runs, and what keeps it from there.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;

use rustix::process::Signal;

use crate::harness::{Cluster, NUMBERS, Shape};

const SOON: Duration = Duration::from_secs(30);

/// More than anything that a supervisor writes but code.
const SMALL_FILES: u64 = 1 << 20;

fn all_slots(cluster: &Cluster) -> u64 {
    cluster.json(&["cluster"])["slots"]["all"].as_u64().unwrap()
}

#[test]
fn a_host_that_cannot_store_code_says_so_to_the_topology_and_its_work_goes_elsewhere() {
    let Some(mut cluster) = Cluster::start_or_skip(&Shape::default()) else { return };
    let full = &mut cluster.supervisors[0];
    full.stop();
    full.file_bytes_max = Some(SMALL_FILES);
    full.start();
    until("all slots", SOON, || all_slots(&cluster) == 4);
    let source = Outside::start(&cluster.folder().join("source"), 100_000_000, 1000.0);
    cluster.submit("numbers", &source, 2, &["topology.workers=2"]);

    until("the error", SOON, || cluster.ringstorm(&["get-errors", "numbers"]).contains("could not be fetched"));
    let told = Instant::now();
    until("the work to be elsewhere", SOON, || cluster.supervisors[1].workers().len() == 2);
    // Nimbus's rounds come every ten seconds, and a worker needs a moment.
    assert!(told.elapsed() < Duration::from_secs(15), "it took {:?}", told.elapsed());
    eprintln!("elsewhere {:?} after the error", told.elapsed());
    until("acks", SOON, || source.fates().acked > 100);
    for words in [["get-errors", "numbers"], ["status", "numbers"]] {
        let text = cluster.ringstorm(&words);
        assert!(text.contains("could not be fetched"), "{text}");
    }
    let error = cluster.json(&["get-errors", "numbers"])["Comp-Errors"]["fetch"].to_string();
    assert!(error.contains("did not start") && error.contains("File too large"), "{error}");
    assert_eq!(all_slots(&cluster), 2);
    assert!(cluster.supervisors[0].log().contains("is withdrawn, since code cannot be fetched"));

    let workers = cluster.workers();
    cluster.supervisors[0].may_write_again();
    until("the host to be of use again", Duration::from_secs(70), || all_slots(&cluster) == 4);
    assert_eq!(cluster.workers(), workers);
}

#[test]
fn an_impostor_in_the_place_of_code_is_not_run() {
    let shape = Shape { supervisors: 1, slots: 1, ..Shape::default() };
    let Some(cluster) = Cluster::start_or_skip(&shape) else { return };
    let source = Outside::start(&cluster.folder().join("source"), 100_000_000, 1000.0);
    cluster.submit("numbers", &source, 1, &[]);
    until("acks", SOON, || source.fates().acked > 100);
    let code = cluster.supervisors[0].home.join("supervisor/code");
    let code = std::fs::read_dir(code).unwrap().next().unwrap().unwrap().path();
    let was_run = cluster.folder().join("the-impostor-was-run");
    let impostor = cluster.folder().join("impostor");
    std::fs::write(&impostor, format!("#!/bin/sh\ntouch {was_run:?}\n")).unwrap();
    std::fs::set_permissions(&impostor, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&impostor, &code).unwrap();

    let before = cluster.workers();
    before[0].signal(Signal::KILL);
    until("another worker", SOON, || !cluster.workers().is_empty() && cluster.workers() != before);
    let acked = source.fates().acked;
    until("acks again", SOON, || source.fates().acked > acked + 100);
    assert!(!was_run.exists());
    let log = cluster.supervisors[0].log();
    assert!(
        log.contains("on this host was not run, and is fetched anew: its executable does not have the content"),
        "{log}"
    );
}

/// B066: one topology's executable comes at 1 KB a second. Another one starts beside it, in the other slot of the same
/// host, and when the slow one is killed its slot is of use at once.
#[test]
fn a_download_that_hardly_moves_holds_up_no_other_slot_and_is_given_up_with_its_topology() {
    let shape = Shape { supervisors: 1, has_nimbus_proxies: true, ..Shape::default() };
    let Some(cluster) = Cluster::start_or_skip(&shape) else { return };
    // A cluster that has just started waits for its supervisors before it places anything.
    std::thread::sleep(Duration::from_secs(12));
    cluster.nimbus_proxies[0].set_slow(&["slow-", "stormjar.jar"], 1000);
    // Executables are shared by content: this one has its own.
    let mut bytes = std::fs::read(NUMBERS).unwrap();
    bytes.extend(b"slow");
    let build = cluster.folder().join("numbers-of-its-own");
    std::fs::copy(NUMBERS, &build).unwrap();
    std::fs::write(&build, bytes).unwrap();
    let [slow, other, next] = ["slow", "other", "next"].map(|name| {
        let source = Outside::start(&cluster.folder().join(name), 1_000_000, 1000.0);
        (name, source)
    });
    cluster.submit_built(build.to_str().unwrap(), slow.0, &slow.1, 1, &[]);
    let code = cluster.supervisors[0].home.join("supervisor/code");
    // What has come of files that are not whole.
    let parts = || -> Vec<u64> {
        let files = std::fs::read_dir(&code).into_iter().flatten().flatten();
        let parts = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "part"));
        parts.filter_map(|file| Some(file.metadata().ok()?.len())).collect()
    };
    until("the download to begin", SOON, || parts().len() == 1);

    let since = Instant::now();
    cluster.submit(other.0, &other.1, 1, &[]);
    until("the other one to run", Duration::from_secs(15), || other.1.fates().acked > 0);
    eprintln!("beside a slow download: another topology runs after {:?}", since.elapsed());
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!((cluster.workers().len(), slow.1.fates().begun, parts().len()), (1, 0, 1), "{}", cluster.logs());

    let since = Instant::now();
    cluster.ringstorm(&["kill", slow.0, "-w", "0"]);
    cluster.submit(next.0, &next.1, 1, &[]);
    until("its slot to be of use", Duration::from_secs(10).saturating_sub(since.elapsed()), || {
        next.1.fates().acked > 0
    });
    eprintln!("the slot of a slow download is of use {:?} after the kill", since.elapsed());
    assert_eq!(cluster.workers().len(), 2);
}
