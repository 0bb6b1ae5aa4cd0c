//! When a spout task's tuples were emitted, by runs: the clock is read at most once per 32 tuples.
//!
//! Bounded: with more runs than it may keep per lane it forgets the oldest, whose latencies then go uncounted.

use std::collections::VecDeque;

use crate::lane_index::LaneIndex;
use crate::root::{RootId, ahead};

/// A run is not ended by another time before it has this many tuples.
const RUN_COUNT: u32 = 32;

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
/// times.forget_before(first.offset(40));
/// assert_eq!(times.emit_time_ns(first), None);
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
}

#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    time_ns: u64,
    count: u32,
}

impl EmitTimes {
    /// No times yet, and never more than `max_runs_per_lane` runs (24 bytes, 32 tuples or more each) per lane.
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
                return;
            }
        }
        if lane.runs.len() == self.max_runs_per_lane {
            lane.runs.pop_front();
            lane.hint = lane.hint.saturating_sub(1);
        }
        lane.runs.push_back(Run { first: first.sequence(), time_ns, count });
    }

    /// When the tuple of this root was emitted; `None` if that was never recorded or is forgotten.
    #[inline]
    pub fn emit_time_ns(&mut self, root: RootId) -> Option<u64> {
        let place = self.index.get(root.lane())?;
        self.lanes[place].find(root.sequence()).map(|run| run.time_ns)
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
                timed(run.time_ns, part);
            }
            root = root.offset(u64::from(part) * u64::from(stride));
            left -= part;
        }
    }

    /// Forgets the runs that lie wholly before `root` in its lane: nothing before it is pending.
    #[inline]
    pub fn forget_before(&mut self, root: RootId) {
        let Some(place) = self.index.get(root.lane()) else { return };
        let lane = &mut self.lanes[place];
        while lane.runs.front().is_some_and(|run| ahead(root.sequence(), run.first) >= i64::from(run.count)) {
            lane.runs.pop_front();
            lane.hint = lane.hint.saturating_sub(1);
        }
    }

    /// The memory these times hold, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let runs: usize = self.lanes.iter().map(|lane| lane.runs.capacity()).sum();
        size_of::<EmitTimes>()
            + self.index.memory_bytes()
            + self.lanes.capacity() * size_of::<Runs>()
            + runs * size_of::<Run>()
    }
}

impl Runs {
    #[inline]
    fn find(&mut self, sequence: u64) -> Option<Run> {
        for at in [self.hint, self.hint + 1] {
            if let Some(run) = self.runs.get(at).filter(|run| run.holds(sequence)) {
                self.hint = at;
                return Some(*run);
            }
        }
        let after = self.runs.partition_point(|run| ahead(run.first, sequence) <= 0);
        let at = after.checked_sub(1)?;
        let run = self.runs.get(at).filter(|run| run.holds(sequence))?;
        self.hint = at;
        Some(*run)
    }
}

impl Run {
    #[inline]
    fn holds(&self, sequence: u64) -> bool {
        (ahead(sequence, self.first) as u64) < u64::from(self.count)
    }
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
    fn the_oldest_runs_go_first_and_order_does_not_matter() {
        let mut times = EmitTimes::new(3);
        for run in 0..5 {
            times.record(root(u64::MAX - 100).offset(run * 40), 40, run);
        }
        let time_of = |times: &mut EmitTimes, index: u64| times.emit_time_ns(root(u64::MAX - 100).offset(index));
        assert_eq!(
            [199, 80, 120, 79, 160].map(|index| time_of(&mut times, index)),
            [Some(4), Some(2), Some(3), None, Some(4)]
        );
        times.forget_before(root(u64::MAX - 100).offset(121));
        assert_eq!([119, 120, 199].map(|index| time_of(&mut times, index)), [None, Some(3), Some(4)]);
        assert!(times.memory_bytes() < 1000);
    }
}
