//! Levels of loggers that are set while workers run.

use std::time::Duration;

use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;

use crate::harness::Cluster;

const SOON: Duration = Duration::from_secs(15);
/// What a component of the topology says at DEBUG, again and again.
const SAID: &str = "relayed ";

/// Lines of the component so far, by worker.
fn lines(cluster: &Cluster) -> Vec<usize> {
    let logs = cluster.supervisors.iter().flat_map(|host| {
        host.workers().into_iter().map(|worker| {
            let log = host.worker_log(&worker).and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
            String::from_utf8_lossy(&log).matches(SAID).count()
        })
    });
    logs.collect()
}

/// Every worker of `numbers` that runs heeds what is set: what was below the level of before is logged, until the time is
/// over or the level is taken back.
pub(crate) fn act_on_workers_that_run(cluster: &Cluster, source: &Outside) {
    let set = |words: &[&str]| drop(cluster.ringstorm(&[&["set_log_level", "numbers"], words].concat()));
    let speak = || {
        let before = lines(cluster);
        until("every worker to log them", SOON, || {
            let now = lines(cluster);
            now.len() == before.len() && now.iter().zip(&before).all(|(now, before)| now > before)
        });
    };
    let fall_silent = || {
        until("no worker to log them any more", SOON, || {
            let (before, acked) = (lines(cluster), source.fates().acked);
            until("messages to pass", SOON, || source.fates().acked > acked + 2000);
            lines(cluster) == before
        });
    };
    assert!(lines(cluster).iter().all(|count| *count == 0), "{:?}", lines(cluster));
    // Another logger, and a level that is too high.
    set(&["-l", "nobody=DEBUG", "-l", "numbers=INFO"]);
    set(&["-l", "numbers=DEBUG:4"]);
    speak();
    fall_silent();
    set(&["-l", "numbers=DEBUG"]);
    speak();
    set(&["-r", "numbers"]);
    fall_silent();
}
