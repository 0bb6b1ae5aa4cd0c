//! The shapes that a topology may have: several streams, merges, diamonds, loops.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringstorm_runtime::{Declarer, TopologyBuilder, Unanchored};
use ringstorm_tuple::{Tuple, Value, Values, values};

use crate::harness::*;

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Word<'a> {
    word: &'a str,
}

#[test]
fn each_stream_reaches_its_subscribers_alone() {
    let (journal, [odd, even, all]) = (Arc::<Journal>::default(), [(); 3].map(|()| Arc::<Rows>::default()));
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(1000, &journal);
    topology.spout("numbers", move || seq.clone());
    let split = || {
        let declare = |declarer: &mut Declarer| {
            declarer
                .emits::<Number>()
                .emits_to::<Number>("odd")
                .emits_to::<Number>("even")
                .emits_to::<Word<'_>>("unread");
        };
        emits(declare, |input, collector| {
            let value = input.view::<Number>()?.value();
            let stream = if value.is_multiple_of(2) { "even" } else { "odd" };
            collector.emit_to(stream, input, &Number { value });
            collector.emit(input, &Number { value });
            collector.emit_to("unread", input, &Word { word: "nobody reads this" });
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("split", split).shuffle_grouping("numbers");
    topology.bolt("odd", sink(&odd)).shuffle_grouping(("split", "odd"));
    topology.bolt("even", sink(&even)).shuffle_grouping(("split", "even"));
    topology.bolt("all", sink(&all)).parallelism(2).shuffle_grouping("split");
    let report = run(topology, &config(&[]));
    assert_clean(&report);
    journal.assert_all_acked_once(1000);
    assert_eq!(odd.values(), (0..1000).filter(|value| value % 2 == 1).collect::<Vec<_>>());
    assert_eq!(even.values(), (0..1000).filter(|value| value % 2 == 0).collect::<Vec<_>>());
    assert_eq!(all.values(), (0..1000).collect::<Vec<_>>());
    assert!(odd.all().iter().all(|row| row.stream == "odd") && all.all().iter().all(|row| row.stream == "default"));
    let split = report.snapshots.iter().flat_map(|core| &core.executors).find(|executor| executor.component == "split");
    let outputs: BTreeMap<&str, (u64, u64)> = split
        .unwrap()
        .outputs
        .iter()
        .map(|output| (output.stream.as_str(), (output.emitted, output.transferred)))
        .collect();
    assert_eq!(outputs["default"], (1000, 1000));
    assert_eq!(outputs["odd"], (500, 500));
    assert_eq!(outputs["unread"], (1000, 0));
}

/// Storm's flux B104: any number of streams may end at one bolt, with mixed groupings.
#[test]
fn a_merge_gets_the_exact_multiset() {
    let (journals, rows) = ([(); 2].map(|()| Arc::<Journal>::default()), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    for (name, journal) in ["left", "right"].iter().zip(&journals) {
        let seq = Seq::new(500, journal);
        topology.spout(name, move || seq.clone());
    }
    topology.bolt("middle", relay).parallelism(2).shuffle_grouping("left");
    topology
        .bolt("sink", sink(&rows))
        .parallelism(3)
        .shuffle_grouping("left")
        .fields_grouping("right", ["value"])
        .all_grouping("middle");
    assert_clean(&run(topology, &config(&[])));
    journals.iter().for_each(|journal| journal.assert_all_acked_once(500));
    let mut expected: Vec<u64> = (0..500).flat_map(|value| [value; 5]).collect();
    expected.sort_unstable();
    assert_eq!(rows.values(), expected);
}

fn diamond(settings: &[(&str, serde_json::Value)]) {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(20_000, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("left", relay).parallelism(2).shuffle_grouping("numbers");
    topology.bolt("right", relay).parallelism(3).fields_grouping("numbers", ["value"]);
    topology.bolt("sink", sink(&rows)).parallelism(2).shuffle_grouping("left").fields_grouping("right", ["value"]);
    assert_clean(&run(topology, &config(settings)));
    journal.assert_all_acked_once(20_000);
    assert_eq!(rows.len(), 40_000);
}

#[test]
fn a_diamond_joins_again() {
    diamond(&[]);
}

#[test]
fn a_diamond_joins_again_with_short_rings_and_small_inboxes() {
    diamond(&[
        ("ringstorm.ring.cells", 4.into()),
        ("ringstorm.frame.bytes", 1024.into()),
        ("ringstorm.inbox.mark.bytes", 4096.into()),
    ]);
}

/// Counts down by sending to itself: `value` hops for each number.
fn countdown(ackers: u64, tasks: u32) {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(200, &journal);
    topology.spout("numbers", move || seq.clone());
    let count = || {
        let declare = |declarer: &mut Declarer| {
            declarer.emits::<Number>().emits_to::<Number>("again");
        };
        emits(declare, |input, collector| {
            let value = input.view::<Number>()?.value();
            match value.checked_sub(1) {
                Some(less) => collector.emit_to("again", input, &Number { value: less }),
                None => collector.emit(input, &Number { value: 0 }),
            }
            collector.ack(input);
            Ok(())
        })
    };
    topology
        .bolt("count", count)
        .parallelism(tasks)
        .shuffle_grouping("numbers")
        .fields_grouping(("count", "again"), ["value"]);
    topology.bolt("sink", sink(&rows)).shuffle_grouping("count");
    assert_clean(&run(topology, &config(&[("topology.acker.executors", ackers.into())])));
    journal.assert_all_acked_once(200);
    assert_eq!(rows.values(), vec![0; 200]);
}

#[test]
fn a_bolt_may_send_to_itself() {
    countdown(1, 1);
    countdown(1, 3);
    countdown(0, 2);
}

#[test]
fn a_cycle_of_several_bolts_ends_when_its_tuples_do() {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(300, &journal);
    topology.spout("numbers", move || seq.clone());
    let halve = || {
        let declare = |declarer: &mut Declarer| {
            declarer.emits::<Number>().emits_to::<Number>("done");
        };
        emits(declare, |input, collector| {
            let value = input.view::<Number>()?.value();
            if value == 0 {
                collector.emit_to("done", input, &Number { value });
            } else {
                collector.emit(input, &Number { value: value / 2 });
            }
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("first", halve).parallelism(2).shuffle_grouping("numbers").shuffle_grouping("third");
    topology.bolt("second", relay).parallelism(2).shuffle_grouping("first");
    topology.bolt("third", relay).shuffle_grouping("second");
    topology.bolt("sink", sink(&rows)).shuffle_grouping(("first", "done"));
    assert_clean(&run(topology, &config(&[])));
    journal.assert_all_acked_once(300);
    assert_eq!(rows.values(), vec![0; 300]);
}

/// Storm's B022: null is an ordinary value, at any depth. Storm's B132: what is emitted is a copy.
#[test]
fn nulls_arrive_and_later_changes_do_not() {
    let seen = Arc::<std::sync::Mutex<Vec<(String, Values)>>>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(1);
    topology.spout("once", move || seq.clone());
    let fan = || {
        let declare = |declarer: &mut Declarer| {
            declarer.fields(["a", "b"]).fields_to("other", ["a", "b"]);
        };
        emits(declare, |input, collector| {
            let mut tuple = values!["before", vec![Value::Null, Value::from(vec![Value::Null])]];
            collector.emit(input, &tuple);
            collector.emit_to("other", input, &tuple);
            tuple.0[0] = Value::from("after");
            tuple.0[1] = Value::Null;
            collector.emit_to("other", Unanchored, &tuple);
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("fan", fan).shuffle_grouping("once");
    let shared = Arc::clone(&seen);
    let note = move || {
        let seen = Arc::clone(&shared);
        ends(move |input, collector| {
            let values = Values(vec![input.field("a")?.to_value(), input.field("b")?.to_value()]);
            seen.lock().unwrap().push((input.source_stream().to_string(), values));
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("note", note).shuffle_grouping("fan").shuffle_grouping(("fan", "other"));
    assert_clean(&run(topology, &config(&[])));
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_by_key(|(stream, values)| (stream.clone(), format!("{values:?}")));
    let before = values!["before", vec![Value::Null, Value::from(vec![Value::Null])]];
    assert_eq!(
        seen,
        [
            ("default".to_owned(), before.clone()),
            ("other".to_owned(), values!["after", Value::Null]),
            ("other".to_owned(), before),
        ]
    );
}

/// Storm's B021: what does not exist is named before anything runs.
#[test]
fn ghosts_are_refused_by_name() {
    let build = |subscribe: &dyn Fn(&mut TopologyBuilder)| {
        let mut topology = TopologyBuilder::new();
        let seq = Seq::untracked(1);
        topology.spout("numbers", move || seq.clone());
        subscribe(&mut topology);
        topology.build(&config(&[])).unwrap_err().to_string()
    };
    let text = build(&|topology| {
        topology.bolt("sink", mute).shuffle_grouping("ghost-component");
    });
    assert!(text.contains("ghost-component"), "{text}");
    let text = build(&|topology| {
        topology.bolt("sink", mute).shuffle_grouping(("numbers", "ghost-stream"));
    });
    assert!(text.contains("ghost-stream"), "{text}");
    let text = build(&|topology| {
        topology.bolt("sink", mute).fields_grouping("numbers", ["ghost-field"]);
    });
    assert!(text.contains("ghost-field"), "{text}");
    let text = build(&|topology| {
        topology.bolt("sink", mute).direct_grouping("numbers");
    });
    assert!(text.contains("direct") && text.contains("numbers"), "{text}");
}

/// What follows from a name that was given twice is not told: it would be wrong.
#[test]
fn two_components_of_one_name_are_one_fault() {
    let build = |names: [&str; 2]| {
        let mut topology = TopologyBuilder::new();
        let seq = Seq::untracked(1);
        topology.spout(names[0], move || seq.clone());
        let declare = |declarer: &mut Declarer| {
            declarer.fields_to("words", ["word"]);
        };
        let words = move || emits(declare, |_, _| Ok(()));
        topology.bolt(names[1], words).shuffle_grouping(names[0]);
        topology.bolt("sink", mute).shuffle_grouping(names[1]).fields_grouping((names[1], "words"), ["word"]);
        topology.bolt("lost", mute).shuffle_grouping("ghost");
        topology.build(&config(&[])).unwrap_err().to_string()
    };
    for name in ["numbers", "sink"] {
        let text = build(["numbers", name]);
        let [double, ghost] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(double.contains(&format!("the id {name:?} is used by two components")), "{text}");
        assert!(ghost.contains("\"ghost\", which does not exist"), "{text}");
    }
    let text = build(["", "\t"]);
    assert!(!text.contains("no spout") && text.contains("ghost"), "{text}");
}

/// Any legal id works, and a stream may well have no fields at all.
#[test]
fn odd_names_and_streams_without_fields_work() {
    let counts = Arc::<std::sync::atomic::AtomicU64>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(100);
    topology.spout("Do some thing", move || seq.clone());
    let empty = || {
        let declare = |declarer: &mut Declarer| {
            declarer.fields_to("my:stream", std::iter::empty::<String>());
        };
        emits(declare, |input, collector| {
            collector.emit_to("my:stream", input, &values![]);
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("x%F5y", empty).shuffle_grouping("Do some thing");
    let shared = Arc::clone(&counts);
    let read = move || {
        let counts = Arc::clone(&shared);
        ends(move |input, collector| {
            assert!(input.get(0).is_err() && input.fields().is_empty());
            assert_eq!(input.to_json(), serde_json::json!({}));
            counts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("\u{65E5}\u{672C} a+b", read).parallelism(2).shuffle_grouping(("x%F5y", "my:stream"));
    let report = run(topology, &config(&[]));
    assert_clean(&report);
    assert_eq!(counts.load(std::sync::atomic::Ordering::Relaxed), 100);
    assert!(report.snapshots.iter().flat_map(|core| &core.executors).any(|executor| {
        executor.inputs.iter().any(|input| input.component == "x%F5y" && input.stream == "my:stream")
    }));
}

/// A hundred bolts in a row, each on another core than its neighbours.
#[test]
fn a_long_chain_completes() {
    for ackers in [0, 2] {
        let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
        let mut topology = TopologyBuilder::new();
        let seq = Seq::new(300, &journal);
        topology.spout("000", move || seq.clone());
        for position in 1..100 {
            topology.bolt(&format!("{position:03}"), relay).shuffle_grouping(format!("{:03}", position - 1).as_str());
        }
        topology.bolt("100", sink(&rows)).shuffle_grouping("099");
        let settings = [
            ("ringstorm.worker.cores", 3.into()),
            ("ringstorm.ring.cells", 2.into()),
            ("topology.acker.executors", ackers.into()),
        ];
        assert_clean(&run(topology, &config(&settings)));
        journal.assert_all_acked_once(300);
        // In order as well, since there is one way.
        assert_eq!(rows.all().iter().map(|row| row.value).collect::<Vec<_>>(), (0..300).collect::<Vec<_>>());
    }
}

/// The last of very many streams is read as itself.
#[test]
fn the_last_of_very_many_streams_is_not_taken_for_the_first() {
    let rows = Arc::<Rows>::default();
    let mut topology = TopologyBuilder::new();
    let streams = |declarer: &mut Declarer| {
        for number in 0..65_535 {
            declarer.emits_to::<Number>(&format!("s{number:05}"));
        }
    };
    topology.spout("numbers", || Seq::untracked(1));
    let bolt = move || {
        emits(streams, |input, collector| {
            collector.emit_to("s65534", input, &Number { value: 7 });
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("many", bolt).shuffle_grouping("numbers");
    topology.bolt("sink", sink(&rows)).shuffle_grouping(("many", "s65534"));
    assert_clean(&run(topology, &config(&[])));
    assert_eq!(rows.all().iter().map(|row| row.stream.as_str()).collect::<Vec<_>>(), ["s65534"]);
}
