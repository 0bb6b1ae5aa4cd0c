//! Starts that go wrong, or are odd.

use std::time::{Duration, Instant};

use ringstorm_tests::addresses::free_addresses;
use ringstorm_tests::proxy::Proxy;
use ringstorm_tests::run::Run;
use rustix::process::Signal;

use crate::{AMPLE, Case};

/// No matter how many ackers there are: processes for which there is nothing to do are not started.
#[test]
fn more_workers_than_executors_do_what_there_is_to_do() {
    for (ackers, processes) in [(None, 8), (Some(0), 2), (Some(1), 3), (Some(5), 7)] {
        let setting = ackers.map(|ackers| format!("topology.acker.executors={ackers}"));
        let mut arguments = vec!["--count", "200", "--pace-ms", "2"];
        arguments.extend(setting.iter().flat_map(|setting| ["-c", setting.as_str()]));
        let case = Case::sequence(Some(8), &arguments);
        case.wait_for_note("opened");
        assert_eq!(case.run.workers().len(), processes, "{ackers:?} ackers\n{}", case.run.errors());
        let end = case.finish().expect_code(0);
        assert_eq!(end.spout_counts(), (200, 200, 0), "{ackers:?} ackers: {end:?}");
        assert_eq!(end.only("taken").number("taken"), 200);
    }
}

#[test]
fn user_code_that_exits_the_process_at_the_start_ends_the_run_with_its_code() {
    for code in ["0", "7"] {
        let started = Instant::now();
        let end = Case::sequence(Some(2), &["--exit-in-prepare", code]).finish().expect_code(1);
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        let text = format!("worker 1 has died (exit status: {code})");
        assert!(end.verdict().starts_with("error: ") && end.verdict().contains(&text), "{}", end.errors);
    }
}

/// Before a worker has said hello, and while others are not ready yet.
#[test]
fn a_worker_that_is_killed_while_the_run_starts_ends_it() {
    let late = r#"ringstorm.worker.launch=[[],["sh","-c","sleep 1; exec \"$0\" \"$@\""]]"#;
    for (setting, ready_note) in [(late, None), ("topology.debug=false", Some("preparing"))] {
        let case = Case::sequence(Some(2), &["--prepare-ms", "1000", "-c", setting]);
        match ready_note {
            Some(note) => drop(case.wait_for_note(note)),
            None => crate::until("the first worker", AMPLE, || case.process_of(0).is_some()),
        }
        assert!(case.run.signal(0, Signal::KILL));
        let end = case.finish().expect_code(1);
        let said = end.verdict();
        assert!(
            said.starts_with("error: ") && said.contains("worker 0") && said.contains("signal: 9"),
            "{}",
            end.errors
        );
        assert!(end.all("finish").is_empty(), "{end:?}");
    }
}

/// Where the workers reach the leading process is in the directory of temporary files.
#[test]
fn a_directory_of_temporary_files_that_cannot_be_used_is_one_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let deep = directory.path().join("d".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    for temporary in ["/nonexistent".as_ref(), file.as_path(), deep.as_path()] {
        let mut command = Run::command(env!("CARGO_BIN_EXE_sequence"), Some(2));
        command.args(["--notes", "/nonexistent"]).env("TMPDIR", temporary);
        let mut run = Run::spawn(command, directory.path());
        let status = run.wait(AMPLE).unwrap();
        let errors = run.errors();
        eprint!("{errors}");
        assert_eq!(status.code(), Some(1), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.starts_with("error: "), "{errors}");
        assert!(errors.contains(temporary.to_str().unwrap()) && errors.contains("TMPDIR"), "{errors}");
        assert_eq!(deep.read_dir().unwrap().count(), 0, "nothing is left");
    }
}

/// Addresses at which nobody is: the run waits, and says for whom, where and why, without a line for each try.
#[test]
fn whoever_cannot_be_reached_is_named_with_address_and_reason() {
    let dialed: [(&str, &str); 2] = [
        ("127.0.0.1:1", "127.0.0.1:1: Connection refused"),
        ("unknown.invalid:7", "unknown.invalid:7: failed to lookup"),
    ];
    for (address, why) in dialed {
        let dial = format!(r#"ringstorm.worker.dial=["{address}","{address}"]"#);
        let case = Case::sequence(Some(2), &["-c", &dial, "-c", "ringstorm.drain.timeout.secs=1"]);
        let said = |text: &str| case.run.errors().matches(text).count();
        let expected = format!("note: [worker 0] worker 1 cannot be reached: {why}");
        crate::until("it to be named", Duration::from_secs(12), || said(&expected) == 1);
        crate::until("the one that is not dialed to say so", AMPLE, || {
            said(&format!(
                "note: [worker 1] worker 0 at {address} has not connected; this worker waits for it at {address}"
            )) == 1
        });
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(case.run.errors().lines().count(), 2, "{}", case.run.errors());
        case.run.signal_leader(Signal::TERM);
        case.finish().expect_code(0);
    }
}

/// The one that is dialed comes late.
#[test]
fn whoever_comes_late_is_named_and_then_said_to_be_reached() {
    let [own, dialed] = free_addresses();
    let settings = [
        format!(r#"ringstorm.worker.listen=["127.0.0.1:0","{own}"]"#),
        format!(r#"ringstorm.worker.dial=["{own}","{dialed}"]"#),
    ];
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["-c", setting.as_str()]).collect();
    let case = Case::sequence(Some(2), &settings);
    let said = |text: &str| case.run.errors().matches(text).count();
    crate::until("it to be named", AMPLE, || said("note: [worker 0] worker 1 cannot be reached: ") == 1);
    let _proxy = Proxy::start_at(&dialed, &own, 0);
    case.wait_for_note("finished");
    assert_eq!(said(&format!("note: [worker 0] worker 1 at {dialed} is reached")), 1, "{}", case.run.errors());
    case.finish().expect_code(0);
}
