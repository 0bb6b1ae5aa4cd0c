//! One-to-many work as an iterator that is pulled while there is room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringstorm_runtime::{
    Declarer, FailReason, FlatMap, Next, Result, Spout, SpoutCollector, TopologyBuilder, TupleRef,
};
use ringstorm_tuple::Tuple;
use ringstorm_types::MessageId;

use crate::harness::*;

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Line<'a> {
    number: u64,
    text: &'a str,
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Word<'a> {
    word: &'a str,
}

/// Emits lines of `words` words each.
struct Lines {
    next: u64,
    count: u64,
    words: usize,
    journal: Arc<Journal>,
}

impl Spout for Lines {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Line<'_>>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.next == self.count {
            return Ok(Next::Finished);
        }
        self.journal.emitted(self.next);
        let text = "storm ".repeat(self.words);
        collector.emit_with_id(MessageId(self.next), &Line { number: self.next, text: text.trim_end() });
        self.next += 1;
        Ok(Next::Emitted)
    }
    fn ack(&mut self, id: MessageId) {
        self.journal.acked(id.0);
    }
    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.journal.failed(id.0, reason);
    }
}

/// What goes wrong at a word, by the number of the line and the position of the word.
type Mishap = fn(u64, usize) -> bool;

/// Splits lines; borrows both itself and its input while it is pulled.
struct Split {
    pulled: Vec<u64>,
    mishap: Mishap,
    refuse: Mishap,
}

impl FlatMap for Split {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Word<'_>>();
    }
    fn flat_map<'a>(&'a mut self, input: TupleRef<'a>) -> Result<impl Iterator<Item = impl Tuple + 'a> + 'a> {
        let line = input.view::<Line<'a>>()?;
        let (number, text): (u64, &'a str) = (line.number(), line.text());
        if (self.refuse)(number, 0) {
            return Err("not a line of mine".into());
        }
        let (pulled, mishap) = (&mut self.pulled, self.mishap);
        Ok(text.split(' ').enumerate().map(move |(position, word)| {
            pulled.push(number);
            assert!(!mishap(number, position), "a hyphen");
            Word { word }
        }))
    }
}

struct Ran {
    report: ringstorm_runtime::RunReport,
    journal: Arc<Journal>,
    seen: u64,
}

