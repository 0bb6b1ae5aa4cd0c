//! A link between the workers of a cluster that is down for longer than anybody waits for it.

use std::time::{Duration, Instant};

use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;

use crate::harness::{Cluster, Shape};

const PER_SECOND: f64 = 1000.0;
const SOON: Duration = Duration::from_secs(60);

/// B037: tuples flow again soon after the link is back, between the same processes; what was dropped meanwhile is counted,
/// and every message is acked in the end.
#[test]
fn a_link_that_is_cut_heals_by_itself_and_what_it_cost_is_counted() {
    let Some(cluster) = Cluster::start_or_skip(&Shape { has_proxies: true, ..Shape::default() }) else { return };
    let source = Outside::start(&cluster.folder().join("source"), 10_000_000, PER_SECOND);
    cluster.submit("numbers", &source, 2, &["topology.workers=2", "ringstorm.worker.absence.secs=2"]);
    until("the first acks", SOON, || source.fates().acked > 1000);
    let workers = cluster.workers();
    assert_eq!(workers.len(), 2);

    cluster.proxies.iter().for_each(|proxy| proxy.set_down(true));
    until("messages to be given up", SOON, || source.fates().failed > 0);
    std::thread::sleep(Duration::from_secs(2));
    cluster.proxies.iter().for_each(|proxy| proxy.set_down(false));
    let since = Instant::now();
    let acked = source.fates().acked;
    until("tuples to flow", Duration::from_secs(30), || source.fates().acked > acked + 2 * PER_SECOND as u64);
    eprintln!("a link that was cut: {} acks more after {:?}", 2.0 * PER_SECOND, since.elapsed());

    source.end();
    until("all to be acked", SOON, || source.fates().acked == source.fates().begun);
    assert_eq!(cluster.workers(), workers);
    let fates = source.fates();
    assert_eq!(fates.orphaned, 0, "{fates:?}");
    let failed = || {
        cluster.json(&["status", "numbers"])["topology_stats"]["window_to_failed"][":all-time"].as_u64().unwrap_or(0)
    };
    until("the fails to be counted", SOON, || failed() == fates.failed);
    assert!(cluster.logs().contains("what is for it is dropped"), "{}", cluster.logs());
}
