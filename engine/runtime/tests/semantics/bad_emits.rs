//! Emits that cannot be: each costs one clear error that names component and stream, and fails the call it was made in.

use std::sync::Arc;

use ringstorm_runtime::{
    Bolt, Declarer, Next, Result, RunReport, Spout, SpoutCollector, TopologyBuilder, TopologyContext,
};
use ringstorm_tuple::{Tuple, Value, values};
use ringstorm_types::{MessageId, TaskId};

use crate::harness::*;

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Other {
    other: f64,
}

/// What a component has emitted, by its own count.
fn emitted_by(report: &RunReport, component: &str) -> u64 {
    let executors = report.snapshots.iter().flat_map(|core| &core.executors);
    let outputs = executors.filter(|executor| executor.component == component).flat_map(|executor| &executor.outputs);
    outputs.map(|output| output.emitted).sum()
}

/// Runs one number through a bolt that emits badly on 5, and returns the error.
fn one_bad_emit<B: Bolt>(bolt: impl Fn() -> B + Send + Sync + 'static) -> String {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(10, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("bad", bolt).shuffle_grouping("numbers");
    topology.bolt("typed", mute_acks).shuffle_grouping("bad").direct_grouping(("bad", "pointed"));
    topology.bolt("dynamic", mute_acks).shuffle_grouping(("bad", "loose"));
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    let fates = journal.fates();
    for (id, fate) in &fates {
        assert_eq!(fate.fails.len(), usize::from(*id == 5), "message {id}: {fate:?}");
    }
    assert_eq!(error_count(&report), 1, "{:?}", report.errors);
    assert_eq!(emitted_by(&report, "bad"), 0, "what was refused is not counted");
    let texts = errors_of(&report, "bad");
    let text = texts[0].to_owned();
    assert!(text.contains("bad") && !text.contains("rebuilt"), "{text}");
    text
}

fn mute_acks() -> impl Bolt {
    ends(|input, collector| {
        collector.ack(input);
        Ok(())
    })
}

fn declare(declarer: &mut Declarer) {
    declarer.emits::<Number>().fields_to("loose", ["a", "b"]).emits_direct::<Number>("pointed");
}

/// A bolt that acks all and does something else on 5.
macro_rules! bad {
    (|$input:ident, $collector:ident| $emit:expr) => {
        one_bad_emit(move || {
            emits(declare, move |$input, $collector| {
                if $input.view::<Number>()?.value() == 5 {
                    $emit;
                }
                $collector.ack($input);
                Ok(())
            })
        })
    };
}

#[test]
fn an_undeclared_stream() {
    let text = bad!(|input, collector| collector.emit_to("ghost", input, &Number { value: 5 }));
    assert!(text.contains("\"ghost\"") && text.contains("loose") && text.contains("pointed"), "{text}");
}

#[test]
fn another_layout() {
    let text = bad!(|input, collector| collector.emit(input, &Other { other: 0.5 }));
    assert!(text.contains("emitted (other: f64) to stream default, which declares (value: u64);"), "{text}");
    let text = bad!(|input, collector| collector.emit(input, &values![1]));
    assert!(
        text.contains("emitted dynamic Values (1 value) to stream default, which declares (value: u64);"),
        "{text}"
    );
    let text = bad!(|input, collector| collector.emit_to("loose", input, &Number { value: 5 }));
    let expected = "emitted (value: u64) to stream loose, which declares dynamic Values with the fields [a, b];";
    assert!(text.contains(expected), "{text}");
    let text = bad!(|input, collector| collector.forward_to("loose", input));
    assert!(text.contains(expected), "{text}");
}

#[test]
fn another_number_of_values() {
    let text = bad!(|input, collector| collector.emit_to("loose", input, &values![1, 2, 3]));
    assert!(text.contains("loose") && text.contains('3') && text.contains('2'), "{text}");
}

