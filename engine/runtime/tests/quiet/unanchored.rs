//! What belongs to no tree costs the ackers nothing, however much of it there is.

use std::sync::{Arc, Mutex};
use std::time::Instant;

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
    let report = run(topology, &config(&[]));
    assert_clean(&report);

    let ackers = report.snapshots.iter().flat_map(|core| &core.executors);
    let told: Vec<u64> =
        ackers.filter(|executor| executor.component == "__acker").map(|acker| acker.inputs[0].executed).collect();
    assert!(!told.is_empty() && told.iter().all(|count| *count == 0), "the ackers heard {told:?} messages");
    assert_eq!(report.snapshots.iter().map(|core| core.open_roots).sum::<usize>(), 0);
    let ledger_bytes = report.snapshots.iter().map(|core| core.ledger_bytes).sum::<usize>();
    assert!(ledger_bytes < 64 << 10, "the ackers hold {ledger_bytes} bytes");

    let marks = marks.lock().unwrap();
    assert_eq!(marks.len() as u64, SLICES);
    // The first of them are slow: memory is touched for the first time.
    let marks = &marks[2..];
    let times: Vec<_> = marks.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    // A machine that does something else besides slows some of the slices, and what had queued up may go at once: the
    // middle one of the first fifth is held against the best of the last.
    let fifth = times.len() / 5;
    let mut early = times[..fifth].to_vec();
    early.sort();
    let (first, last) = (early[fifth / 2], *times[times.len() - fifth..].iter().min().unwrap());
    let third = marks.len() / 3;
    let most = |marks: &[(Instant, u64)]| marks.iter().map(|(_, bytes)| *bytes).max().unwrap();
    let (middle, end) = (most(&marks[third..2 * third]), most(&marks[2 * third..]));
    eprintln!(
        "{COUNT} un-anchored: {first:?}, at last {last:?} for a fiftieth; RSS {}, {} KiB",
        middle >> 10,
        end >> 10
    );
    assert!(last <= 3 * first, "a fiftieth took {first:?}, at last {last:?}");
    assert!(end <= middle + (8 << 20), "RSS grows: {middle}, then {end} bytes");
}
