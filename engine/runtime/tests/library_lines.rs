//! Lines in: every shape of a file, standard input, pipes, failures and replays.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringstorm_runtime::library::{Line, LineSpout, RetryPolicy};
use ringstorm_runtime::{
    BuiltTopology, Input as Tuples, LocalCluster, LocalOptions, Outcome, RunReport, TopologyBuilder,
};
use ringstorm_types::config::{Config, Origin};

const QUICK: RetryPolicy = RetryPolicy::at_most(3).with_delays(Duration::from_millis(5), Duration::from_millis(20));

type Seen = Arc<Mutex<Vec<String>>>;

fn config(cores: u64) -> Config {
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", cores, Origin::TOPOLOGY);
    config
}

fn run(topology: BuiltTopology) -> RunReport {
    LocalCluster::new().run("lines", topology).unwrap()
}

fn completed(report: &RunReport) {
    assert_eq!(report.outcome, Outcome::Completed, "{report:?}");
    assert!(report.drained && report.pending == 0, "{report:?}");
}

/// Lines from a path into a list.
fn collecting(path: &Path, tasks: u32, cores: u64) -> (BuiltTopology, Seen) {
    let (path, seen) = (path.to_owned(), Seen::default());
    let mut topology = TopologyBuilder::new();
    topology.spout("lines", move || LineSpout::new(&path).retries(QUICK)).parallelism(tasks);
    let shared = Arc::clone(&seen);
    let collect = move |input: &Tuples<'_>| {
        shared.lock().unwrap().push(input.view::<Line<'_>>()?.line().to_owned());
        Ok(())
    };
    topology.for_each_fn("collect", collect).shuffle_grouping("lines");
    (topology.build(&config(cores)).unwrap(), seen)
}

#[test]
fn every_shape_of_a_file() {
    let cases: [(&[u8], &[&str]); 7] = [
        (b"", &[]),
        (b"\n", &[""]),
        (b"one", &["one"]),
        (b"one\n", &["one"]),
        (b"one\n\ntwo\r\n\r\nthree", &["one", "", "two", "", "three"]),
        ("\u{fc}ber\n\u{1F680}\n".as_bytes(), &["\u{fc}ber", "\u{1F680}"]),
        (b"nul\0\n\ttab\n", &["nul\0", "\ttab"]),
    ];
    let folder = tempfile::tempdir().unwrap();
    for tasks in [1, 3] {
        let seen: Arc<Mutex<Vec<Vec<String>>>> = Arc::new(Mutex::new(vec![Vec::new(); cases.len()]));
        let mut topology = TopologyBuilder::new();
        for (number, (content, _)) in cases.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, content).unwrap();
            topology.spout(&number.to_string(), move || LineSpout::new(&path)).parallelism(tasks);
        }
        let shared = Arc::clone(&seen);
        let collect = move |input: &Tuples<'_>| {
            let case: usize = input.source_component().parse()?;
            shared.lock().unwrap()[case].push(input.view::<Line<'_>>()?.line().to_owned());
            Ok(())
        };
        let mut collect = topology.for_each_fn("collect", collect);
        for number in 0..cases.len() {
            collect = collect.shuffle_grouping(number.to_string().as_str());
        }
        let report = run(topology.build(&config(1)).unwrap());
        completed(&report);
        assert_eq!(report.error_count, 0, "{:?}", report.errors);
        for ((content, expected), lines) in cases.iter().zip(&*seen.lock().unwrap()) {
            assert_eq!(lines, expected, "{content:?}");
        }
    }
}

#[test]
fn what_is_not_utf_8_is_replaced_and_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    std::fs::write(&path, b"good\nb\xFFd\n\xC3\nlast \xF0\x9F").unwrap();
    let (topology, seen) = collecting(&path, 1, 1);
    let report = run(topology);
    completed(&report);
    assert_eq!(*seen.lock().unwrap(), ["good", "b\u{FFFD}d", "\u{FFFD}", "last \u{FFFD}"]);
    let errors: Vec<&str> = report.errors.iter().map(|error| error.text.as_str()).collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("a line is not UTF-8") && errors[0].contains("b\u{FFFD}d"), "{errors:?}");
    assert!(errors[1].starts_with("3 lines of ") && errors[1].ends_with("were not UTF-8"), "{errors:?}");
}

