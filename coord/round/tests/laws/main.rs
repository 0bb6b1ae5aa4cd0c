//! Laws of rounds, over many of them in a world where hosts, supervisors and workers come and go, records become
//! unreadable, leaders change between two writes, and older snapshots are restored.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod by_hand;
mod checks;
mod world;

use proptest::prelude::*;
use world::{Event, World};

fn event() -> impl Strategy<Value = Event> {
    let any_index = any::<usize>;
    prop_oneof![
        2 => any_index().prop_map(Event::SupervisorDies),
        3 => any_index().prop_map(Event::SupervisorReturns),
        2 => any_index().prop_map(Event::HostDies),
        2 => any_index().prop_map(Event::WorkerDies),
        1 => any_index().prop_map(Event::PortWithdrawn),
        1 => any_index().prop_map(Event::RecordOfSupervisorDamaged),
        2 => (any_index(), 1..5_i32).prop_map(|(of, workers)| Event::Rebalanced(of, workers)),
        1 => any_index().prop_map(Event::Killed),
        1 => any_index().prop_map(Event::BaseDamaged),
        1 => any_index().prop_map(Event::CodeLost),
        1 => any_index().prop_map(Event::AssignmentDamaged),
        1 => any_index().prop_map(Event::AssignmentDeleted),
        1 => any_index().prop_map(Event::WorkersCutOff),
        1 => Just(Event::SnapshotTaken),
        1 => Just(Event::SnapshotRestored),
        1 => Just(Event::ReadingsFail),
        2 => (0..4_usize).prop_map(Event::LeaderDiesAfterWrites),
        2 => Just(Event::SchedulerGoesWild),
        4 => Just(Event::Nothing),
    ]
}

proptest! {
    /// See [`checks`] for what holds after each round.
    #[test]
    fn whatever_happens_each_round_keeps_the_laws(
        supervisors in prop::collection::vec((1..5_u16, 1..9_i64), 1..6),
        topologies in prop::collection::vec((1..5_i32, 1..8_i32), 1..6),
        events in prop::collection::vec((event(), 0..15_u64), 1..40),
    ) {
        let mut world = World::new(&supervisors, &topologies);
        for (event, secs) in &events {
            world.happens(event);
            world.passes(*secs);
            world.round()?;
        }
        // When all is well again, everything that can be placed is placed, and then nothing is written any more.
        world.mend();
        for _ in 0..topologies.len() + 4 {
            world.passes(60);
            world.round()?;
        }
        world.passes(60);
        let last = world.round()?;
        prop_assert_eq!(&last.writes, &[]);
        checks::all_that_fits_is_placed(&last)?;
    }
}
