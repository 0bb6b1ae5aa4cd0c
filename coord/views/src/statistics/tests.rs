//! Figures that surprise, by hand. That all figures are Storm's, whatever the beats, is tested by `java_oracle`.

use ringstorm_records::records::{
    ComponentType, ExecutorSpecificStats, ExecutorStats, GlobalStreamId, SpecificAggregateStats, SpoutStats,
};

use super::component::ComponentFigures;
use super::topology::TopologyFigures;
use super::*;
use crate::executors::{Beating, Placed};

fn windows<K: Ord + Clone, V: Clone>(of: &[(K, V)]) -> Windows<K, V> {
    [":all-time", "600"].map(|window| (window.to_owned(), of.iter().cloned().collect())).into()
}

fn source() -> GlobalStreamId {
    GlobalStreamId { component_id: "words".to_owned(), stream_id: "default".to_owned() }
}

fn bolt(executed: i64, execute_ms: f64) -> ExecutorStats {
    let stats = BoltStats {
        executed: windows(&[(source(), executed)]),
        execute_ms_avg: windows(&[(source(), execute_ms)]),
        ..BoltStats::default()
    };
    let emitted = windows(&[("default".to_owned(), 7), ("__ack_ack".to_owned(), 100)]);
    ExecutorStats { emitted, transferred: Windows::new(), specific: ExecutorSpecificStats::Bolt(stats), rate: 20.0 }
}

fn beating(stats: &ExecutorStats, first: i32) -> Beating<'_> {
    let placed = Placed { first, last: first, node: "node", host: "host", port: 6700 };
    Beating { placed, component: "count", uptime_secs: 100, stats }
}

fn page(executors: &[Beating<'_>], include_system: bool) -> ComponentAggregateStats {
    let figures = TopologyFigures::of(executors, "600", include_system);
    figures.components(ComponentType::Bolt).next().unwrap().1.record(ComponentType::Bolt)
}

fn bolt_of(stats: &ComponentAggregateStats) -> BoltAggregateStats {
    let Some(SpecificAggregateStats::Bolt(of)) = &stats.specific_stats else { panic!("it is a bolt's") };
    of.clone()
}

#[test]
fn on_the_page_of_a_topology_latencies_lose_what_is_below_a_millisecond_in_all() {
    let (one, other) = (bolt(10, 0.19), bolt(10, 0.39));
    let executors = [beating(&one, 1), beating(&other, 2)];
    // 1.9 ms and 3.9 ms count as 1 and 3.
    assert_eq!(bolt_of(&page(&executors, true)).execute_latency_ms, Some(0.2));
    let component = ComponentFigures::of(&executors, ComponentType::Bolt, "600", true);
    let exact = bolt_of(&component.windows()["600"]).execute_latency_ms.unwrap();
    assert!((exact - 0.29).abs() < 1e-12, "{exact}");
}

#[test]
fn capacity_is_the_share_of_ten_minutes_or_of_a_shorter_life_and_that_of_the_busiest() {
    let (idle, busy) = (bolt(10, 1.0), bolt(10_000, 5.0));
    assert_eq!(bolt_of(&page(&[beating(&idle, 1), beating(&busy, 2)], true)).capacity, Some(0.5));
    let mut older = beating(&busy, 1);
    older.uptime_secs = 86_400;
    assert_eq!(bolt_of(&page(&[older], true)).capacity, Some(50.0 / 600.0));
    let mut new = beating(&busy, 1);
    new.uptime_secs = 0;
    assert_eq!(bolt_of(&page(&[new], true)).capacity, Some(0.0));
}

#[test]
fn streams_of_the_system_count_where_they_are_wanted() {
    let stats = bolt(1, 1.0);
    let emitted = |sys| page(&[beating(&stats, 1)], sys).common_stats.unwrap().emitted;
    assert_eq!((emitted(true), emitted(false)), (Some(107), Some(7)));
    let outputs = |sys| ComponentFigures::of(&[beating(&stats, 1)], ComponentType::Bolt, "600", sys).outputs().len();
    assert_eq!((outputs(true), outputs(false)), (2, 1));
}

#[test]
fn what_a_stranger_says_costs_wrong_figures_and_nothing_else() {
    let (most, nan, infinite) = (bolt(i64::MAX, 1.0), bolt(5, f64::NAN), bolt(5, f64::INFINITY));
    let spout = ExecutorStats {
        specific: ExecutorSpecificStats::Spout(SpoutStats {
            acked: windows(&[("default".to_owned(), i64::MIN)]),
            complete_ms_avg: windows(&[("default".to_owned(), f64::MAX)]),
            ..SpoutStats::default()
        }),
        ..bolt(0, 0.0)
    };
    let executors = [&most, &most, &nan, &infinite, &spout, &spout].map(|stats| beating(stats, i32::MAX));
    let figures = bolt_of(&page(&executors, true));
    let all = [figures.execute_latency_ms, figures.process_latency_ms, figures.capacity];
    assert!(all.iter().all(|of| of.unwrap().is_finite()), "{figures:?}");
    // A bolt that says it is a spout is counted, without the figures that a bolt does not have.
    let component = ComponentFigures::of(&executors, ComponentType::Bolt, "600", true);
    assert_eq!((component.executors, component.each().len()), (6, 6));
    assert!(bolt_of(&component.windows()["600"]).execute_latency_ms.unwrap().is_finite());
}
