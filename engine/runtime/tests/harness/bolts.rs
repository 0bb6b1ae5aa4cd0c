//! The bolts of most tests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringstorm_runtime::{AckHandle, Bolt, BoltCollector, Declarer, Input, Result, TopologyContext};

use crate::harness::Number;

/// A bolt made of two closures.
pub(crate) struct Closures<D, E> {
    declare: D,
    execute: E,
}

impl<D, E> Bolt for Closures<D, E>
where
    D: Fn(&mut Declarer) + 'static,
    E: FnMut(&Input<'_>, &mut BoltCollector<'_>) -> Result + 'static,
{
    fn declare(&self, declarer: &mut Declarer) {
        (self.declare)(declarer);
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        (self.execute)(input, collector)
    }
}

/// A bolt that emits nothing.
pub(crate) fn ends<E>(execute: E) -> impl Bolt
where
    E: FnMut(&Input<'_>, &mut BoltCollector<'_>) -> Result + 'static,
{
    Closures { declare: |_: &mut Declarer| {}, execute }
}

/// A bolt that emits [`Number`]s on its default stream.
pub(crate) fn passes<E>(execute: E) -> impl Bolt
where
    E: FnMut(&Input<'_>, &mut BoltCollector<'_>) -> Result + 'static,
{
    let declare = |declarer: &mut Declarer| {
        declarer.emits::<Number>();
    };
    emits(declare, execute)
}

/// A bolt that declares what it likes.
pub(crate) fn emits<D, E>(declare: D, execute: E) -> impl Bolt
where
    D: Fn(&mut Declarer) + 'static,
    E: FnMut(&Input<'_>, &mut BoltCollector<'_>) -> Result + 'static,
{
    Closures { declare, execute }
}

/// Passes each number on, anchored, and acks it.
pub(crate) fn relay() -> impl Bolt {
    passes(|input, collector| {
        collector.emit(input, &Number { value: input.view::<Number>()?.value() });
        collector.ack(input);
        Ok(())
    })
}

/// Acks numbers that must come as 0, 1, 2 and so on, and shows how many have come.
pub(crate) fn counts_in_order(seen: Arc<AtomicU64>) -> impl Bolt {
    let mut next = 0;
    ends(move |input, collector| {
        assert_eq!(input.view::<Number>()?.value(), next);
        next += 1;
        seen.store(next, Ordering::Relaxed);
        collector.ack(input);
        Ok(())
    })
}

/// Blocks for a time per tuple, then acks.
pub(crate) fn slow(time: Duration) -> impl Bolt {
    ends(move |input, collector| {
        std::thread::sleep(time);
        collector.ack(input);
        Ok(())
    })
}

/// Never acks, never fails.
pub(crate) fn mute() -> impl Bolt {
    ends(|_, _| Ok(()))
}

/// Acks each tuple a time after it came, without blocking. Needs ticks.
pub(crate) struct Hold {
    time: Duration,
    reset: bool,
    held: VecDeque<(Instant, AckHandle)>,
}

impl Hold {
    pub(crate) fn new(time: Duration) -> Self {
        Self { time, reset: false, held: VecDeque::new() }
    }

    /// Asks for more time at each tick.
    pub(crate) fn resetting(time: Duration) -> Self {
        Self { reset: true, ..Self::new(time) }
    }
}

impl Bolt for Hold {
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        if !input.is_tick() {
            self.held.push_back((Instant::now(), input.defer()));
            return Ok(());
        }
        while self.held.front().is_some_and(|(since, _)| since.elapsed() >= self.time) {
            let (_, handle) = self.held.pop_front().expect("it was just looked at");
            collector.ack_deferred(handle);
        }
        if self.reset {
            self.held.iter().for_each(|(_, handle)| collector.reset_timeout(handle));
        }
        Ok(())
    }
}

/// One tuple as a sink saw it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    /// The sink's task.
    pub(crate) task: i32,
    pub(crate) source: i32,
    pub(crate) stream: String,
    pub(crate) value: u64,
}

/// Everything that the tasks of a sink saw.
#[derive(Debug, Default)]
pub(crate) struct Rows(Mutex<Vec<Row>>);

impl Rows {
    pub(crate) fn all(&self) -> Vec<Row> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn push(&self, row: Row) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }

    pub(crate) fn len(&self) -> usize {
        self.all().len()
    }

    /// The values in ascending order.
    pub(crate) fn values(&self) -> Vec<u64> {
        let mut values: Vec<u64> = self.all().iter().map(|row| row.value).collect();
        values.sort_unstable();
        values
    }

    /// How many tuples each task got.
    pub(crate) fn per_task(&self) -> BTreeMap<i32, usize> {
        let mut counts = BTreeMap::new();
        self.all().iter().for_each(|row| *counts.entry(row.task).or_default() += 1);
        counts
    }
}

/// Notes every tuple of [`Number`]s and acks it.
pub(crate) fn sink(rows: &Arc<Rows>) -> impl Fn() -> Sink + Send + Sync + 'static {
    let rows = Arc::clone(rows);
    move || Sink { rows: Arc::clone(&rows), task: 0 }
}

pub(crate) struct Sink {
    rows: Arc<Rows>,
    task: i32,
}

impl Bolt for Sink {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.task = context.task().0;
        Ok(())
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        self.rows.push(Row {
            task: self.task,
            source: input.source_task().0,
            stream: input.source_stream().to_string(),
            value: input.view::<Number>()?.value(),
        });
        collector.ack(input);
        Ok(())
    }
}
