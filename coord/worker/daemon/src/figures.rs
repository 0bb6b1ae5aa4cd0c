//! What executors count, as Storm's records.
//!
//! As in Storm the outer key is a window, the inner one a stream; what has never counted has no windows. Every tuple is
//! counted, so that the rate is 1. Of a spout's messages it is not known which of its streams they came from: acks, fails
//! and complete latencies stand under its default stream, or the first one that it has.
//!
//! Invariants: counts of a window are at most those of all time. Threading: pure but for the history it keeps. Errors:
//! none; a core that did not answer keeps what it counted before.

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_records::records::{
    BoltStats, ExecutorInfo, ExecutorSpecificStats, ExecutorStats, GlobalStreamId, SpoutStats,
};
use ringstorm_runtime::metrics::{
    Counts, ExecutorCounts, ExecutorFigures, FiguresHistory, InputCounts, OutputCounts, Window,
};
use ringstorm_types::DEFAULT_STREAM;

/// Every tuple is counted.
const RATE: f64 = 1.0;

/// What was counted since the worker began.
#[derive(Debug, Default)]
pub(crate) struct Figures(FiguresHistory);

impl Figures {
    /// Takes what executors have counted when the worker was this old. Returns what stands in beats from now on.
    pub(crate) fn take(
        &mut self,
        age: Duration,
        figures: Vec<ExecutorFigures>,
    ) -> BTreeMap<ExecutorInfo, ExecutorStats> {
        self.0.record(age, figures);
        let executors = self.0.executors().map(|executor| {
            let info = ExecutorInfo { task_start: executor.id.first.0, task_end: executor.id.last.0 };
            (info, stats(&executor))
        });
        executors.collect()
    }
}

/// The figures of one executor.
fn stats(executor: &ExecutorCounts<'_>) -> ExecutorStats {
    let outputs = |number: fn(&OutputCounts) -> u64| {
        by_window(executor, |counts| counts.outputs.iter().map(move |it| (it.stream.clone(), count(number(it)))))
    };
    let specific = if executor.is_spout {
        ExecutorSpecificStats::Spout(spout(executor))
    } else {
        ExecutorSpecificStats::Bolt(bolt(executor))
    };
    ExecutorStats {
        emitted: outputs(|output| output.emitted),
        transferred: outputs(|output| output.transferred),
        specific,
        rate: RATE,
    }
}

fn spout(executor: &ExecutorCounts<'_>) -> SpoutStats {
    let all_time = &executor.windows[Window::AllTime as usize];
    let streams = || all_time.outputs.iter().map(|output| output.stream.as_str());
    let Some(stream) = streams().find(|stream| *stream == DEFAULT_STREAM).or(streams().next()) else {
        return SpoutStats::default();
    };
    let of = |number: fn(&Counts) -> u64| by_window(executor, |counts| [(stream.to_owned(), count(number(counts)))]);
    SpoutStats {
        acked: of(|counts| counts.spout.acked),
        failed: of(|counts| counts.spout.failed),
        complete_ms_avg: by_window(executor, |counts| {
            let average = (counts.spout.complete_count > 0).then(|| counts.complete_ms_avg());
            average.map(|average| (stream.to_owned(), average))
        }),
    }
}

fn bolt(executor: &ExecutorCounts<'_>) -> BoltStats {
    let source =
        |input: &InputCounts| GlobalStreamId { component_id: input.component.clone(), stream_id: input.stream.clone() };
    let of = |number: fn(&InputCounts) -> u64| {
        by_window(executor, |counts| counts.inputs.iter().map(move |input| (source(input), count(number(input)))))
    };
    let average = |has: fn(&InputCounts) -> bool, number: fn(&InputCounts) -> f64| {
        by_window(executor, |counts| {
            counts.inputs.iter().filter(move |input| has(input)).map(move |input| (source(input), number(input)))
        })
    };
    BoltStats {
        acked: of(|input| input.acked),
        failed: of(|input| input.failed),
        process_ms_avg: average(|input| input.process_count > 0, InputCounts::process_ms_avg),
        executed: of(|input| input.executed),
        execute_ms_avg: average(|input| input.execute_count > 0, InputCounts::execute_ms_avg),
    }
}

/// A figure by window and stream. Streams without it since the start are left out; without any there are no windows.
fn by_window<'a, S: Ord + Clone, V: Default + PartialEq + Copy, I: IntoIterator<Item = (S, V)>>(
    executor: &'a ExecutorCounts<'_>,
    of: impl Fn(&'a Counts) -> I,
) -> BTreeMap<String, BTreeMap<S, V>> {
    let all_time: BTreeMap<S, V> = of(&executor.windows[Window::AllTime as usize]).into_iter().collect();
    let known: Vec<S> = all_time.into_iter().filter(|(_, value)| *value != V::default()).map(|(it, _)| it).collect();
    if known.is_empty() {
        return BTreeMap::new();
    }
    let windows = Window::ALL.into_iter().map(|window| {
        let values: BTreeMap<S, V> = of(&executor.windows[window as usize]).into_iter().collect();
        let values = known.iter().map(|it| (it.clone(), values.get(it).copied().unwrap_or_default()));
        (window.name().to_owned(), values.collect())
    });
    windows.collect()
}

/// Storm's counts have a sign.
fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