#[test]
fn a_file_is_shared_by_tasks_and_cores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    let mut file = std::io::BufWriter::new(File::create(&path).unwrap());
    let count = 1_000_000_u64;
    (0..count).for_each(|number| writeln!(file, "line {number:012}").unwrap());
    file.into_inner().unwrap();
    let (sum, lines) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut topology = TopologyBuilder::new();
    let shared = path.clone();
    topology.spout("lines", move || LineSpout::new(&shared)).parallelism(3);
    let (sum_there, lines_there) = (Arc::clone(&sum), Arc::clone(&lines));
    let add = move |input: &Tuples<'_>| {
        sum_there.fetch_add(input.view::<Line<'_>>()?.line()[5..].parse()?, Ordering::Relaxed);
        lines_there.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    topology.for_each_fn("add", add).parallelism(2).shuffle_grouping("lines");
    let report = run(topology.build(&config(2)).unwrap());
    completed(&report);
    assert_eq!(lines.load(Ordering::Relaxed), count);
    assert_eq!(sum.load(Ordering::Relaxed), count * (count - 1) / 2);
}

#[test]
fn a_line_of_50_megabytes_and_one_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"first\n").unwrap();
    file.write_all(&vec![b'a'; 50_000_000]).unwrap();
    file.write_all(b"\nmiddle\n").unwrap();
    file.write_all(&vec![b'b'; 68_000_000]).unwrap();
    file.write_all(b"\nlast\n").unwrap();
    let mut topology = TopologyBuilder::new();
    topology.spout("lines", move || LineSpout::new(&path));
    let lengths = Arc::new(Mutex::new(Vec::new()));
    let there = Arc::clone(&lengths);
    let measure = move |input: &Tuples<'_>| {
        there.lock().unwrap().push(input.view::<Line<'_>>()?.line().len());
        Ok(())
    };
    topology.for_each_fn("measure", measure).shuffle_grouping("lines");
    let report = run(topology.build(&config(1)).unwrap());
    completed(&report);
    assert_eq!(*lengths.lock().unwrap(), [5, 50_000_000, 6, 4]);
    // A busy machine may also report that so much held a core for long.
    let texts: Vec<&str> =
        report.errors.iter().filter(|error| error.task != 0).map(|error| error.text.as_str()).collect();
    let [text] = texts[..] else { panic!("{texts:?}") };
    assert!(text.contains("byte 50000014") && text.contains("68000000 bytes long"), "{text}");
    assert!(text.contains("topology.tuple.max.bytes"), "{text}");
}

#[test]
fn a_line_that_cannot_be_emitted_is_not_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    // Replacing makes the second line three times as long.
    std::fs::write(&path, [b"one\n".as_slice(), &[0xFF; 900], b"\ntwo\n"].concat()).unwrap();
    let (seen, mut config) = (Seen::default(), config(1));
    config.set("topology.tuple.max.bytes", 1024, Origin::TOPOLOGY);
    let mut topology = TopologyBuilder::new();
    topology.spout("lines", move || LineSpout::new(&path));
    let shared = Arc::clone(&seen);
    let collect = move |input: &Tuples<'_>| {
        shared.lock().unwrap().push(input.view::<Line<'_>>()?.line().to_owned());
        Ok(())
    };
    topology.for_each_fn("collect", collect).shuffle_grouping("lines");
    let report = run(topology.build(&config).unwrap());
    completed(&report);
    assert_eq!(*seen.lock().unwrap(), ["one", "two"]);
    // One error says which line and why, the other that something was replaced.
    let texts: Vec<&str> =
        report.errors.iter().filter(|error| error.task != 0).map(|error| error.text.as_str()).collect();
    let [replaced, left_out] = texts[..] else { panic!("{texts:#?}") };
    assert!(replaced.starts_with("a line is not UTF-8"), "{replaced}");
    assert!(left_out.starts_with("line 2 (byte 4) of ") && left_out.contains(" was left out: "), "{left_out}");
    assert!(left_out.contains("more than topology.tuple.max.bytes allows"), "{left_out}");
}

