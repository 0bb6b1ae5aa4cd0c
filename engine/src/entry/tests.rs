//! Tests of what the entry point makes of its command line.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use ringstorm_runtime::{
    Bolt, BoltCollector, Declarer, ErrorReport, Input, LocalCluster, Next, Outcome, RunReport, Spout, SpoutCollector,
};
use ringstorm_types::config::{Config, keys};
use ringstorm_types::screen::one_line;

use super::command_line::{Command, Refusal, parse};
use super::signals::StopReason;
use super::verdict::{Status, failures, judge, judge_worker, throughput};
use super::*;

#[derive(Debug, Args)]
struct Own {
    #[arg(long)]
    input: Option<OsString>,
    #[arg(allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

fn words(words: &[&str]) -> Vec<OsString> {
    std::iter::once("program").chain(words.iter().copied()).map(OsString::from).collect()
}

fn parsed(line: &[&str]) -> command_line::Parsed<Own> {
    parse("test", words(line)).unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

#[test]
fn arguments_arrive_byte_for_byte() {
    use std::os::unix::ffi::OsStringExt;
    let odd = ["a b", "", "-c", r#"{"k": [1, "x y"]}"#, "\"", "'", "$HOME", "--json", "-"];
    let mut line = words(&["local", "-c", r#"k="v w""#, "--input", "x=y", "--"]);
    line.extend(odd.map(OsString::from));
    line.push(OsString::from_vec(vec![0xff, 0xfe]));
    let parsed = parse::<Own>("test", line).unwrap();
    assert_eq!(parsed.own.input, Some("x=y".into()));
    assert_eq!(parsed.own.rest[..odd.len()], odd.map(OsString::from));
    assert_eq!(parsed.own.rest[odd.len()], OsString::from_vec(vec![0xff, 0xfe]));
    assert_eq!(parsed.command.settings().config().unwrap().get("k"), Some(&"v w".into()));
}

#[test]
fn settings_come_from_the_file_then_from_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("settings.json");
    std::fs::write(&file, r#"{"topology.max.spout.pending": 7, "topology.message.timeout.secs": 5}"#).unwrap();
    let line =
        ["local", "--config", file.to_str().unwrap(), "-c", "topology.max.spout.pending=9", "--workers-cores", "3"];
    let config = parsed(&line).command.settings().config().unwrap();
    assert_eq!(config.max_spout_pending().unwrap(), Some(9));
    assert_eq!(config.message_timeout_secs().unwrap(), 5);
    assert_eq!(config.worker_cores().unwrap(), Some(3));
    assert_eq!(config.origin(keys::WORKER_CORES).unwrap().as_str(), "--workers-cores");

    std::fs::write(&file, "{").unwrap();
    for line in [&["local", "--config", file.to_str().unwrap()][..], &["describe", "-c", "nothing"]] {
        let error = parsed(line).command.settings().config().unwrap_err().text;
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_submission_has_a_name_before_the_values_of_its_own_and_the_words_of_its_options() {
    let line = ["submit", "words", "--inactive", "--input", "x y", "-c", "nimbus.seeds=[\"a\"]", "a", "-b"];
    let parsed = parsed(&line);
    let Command::Submit(arguments, words) = parsed.command else { panic!("{:?}", parsed.command) };
    assert_eq!((arguments.name.as_str(), arguments.inactive, arguments.quiet), ("words", true, false));
    assert_eq!(words, ["--input=x y", "--", "a", "-b"]);
    assert_eq!(parsed.own.rest, ["a", "-b"].map(OsString::from));
    let again = own_words::read::<Own>(&words).unwrap();
    assert_eq!((again.input, again.rest), (parsed.own.input, parsed.own.rest));
}

#[test]
fn times_must_be_positive() {
    let duration = |text: &str| match parse::<Own>("test", words(&["local", "--duration", text])) {
        Ok(parsed) => match parsed.command {
            Command::Local(arguments) => arguments.duration,
            Command::Worker(_) | Command::Submit(..) | Command::Describe(_) => None,
        },
        Err(_) => None,
    };
    assert_eq!(duration("1.5"), Some(Duration::from_millis(1500)));
    for wrong in ["0", "-1", "nan", "inf", "1e300", "x", ""] {
        assert_eq!(duration(wrong), None, "{wrong}");
    }
}

#[derive(Debug, Args)]
struct Clashing {
    #[arg(long)]
    config: bool,
}

#[derive(Debug, Args)]
struct ClashingShort {
    #[arg(short = 'c')]
    count: bool,
}

#[test]
fn options_that_clash_are_named() {
    let text = |refusal| match refusal {
        Refusal::Clash(text) => text,
        Refusal::Usage(error) => panic!("{error}"),
        Refusal::NoWords(text) => panic!("{text}"),
    };
    assert!(text(parse::<Clashing>("test", words(&["local"])).unwrap_err()).contains("--config"));
    assert!(text(parse::<ClashingShort>("test", words(&["local"])).unwrap_err()).contains("-c"));
}

#[test]
fn the_command_line_is_sound_by_claps_own_checks() {
    for line in [&["help"][..], &["local", "--help"], &["describe", "--help"], &["submit", "--help"], &["submit"], &[]]
    {
        assert!(matches!(parse::<Own>("test", words(line)), Err(Refusal::Usage(_))));
    }
}

/// What `worker --help` says of the file is what is read.
#[test]
fn the_help_of_workers_names_every_field_of_an_assignment() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (_, behind) = readme.split_once("```json\n{\n  \"topology_id\"").unwrap();
    let (body, _) = behind.split_once("```").unwrap();
    let assignment: serde_json::Value = serde_json::from_str(&format!("{{\"topology_id\"{body}")).unwrap();
    let fields = assignment.as_object().unwrap().keys().chain(assignment["workers"][0].as_object().unwrap().keys());
    for field in fields {
        let named =
            command_line::ASSIGNMENT_HELP.lines().any(|line| line.trim_start().starts_with(&format!("{field} ")));
        assert!(named, "{field}");
    }
    assert!(command_line::ASSIGNMENT_HELP.lines().all(|line| line.len() <= 80));
}

#[test]
fn illegal_names_and_failing_builds_are_one_line() {
    for name in ["", " ", "a/b", "a:b", "a.b", "a\\b", ".."] {
        let refused = run(name, |_: NoOptions| Ok(TopologyBuilder::new()), words(&["local"])).unwrap_err().text;
        assert!(refused.contains("is not a legal topology name"), "{refused}");
    }
    let failing = |_: NoOptions| Err("no\nsuch \x1b[31mthing".into());
    let refused = run("name", failing, words(&["local"])).unwrap_err().text;
    assert_eq!(refused, r"name cannot be built: no\nsuch \u{1b}[31mthing");
    let refused = run("name", |_: NoOptions| Ok(TopologyBuilder::new()), words(&["local"])).unwrap_err().text;
    assert!(refused.contains("spout"), "{refused}");
}

#[test]
fn what_was_typed_wrongly_is_told_from_what_is_wrong_elsewhere() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("damaged"), "{").unwrap();
    std::fs::write(at("misspelled"), r#"{"topology.worker": 1}"#).unwrap();
    let build = |_: NoOptions| {
        struct Nothing;
        impl Spout for Nothing {
            fn declare(&self, _: &mut Declarer) {}
            fn next_tuple(&mut self, _: &mut SpoutCollector<'_>) -> Result<Next> {
                Ok(Next::Finished)
            }
        }
        let mut topology = TopologyBuilder::new();
        topology.spout("nothing", || Nothing);
        Ok(topology)
    };
    for verb in [&["local"][..], &["describe"], &["submit", "words"]] {
        for (options, status, wanted) in [
            (&["-c", "nothing"][..], Status::Usage, "holds no '='"),
            (&["-c", "topology.worker=1"], Status::Usage, "did you mean \"topology.workers\"?"),
            (&["-c", "topology.max.spout.pending=many"], Status::Usage, "is \"many\" (set by the command line)"),
            (&["--workers-cores", "5000"], Status::Usage, "(set by --workers-cores)"),
            (&["--workers-cores", "0"], Status::Usage, "(set by --workers-cores)"),
            (&["--config", &at("gone")], Status::Usage, "cannot be read"),
            (&["--config", directory.path().to_str().unwrap()], Status::Usage, "it is a folder, not a file"),
            (&["--config", &at("damaged")], Status::Failed, "is not JSON"),
            (&["--config", &at("misspelled")], Status::Failed, "did you mean"),
            // Both are to be mended.
            (&["--config", &at("misspelled"), "-c", "topology.debgu=true"], Status::Failed, "topology.debug"),
        ] {
            let refused = run("test", build, words(&[verb, options].concat())).unwrap_err();
            assert_eq!(refused.status, status, "{verb:?} {options:?}: {refused:?}");
            assert!(refused.text.contains(wanted), "{verb:?} {options:?}: {refused:?}");
        }
    }
    // What the client alone reads.
    std::fs::write(at("of-client"), r#"{"nimbus.thrift.port": "high"}"#).unwrap();
    for (options, status, by) in [
        (["-c", "nimbus.thrift.port=high"], Status::Usage, "(set by the command line)"),
        (["--config", &at("of-client")], Status::Failed, "of-client"),
    ] {
        let refused = run("test", build, words(&[&["submit", "words"], &options[..]].concat())).unwrap_err();
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.text.contains(by), "{refused:?}");
    }
    for name in ["", "a/b", "a\nb"] {
        assert_eq!(run("test", build, words(&["submit", name])), Ok(Status::Usage), "{name:?}");
    }
}

#[test]
fn numbers_below_what_is_taken_are_named_as_what_they_are() {
    for (line, wanted) in [
        (&["local", "--duration", "-1"][..], "give a number of seconds above 0"),
        (&["local", "--workers", "-1"], "give a whole number from 1 to 256"),
        (&["local", "--workers-cores", "-1"], "give a whole number from 1"),
        (&["worker", "--ringstorm-worker", "-1"], "give a whole number from 0"),
    ] {
        let Err(Refusal::Usage(error)) = parse::<Own>("test", words(line)) else { panic!("{line:?}") };
        assert!(error.to_string().contains(wanted), "{line:?}: {error}");
    }
}

#[test]
fn executables_that_cannot_unwind_are_refused() {
    assert_eq!(refuse_aborts(false), Ok(()));
    let refused = refuse_aborts(true).unwrap_err();
    assert!(refused.contains("panic = \"abort\"") && refused.contains("Cargo.toml"), "{refused}");
}

fn report() -> RunReport {
    RunReport {
        outcome: Outcome::Completed,
        drained: true,
        pending: 0,
        in_flight: 0,
        silent_workers: Vec::new(),
        errors: Vec::new(),
        error_count: 0,
        worker_deaths: 0,
        elapsed: Duration::from_millis(1234),
        snapshots: Vec::new(),
        cores_left_behind: 0,
    }
}

#[test]
fn the_verdict_tells_the_truth() {
    let judged = |report: &RunReport, by| judge("words", report, by);
    assert_eq!(
        judged(&report(), None),
        (Status::Done, "words has read all its input and is drained, after 1.23 s".into())
    );
    let stopped = RunReport { outcome: Outcome::Stopped, ..report() };
    let expected = "words was stopped by Ctrl-C and is drained, after 1.23 s";
    assert_eq!(judged(&stopped, Some("Ctrl-C")), (Status::Done, expected.into()));

    for left in [
        RunReport { pending: 1, ..stopped.clone() },
        RunReport { in_flight: 12, ..report() },
        RunReport { drained: false, cores_left_behind: 1, ..stopped.clone() },
    ] {
        let (status, text) = judged(&left, Some("SIGTERM"));
        assert_eq!(status, Status::Left, "{text}");
        assert!(text.starts_with("error: words ") && text.contains(keys::DRAIN_TIMEOUT_SECS), "{text}");
    }
    let (_, text) = judged(&RunReport { pending: 1, in_flight: 12_000, ..stopped }, None);
    assert!(text.contains("1 message neither acked nor failed and 12,000 tuples not executed"), "{text}");

    let silent = RunReport { drained: false, silent_workers: vec!["worker 1".into()], in_flight: 2, ..report() };
    let (status, text) = judged(&silent, None);
    assert_eq!(status, Status::Left);
    let unknown =
        "ended after 1.23 s while worker 1 did not answer: what was left there is unknown; elsewhere 0 messages";
    assert!(text.contains(unknown) && text.contains("2 tuples not executed"), "{text}");

    let (status, text) = judged(&RunReport { error_count: 3, ..report() }, None);
    assert_eq!(status, Status::Errors);
    assert!(text.contains("3 errors"), "{text}");

    let failed = RunReport { outcome: Outcome::Failed("task 1 of lines\nis gone".into()), ..report() };
    let (status, text) = judged(&failed, None);
    assert_eq!((status, &*text), (Status::Failed, r"error: words failed after 1.23 s: task 1 of lines\nis gone"));
}

#[test]
fn the_end_of_an_assigned_worker_is_judged_like_that_of_a_run() {
    use ringstorm_runtime::WorkerEnd;
    let judged = |end| judge_worker("words", 2, end, Some("SIGTERM"));
    assert_eq!(judged(WorkerEnd::Unassigned), (Status::Done, None));
    let expected = "worker 2 of words was stopped by SIGTERM and is drained".to_owned();
    assert_eq!(judged(WorkerEnd::Stopped { pending: 0, in_flight: 0 }), (Status::Done, Some(expected)));
    for (pending, in_flight) in [(1, 0), (0, 12)] {
        let (status, text) = judged(WorkerEnd::Stopped { pending, in_flight });
        assert_eq!(status, Status::Left);
        let text = text.unwrap();
        assert!(text.starts_with("error: worker 2 of words ") && text.contains(keys::DRAIN_TIMEOUT_SECS), "{text}");
    }
}

#[test]
fn nothing_done_still_makes_a_line() {
    let metrics = report().metrics();
    assert!(throughput(&metrics, Duration::ZERO).starts_with("0 tuples emitted by spouts (0.00/s)"));
    assert!(live::line(&metrics, &mut live::Before::default()).starts_with("1 s  emitted 0"));
    assert_eq!(failures(&metrics), None);
}

#[test]
fn messages_that_failed_are_told_apart_from_those_that_timed_out() {
    #[derive(ringstorm_tuple::Tuple)]
    #[tuple(crate = ringstorm_tuple)]
    struct Number {
        value: u64,
    }
    struct Numbers(std::ops::Range<u64>);
    impl Spout for Numbers {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
            let Some(value) = self.0.next() else { return Ok(Next::Finished) };
            collector.emit_with_id(value, &Number { value });
            Ok(Next::Emitted)
        }
    }
    /// Acks 0, fails 1 and 2, forgets the others.
    struct Forgetful;
    impl Bolt for Forgetful {
        fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
            match input.view::<Number>()?.value() {
                0 => collector.ack(input),
                1 | 2 => collector.fail(input),
                _ => {}
            }
            Ok(())
        }
    }
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", || Numbers(0..4));
    topology.set(keys::TOPOLOGY_MESSAGE_TIMEOUT_SECS, 1);
    topology.bolt("forgetful", || Forgetful).shuffle_grouping("numbers");
    let report = LocalCluster::new().run("test", topology.build(&Config::new()).unwrap()).unwrap();
    let warning = failures(&report.metrics()).unwrap();
    assert!(warning.starts_with("warning: 3 messages failed, 1 of them by time-out; "), "{warning}");
}

#[test]
fn texts_stay_on_their_line() {
    let error = ErrorReport {
        component: "count".into(),
        task: 3,
        text: "bad\r\n\x1b[2Jinput\tü\n".into(),
        fatal: false,
        since_start: Duration::ZERO,
    };
    assert_eq!(one_line(&error), r"count, task 3: bad\r\n\u{1b}[2Jinput ü");
}

#[test]
fn the_first_reason_stands() {
    let reason = StopReason::default();
    assert!(reason.set("Ctrl-C") && !reason.set("SIGTERM"));
    assert_eq!(reason.get().as_deref(), Some("Ctrl-C"));
}

#[test]
fn exit_codes_are_as_documented() {
    let statuses = [Status::Done, Status::Failed, Status::Usage, Status::Left, Status::Errors];
    assert_eq!(statuses.map(|status| status as u8), [0, 1, 2, 3, 4]);
}
