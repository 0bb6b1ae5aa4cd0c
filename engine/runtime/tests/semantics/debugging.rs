//! `topology.debug`: who emits what is shown, and nothing else changes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_runtime::{
    BoltDeclarer, Declarer, LocalOptions, Next, Result, RunReport, Spout, SpoutCollector, TopologyBuilder,
    TopologyContext,
};
use ringstorm_tuple::values;
use ringstorm_types::{MessageId, TaskId};

use crate::harness::*;

type Lines = Arc<Mutex<Vec<String>>>;

/// Runs with a listener that waits some time at its first line.
fn run_listening(
    topology: TopologyBuilder,
    settings: &[(&str, serde_json::Value)],
    wait: Duration,
) -> (RunReport, Vec<String>) {
    let lines = Lines::default();
    let there = Arc::clone(&lines);
    let listener = move |line: &str| {
        let mut lines = there.lock().unwrap();
        if lines.is_empty() {
            std::thread::sleep(wait);
        }
        lines.push(line.to_owned());
    };
    let options = LocalOptions { on_debug: Some(Box::new(listener)), ..LocalOptions::default() };
    let report = finish(start_with(topology, &config(settings), options));
    let lines = lines.lock().unwrap().clone();
    (report, lines)
}

fn on() -> (&'static str, serde_json::Value) {
    ("topology.debug", true.into())
}

/// Numbers through a relay into a sink; `declare` may set something for the relay.
fn chain(
    count: u64,
    journal: &Arc<Journal>,
    rows: &Arc<Rows>,
    declare: impl FnOnce(BoltDeclarer<'_>) -> BoltDeclarer<'_>,
) -> TopologyBuilder {
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(count, journal);
    topology.spout("numbers", move || seq.clone());
    declare(topology.bolt("relay", relay).shuffle_grouping("numbers"));
    topology.bolt("sink", sink(rows)).parallelism(2).fields_grouping("relay", ["value"]);
    topology
}

/// The tree that a line names.
fn tree(line: &str) -> &str {
    line.split_once(", of tree ").unwrap_or_else(|| panic!("no tree in {line:?}")).1
}

#[test]
fn every_emit_is_a_line_with_its_tree_and_the_run_is_the_same() {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let (report, lines) = run_listening(chain(100, &journal, &rows, |relay| relay), &[on()], Duration::ZERO);
    assert_clean(&report);
    journal.assert_all_acked_once(100);
    assert_eq!(rows.values(), (0..100).collect::<Vec<_>>());
    assert_eq!(lines.len(), 200, "{lines:#?}");
    for value in 0..100 {
        let of = |component: &str| {
            let middle = format!(" emits to stream default: [{value}], of tree ");
            let mut found = lines.iter().filter(|line| line.starts_with(component) && line.contains(&middle));
            let line = found.next().unwrap_or_else(|| panic!("{component} did not emit {value}: {lines:#?}"));
            assert_eq!(found.next(), None);
            line
        };
        assert_eq!(tree(of("numbers, task ")), tree(of("relay, task ")), "a tuple stays in its tree");
    }
}

#[test]
fn nothing_is_shown_unless_it_is_asked_for() {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    for settings in [vec![], vec![("topology.debug", false.into())]] {
        let (report, lines) = run_listening(chain(100, &journal, &rows, |relay| relay), &settings, Duration::ZERO);
        assert_clean(&report);
        assert_eq!(lines, Vec::<String>::new());
    }
}

#[test]
fn a_component_may_be_shown_alone_or_left_out() {
    for (topology_wide, of_relay) in [(false, true), (true, false)] {
        let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
        let topology = chain(50, &journal, &rows, |relay| relay.set("topology.debug", of_relay));
        let settings = [("topology.debug", topology_wide.into())];
        let (report, lines) = run_listening(topology, &settings, Duration::ZERO);
        assert_clean(&report);
        let shown = if of_relay { "relay, " } else { "numbers, " };
        assert!(lines.len() == 50 && lines.iter().all(|line| line.starts_with(shown)), "{lines:#?}");
    }
}

/// Lines are left out and counted; the run does not wait for them.
#[test]
fn a_slow_listener_holds_nobody_up_and_is_told_what_it_missed() {
    const COUNT: u64 = 20_000;
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let topology = chain(COUNT, &journal, &rows, |relay| relay);
    let (report, lines) = run_listening(topology, &[on()], Duration::from_secs(1));
    assert_clean(&report);
    journal.assert_all_acked_once(COUNT);
    let (shown, told): (Vec<&String>, Vec<&String>) = lines.iter().partition(|line| line.contains(" emits to "));
    let lost: u64 = told.iter().map(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert!(lost > 0 && told.iter().all(|line| line.contains("too fast to be shown")), "{told:#?}");
    assert_eq!(shown.len() as u64 + lost, 2 * COUNT);
}

/// Emits one tuple in each way that there is, and one in each way that is refused.
struct EveryWay {
    targets: Vec<TaskId>,
    done: bool,
}

impl Spout for EveryWay {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>().fields_to("loose", ["a", "b"]).emits_direct::<Number>("pointed");
    }
    fn open(&mut self, context: &TopologyContext) -> Result {
        self.targets = context.tasks_of("sink").to_vec();
        Ok(())
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(Next::Finished);
        }
        collector.emit(&Number { value: 1 });
        collector.emit_to("loose", None, &values!["a\nb", 2]);
        collector.emit_direct(self.targets[0], "pointed", Some(MessageId(3)), &Number { value: 3 });
        Ok(Next::Emitted)
    }
}

