//! Runs each program as a user does and reads its report: every load, acked and not, for a fraction of a second.
//!
//! One test, because two measurements at once would disturb each other.

use std::process::Command;

use serde_json::Value;

/// Every field that readers of a report rely on.
const FIELDS: [&str; 9] = [
    "benchmark",
    "acked",
    "tuples_per_sec",
    "control",
    "ratio_to_control",
    "allocations_per_tuple",
    "lost",
    "latency_ns",
    "conditions",
];

fn report(program: &str, arguments: &[&str]) -> Value {
    let fixed = ["--json", "--warm-up-ms", "30", "--seconds"];
    let output =
        Command::new(program).args(fixed).args(arguments).output().expect("the program was built with the test");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    let report: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).expect("the last line is JSON");
    for field in FIELDS {
        assert!(report.get(field).is_some(), "{field} is missing from {report}");
    }
    assert_eq!((&report["lost"], &report["intact"]), (&0.into(), &true.into()), "{report}");
    report
}

/// Tuples that were due at 5,000 a second in the windows that a report is about: those of the pairs that it kept, or of all
/// when the machine changed in each of them.
fn due_at_5000(report: &Value) -> u64 {
    let [pairs, discarded] = ["pairs", "pairs_discarded"].map(|field| report[field].as_u64().expect("a number"));
    let kept = if discarded == pairs { pairs } else { pairs - discarded };
    2500 / pairs * kept
}

#[test]
fn every_program_reports_every_load() {
    if ringstorm_benches::placement::CpuPair::choose().is_err() {
        return;
    }
    let null_bolt = env!("CARGO_BIN_EXE_const_spout_null_bolt");
    let id_bolt = env!("CARGO_BIN_EXE_const_spout_id_bolt_null_bolt");
    let word_count = env!("CARGO_BIN_EXE_word_count");

    let saturated = report(null_bolt, &["0.5"]);
    assert!(saturated["ratio_to_control"].as_f64().unwrap_or(1.0) > 0.0);
    assert!(saturated["tuples_per_sec"].as_f64().unwrap() > 0.0);
    assert_eq!(saturated["checksum"], saturated["control_checksum"], "both read the same bytes");

    let acked = report(id_bolt, &["0.5", "--acked", "--rate", "5000"]);
    assert_eq!(acked["latency_ns"]["count"], due_at_5000(&acked), "every tuple that was due in a window");
    assert_eq!((&acked["failed"], &acked["acked"]), (&0.into(), &true.into()));
    assert_eq!(acked["control"]["name"], "cache-line round trip");

    let words = report(word_count, &["0.5", "--rate", "5000", "--against-always-spin"]);
    assert_eq!(words["latency_ns"]["count"], due_at_5000(&words));
    assert_eq!(words["control"]["name"], "engine, word_count, never parking");

    let idle = report(null_bolt, &["0.5", "--rate", "0"]);
    assert!(idle["control"].is_null() && idle["tuples_per_sec"].is_null());
    let shares = idle["cpu_share_per_core"].as_array().unwrap();
    assert!(!shares.is_empty(), "cores are pinned here");
}