fn split(
    lines: u64,
    words: usize,
    mishap: Mishap,
    refuse: Mishap,
    pause: Duration,
    settings: &[(&str, serde_json::Value)],
) -> Ran {
    let (journal, seen) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.spout("lines", move || Lines { next: 0, count: lines, words, journal: Arc::clone(&shared) });
    topology
        .flat_map("split", move || Split { pulled: Vec::new(), mishap, refuse })
        .parallelism(2)
        .shuffle_grouping("lines");
    let shared = Arc::clone(&seen);
    let count = move || {
        let seen = Arc::clone(&shared);
        ends(move |input, collector| {
            assert_eq!(input.view::<Word<'_>>()?.word(), "storm");
            if seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(1000) {
                std::thread::sleep(pause);
            }
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("count", count).shuffle_grouping("split");
    let report = run(topology, &config(settings));
    Ran { report, journal, seen: seen.load(Ordering::Relaxed) }
}

const NEVER: Mishap = |_, _| false;

#[test]
fn every_word_arrives_and_its_line_is_acked_when_the_iterator_ends() {
    let ran = split(50, 2000, NEVER, NEVER, Duration::ZERO, &[]);
    assert_clean(&ran.report);
    ran.journal.assert_all_acked_once(50);
    assert_eq!(ran.seen, 100_000);
}

/// Slow readers and tiny inboxes: the iterators rest half-way, again and again.
#[test]
fn an_iterator_rests_while_its_readers_are_full() {
    let settings = [
        ("ringstorm.inbox.mark.bytes", 1024.into()),
        ("ringstorm.frame.bytes", 1024.into()),
        ("ringstorm.ring.cells", 4.into()),
    ];
    let ran = split(10, 5000, NEVER, NEVER, Duration::from_millis(2), &settings);
    assert_clean(&ran.report);
    ran.journal.assert_all_acked_once(10);
    assert_eq!(ran.seen, 50_000);
}

/// A panic at once, within the first pull, and long after the iterator has rested: the line fails at once.
#[test]
fn a_panic_in_the_iterator_fails_its_line_at_once() {
    let settings = [("ringstorm.inbox.mark.bytes", 1024.into()), ("ringstorm.frame.bytes", 1024.into())];
    let mishaps: [Mishap; 3] = [
        |number, position| number == 3 && position == 0,
        |number, position| number == 3 && position == 100,
        |number, position| number == 3 && position == 4500,
    ];
    for mishap in mishaps {
        let ran = split(8, 5000, mishap, NEVER, Duration::from_millis(1), &settings);
        assert_drained(&ran.report);
        ran.journal.assert_one_word_per_emit();
        let fates = ran.journal.fates();
        assert_eq!((ran.journal.acks(), fates[&3].fails.len()), (7, 1), "{fates:#?}");
        assert!(fates[&3].fails != [FailReason::TimedOut]);
        let errors = errors_of(&ran.report, "split");
        assert!(errors.len() == 1 && errors[0].contains("a hyphen") && errors[0].contains("rebuilt"), "{errors:?}");
    }
}

#[test]
fn an_error_instead_of_an_iterator_fails_the_line_and_keeps_the_task() {
    let ran = split(20, 10, NEVER, |number, _| number % 10 == 7, Duration::ZERO, &[]);
    assert_drained(&ran.report);
    ran.journal.assert_one_word_per_emit();
    assert_eq!((ran.journal.acks(), ran.journal.fails(), ran.seen), (18, 2, 180));
    let errors = errors_of(&ran.report, "split");
    assert!(errors.iter().all(|text| text.contains("not a line of mine") && !text.contains("rebuilt")), "{errors:?}");
}

/// Stopped while iterators rest: what they still hold is dropped in order, and nothing crashes.
#[test]
fn a_resting_iterator_may_be_stopped() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.spout("lines", move || Lines { next: 0, count: 4, words: 50_000, journal: Arc::clone(&shared) });
    topology
        .flat_map("split", || Split { pulled: Vec::new(), mishap: NEVER, refuse: NEVER })
        .parallelism(2)
        .shuffle_grouping("lines");
    topology.bolt("slow", || slow(Duration::from_millis(5))).shuffle_grouping("split");
    let settings = [("ringstorm.inbox.mark.bytes", 1024.into()), ("ringstorm.drain.timeout.secs", 0.2.into())];
    let running = start(topology, &config(&settings));
    wait_for("the first line", || !journal.fates().is_empty());
    std::thread::sleep(Duration::from_millis(50));
    running.request_stop();
    let report = finish(running);
    assert_eq!(report.outcome, ringstorm_runtime::Outcome::Stopped);
    assert!(!report.drained && report.pending > 0 && report.in_flight > 0, "{report:#?}");
    assert_eq!(report.cores_left_behind, 0);
}

/// An iterator whose drop panics fails its line at once, whether it has rested in between or not.
#[test]
fn a_panic_in_the_drop_of_the_iterator_fails_its_line_at_once() {
    struct Bad<'a> {
        line: u64,
        words: std::str::Split<'a, char>,
    }
    impl<'a> Iterator for Bad<'a> {
        type Item = Word<'a>;
        fn next(&mut self) -> Option<Word<'a>> {
            self.words.next().map(|word| Word { word })
        }
    }
    impl Drop for Bad<'_> {
        fn drop(&mut self) {
            assert!(self.line != 3 || std::thread::panicking(), "a bad end");
        }
    }
    struct Splits;
    impl FlatMap for Splits {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Word<'_>>();
        }
        fn flat_map<'a>(&'a mut self, input: TupleRef<'a>) -> Result<impl Iterator<Item = impl Tuple + 'a> + 'a> {
            let line = input.view::<Line<'a>>()?;
            let text: &'a str = line.text();
            Ok(Bad { line: line.number(), words: text.split(' ') })
        }
    }
    for words in [5, 5000] {
        let journal = Arc::<Journal>::default();
        let mut topology = TopologyBuilder::new();
        let shared = Arc::clone(&journal);
        topology.spout("lines", move || Lines { next: 0, count: 10, words, journal: Arc::clone(&shared) });
        topology.flat_map("split", || Splits).shuffle_grouping("lines");
        topology.bolt("sink", || slow(Duration::ZERO)).shuffle_grouping("split");
        let report = run(topology, &config(&[("topology.enable.message.timeouts", false.into())]));
        assert_drained(&report);
        journal.assert_one_word_per_emit();
        assert_eq!((journal.fails(), journal.fates()[&3].fails.len()), (1, 1), "{words} words");
        let errors = errors_of(&report, "split");
        assert!(errors.len() == 1 && errors[0].contains("a bad end") && errors[0].contains("rebuilt"), "{errors:?}");
    }
}
