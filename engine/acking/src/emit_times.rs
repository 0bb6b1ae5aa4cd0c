//! When a spout task's tuples were emitted, by runs: the clock is read at most once per 32 tuples.
//!
//! The slowest tuples matter most for latencies, so a run some of whose times were not asked for yet is set aside when
//! it would be forgotten. Bounded all the same: with too many runs the oldest go, and their latencies uncounted.

use std::collections::VecDeque;

use crate::lane_index::LaneIndex;
use crate::root::{RootId, ahead};

/// A run is not ended by another time before it has this many tuples.
const RUN_COUNT: u32 = 32;
/// How many runs of each lane are set aside.
const OVERDUE_RUNS: usize = 1024;

/// The emit times of one spout task's tuples.
///
/// ```
/// # use ringstorm_acking::{EmitTimes, Lane, RootId};
/// let mut times = EmitTimes::new(1000);
/// let first = RootId::new(Lane(0), 1);
/// times.record(first, 40, 5_000);
/// times.record(first.offset(40), 40, 6_000);
/// assert_eq!(times.emit_time_ns(first.offset(39)), Some(5_000));
/// assert_eq!(times.emit_time_ns(first.offset(40)), Some(6_000));
/// times.forget_before(first.offset(80));
/// assert_eq!(times.emit_time_ns(first.offset(7)), Some(5_000));
/// ```
#[derive(Debug)]
pub struct EmitTimes {
    index: LaneIndex,
    lanes: Vec<Runs>,
    max_runs_per_lane: usize,
}

#[derive(Debug, Default)]
struct Runs {
    runs: VecDeque<Run>,
    /// Where the last search ended: tuples complete nearly in order.
    hint: usize,
    /// Runs before all of `runs` with times that were not asked for.
    overdue: VecDeque<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    time_ns: u64,
    count: u32,
    /// How many of its times were not asked for.
    left: u32,
}

impl EmitTimes {
    /// No times yet, and never more than `max_runs_per_lane` runs (24 bytes, 32 tuples or more each) per lane,
    /// besides at most 1024 that are set aside.
    pub fn new(max_runs_per_lane: usize) -> EmitTimes {
        EmitTimes { index: LaneIndex::default(), lanes: Vec::new(), max_runs_per_lane: max_runs_per_lane.max(1) }
    }

    /// Notes that `count` tuples from root `first` on, later than all before in their lane, were emitted at this time.
    ///
    /// If the run before has fewer than 32 tuples, they count as emitted at its time, so that calling this for each
    /// tuple is no mistake.
    #[inline]
    pub fn record(&mut self, first: RootId, count: u32, time_ns: u64) {
        let place = match self.index.get(first.lane()) {
            Some(place) => place,
            None => {
                self.lanes.push(Runs::default());
                self.index.add(first.lane())
            }
        };
        let lane = &mut self.lanes[place];
        if let Some(last) = lane.runs.back_mut() {
            let contiguous = ahead(first.sequence(), last.first) == i64::from(last.count);
            if contiguous
                && (last.time_ns == time_ns || last.count < RUN_COUNT)
                && let Some(sum) = last.count.checked_add(count)
            {
                last.count = sum;
                last.left += count;
                return;
            }
        }
        if lane.runs.len() == self.max_runs_per_lane {
            lane.set_first_aside();
        }
        lane.runs.push_back(Run { first: first.sequence(), time_ns, count, left: count });
    }

    /// When the tuple of this root was emitted; `None` if that was never recorded or is forgotten. To be asked once,
    /// when the tuple completes.
    #[inline]
    pub fn emit_time_ns(&mut self, root: RootId) -> Option<u64> {
        let place = self.index.get(root.lane())?;
        let run = self.lanes[place].find(root.sequence())?;
        run.left = run.left.saturating_sub(1);
        Some(run.time_ns)
    }

    /// Calls `timed` with time and count for each part of the roots `first`, `first + stride`, and so on, `count` in
    /// all, that has one emit time; roots without one are skipped.
    #[inline]
    pub fn emit_times_of_range(&mut self, first: RootId, stride: u32, count: u32, mut timed: impl FnMut(u64, u32)) {
        let Some(place) = self.index.get(first.lane()) else { return };
        let lane = &mut self.lanes[place];
        let (mut root, mut left, stride) = (first, count, stride.max(1));
        while left > 0 {
            let mut part = 1;
            if let Some(run) = lane.find(root.sequence()) {
                let in_run = u64::from(run.count) - ahead(root.sequence(), run.first) as u64;
                part = u32::try_from(in_run.div_ceil(stride.into())).map_or(left, |part| part.min(left));
                run.left = run.left.saturating_sub(part);
                timed(run.time_ns, part);
            }
            root = root.offset(u64::from(part) * u64::from(stride));
            left -= part;
        }
    }

