//! Large tuples, and a great many tuples from one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringstorm_runtime::{Declarer, FailReason, Next, Result, Spout, SpoutCollector, TopologyBuilder};
use ringstorm_tuple::Tuple;
use ringstorm_types::MessageId;

use crate::harness::*;

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Blob<'a> {
    number: u64,
    bytes: &'a [u8],
}

/// Emits blobs of these sizes in bytes.
struct Blobs {
    sizes: Vec<usize>,
    next: usize,
    journal: Arc<Journal>,
}

impl Spout for Blobs {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Blob<'_>>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let Some(size) = self.sizes.get(self.next) else { return Ok(Next::Finished) };
        let number = self.next as u64;
        self.next += 1;
        self.journal.emitted(number);
        collector.emit_with_id(MessageId(number), &Blob { number, bytes: &vec![number as u8; *size] });
        Ok(Next::Emitted)
    }
    fn ack(&mut self, id: MessageId) {
        self.journal.acked(id.0);
    }
    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.journal.failed(id.0, reason);
    }
}

/// Storm's B076: tuples of 1, 10 and 50 MB with a limit of 32 MB, then small ones, from core to core and on one core.
#[test]
fn large_tuples_up_to_the_limit_pass_and_others_fail_alone() {
    for cores in [1, 2] {
        let (journal, bytes) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
        let mut sizes = vec![1_000_000, 10_000_000, 50_000_000];
        sizes.extend(vec![10; 1000]);
        let mut topology = TopologyBuilder::new();
        let shared = Arc::clone(&journal);
        topology.spout("blobs", move || Blobs { sizes: sizes.clone(), next: 0, journal: Arc::clone(&shared) });
        let shared = Arc::clone(&bytes);
        let relay = || {
            let declare = |declarer: &mut Declarer| {
                declarer.emits::<Blob<'_>>();
            };
            emits(declare, |input, collector| {
                collector.forward(input);
                collector.ack(input);
                Ok(())
            })
        };
        topology.bolt("relay", relay).shuffle_grouping("blobs");
        let read = move || {
            let bytes = Arc::clone(&shared);
            ends(move |input, collector| {
                let blob = input.view::<Blob<'_>>()?;
                assert!(blob.bytes().iter().all(|byte| *byte == blob.number() as u8));
                bytes.fetch_add(blob.bytes().len() as u64, Ordering::Relaxed);
                collector.ack(input);
                Ok(())
            })
        };
        topology.bolt("read", read).shuffle_grouping("relay");
        let settings = [("topology.tuple.max.bytes", (32_000_000).into()), ("ringstorm.worker.cores", cores.into())];
        let report = run(topology, &config(&settings));
        assert_drained(&report);
        assert_eq!(bytes.load(Ordering::Relaxed), 11_010_000);
        journal.assert_one_word_per_emit();
        assert_eq!((journal.acks(), journal.fails(), journal.fates()[&2].fails.len()), (1002, 1, 1));
        let errors = errors_of(&report, "blobs");
        assert!(errors.len() == 1 && errors[0].contains("32000000") && errors[0].contains("500000"), "{errors:?}");
    }
}

/// The size is only known when the value is written: what is too large then leaves no trace in the frame.
#[test]
fn a_tuple_that_turns_out_too_large_leaves_its_frame_whole() {
    let journal = Arc::<Journal>::default();
    let sizes: Vec<usize> = (0..500).map(|number| if number % 5 == 3 { 2000 } else { 20 }).collect();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.spout("blobs", move || Blobs { sizes: sizes.clone(), next: 0, journal: Arc::clone(&shared) });
    let read = || {
        ends(|input, collector| {
            let blob = input.view::<Blob<'_>>()?;
            assert!(blob.bytes().len() == 20 && blob.bytes().iter().all(|byte| *byte == blob.number() as u8));
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("read", read).parallelism(3).all_grouping("blobs");
    let report = run(topology, &config(&[("topology.tuple.max.bytes", 1000.into())]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    assert_eq!((journal.acks(), journal.fails()), (400, 100));
}

/// One call emits eight million tuples: all of them arrive, in order, and their input is acked once.
#[test]
fn one_call_may_emit_millions() {
    const COUNT: u64 = if cfg!(debug_assertions) { 2_000_000 } else { 8_000_000 };
    for (cores, ackers) in [(1, 0), (2, 0), (2, 1)] {
        let (journal, seen) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
        let mut topology = TopologyBuilder::new();
        let seq = Seq::new(1, &journal);
        topology.spout("once", move || seq.clone());
        let burst = || {
            passes(|input, collector| {
                (0..COUNT).for_each(|value| collector.emit(input, &Number { value }));
                collector.ack(input);
                Ok(())
            })
        };
        topology.bolt("burst", burst).shuffle_grouping("once");
        let shared = Arc::clone(&seen);
        topology.bolt("count", move || counts_in_order(Arc::clone(&shared))).shuffle_grouping("burst");
        let settings = [("ringstorm.worker.cores", cores.into()), ("topology.acker.executors", ackers.into())];
        assert_clean(&run(topology, &config(&settings)));
        assert_eq!(seen.load(Ordering::Relaxed), COUNT);
        journal.assert_all_acked_once(1);
    }
}
