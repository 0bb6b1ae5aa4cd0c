//! A topology's life, by the commands that an operator types.

use std::time::{Duration, Instant};

use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::{is_so_within, until};

use crate::harness::{Cluster, Shape};
use crate::levels;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn a_topology_is_submitted_changed_and_killed_and_nothing_of_it_is_left() {
    let settings = vec!["nimbus.topology.blobstore.deletion.delay.ms: 2000".to_owned()];
    let Some(cluster) = Cluster::start_or_skip(&Shape { settings, ..Shape::default() }) else { return };
    let mut before = String::new();
    until("the leader to have written what it writes at its start", SOON, || {
        before = cluster.ringstorm(&["zk", "tree"]);
        before.contains("leader-info")
    });
    let source = Outside::start(&cluster.folder().join("source"), 10_000_000, 2000.0);
    let acked = || source.fates().acked;
    cluster.submit("numbers", &source, 2, &["topology.workers=2"]);
    until("the first acks", SOON, || acked() > 1000);
    assert_eq!(cluster.json(&["list"])["topologies"][0]["status"], "ACTIVE");
    assert_eq!(cluster.workers().len(), 2);
    levels::act_on_workers_that_run(&cluster, &source);

    let again = cluster.try_ringstorm(&["submit", crate::harness::NUMBERS, "numbers", "--source", "x"]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("already alive"), "{again:?}");

    cluster.ringstorm(&["deactivate", "numbers"]);
    until("the spouts to rest", SOON, || {
        let before = acked();
        std::thread::sleep(Duration::from_millis(500));
        acked() == before
    });
    cluster.ringstorm(&["activate", "numbers"]);
    let rested = acked();
    until("the spouts to go on", SOON, || acked() > rested + 1000);

    cluster.ringstorm(&["rebalance", "numbers", "-w", "1", "-n", "3"]);
    until("three workers", SOON, || cluster.workers().len() == 3);
    let rebalanced = acked();
    until("the load to go on", SOON, || acked() > rebalanced + 1000);

    cluster.ringstorm(&["kill", "numbers", "-w", "1"]);
    until("the workers to end", SOON, || cluster.workers().is_empty());
    let mut after = String::new();
    let is_as_before = || {
        // Storm, too, leaves the empty folder of the numbers that blobs had.
        after = cluster.ringstorm(&["zk", "tree"]).replace("  blobstoremaxkeysequencenumber\n", "");
        after == before
    };
    if !is_so_within(SOON, is_as_before) {
        panic!("the tree is not as before; it was\n{before}\nand is\n{after}");
    }
    let fates = source.fates();
    assert_eq!(fates.acked_again, 0, "{fates:?}");
    let unknown = cluster.try_ringstorm(&["kill", "numbers"]);
    assert_eq!(unknown.status.code(), Some(1), "{unknown:?}");
}

#[test]
fn a_submission_runs_within_seconds_also_where_its_code_is_new() {
    let Some(cluster) = Cluster::start_or_skip(&Shape { slots: 3, ..Shape::default() }) else { return };
    // A cluster that has just started waits for its supervisors before it places anything.
    std::thread::sleep(Duration::from_secs(12));
    for (name, limit_secs) in [("new", 8), ("known", 4)] {
        let source = Outside::start(&cluster.folder().join(name), 1_000_000, 1000.0);
        let since = Instant::now();
        cluster.submit(name, &source, 1, &["topology.workers=2"]);
        let submitted = since.elapsed();
        until("the first ack", Duration::from_secs(limit_secs), || source.fates().acked > 0);
        eprintln!("{name} code: submitted after {submitted:?}, first ack after {:?}", since.elapsed());
    }
}
