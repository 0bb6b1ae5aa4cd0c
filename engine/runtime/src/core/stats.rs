//! Counters and histograms of one executor, plain memory of its core.
//!
//! Counts are exact. Latencies are taken once per chunk of tuples and recorded with the chunk's count: a clock reading
//! costs more than a tuple. Histograms are made when the first value comes, so that an idle executor holds none.
//!
//! Threading: belongs to one core; readers get copies (see [`crate::metrics`]).

use hdrhistogram::Histogram;

use crate::core::transfer::Load;

/// Latencies in nanoseconds, 1 ns to 1 hour, two significant digits (at most 1 % off).
pub(crate) fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("the bounds are valid")
}

/// A histogram that exists once something was recorded.
#[derive(Debug, Clone, Default)]
pub(crate) struct LazyHistogram {
    values: Option<Box<Histogram<u64>>>,
    sum_ns: u64,
}

impl LazyHistogram {
    #[inline]
    pub(crate) fn record(&mut self, value_ns: u64, count: u64) {
        let histogram = self.values.get_or_insert_with(|| Box::new(new_histogram()));
        self.sum_ns = self.sum_ns.saturating_add(value_ns.saturating_mul(count));
        // Values are clamped into the bounds, which is the only way that recording can fail.
        let _ = histogram.record_n(value_ns.clamp(1, 3_600_000_000_000), count);
    }

    /// A copy for whoever wants to see the values.
    pub(crate) fn copy(&self) -> Option<Histogram<u64>> {
        self.values.as_deref().cloned()
    }

    /// The sum of the values, and how many there are: what an average needs, and hardly costs anything.
    pub(crate) fn total(&self) -> (u64, u64) {
        (self.sum_ns, self.values.as_ref().map_or(0, |values| values.len()))
    }
}

/// What an executor did with the tuples of one subscription's stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputStats {
    pub(crate) executed: u64,
    pub(crate) acked: u64,
    pub(crate) failed: u64,
    /// Acked within their own execute call since the last chunk ended.
    pub(crate) acked_in_place: u64,
    pub(crate) execute_ns: LazyHistogram,
    pub(crate) process_ns: LazyHistogram,
    /// Total time in `execute`, for capacity.
    pub(crate) busy_ns: u64,
}

impl InputStats {
    pub(crate) fn record_process(&mut self, value_ns: u64, count: u64) {
        self.process_ns.record(value_ns, count);
    }

    /// Ends a chunk of `count` tuples that took `elapsed_ns` in all.
    #[inline]
    pub(crate) fn end_chunk(&mut self, count: u64, elapsed_ns: u64) {
        if count == 0 {
            return;
        }
        self.executed += count;
        self.busy_ns += elapsed_ns;
        let each_ns = elapsed_ns / count;
        self.execute_ns.record(each_ns, count);
        let in_place = std::mem::take(&mut self.acked_in_place);
        if in_place > 0 {
            self.process_ns.record(each_ns, in_place);
        }
    }
}

/// What an executor's inbox went through.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InboxStats {
    pub(crate) pauses: u64,
    pub(crate) population_max: usize,
    /// What other workers were told of it last, and when.
    told: Load,
    told_at_ns: u64,
}

/// Other workers hear of a load at most this often.
const TELL_PERIOD_NS: u64 = 1_000_000;
/// Less than this makes no difference to anybody.
const TELL_LEAST_US: u32 = 1_000;

impl InboxStats {
    /// Whether other workers should be told of a load; notes that they are.
    pub(crate) fn is_news(&mut self, load: Load, now_ns: u64) -> bool {
        let differ = |one: u32, other: u32| {
            let (one, other) = (one.max(TELL_LEAST_US), other.max(TELL_LEAST_US));
            one / 2 > other || other / 2 > one
        };
        let told = self.told;
        let is_other = load.over_limit != told.over_limit
            || differ(load.wait_us, told.wait_us)
            || differ(load.tuple_us, told.tuple_us);
        let is_news = is_other && now_ns.saturating_sub(self.told_at_ns) >= TELL_PERIOD_NS;
        if is_news {
            (self.told, self.told_at_ns) = (load, now_ns);
        }
        is_news
    }
}