#[test]
fn every_way_to_emit_is_shown() {
    let rows = Arc::<Rows>::default();
    let mut topology = TopologyBuilder::new();
    topology.spout("ways", || EveryWay { targets: Vec::new(), done: false });
    topology.bolt("sink", sink(&rows)).shuffle_grouping("ways").direct_grouping(("ways", "pointed"));
    let (report, lines) = run_listening(topology, &[on()], Duration::ZERO);
    assert_clean(&report);
    assert_eq!(rows.values(), [1, 3]);
    let [plain, loose, direct] = &lines[..] else { panic!("{lines:#?}") };
    let task = plain.strip_prefix("ways, task ").unwrap().split(',').next().unwrap();
    let target = rows.all()[0].task;
    assert_eq!(*plain, format!("ways, task {task}, emits to stream default: [1]"));
    assert_eq!(*loose, format!("ways, task {task}, emits to stream loose: [\"a\\nb\", 2]"));
    let start = format!("ways, task {task}, emits to task {target} on stream pointed: [3], of tree ");
    assert!(direct.starts_with(&start), "{direct}");
}

#[test]
fn what_is_refused_is_refused_and_not_shown() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(4, &journal);
    topology.spout("numbers", move || seq.clone()).set("topology.debug", false);
    let declare = |declarer: &mut Declarer| {
        declarer.fields_to("loose", ["a", "b"]).emits_direct::<Number>("pointed");
    };
    let bad = move || {
        emits(declare, |input, collector| {
            match input.view::<Number>()?.value() {
                0 => collector.emit(input, &Number { value: 0 }),
                1 => collector.emit_to("loose", input, &Number { value: 1 }),
                2 => collector.emit_to("loose", input, &values![2]),
                _ => collector.emit_to("pointed", input, &Number { value: 3 }),
            }
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("bad", bad).shuffle_grouping("numbers");
    let (report, lines) = run_listening(topology, &[on()], Duration::ZERO);
    assert_drained(&report);
    assert_eq!((journal.fails(), error_count(&report)), (4, 4), "{:#?}", report.errors);
    assert_eq!(lines, Vec::<String>::new());
    let texts = errors_of(&report, "bad");
    for what in [
        "to the default stream, which",
        "emitted (value: u64) to stream loose, which declares dynamic Values",
        "1 value to stream loose",
        "without naming a task",
    ] {
        assert!(texts.iter().any(|text| text.contains(what)), "{what}: {texts:#?}");
    }
}
