//! Each example prints what its first lines promise.

use crate::processes::run;

#[test]
fn exclamation() {
    let ended = run("exclamation", &["local", "--count", "7"]).expect_code(0);
    let mut lines: Vec<&str> = ended.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["bertels!!!!!!", "golda!!!!!!", "jackson!!!!!!", "mike!!!!!!", "mike!!!!!!", "nathan!!!!!!", "nathan!!!!!!"]
    );
    assert!(ended.errors.contains("exclamation has read all its input and is drained"), "{}", ended.errors);
}

#[test]
fn blocking_bolt() {
    let ended = run("blocking_bolt", &["local", "--calls", "200", "--wait-ms", "2"]).expect_code(0);
    assert_eq!(ended.output, "sum 19900\n");
}

#[test]
fn async_bolt() {
    let ended = run("async_bolt", &["local"]).expect_code(0);
    assert_eq!(ended.output, "sum 4000\n");
}

#[test]
fn custom_grouping() {
    let ended = run("custom_grouping", &["local", "--quiet"]).expect_code(0);
    let mut lines: Vec<&str> = ended.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "desk 0: 365 orders, 365 of them above 950 or from the north",
            "desk 1: 333 orders, 16 of them above 950 or from the north",
            "desk 2: 333 orders, 15 of them above 950 or from the north",
        ]
    );
    assert_eq!(ended.errors, "");
}

#[test]
fn rolling_count() {
    let ended = run("rolling_count", &["local", "--every", "0.1", "--duration", "0.8"]).expect_code(0);
    let last = ended.output.lines().last().unwrap();
    assert!(last.starts_with("golda ") && last.contains(", mike "), "{last}");
    // The first line may come when only one of the two counters has told its counts.
    assert!(ended.output.lines().skip(1).all(|line| line.starts_with("golda ")), "{}", ended.output);
    assert!(ended.errors.contains("was stopped by --duration 0.8 and is drained"), "{}", ended.errors);
}

#[test]
fn rolling_count_names_the_option_that_is_wrong() {
    for every in ["--every=-1", "--every=0", "--every=nan"] {
        let ended = run("rolling_count", &["local", every]).expect_code(1);
        assert!(ended.errors.contains("--every is not a number of seconds above 0"), "{}", ended.errors);
    }
}

#[test]
fn replay() {
    let ended = run("replay", &["local"]).expect_code(0);
    assert_eq!(ended.output, "7 orders shipped, 2 of them at the second attempt\n");
    assert!(ended.errors.contains("9 tuples emitted by spouts"), "{}", ended.errors);
    let warning = "warning: 2 messages failed, 0 of them by time-out; what their spouts did not emit again is lost\n";
    assert!(ended.errors.contains(warning), "{}", ended.errors);
}
