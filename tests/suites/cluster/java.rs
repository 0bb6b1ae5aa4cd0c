//! Apache Storm 2.8.2's own client talks to our nimbus as to its own.
//!
//! Needs Java 17 or later (a development kit) and Maven, which fetches Storm's client once. Without them the test is
//! skipped and says so; with `RINGSTORM_REQUIRE_JAVA=1` that is a failure.

use std::time::Duration;

use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;

use crate::harness::{Cluster, Shape};
use crate::oracle::oracle_of;

const PROGRAM: &str = "StormClient.java";

#[test]
fn storms_own_client_lists_changes_and_kills_and_is_refused_as_by_storm() {
    let Some(cluster) = Cluster::start_or_skip(&Shape::default()) else { return };
    let source = Outside::start(&cluster.folder().join("source"), 10_000_000, 500.0);
    cluster.submit("numbers", &source, 1, &["topology.workers=1"]);
    until("the first acks", Duration::from_secs(30), || source.fates().acked > 100);
    // The first beats with figures.
    std::thread::sleep(Duration::from_secs(4));

    let connect = format!("connect {}", cluster.json(&["cluster"])["leader"]["port"]);
    let asked: Vec<String> = [
        connect.as_str(),
        "list",
        "allowed numbers",
        "allowed free",
        "reads numbers",
        "reads nobody",
        "submit numbers",
        "submit java",
        "deactivate numbers",
        "list",
        "activate numbers",
        "rebalance numbers 2",
        "kill nobody",
        "kill numbers",
        "activate numbers",
    ]
    .map(String::from)
    .to_vec();
    let Some(answers) = oracle_of(PROGRAM, &asked) else { return };
    let told: Vec<String> = asked.iter().zip(&answers).map(|(asked, answer)| format!("{asked}: {answer}")).collect();
    let told = told.join("\n");
    eprintln!("{told}");
    let says =
        |index: usize, start: &str| assert!(answers[index].starts_with(start), "{}: {start}\n{told}", asked[index]);
    says(0, "ok");
    says(1, "ok numbers=ACTIVE/1/4");
    says(2, "ok false");
    says(3, "ok true");
    says(
        4,
        "ok leader=true cluster=2/1/1 nimbusConf=true summary=numbers info=4/4/4/4 page=[fetch][relay, sink] \
         component=SPOUT/BOLT supervisor=1 assignments=",
    );
    assert!(answers[4].contains("conf=numbers/true topology=true/false"), "{told}");
    assert!(answers[4].ends_with("blobs=true/true blob=true/1 download=true"), "{told}");
    says(5, "NotAliveException");
    says(6, "AlreadyAliveException");
    says(7, "InvalidTopologyException");
    assert!(answers[7].contains("Java"), "{told}");
    says(8, "ok");
    says(9, "ok numbers=INACTIVE");
    says(10, "ok");
    says(11, "ok");
    says(12, "NotAliveException");
    says(13, "ok");
    // It is killed, and cannot be anything else any more.
    assert!(!answers[14].starts_with("ok"), "{told}");
}