#[test]
fn a_direct_stream_without_a_task_and_a_task_that_does_not_read_it() {
    let text = bad!(|input, collector| collector.emit_to("pointed", input, &Number { value: 5 }));
    assert!(text.contains("pointed") && text.contains("emit_direct"), "{text}");
    for task in [-1, 0, 1, 999] {
        let text = bad!(|input, collector| collector.emit_direct(TaskId(task), "pointed", input, &Number { value: 5 }));
        assert!(text.contains("pointed"), "{text}");
    }
    let text = bad!(|input, collector| collector.emit_direct(TaskId(3), "default", input, &Number { value: 5 }));
    assert!(text.contains("default"), "{text}");
}

/// Storm's B134: component, stream and field.
#[test]
fn a_value_that_cannot_be_encoded() {
    let text = bad!(|input, collector| {
        let mut deep = Value::Null;
        for _ in 0..100 {
            deep = Value::List(vec![deep]);
        }
        collector.emit_to("loose", input, &values![1, deep.field_ref()]);
    });
    assert!(
        text.contains("bad") && text.contains("loose") && text.contains("\"b\"") && text.contains("deep"),
        "{text}"
    );
}

#[test]
fn a_default_stream_that_is_not_declared() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(3, &journal);
    topology.spout("numbers", move || seq.clone());
    let bad = || {
        ends(|input, collector| {
            collector.emit(input, &Number { value: 1 });
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("bad", bad).shuffle_grouping("numbers");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    assert_eq!(journal.fails(), 3);
    assert!(errors_of(&report, "bad").iter().all(|text| text.contains("default stream")), "{:?}", report.errors);
}

/// Each kind of bad emit, from a spout: with a message id it fails that message, without one it is only reported.
#[test]
fn a_spout_hears_a_fail_for_each_bad_emit_with_an_id() {
    struct Bad {
        next: u64,
        journal: Arc<Journal>,
        sink: TaskId,
    }
    impl Spout for Bad {
        fn declare(&self, declarer: &mut Declarer) {
            declare(declarer);
        }
        fn open(&mut self, context: &TopologyContext) -> Result {
            self.sink = context.tasks_of("sink")[0];
            Ok(())
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
            let id = self.next;
            self.next += 1;
            if id < 16 {
                let given = (id < 8).then_some(MessageId(id));
                if given.is_some() {
                    self.journal.emitted(id);
                }
                match id % 8 {
                    0 => collector.emit_to("ghost", given, &Number { value: 0 }),
                    1 => collector.emit_to("default", given, &Other { other: 0.0 }),
                    2 => collector.emit_to("loose", given, &values![1]),
                    3 => collector.emit_to("pointed", given, &Number { value: 0 }),
                    4 => collector.emit_direct(TaskId(77), "pointed", given, &Number { value: 0 }),
                    5 => collector.emit_direct(self.sink, "ghost", given, &Number { value: 0 }),
                    6 => collector.emit_to("default", given, &Number { value: 0 }),
                    _ => collector.emit_direct(self.sink, "pointed", given, &Number { value: 0 }),
                }
                return Ok(Next::Emitted);
            }
            Ok(Next::Finished)
        }
        fn ack(&mut self, id: MessageId) {
            self.journal.acked(id.0);
        }
        fn fail(&mut self, id: MessageId, reason: ringstorm_runtime::FailReason) {
            self.journal.failed(id.0, reason);
        }
    }
    for ackers in [0, 1] {
        let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
        let mut topology = TopologyBuilder::new();
        let shared = Arc::clone(&journal);
        topology.spout("bad", move || Bad { next: 0, journal: Arc::clone(&shared), sink: TaskId(0) });
        topology.bolt("sink", sink(&rows)).shuffle_grouping("bad").direct_grouping(("bad", "pointed"));
        topology.bolt("dynamic", mute_acks).shuffle_grouping(("bad", "loose"));
        let settings =
            [("topology.acker.executors", ackers.into()), ("topology.max.error.report.per.interval", 100.into())];
        let report = run(topology, &config(&settings));
        assert_drained(&report);
        journal.assert_one_word_per_emit();
        for (id, fate) in journal.fates() {
            assert_eq!(fate.acks, u32::from(id >= 6), "message {id}: {fate:?}");
        }
        assert_eq!((rows.len(), emitted_by(&report, "bad")), (4, 4));
        assert_eq!(errors_of(&report, "bad").len(), 12, "{:#?}", report.errors);
    }
}
