//! Lines out: to files and standard output, with what can go wrong there.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ringstorm_runtime::library::LineWriter;
use ringstorm_runtime::{LocalCluster, LocalOptions, Outcome, RunReport, TopologyBuilder};
use ringstorm_tuple::Tuple;
use ringstorm_types::config::{Config, Origin};

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Row {
    name: String,
    count: u64,
    note: Option<String>,
}

fn row(count: u64) -> Row {
    Row { name: format!("row {count}"), count, note: count.is_multiple_of(2).then(|| "a\tb\n".to_owned()) }
}

fn config(cores: u64) -> Config {
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", cores, Origin::TOPOLOGY);
    config.set("ringstorm.drain.timeout.secs", 5, Origin::TOPOLOGY);
    config
}

fn write_rows(count: u64, path: &Path, tasks: u32, ackers: u64) -> RunReport {
    let path = path.to_owned();
    let mut config = config(2);
    config.set("topology.acker.executors", ackers, Origin::TOPOLOGY);
    let mut topology = TopologyBuilder::new();
    topology.spout_fn("rows", move || (0..count).map(row));
    topology.bolt("write", move || LineWriter::new(&path)).parallelism(tasks).shuffle_grouping("rows");
    LocalCluster::new().run("writer", topology.build(&config).unwrap()).unwrap()
}

#[test]
fn every_tuple_becomes_a_line() {
    let folder = tempfile::tempdir().unwrap();
    for ackers in [0, 1] {
        for tasks in [1, 3] {
            let path = folder.path().join(format!("{ackers}-{tasks}"));
            std::fs::write(&path, "torn").unwrap();
            let report = write_rows(20_000, &path, tasks, ackers);
            assert_eq!((report.outcome, report.error_count), (Outcome::Completed, 0), "{:?}", report.errors);
            let text = std::fs::read_to_string(&path).unwrap();
            let lines: BTreeSet<&str> = text.lines().skip(1).collect();
            assert_eq!((text.lines().next(), lines.len(), text.ends_with('\n')), (Some("torn"), 20_000, true));
            assert!(lines.contains("row 7\t7\tnull") && lines.contains("row 8\t8\ta\\tb\\n"), "{:?}", lines.first());
        }
    }
}

#[test]
fn a_line_is_written_as_soon_as_nothing_more_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let (sender, spout) = ringstorm_runtime::library::channel(4);
    let mut topology = TopologyBuilder::new();
    topology.spout("rows", spout);
    let there = path.clone();
    let writer = move || {
        LineWriter::new(&there).format(|tuple, line| {
            let row = tuple.view::<Row>()?;
            if row.count() == 13 {
                return Err("unlucky".into());
            }
            Ok(write!(line, "{}={}", row.name(), row.count())?)
        })
    };
    topology.bolt("write", writer).shuffle_grouping("rows").tick_every(Duration::from_millis(3));
    let run =
        LocalCluster::new().submit("writer", topology.build(&config(1)).unwrap(), LocalOptions::default()).unwrap();
    sender.send_tracked(row(1)).unwrap().wait().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "row 1=1\n", "what is acked is written");
    assert!(sender.send_tracked(row(13)).unwrap().wait().is_err());
    sender.send_tracked(row(2)).unwrap().wait().unwrap();
    drop(sender);
    let report = run.wait();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "row 1=1\nrow 2=2\n");
    assert_eq!(report.errors.iter().map(|error| error.text.as_str()).collect::<Vec<_>>(), ["unlucky"]);
}

#[test]
fn what_cannot_be_written_ends_the_run_with_one_line() {
    for (path, why) in [("/dev/full", "No space left"), ("/", "s a directory"), ("/no/such/folder/out", "No such file")]
    {
        let begin = Instant::now();
        let report = write_rows(100_000, Path::new(path), 1, 1);
        let Outcome::Failed(text) = report.outcome else { panic!("{path} was written") };
        assert!(text.contains(path) && text.contains(why) && !text.contains('\n'), "{text}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

/// Runs in a process of its own, see below.
#[test]
fn writes_standard_output_if_it_is_told_to() {
    let Ok(count) = std::env::var("RINGSTORM_TEST_WRITE_STANDARD_OUTPUT") else { return };
    let report = write_rows(count.parse().unwrap(), Path::new("-"), 1, 1);
    eprintln!("{:?} with {} errors", report.outcome, report.error_count);
}

fn child(count: u64) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writes_standard_output_if_it_is_told_to", "--nocapture"])
        .env("RINGSTORM_TEST_WRITE_STANDARD_OUTPUT", count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn standard_output_gets_every_line() {
    let output = child(10_000).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().filter(|line| line.starts_with("row ")).count(), 10_000);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Completed with 0 errors"));
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let mut child = child(u64::MAX);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("row ") {
        line.clear();
        output.read_line(&mut line).unwrap();
    }
    drop(output);
    let begin = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("Stopped with 0 errors"), "{text}");
}
