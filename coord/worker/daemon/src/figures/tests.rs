//! Figures in, records out.

use proptest::prelude::*;
use ringstorm_runtime::metrics::SpoutCounts;
use ringstorm_types::{ExecutorId, TaskId};

use super::*;

fn executor(task: i32, is_spout: bool, emitted: u64, executed: u64, acked: u64) -> ExecutorFigures {
    let input = InputCounts {
        component: "words".into(),
        stream: "default".into(),
        executed,
        acked,
        execute_ns: 2_000_000 * executed,
        execute_count: executed,
        ..InputCounts::default()
    };
    let counts = Counts {
        outputs: vec![OutputCounts { stream: "default".into(), emitted, transferred: 2 * emitted }],
        inputs: if is_spout { Vec::new() } else { vec![input] },
        spout: SpoutCounts { acked: if is_spout { acked } else { 0 }, ..SpoutCounts::default() },
        ..Counts::default()
    };
    ExecutorFigures {
        id: ExecutorId { first: TaskId(task), last: TaskId(task) },
        component: if is_spout { "words" } else { "count" }.into(),
        is_spout,
        counts,
    }
}

fn info(task: i32) -> ExecutorInfo {
    ExecutorInfo { task_start: task, task_end: task }
}

#[test]
fn what_was_counted_stands_in_every_window_and_what_was_not_in_none() {
    let mut figures = Figures::default();
    let taken = figures.take(Duration::from_secs(3), vec![executor(1, true, 30, 0, 20), executor(2, false, 0, 30, 30)]);
    let spout = &taken[&info(1)];
    let windows: Vec<&str> = spout.emitted.keys().map(String::as_str).collect();
    assert_eq!(windows, ["10800", "600", "86400", ":all-time"]);
    assert_eq!((spout.emitted["600"]["default"], spout.transferred[":all-time"]["default"]), (30, 60));
    let ExecutorSpecificStats::Spout(messages) = &spout.specific else { panic!("{spout:?}") };
    assert_eq!(messages.acked["86400"]["default"], 20);
    assert!(messages.failed.is_empty() && messages.complete_ms_avg.is_empty(), "{messages:?}");
    let bolt = &taken[&info(2)];
    assert!(bolt.emitted.is_empty() && bolt.transferred.is_empty(), "{bolt:?}");
    let ExecutorSpecificStats::Bolt(tuples) = &bolt.specific else { panic!("{bolt:?}") };
    let source = GlobalStreamId { component_id: "words".into(), stream_id: "default".into() };
    assert_eq!((tuples.executed[":all-time"][&source], tuples.acked["600"][&source]), (30, 30));
    assert_eq!(tuples.execute_ms_avg["10800"][&source], 2.0);
    assert!(tuples.process_ms_avg.is_empty(), "{tuples:?}");
    assert_eq!(spout.rate, 1.0);
}

#[test]
fn ten_minutes_later_only_the_longer_windows_have_it() {
    let mut figures = Figures::default();
    figures.take(Duration::from_secs(60), vec![executor(1, true, 30, 0, 0)]);
    for minute in 2..=30 {
        figures.take(Duration::from_secs(60 * minute), vec![executor(1, true, 30, 0, 0)]);
    }
    let taken = figures.take(Duration::from_secs(1860), Vec::new());
    let emitted = &taken[&info(1)].emitted;
    assert_eq!((emitted["600"]["default"], emitted["10800"]["default"], emitted[":all-time"]["default"]), (0, 30, 30));
}

proptest! {
    #[test]
    fn no_window_counts_more_than_all_time(steps in proptest::collection::vec((1_u64..5_000, 0_u64..1_000), 1..30)) {
        let mut figures = Figures::default();
        let (mut age, mut emitted) = (0, 0);
        for (seconds, more) in steps {
            age += seconds;
            emitted += more;
            let taken = figures.take(Duration::from_secs(age), vec![executor(1, true, emitted, 0, emitted)]);
            let windows = &taken[&info(1)].emitted;
            let all_time = windows.get(":all-time").map_or(0, |streams| streams["default"]);
            prop_assert_eq!(all_time as u64, emitted);
            prop_assert!(windows.values().all(|streams| (0..=all_time).contains(&streams["default"])));
        }
    }
}