    /// Forgets the runs that lie wholly before `root` in its lane: hardly anything before it is pending. Those with
    /// times that were not asked for yet are set aside.
    #[inline]
    pub fn forget_before(&mut self, root: RootId) {
        let Some(place) = self.index.get(root.lane()) else { return };
        let lane = &mut self.lanes[place];
        while lane.runs.front().is_some_and(|run| ahead(root.sequence(), run.first) >= i64::from(run.count)) {
            lane.set_first_aside();
        }
    }

    /// The memory these times hold, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let runs: usize = self.lanes.iter().map(|lane| lane.runs.capacity() + lane.overdue.capacity()).sum();
        size_of::<EmitTimes>()
            + self.index.memory_bytes()
            + self.lanes.capacity() * size_of::<Runs>()
            + runs * size_of::<Run>()
    }
}

impl Runs {
    #[inline]
    fn find(&mut self, sequence: u64) -> Option<&mut Run> {
        if let Some(at) = [self.hint, self.hint + 1].into_iter().find(|&at| holds(&self.runs, at, sequence)) {
            self.hint = at;
            return self.runs.get_mut(at);
        }
        if let Some(at) = search(&self.runs, sequence) {
            self.hint = at;
            return self.runs.get_mut(at);
        }
        let at = search(&self.overdue, sequence)?;
        self.overdue.get_mut(at)
    }

    fn set_first_aside(&mut self) {
        self.hint = self.hint.saturating_sub(1);
        if let Some(run) = self.runs.pop_front().filter(|run| run.left > 0) {
            if self.overdue.len() == OVERDUE_RUNS {
                // Done runs go first; but if few are done, the oldest.
                self.overdue.retain(|run| run.left > 0);
                self.overdue.drain(..self.overdue.len().saturating_sub(OVERDUE_RUNS / 2));
            }
            self.overdue.push_back(run);
        }
    }
}

fn holds(runs: &VecDeque<Run>, at: usize, sequence: u64) -> bool {
    runs.get(at).is_some_and(|run| (ahead(sequence, run.first) as u64) < u64::from(run.count))
}

fn search(runs: &VecDeque<Run>, sequence: u64) -> Option<usize> {
    let after = runs.partition_point(|run| ahead(run.first, sequence) <= 0);
    after.checked_sub(1).filter(|&at| holds(runs, at, sequence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Lane;

    fn root(sequence: u64) -> RootId {
        RootId::new(Lane(2), sequence)
    }

    #[test]
    fn single_records_join_into_runs_of_32() {
        let mut times = EmitTimes::new(100);
        for sequence in 0..100 {
            times.record(root(1 + sequence), 1, 1000 + sequence);
        }
        for sequence in 0..100 {
            assert_eq!(times.emit_time_ns(root(1 + sequence)), Some(1000 + sequence / 32 * 32));
        }
        assert_eq!(times.emit_time_ns(root(101)), None);
        assert_eq!(times.emit_time_ns(root(0)), None);
    }

    #[test]
    fn ranges_are_answered_by_parts() {
        let mut times = EmitTimes::new(100);
        times.record(root(10), 50, 1);
        times.record(root(60), 50, 2);
        times.record(root(120), 50, 3);
        let mut parts = Vec::new();
        times.emit_times_of_range(root(8), 2, 61, |time_ns, count| parts.push((time_ns, count)));
        assert_eq!(parts, [(1, 25), (2, 25), (3, 5)]);
    }

    #[test]
    fn order_does_not_matter_and_slow_tuples_keep_their_times() {
        let mut times = EmitTimes::new(3);
        let first = root(u64::MAX - 100);
        for run in 0..5 {
            times.record(first.offset(run * 40), 40, run);
        }
        let mut time_of = |index: u64| times.emit_time_ns(first.offset(index));
        assert_eq!([199, 80, 120, 79, 0, 160].map(&mut time_of), [4, 2, 3, 1, 0, 4].map(Some));
        assert_eq!(time_of(200), None);
        // All of the first run, and all but one of the third, were asked for.
        times.emit_times_of_range(first, 1, 40, |_, _| ());
        times.emit_times_of_range(first.offset(81), 1, 38, |_, _| ());
        times.forget_before(first.offset(200));
        assert_eq!(times.emit_time_ns(first.offset(119)), Some(2));
    }

    #[test]
    fn what_is_set_aside_is_bounded() {
        let mut times = EmitTimes::new(4);
        let count = 10_000;
        for run in 0..count {
            times.record(root(1 + run * 32), 32, run);
            if run % 2 == 0 {
                times.emit_times_of_range(root(1 + run * 32), 1, 32, |_, _| ());
            }
        }
        assert!(times.memory_bytes() < 60_000, "{} bytes", times.memory_bytes());
        assert_eq!(times.emit_time_ns(root(1)), None);
        let kept = (0..count).filter(|run| times.emit_time_ns(root(1 + run * 32)).is_some()).count();
        assert!((512..2000).contains(&kept), "{kept} runs kept");
        assert!(times.emit_time_ns(root(1 + (count - 5) * 32)).is_some(), "the latest stay");
    }
}
