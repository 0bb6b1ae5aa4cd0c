//! A link between two workers that is down for longer than anybody waits for it.

use std::process::Command;
use std::time::{Duration, Instant};

use ringstorm_tests::namespaces::Namespaces;
use ringstorm_tests::outside::Outside;
use ringstorm_tests::run::Run;

use crate::{soak_secs, until};

const PER_SECOND: f64 = 5_000.0;

/// Tuples flow again soon after the link is back, between the same processes; what was dropped meanwhile is counted and
/// every message is acked in the end.
#[test]
fn a_link_that_is_down_for_long_heals_by_itself_and_what_it_cost_is_counted() {
    let Some(namespaces) = Namespaces::new() else {
        eprintln!("SKIPPED: network namespaces need root and `ip`");
        return;
    };
    let (down, absence) = match soak_secs() {
        Some(_) => (Duration::from_secs(120), None),
        None => (Duration::from_secs(8), Some("ringstorm.worker.absence.secs=2".to_owned())),
    };
    let directory = tempfile::tempdir().unwrap();
    let metrics = directory.path().join("metrics.json");
    let count = ((down.as_secs_f64() + 8.0) * PER_SECOND) as u64;
    let source = Outside::start(&directory.path().join("source"), count, PER_SECOND);
    let mut command: Command = Run::command(env!("CARGO_BIN_EXE_numbers"), Some(2));
    command.arg("--quiet").arg("--source").arg(source.path()).arg("--metrics-json").arg(&metrics);
    for setting in namespaces.settings().into_iter().chain(absence) {
        command.args(["-c", &setting]);
    }
    let mut run = Run::spawn(command, directory.path());
    until("the first acks", Duration::from_secs(30), || source.fates().acked > 1000);
    let before = run.workers();
    assert_eq!(before.len(), 2);

    namespaces.set_link("down");
    std::thread::sleep(down);
    namespaces.set_link("up");
    let is_up = Instant::now();
    // Without the link a small part of the messages comes through.
    let mut flows = false;
    while !flows {
        let (before, since) = (source.fates().acked, Instant::now());
        std::thread::sleep(Duration::from_millis(100));
        let fates = source.fates();
        assert!(is_up.elapsed() < Duration::from_secs(30), "no tuples flow: {fates:?}\n{}", run.errors());
        flows =
            (fates.acked - before) as f64 >= 0.5 * PER_SECOND * since.elapsed().as_secs_f64() || fates.acked == count;
    }
    let flows_after = is_up.elapsed();
    assert_eq!(run.workers(), before, "{}", run.errors());

    let status = run.wait(Duration::from_secs(120));
    let (errors, fates) = (run.errors(), source.fates());
    assert!(status.is_some_and(|status| status.success()), "{status:?} {fates:?}\n{errors}");
    assert_eq!((fates.begun, fates.acked), (count, count), "{fates:?}\n{errors}");
    let metrics: serde_json::Value = serde_json::from_slice(&std::fs::read(metrics).unwrap()).unwrap();
    let lost = metrics["lost_with_workers"].as_u64().unwrap();
    eprintln!("{down:?} down: tuples flow after {flows_after:?}; {lost} dropped; {fates:?}");
    assert!(lost > 0, "{metrics:#}\n{errors}");
}
