//! Apache Storm's own client, version 2.8.2, on our nimbus.
//!
//! Needs Java 17 or later (a development kit) and Maven, which fetches Storm's client library once. Without them the test
//! is skipped and says so; with `RINGSTORM_REQUIRE_JAVA=1` that is a failure.

use crate::client::{done, executable, leads, submission, upload};
use crate::cluster::Cluster;
use crate::oracle::oracle;

#[test]
fn storms_client_looks_at_changes_and_kills_a_topology_and_is_refused_as_by_storm() {
    let Some(cluster) = Cluster::start_or_skip() else { return };
    let nimbus = cluster.nimbus("n1");
    let port = nimbus.port;
    leads(port);
    let location = upload(port, &executable(200_000));
    done(port, &submission("words", &location));
    let asked = [
        ("list", "words ACTIVE;"),
        ("allowed words", "false"),
        ("allowed a/b", "false"),
        ("allowed other", "true"),
        ("reads words", "24 [count]"),
        ("levels words", "[peer]"),
        ("deactivate words", "done"),
        ("list", "words INACTIVE;"),
        ("activate words", "done"),
        ("activate nobody", "NotAliveException: nobody is not alive"),
        ("kill nobody", "NotAliveException: nobody is not alive"),
        ("submit words", "AlreadyAliveException: words is already alive"),
        (
            "submit java",
            "InvalidTopologyException: the file is a jar or another archive; a topology of Ringstorm is the executable",
        ),
        ("rebalance words", "done"),
        ("kill words", "done"),
    ];
    let lines: Vec<String> = asked.iter().map(|(words, _)| format!("{port} {words}")).collect();
    let Some(answers) = oracle(&lines) else { return };
    for ((words, expected), answer) in asked.iter().zip(&answers) {
        assert!(answer.starts_with(expected), "{words}: {answer:?} does not begin with {expected:?}");
    }
    let java = answers.iter().find(|answer| answer.starts_with("InvalidTopology")).unwrap();
    assert!(java.contains("no Java: words"), "{java}");
}
