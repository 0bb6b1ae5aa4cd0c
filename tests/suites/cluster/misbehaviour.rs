//! Topologies that are refused, crash, hang, leak, loop and fill the disk, beside one that behaves: that one keeps its
//! workers and loses nothing, no daemon dies, and whoever asks is told what is wrong.

use std::time::{Duration, Instant};

use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::{is_so_within, until};
use serde_json::Value;

use crate::harness::{Cluster, Shape, WorkerProcess};

const PER_SECOND: f64 = 500.0;
const SOON: Duration = Duration::from_secs(60);

/// A topology that does harm, and what is to be read of it.
struct Bad {
    name: &'static str,
    /// Words of its newest error.
    says: &'static [&'static str],
    settings: &'static [&'static str],
}

const fn bad(name: &'static str, says: &'static [&'static str]) -> Bad {
    Bad { name, says, settings: &[] }
}

/// Those that never run.
const AT_ONCE: [Bad; 6] = [
    bad("panics", &["this bolt cannot be prepared"]),
    bad("exits", &["ended with code 3"]),
    bad("aborts", &["was ended by signal 6"]),
    bad("segfaults", &["was ended by signal 11"]),
    bad("hangs-in-prepare", &["did not come up in time"]),
    bad("hangs-in-main", &["did not come up in time"]),
];

/// Those that run for a while.
const LATER: [Bad; 4] = [
    Bad {
        name: "leaks",
        says: &["memory limit", "its limit is 200 MiB"],
        settings: &["topology.component.resources.onheap.memory.mb=25"],
    },
    bad("loops", &["did not beat in time"]),
    bad("fills-folder", &["disk limit", "its limit is 64 MiB", "ringstorm.worker.disk.mb"]),
    bad("fills-output", &["floods its logs", "ringstorm.worker.log.bytes"]),
];

struct Beside {
    cluster: Cluster,
    source: Outside,
    workers: Vec<WorkerProcess>,
}

impl Beside {
    /// A cluster with a topology that behaves.
    fn start_or_skip() -> Option<Self> {
        let settings = [
            "supervisor.worker.timeout.secs: 4",
            "supervisor.worker.start.timeout.secs: 6",
            "storm.supervisor.memory.limit.tolerance.margin.mb: 0",
            "storm.supervisor.hard.memory.limit.overage.mb: 0",
            // What the host has left is not the question here.
            "storm.supervisor.low.memory.threshold.mb: 0",
            "storm.supervisor.medium.memory.threshold.mb: 0",
            "ringstorm.worker.disk.mb: 64",
            "ringstorm.worker.log.bytes: 1000000",
            "ringstorm.worker.log.files: 2",
        ];
        let settings = settings.map(str::to_owned).to_vec();
        let cluster = Cluster::start_or_skip(&Shape { slots: 4, settings, ..Shape::default() })?;
        let source = Outside::start(&cluster.folder().join("source"), 10_000_000, PER_SECOND);
        cluster.submit("numbers", &source, 2, &["topology.workers=2"]);
        until("the first acks", SOON, || source.fates().acked > 500);
        let workers = cluster.workers();
        assert_eq!(workers.len(), 2);
        Some(Self { cluster, source, workers })
    }

    /// All these at once, until each is known for what it does. Then they are killed.
    fn endure(&mut self, topologies: &[Bad], meanwhile: impl FnOnce(&Cluster)) {
        for bad in topologies {
            self.cluster.submit_harm(bad.name, bad.name, bad.settings, &[]);
        }
        for bad in topologies {
            for verb in ["get-errors", "status"] {
                let mut text = String::new();
                let is_told = is_so_within(SOON, || {
                    text = self.cluster.ringstorm(&[verb, bad.name]);
                    bad.says.iter().all(|words| text.contains(words))
                });
                assert!(is_told, "{verb} {} does not say {:?}:\n{text}", bad.name, bad.says);
                self.assert_well();
            }
        }
        meanwhile(&self.cluster);
        self.assert_well();
        for bad in topologies {
            self.cluster.ringstorm(&["kill", bad.name, "-w", "0"]);
        }
        until("their workers to be gone", SOON, || self.cluster.workers() == self.workers);
        self.assert_well();
    }

    /// The one that behaves has its workers, and lost nothing; no daemon has ended.
    #[track_caller]
    fn assert_well(&mut self) {
        self.cluster.assert_daemons_run();
        let now = self.cluster.workers();
        assert!(self.workers.iter().all(|worker| now.contains(worker)), "{:?} became {now:?}", self.workers);
        let fates = self.source.fates();
        assert_eq!((fates.failed, fates.orphaned), (0, 0), "{fates:?}");
    }
}

#[test]
fn bad_topologies_harm_nobody_and_say_what_is_wrong() {
    let Some(mut beside) = Beside::start_or_skip() else { return };
    let started = Instant::now();
    is_refused(&mut beside);
    eprintln!("refused: {:?}", started.elapsed());
    beside.endure(&AT_ONCE, |_| {});
    eprintln!("at once: {:?}", started.elapsed());
    beside.endure(&LATER, |cluster| {
        let mut leaks = None;
        until("the leak to be stopped four times", SOON, || {
            leaks = four_in_a_slot(runs(cluster, "leaks"));
            leaks.is_some()
        });
        leak_is_stopped_soon_with_pauses_that_grow(&leaks.unwrap());
        logs_are_capped(cluster);
    });
    eprintln!("later: {:?}", started.elapsed());
    beside.source.end();
    until("all to be acked", SOON, || beside.source.fates().acked == beside.source.fates().begun);
    beside.assert_well();
    eprintln!("the one that behaves: {:?}", beside.source.fates());
}

/// What cannot run is refused, and the cluster has nothing of it.
fn is_refused(beside: &mut Beside) {
    let cases: [(&str, &str, &[&str], &str); 4] = [
        ("reads-nobody", "refused", &[], "nobody"),
        ("numbers", "loops", &[], "already"),
        ("a/b", "loops", &[], "a/b"),
        ("misspelled", "loops", &["topology.wokers=2"], "topology.workers"),
    ];
    for (name, harm, settings, says) in cases {
        let output = beside.cluster.try_submit_harm(name, harm, settings, &[]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(says), "{name}: {output:?}");
        assert!(!text.contains("panicked"), "{text}");
    }
    let list = beside.cluster.json(&["list"]);
    assert_eq!(list["topologies"].as_array().map(Vec::len), Some(1), "{list}");
    beside.assert_well();
}

/// A process of a topology that has ended: times in milliseconds since 1970.
#[derive(Debug)]
struct Run {
    port: u64,
    started: u64,
    killed: u64,
    ended: u64,
}

/// The processes that have ended, oldest first.
fn runs(cluster: &Cluster, name: &str) -> Vec<Run> {
    let mut all: Vec<Value> = cluster.supervisors.iter().flat_map(|host| host.history()).collect();
    all.retain(|entry| entry["topology"].as_str().is_some_and(|id| id.starts_with(&format!("{name}-"))));
    all.sort_by_key(|entry| entry["time_ms"].as_u64());
    let run = |started: &Value| {
        let at = |what: &str| {
            let is_its =
                |entry: &&Value| entry["incarnation"] == started["incarnation"] && entry["what"][what].is_object();
            all.iter().find(is_its)?["time_ms"].as_u64()
        };
        let (port, started) = (started["port"].as_u64()?, started["time_ms"].as_u64()?);
        Some(Run { port, started, killed: at("stopped")?, ended: at("ended")? })
    };
    all.iter().filter(|entry| entry["what"]["started"].is_object()).filter_map(run).collect()
}

/// A host that is slow to let a killed process go may cost the topology its slot; what counts is a slot that has four.
fn four_in_a_slot(runs: Vec<Run>) -> Option<Vec<Run>> {
    let ports: std::collections::BTreeSet<u64> = runs.iter().map(|run| run.port).collect();
    let port = ports.into_iter().find(|port| runs.iter().filter(|run| run.port == *port).count() >= 4)?;
    Some(runs.into_iter().filter(|run| run.port == port).take(4).collect())
}

fn leak_is_stopped_soon_with_pauses_that_grow(runs: &[Run]) {
    assert!(runs.iter().all(|run| run.killed - run.started < 15_000), "{runs:?}");
    let pauses: Vec<u64> = runs.windows(2).map(|pair| pair[1].started.saturating_sub(pair[0].ended)).collect();
    // None, one second, two.
    assert!(pauses.is_sorted() && pauses[0] < 500 && pauses[2] >= 1900, "{pauses:?}");
}

/// The log of the one that writes without end is what the settings say, and its worker goes on.
fn logs_are_capped(cluster: &Cluster) {
    let of_topology = |home: &std::path::Path| {
        let folders = std::fs::read_dir(home.join("logs/workers-artifacts")).into_iter().flatten().flatten();
        folders.map(|it| it.path()).find(|it| it.display().to_string().contains("/fills-output-"))
    };
    let folder = cluster.supervisors.iter().find_map(|host| of_topology(&host.home)).expect("it has logs");
    let files = || {
        let slots = std::fs::read_dir(&folder).unwrap().flatten();
        let files = slots.flat_map(|slot| std::fs::read_dir(slot.path()).unwrap().flatten());
        files.filter_map(|file| Some(file.metadata().ok()?.len())).collect::<Vec<u64>>()
    };
    until("its log to be rotated", SOON, || files().len() == 3);
    let sizes = files();
    assert!(sizes.iter().sum::<u64>() <= 3_000_000, "{sizes:?}");
}