#[test]
fn what_cannot_be_opened_ends_the_run_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let unreadable = folder.path().join("unreadable");
    std::fs::write(&unreadable, "secret\n").unwrap();
    std::fs::set_permissions(&unreadable, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let mut cases = vec![(missing, "No such file"), (folder.path().to_owned(), "is a directory")];
    // Root may read everything.
    if File::open(&unreadable).is_err() {
        cases.push((unreadable, "Permission denied"));
    }
    for (path, why) in cases {
        let (topology, _) = collecting(&path, 1, 1);
        let Outcome::Failed(text) = run(topology).outcome else { panic!("{path:?} was read") };
        assert!(text.contains(path.to_str().unwrap()) && text.contains(why) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn failed_lines_are_emitted_again_and_given_up_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    let content: String = (1..=3000).map(|number| format!("{number}\n")).collect();
    std::fs::write(&path, content).unwrap();
    for blocks in [false, true] {
        let (path, seen) = (path.clone(), Seen::default());
        let mut topology = TopologyBuilder::new();
        let input = if blocks { cat(&path) } else { Input::Path(path) };
        let input_path = input.path();
        topology.spout("lines", move || LineSpout::new(&input_path).retries(QUICK));
        let (shared, mut failed) = (Arc::clone(&seen), std::collections::HashSet::new());
        // Every third line fails once, one fails always.
        let check = move |input: &Tuples<'_>| {
            let line = input.view::<Line<'_>>()?.line().to_owned();
            let number: u64 = line.parse()?;
            if number == 1700 || number.is_multiple_of(3) && failed.insert(number) {
                return Err(format!("not {number}").into());
            }
            shared.lock().unwrap().push(line);
            Ok(())
        };
        topology.for_each_fn("check", check).fields_grouping("lines", ["line"]);
        let report = run(topology.build(&config(2)).unwrap());
        completed(&report);
        let mut numbers: Vec<u64> = seen.lock().unwrap().iter().map(|line| line.parse().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq((1..=3000).filter(|number| *number != 1700)), "a line is lost or doubled");
        let spout = report.errors.iter().find(|error| error.component == "lines").expect("a report");
        let place = if blocks { "line 1700 of " } else { "line 1700 (byte 7388) of " };
        assert!(spout.text.starts_with(place), "{}", spout.text);
        assert!(spout.text.contains("given up after 4 failures; the last reason: failed by task"), "{}", spout.text);
    }
}

/// Where lines come from.
enum Input {
    Path(std::path::PathBuf),
    Pipe(std::process::Child),
}

/// The output of `cat`, which is a pipe.
fn cat(path: &Path) -> Input {
    Input::Pipe(Command::new("cat").arg(path).stdout(Stdio::piped()).spawn().unwrap())
}

impl Input {
    fn path(&self) -> std::path::PathBuf {
        match self {
            Self::Path(path) => path.clone(),
            Self::Pipe(cat) => format!("/dev/fd/{}", cat.stdout.as_ref().unwrap().as_raw_fd()).into(),
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Self::Pipe(cat) = self {
            let _ = cat.wait();
        }
    }
}

#[test]
fn lines_of_a_pipe_are_emitted_as_they_come_and_a_stop_does_not_wait_for_more() {
    let (output, mut input) = std::io::pipe().unwrap();
    let path = format!("/dev/fd/{}", output.as_raw_fd());
    let (topology, seen) = collecting(Path::new(&path), 2, 1);
    let run = LocalCluster::new().submit("pipe", topology, LocalOptions::default()).unwrap();
    for number in 1..=3 {
        writeln!(input, "{number}").unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        while seen.lock().unwrap().len() < number {
            assert!(Instant::now() < until, "line {number} did not come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let begin = Instant::now();
    let report = run.stop();
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!((report.outcome, report.drained), (Outcome::Stopped, true));
    assert_eq!(*seen.lock().unwrap(), ["1", "2", "3"]);
}

#[test]
fn a_named_pipe_without_a_writer_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (topology, seen) = collecting(&path, 1, 1);
    let run = LocalCluster::new().submit("pipe", topology, LocalOptions::default()).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!run.is_over());
    let mut input = File::options().write(true).open(&path).unwrap();
    input.write_all(b"late\n").unwrap();
    drop(input);
    completed(&run.wait());
    assert_eq!(*seen.lock().unwrap(), ["late"]);
}

/// Runs in a process of its own, see below.
#[test]
fn reads_standard_input_if_it_is_told_to() {
    if std::env::var_os("RINGSTORM_TEST_READ_STANDARD_INPUT").is_none() {
        return;
    }
    let (topology, seen) = collecting(Path::new("-"), 2, 1);
    let report = run(topology);
    completed(&report);
    let seen = seen.lock().unwrap();
    println!("read {} lines, the last is {:?}", seen.len(), seen.last());
}

#[test]
fn standard_input_is_read_to_its_end() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "reads_standard_input_if_it_is_told_to", "--nocapture"])
        .env("RINGSTORM_TEST_READ_STANDARD_INPUT", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    (0..10_000).for_each(|number| writeln!(input, "line {number}").unwrap());
    input.write_all(b"the end").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("read 10001 lines, the last is Some(\"the end\")"), "{text}");
}
