//! What an executor or a component did, counted: cumulative since the start, or within one window.
//!
//! Latencies are kept as total time and count, so that they can be added up and subtracted; histograms are kept apart
//! ([`Latency`](super::Latency)).

use hdrhistogram::Histogram;

use super::ExecutorSnapshot;

/// One stream that is emitted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputCounts {
    /// The stream.
    pub stream: String,
    /// Emits, but for those that were refused.
    pub emitted: u64,
    /// Copies sent to subscribers.
    pub transferred: u64,
}

/// One stream that is executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputCounts {
    /// The emitting component.
    pub component: String,
    /// The stream.
    pub stream: String,
    /// Tuples executed.
    pub executed: u64,
    /// Tuples acked.
    pub acked: u64,
    /// Tuples failed.
    pub failed: u64,
    /// Time in `execute`, in nanoseconds.
    pub execute_ns: u64,
    /// Tuples whose time in `execute` is part of `execute_ns`.
    pub execute_count: u64,
    /// From receipt to ack, in nanoseconds.
    pub process_ns: u64,
    /// Tuples whose time from receipt to ack is part of `process_ns`.
    pub process_count: u64,
}

/// The messages of a spout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpoutCounts {
    /// Messages whose whole tree was acked.
    pub acked: u64,
    /// Messages that failed, those timed out included.
    pub failed: u64,
    /// Messages that timed out.
    pub timed_out: u64,
    /// From emit to the ack of the whole tree, in nanoseconds.
    pub complete_ns: u64,
    /// Messages whose time is part of `complete_ns`.
    pub complete_count: u64,
}

/// Everything that is counted of an executor or a component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// By stream.
    pub outputs: Vec<OutputCounts>,
    /// By source component and stream.
    pub inputs: Vec<InputCounts>,
    /// Spouts only.
    pub spout: SpoutCounts,
    /// Time spent in `execute`, in nanoseconds.
    pub busy_ns: u64,
    /// Tuples taken out of the receive queue.
    pub taken: u64,
}

impl Counts {
    /// The counters of an executor since its start.
    pub fn of(executor: &ExecutorSnapshot) -> Self {
        let outputs = executor.outputs.iter().map(|output| OutputCounts {
            stream: output.stream.clone(),
            emitted: output.emitted,
            transferred: output.transferred,
        });
        let inputs = executor.inputs.iter().map(|input| {
            let (execute_ns, execute_count) = total(input.execute_ns.as_ref());
            let (process_ns, process_count) = total(input.process_ns.as_ref());
            InputCounts {
                component: input.component.clone(),
                stream: input.stream.clone(),
                executed: input.executed,
                acked: input.acked,
                failed: input.failed,
                execute_ns,
                execute_count,
                process_ns,
                process_count,
            }
        });
        let (complete_ns, complete_count) = total(executor.complete_ns.as_ref());
        Self {
            outputs: outputs.collect(),
            inputs: inputs.collect(),
            spout: SpoutCounts {
                acked: executor.acked,
                failed: executor.failed,
                timed_out: executor.timed_out,
                complete_ns,
                complete_count,
            },
            busy_ns: executor.busy_ns,
            taken: executor.receive_queue.taken,
        }
    }

    /// Tuples emitted.
    pub fn emitted(&self) -> u64 {
        self.outputs.iter().map(|output| output.emitted).sum()
    }

    /// Copies sent to subscribers.
    pub fn transferred(&self) -> u64 {
        self.outputs.iter().map(|output| output.transferred).sum()
    }

    /// Tuples executed.
    pub fn executed(&self) -> u64 {
        self.inputs.iter().map(|input| input.executed).sum()
    }

    /// Tuples acked by a bolt, or messages of a spout that were acked.
    pub fn acked(&self) -> u64 {
        self.spout.acked + self.inputs.iter().map(|input| input.acked).sum::<u64>()
    }

    /// Tuples failed by a bolt, or messages of a spout that failed.
    pub fn failed(&self) -> u64 {
        self.spout.failed + self.inputs.iter().map(|input| input.failed).sum::<u64>()
    }

    /// Average time in `execute`, in milliseconds; 0 when nothing was executed.
    pub fn execute_ms_avg(&self) -> f64 {
        let sum = |number: fn(&InputCounts) -> u64| self.inputs.iter().map(number).sum();
        average_ms(sum(|input| input.execute_ns), sum(|input| input.execute_count))
    }

    /// Average time from receipt to ack, in milliseconds; 0 when nothing was acked.
    pub fn process_ms_avg(&self) -> f64 {
        let sum = |number: fn(&InputCounts) -> u64| self.inputs.iter().map(number).sum();
        average_ms(sum(|input| input.process_ns), sum(|input| input.process_count))
    }

    /// Average time from emit to the ack of the whole tree, in milliseconds; 0 when no message was acked.
    pub fn complete_ms_avg(&self) -> f64 {
        average_ms(self.spout.complete_ns, self.spout.complete_count)
    }

    /// Adds the counters of another executor of the same component.
    pub(super) fn add(&mut self, other: &Self) {
        for output in &other.outputs {
            if !self.outputs.iter().any(|known| known.stream == output.stream) {
                self.outputs.push(OutputCounts { stream: output.stream.clone(), ..OutputCounts::default() });
            }
        }
        for input in &other.inputs {
            if !self.inputs.iter().any(|known| known.is_of(input)) {
                let (component, stream) = (input.component.clone(), input.stream.clone());
                self.inputs.push(InputCounts { component, stream, ..InputCounts::default() });
            }
        }
        // Every executor of a component has the same streams, but another one may list them in another order.
        let mut aligned = Self { outputs: self.outputs.clone(), inputs: self.inputs.clone(), ..other.clone() };
        for output in &mut aligned.outputs {
            let found = other.outputs.iter().find(|candidate| candidate.stream == output.stream);
            *output = found.cloned().unwrap_or_default();
        }
        for input in &mut aligned.inputs {
            let found = other.inputs.iter().find(|candidate| candidate.is_of(input));
            *input = found.cloned().unwrap_or_default();
        }
        let mut values = aligned.values().into_iter();
        self.each(|value| *value += values.next().unwrap_or_default());
    }

