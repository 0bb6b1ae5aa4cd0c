//! What belongs to no tree costs the ackers nothing, however much of it there is.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use ringstorm_runtime::metrics::CoreSnapshot;
use ringstorm_runtime::{TopologyBuilder, Unanchored};

use crate::harness::*;
use crate::{alone, resident_bytes};

/// The numbers; what comes of them is as much again.
const COUNT: u64 = 5_000_000;
const SLICES: u64 = 50;

/// Storm's B006: acking what is not anchored is nothing, with ackers and all: it leaves no memory and no slower pace.
#[test]
fn acking_what_is_not_anchored_costs_no_memory_and_no_pace() {
    let _turn = alone();
    let marks = Arc::<Mutex<Vec<(Instant, u64)>>>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(COUNT);
    topology.spout("numbers", move || seq.clone());
    let passes_on = || {
        passes(|input, collector| {
            collector.emit(Unanchored, &Number { value: input.view::<Number>()?.value() });
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("passes", passes_on).shuffle_grouping("numbers");
    let shared = Arc::clone(&marks);
    let last = move || {
        let (marks, mut count) = (Arc::clone(&shared), 0);
        ends(move |input, collector| {
            collector.ack(input);
            count += 1;
            if count % (COUNT / SLICES) == 0 {
                marks.lock().unwrap().push((Instant::now(), resident_bytes()));
            }
            Ok(())
        })
    };
    topology.bolt("last", last).shuffle_grouping("passes");
    let running = start(topology, &config(&[]));
    let ledger_bytes = |snapshots: &[CoreSnapshot]| snapshots.iter().map(|core| core.ledger_bytes).sum::<usize>();
    let at_first = ledger_bytes(&running.snapshots());
    let report = finish(running);
    assert_clean(&report);

    let ackers = report.snapshots.iter().flat_map(|core| &core.executors);
    let told: Vec<u64> =
        ackers.filter(|executor| executor.component == "__acker").map(|acker| acker.inputs[0].executed).collect();
    assert!(!told.is_empty() && told.iter().all(|count| *count == 0), "the ackers heard {told:?} messages");
    assert_eq!(report.snapshots.iter().map(|core| core.open_roots).sum::<usize>(), 0);
    assert!(
        ledger_bytes(&report.snapshots) <= at_first,
        "{at_first} bytes, then {:?}",
        ledger_bytes(&report.snapshots)
    );

    // A machine that does something else besides slows some of the slices: the best of a fifth of them tells.
    let marks = marks.lock().unwrap();
    assert_eq!(marks.len() as u64, SLICES);
    // The first of them are slow: memory is touched for the first time.
    let marks = &marks[2..];
    let times: Vec<_> = marks.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let best = |times: &[std::time::Duration]| times.iter().min().copied().unwrap();
    let fifth = times.len() / 5;
    let (first, last) = (best(&times[..fifth]), best(&times[times.len() - fifth..]));
    let third = marks.len() / 3;
    let most = |marks: &[(Instant, u64)]| marks.iter().map(|(_, bytes)| *bytes).max().unwrap();
    let (middle, end) = (most(&marks[third..2 * third]), most(&marks[2 * third..]));
    eprintln!(
        "{COUNT} un-anchored: {first:?}, at last {last:?} for a fiftieth; RSS {}, {} KiB",
        middle >> 10,
        end >> 10
    );
    assert!(last <= 2 * first, "a fiftieth took {first:?}, at last {last:?}");
    assert!(end <= middle + (8 << 20), "RSS grows: {middle}, then {end} bytes");
}
