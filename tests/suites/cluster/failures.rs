//! Components that fail in every way: it is told, and they go on.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ringstorm_tests::waiting::{is_so_within, until};

use crate::harness::{Cluster, Shape};

const SOON: Duration = Duration::from_secs(60);

/// B046: a panic, an error, and an error that holds the time-out of a socket are the last error of their component, and the
/// executor processes again. B134: what cannot be encoded is named with component, stream and field, and other tuples go on.
#[test]
fn a_component_that_fails_is_told_of_and_goes_on() {
    let Some(cluster) = Cluster::start_or_skip(&Shape::default()) else { return };
    let cases: [(&str, &[&str]); 4] = [
        ("panics-once", &["harmful", "this tuple is too much"]),
        ("fails-once", &["harmful", "this tuple is fatal"]),
        ("times-out-once", &["harmful", "asking the store: ", "temporarily unavailable"]),
        ("emits-the-unencodable", &["harmful", "loose", "second"]),
    ];
    let notes = |name: &str| cluster.folder().join(format!("{name}.notes"));
    for (name, _) in cases {
        cluster.submit_harm(name, name, &[], &["--notes", notes(name).to_str().unwrap()]);
    }
    let workers = || cluster.workers();
    until("all workers", SOON, || workers().len() == cases.len());
    let started = workers();
    for (name, says) in cases {
        let mut text = String::new();
        let is_told = is_so_within(SOON, || {
            text = cluster.ringstorm(&["get-errors", name]);
            says.iter().all(|words| text.contains(words))
        });
        assert!(is_told, "{name} does not say {says:?}:\n{text}");
        let since = Instant::now();
        let processed = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default().lines().count();
        let before = processed(notes(name));
        until("it to process again", Duration::from_secs(20), || processed(notes(name)) >= before + 20);
        eprintln!("{name}: processes after {:?}; {}", since.elapsed(), text.lines().last().unwrap_or_default());
    }
    assert_eq!(workers(), started, "no process ended for it");
}