    /// Whether both count the same streams in the same order, so that their values correspond.
    pub(super) fn has_streams_of(&self, other: &Self) -> bool {
        let same_outputs = self.outputs.iter().map(|output| &output.stream).eq(other.outputs.iter().map(|o| &o.stream));
        let same_inputs =
            self.inputs.len() == other.inputs.len() && self.inputs.iter().zip(&other.inputs).all(|(a, b)| a.is_of(b));
        same_outputs && same_inputs
    }

    /// Every counter, in a fixed order.
    pub(super) fn values(&self) -> Vec<u64> {
        let mut values = Vec::new();
        self.clone().each(|value| values.push(*value));
        values
    }

    /// The same streams with other values, in the order of [`Counts::values`].
    pub(super) fn with_values(&self, values: &[u64]) -> Self {
        let mut counts = self.clone();
        let mut values = values.iter();
        counts.each(|value| *value = values.next().copied().unwrap_or_default());
        counts
    }

    fn each(&mut self, mut visit: impl FnMut(&mut u64)) {
        for OutputCounts { stream: _, emitted, transferred } in &mut self.outputs {
            [emitted, transferred].into_iter().for_each(&mut visit);
        }
        for input in &mut self.inputs {
            let InputCounts { executed, acked, failed, .. } = input;
            [executed, acked, failed].into_iter().for_each(&mut visit);
            let InputCounts { execute_ns, execute_count, process_ns, process_count, .. } = input;
            [execute_ns, execute_count, process_ns, process_count].into_iter().for_each(&mut visit);
        }
        let SpoutCounts { acked, failed, timed_out, complete_ns, complete_count } = &mut self.spout;
        [acked, failed, timed_out, complete_ns, complete_count].into_iter().for_each(&mut visit);
        [&mut self.busy_ns, &mut self.taken].into_iter().for_each(&mut visit);
    }
}

impl InputCounts {
    fn is_of(&self, other: &Self) -> bool {
        self.component == other.component && self.stream == other.stream
    }

    /// Average time in `execute`, in milliseconds; 0 when nothing was executed.
    pub fn execute_ms_avg(&self) -> f64 {
        average_ms(self.execute_ns, self.execute_count)
    }

    /// Average time from receipt to ack, in milliseconds; 0 when nothing was acked.
    pub fn process_ms_avg(&self) -> f64 {
        average_ms(self.process_ns, self.process_count)
    }
}

fn average_ms(total_ns: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { total_ns as f64 / count as f64 / 1e6 }
}

/// The sum of what a histogram recorded (each value as the middle of its bucket, at most 0.8 % off) and its count. Both
/// grow with every record, which a mean does not.
fn total(histogram: Option<&Histogram<u64>>) -> (u64, u64) {
    let Some(histogram) = histogram else { return (0, 0) };
    let sum: u128 = histogram
        .iter_recorded()
        .map(|value| {
            u128::from(histogram.median_equivalent(value.value_iterated_to()))
                * u128::from(value.count_since_last_iteration())
        })
        .sum();
    (u64::try_from(sum).unwrap_or(u64::MAX), histogram.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(streams: &[(&str, u64)]) -> Counts {
        let outputs = streams.iter().map(|(stream, emitted)| OutputCounts {
            stream: (*stream).into(),
            emitted: *emitted,
            transferred: 1,
        });
        Counts { outputs: outputs.collect(), busy_ns: 7, ..Counts::default() }
    }

    #[test]
    fn values_and_back_again() {
        let mut original = counts(&[("a", 1), ("b", 2)]);
        original.inputs.push(InputCounts { component: "x".into(), executed: 3, process_ns: 4, ..Default::default() });
        original.spout = SpoutCounts { acked: 5, failed: 6, timed_out: 7, complete_ns: 8, complete_count: 9 };
        let values = original.values();
        assert_eq!(values, [1, 1, 2, 1, 3, 0, 0, 0, 0, 4, 0, 5, 6, 7, 8, 9, 7, 0]);
        assert_eq!(original.with_values(&values), original);
        assert!(original.has_streams_of(&original.with_values(&[])));
        assert!(!original.has_streams_of(&counts(&[("a", 1)])));
    }

    #[test]
    fn adding_goes_by_name() {
        let mut sum = counts(&[("a", 1), ("b", 2)]);
        sum.add(&counts(&[("b", 10), ("c", 100)]));
        let emitted: Vec<_> = sum.outputs.iter().map(|output| (&*output.stream, output.emitted)).collect();
        assert_eq!(emitted, [("a", 1), ("b", 12), ("c", 100)]);
        assert_eq!((sum.emitted(), sum.transferred(), sum.busy_ns), (113, 4, 14));
    }

    #[test]
    fn averages_are_close_to_what_was_recorded() {
        let mut histogram = crate::core::stats::new_histogram();
        for value in [4_900_000, 5_000_000, 5_100_000] {
            histogram.record_n(value, 100).unwrap();
        }
        let (sum_ns, count) = total(Some(&histogram));
        let input = InputCounts { execute_ns: sum_ns, execute_count: count, executed: count, ..InputCounts::default() };
        assert!((input.execute_ms_avg() - 5.0).abs() < 0.05, "{}", input.execute_ms_avg());
        assert_eq!(input.process_ms_avg(), 0.0);
    }
}
