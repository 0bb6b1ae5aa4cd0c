//! Laws of the windows.

use super::*;
use proptest::prelude::*;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn before_a_window_is_full_it_holds_everything() {
    let mut windows = CounterWindows::new(2);
    windows.record(seconds(7), &[5, 0]);
    windows.record(seconds(599), &[9, 1]);
    for window in Window::ALL {
        assert_eq!(windows.over(window), [9, 1], "{window:?}");
    }
}

#[test]
fn what_is_older_than_the_window_leaves_it() {
    let mut windows = CounterWindows::new(1);
    windows.record(seconds(30), &[100]);
    windows.record(seconds(60), &[100]);
    windows.record(seconds(661), &[107]);
    assert_eq!(windows.over(Window::TenMinutes), [7]);
    assert_eq!(windows.over(Window::ThreeHours), [107]);
}

#[test]
fn one_record_after_a_long_run_is_spread_evenly() {
    let mut windows = CounterWindows::new(1);
    windows.record(seconds(86_400), &[86_400]);
    assert_eq!(windows.over(Window::TenMinutes), [600]);
    assert_eq!(windows.over(Window::ThreeHours), [10_800]);
    assert_eq!(windows.over(Window::OneDay), [86_400]);
}

#[test]
fn counters_and_ages_that_go_back_are_held() {
    let mut windows = CounterWindows::new(1);
    windows.record(seconds(10), &[50]);
    windows.record(seconds(5), &[40]);
    assert_eq!(windows.over(Window::TenMinutes), [50]);
    assert_eq!(windows.latest_at(), seconds(10));
    windows.record(seconds(20), &[]);
    assert_eq!(windows.over(Window::AllTime), [50]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Against every record ever made: a window holds what came in since its start, give or take the bucket that its
    /// start lies in; a longer window never holds less; a ring stays within its bound.
    #[test]
    fn a_window_is_right_up_to_the_bucket_at_its_start(
        steps in prop::collection::vec((0_u64..200_000, 0_u64..1_000_000), 1..400),
    ) {
        let mut windows = CounterWindows::new(1);
        let mut records = vec![(Duration::ZERO, 0_u64)];
        let (mut age, mut value) = (Duration::ZERO, 0);
        for (milliseconds, growth) in steps {
            age += Duration::from_millis(milliseconds);
            value += growth;
            windows.record(age, &[value]);
            records.push((age, value));
        }
        let at_or_before = |moment: Duration| records.iter().rev().find(|(at, _)| *at <= moment).unwrap().1;
        let mut shorter = 0;
        for window in Window::ALL {
            let shown = windows.over(window)[0];
            prop_assert!(shown >= shorter, "{window:?} shows {shown}, a shorter window {shorter}");
            shorter = shown;
            let Some(span) = window.span() else {
                prop_assert_eq!(shown, value);
                continue;
            };
            let start = age.saturating_sub(span);
            // Edges are the first record at least one bucket after the edge before: the gap between two records comes on
            // top of a bucket's length.
            let gap = records.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap();
            let slack = span / BUCKETS + gap;
            let most = value - at_or_before(start.saturating_sub(slack));
            let least = value - at_or_before(start + slack);
            prop_assert!((least..=most).contains(&shown), "{window:?}: {shown} is not in {least}..={most}");
        }
        for ring in &windows.rings {
            prop_assert!(ring.edges.len() <= BUCKETS as usize + 2);
        }
    }

    /// A constant rate is shown exactly, however irregularly it is fed.
    #[test]
    fn a_constant_rate_is_exact(gaps in prop::collection::vec(1_u64..5_000, 1..200), rate in 1_u64..1_000_000) {
        let mut windows = CounterWindows::new(1);
        let mut age = 0;
        for gap in gaps {
            age += gap;
            windows.record(seconds(age), &[rate * age]);
        }
        for window in Window::ALL {
            let span = window.span().map_or(age, |span| span.as_secs().min(age));
            prop_assert_eq!(windows.over(window), [rate * span]);
        }
    }

    /// Whatever is fed, nothing that was counted is taken back.
    #[test]
    fn nothing_goes_down(feeds in prop::collection::vec((0_u64..1_000_000, any::<u64>()), 1..200)) {
        let mut windows = CounterWindows::new(1);
        let mut all_time = 0;
        for (at, value) in feeds {
            windows.record(seconds(at), &[value]);
            let now = windows.over(Window::AllTime)[0];
            prop_assert!(now >= all_time && now >= value);
            all_time = now;
            prop_assert!(windows.over(Window::TenMinutes)[0] <= windows.over(Window::OneDay)[0]);
        }
    }
}
