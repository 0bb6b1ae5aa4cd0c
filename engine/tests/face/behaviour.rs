//! Commands, options, errors and exit codes.

use crate::processes::{Process, run};

/// Standard error of a command that must fail with one line.
#[track_caller]
fn one_error(name: &str, arguments: &[&str], code: i32) -> String {
    let ended = run(name, arguments).expect_code(code);
    assert_eq!(ended.errors.lines().count(), 1, "{}", ended.errors);
    assert!(ended.errors.starts_with("error: "), "{}", ended.errors);
    ended.errors
}

#[test]
fn wrong_settings_are_one_line() {
    let error = one_error("exclamation", &["local", "-c", "topology.worker=2"], 2);
    assert!(error.contains("topology.workers"), "{error}");
    let error = one_error("exclamation", &["local", "--workers-cores", "0"], 2);
    assert!(error.contains("--workers-cores"), "{error}");
    let error = one_error("exclamation", &["describe", "--config", "/no/such/file.json"], 2);
    assert!(error.contains("/no/such/file.json"), "{error}");
    let error = one_error("exclamation", &["local", "--metrics-json", "/no/such/directory/metrics.json"], 2);
    assert!(error.contains("/no/such/directory"), "{error}");
    // What a topology says of its own options is its own.
    let error = one_error("rolling_count", &["local", "--rate", "0"], 1);
    assert!(error.contains("--rate"), "{error}");
}

#[test]
fn wrong_command_lines_are_told_apart() {
    for arguments in [&[][..], &["lokal"], &["local", "--colour"], &["local", "--duration", "-1"]] {
        run("exclamation", arguments).expect_code(2);
    }
    let help = run("exclamation", &["local", "--help"]).expect_code(0);
    assert!(help.output.contains("--count") && help.output.contains("--workers-cores"), "{}", help.output);
}

#[test]
fn settings_without_effect_are_named() {
    let ended = run("exclamation", &["local", "-c", "topology.worker.childopts=-Xmx1g"]).expect_code(0);
    assert!(ended.errors.starts_with("warning: topology.worker.childopts has no effect"), "{}", ended.errors);
}

#[test]
fn settings_of_workers_without_effect_are_noted() {
    let listen = r#"ringstorm.worker.listen=["127.0.0.1:6700"]"#;
    let ended = run("exclamation", &["local", "-c", listen]).expect_code(0);
    assert!(ended.errors.starts_with("note: ringstorm.worker.listen has no effect here: "), "{}", ended.errors);
}

#[test]
fn what_is_emitted_is_shown_on_standard_error_if_asked_for() {
    let emitted = |errors: &str| errors.lines().filter(|line| line.starts_with("debug: ")).count();
    let quiet = run("exclamation", &["local", "--count", "20"]).expect_code(0);
    assert_eq!(emitted(&quiet.errors), 0, "{}", quiet.errors);
    let shown = run("exclamation", &["local", "--count", "20", "-c", "topology.debug=true"]).expect_code(0);
    assert_eq!(shown.output.lines().count(), 20, "standard output is the topology's");
    // Each word is emitted by the spout and by the bolts that add a mark.
    let from = |component: &str| {
        let start = format!("debug: {component}, task ");
        shown.errors.lines().filter(|line| line.starts_with(&start) && line.contains("[\"")).count()
    };
    assert_eq!(from("words"), 20, "{}", shown.errors);
    assert_eq!(from("exclaim1"), 20, "{}", shown.errors);
}

#[test]
fn a_plan_is_described() {
    let text = run("rolling_count", &["describe", "--workers-cores", "3"]).expect_code(0).output;
    assert!(text.starts_with("Topology rolling_count: 3 components, 4 tasks"), "{text}");
    assert!(text.contains("grouped by fields word") && text.contains("core 2:"), "{text}");
    let json = run("rolling_count", &["describe", "--json"]).expect_code(0).output;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["components"][0]["id"], "words");
}

#[test]
fn metrics_are_kept_as_json() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("metrics.json");
    let arguments = ["local", "--quiet", "--count", "1000", "--metrics-json", file.to_str().unwrap()];
    let ended = run("exclamation", &arguments).expect_code(0);
    assert_eq!((ended.output.lines().count(), &*ended.errors), (1000, ""));
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let [words, exclaim, ..] = &json["components"].as_array().unwrap()[..] else { panic!("{json:#}") };
    assert_eq!(words["windows"][":all-time"]["acked"], 1000);
    assert_eq!((&exclaim["id"], &exclaim["windows"]["600"]["executed"]), (&"exclaim1".into(), &1000.into()));
    assert_eq!(exclaim["latency"]["execute"]["count"], 1000);
}

#[test]
fn a_closed_error_output_stops_nothing() {
    let mut process = Process::start("exclamation", &["local", "-c", "topology.worker.childopts=-Xmx1g"]);
    process.close_error_output();
    assert_eq!(process.finish().expect_code(0).output.lines().count(), 10);
}
