//! Laws of the whole supervisor, whatever happens around it: the host checks those that hold at every step.

use proptest::prelude::*;
use ringstorm_supervisor::events::{OperatorEvent, StartFailure};
use ringstorm_supervisor::supervisor::Standing;

use crate::host::{Host, Manners};
use crate::world::{ID, World, assignment_of};

#[derive(Clone, Debug)]
enum Step {
    Assign(u8, Vec<(u16, i64)>),
    /// An assignment with a version that was there before.
    AssignOlder(u8, Vec<(u16, i64)>),
    Garbage(u8),
    Remove(u8),
    DeleteAll,
    Snapshot,
    Restore,
    Crash(u16),
    Restart,
    Disconnect,
    Reconnect(usize),
    Expire,
    HoldWatches(bool),
    HoldOperations,
    DoHeld(usize),
    Manners(Manners),
    Operator(bool),
    Time(u64),
    Freeze(u64),
    ClockGoesBack,
}

fn parts() -> impl Strategy<Value = Vec<(u16, i64)>> {
    prop::collection::vec((6700..6704_u16, 1..4_i64), 0..4)
}

fn manners() -> impl Strategy<Value = Manners> {
    let fails = prop::option::weighted(0.1, Just(StartFailure::PortTaken));
    let flag = || prop::bool::weighted(0.15);
    (flag(), flag(), flag(), flag(), flag(), fails).prop_map(|(never_ready, silent, deaf, undying, crashes, fails)| {
        Manners { never_ready, silent, deaf, undying, crashes, fails }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3_u8, parts()).prop_map(|(topology, parts)| Step::Assign(topology, parts)),
        1 => (0..3_u8, parts()).prop_map(|(topology, parts)| Step::AssignOlder(topology, parts)),
        1 => (0..3_u8).prop_map(Step::Garbage),
        2 => (0..3_u8).prop_map(Step::Remove),
        1 => Just(Step::DeleteAll),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Restore),
        2 => (6700..6704_u16).prop_map(Step::Crash),
        2 => Just(Step::Restart),
        2 => Just(Step::Disconnect),
        3 => (0..2_usize).prop_map(Step::Reconnect),
        1 => Just(Step::Expire),
        1 => any::<bool>().prop_map(Step::HoldWatches),
        1 => Just(Step::HoldOperations),
        2 => (0..8_usize).prop_map(Step::DoHeld),
        2 => manners().prop_map(Step::Manners),
        1 => any::<bool>().prop_map(Step::Operator),
        5 => (0..40_u64).prop_map(Step::Time),
        1 => (0..200_u64).prop_map(Step::Freeze),
        1 => Just(Step::ClockGoesBack),
    ];
    prop::collection::vec(step, 0..40)
}

fn topology(number: u8) -> String {
    format!("topology-{number}-1")
}

fn mend_session(host: &mut Host, member: usize) {
    host.store.release_operations();
    if host.store.reconnect(member).is_err() && host.store.reconnect(0).is_err() {
        host.store.expire();
        host.store.reopen(0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_happens_the_host_comes_to_run_what_is_assigned(steps in steps()) {
        let mut world = World::new();
        let mut host = Host::new(&world);
        let mut older = world.snapshot();
        let mut version = 1;
        for step in steps {
            match step {
                Step::Assign(number, parts) => {
                    version += 1;
                    world.assign(&topology(number), Some(version), &parts);
                }
                Step::AssignOlder(number, parts) => world.assign(&topology(number), Some(version / 2), &parts),
                Step::Garbage(number) => world.set(&assignment_of(&topology(number)), vec![1, 2, 3]),
                Step::Remove(number) => world.remove(&topology(number)),
                Step::DeleteAll => world.delete_all(),
                Step::Snapshot => older = world.snapshot(),
                Step::Restore => {
                    world.restore(&older);
                    host.store.expire();
                    host.store.reopen(0);
                }
                Step::Crash(port) => host.crash(port),
                Step::Restart => host.restart(&world),
                Step::Disconnect => host.store.disconnect(),
                Step::Reconnect(member) => mend_session(&mut host, member),
                Step::Expire => {
                    host.store.expire();
                    host.store.reopen(1);
                }
                Step::HoldWatches(holds) => host.store.hold_watches(holds),
                Step::HoldOperations => host.store.hold_operations(),
                Step::DoHeld(count) => host.store.do_held(count),
                Step::Manners(manners) => host.manners = manners,
                Step::Operator(is_out) => {
                    let event = if is_out { OperatorEvent::OutOfService } else { OperatorEvent::InService };
                    host.operator(event);
                }
                Step::Time(secs) => host.pass(secs),
                Step::Freeze(secs) => host.freeze(secs),
                Step::ClockGoesBack => host.now.wall /= 2,
            }
            host.run();
        }

        // The faults stop, and a leader assigns anew.
        host.manners = Manners::default();
        for live in host.processes.values_mut() {
            live.manners = Manners::default();
        }
        host.store.hold_watches(false);
        mend_session(&mut host, 0);
        host.operator(OperatorEvent::InService);
        version += 1;
        world.remove(&topology(0));
        world.assign(&topology(1), Some(version), &[(6700, 1), (6701, 2)]);
        world.assign(&topology(2), Some(version), &[(6703, 3)]);
        host.pass(900);
        let (second, third) = (topology(1), topology(2));
        prop_assert_eq!(host.machine.standing(), Standing::Admitted);
        prop_assert_eq!(host.runs(6700), Some((second.as_str(), 1)));
        prop_assert_eq!(host.runs(6701), Some((second.as_str(), 2)));
        prop_assert_eq!(host.runs(6702), None);
        prop_assert_eq!(host.runs(6703), Some((third.as_str(), 3)));
        prop_assert_eq!(host.processes.len(), 3);
        prop_assert_eq!(&host.code, &[second, third].into());
        let info = world.info(ID).unwrap();
        prop_assert_eq!(info.meta.unwrap(), [6700, 6701, 6702, 6703]);
        prop_assert_eq!(info.used_ports.unwrap(), [6700, 6701, 6703]);
    }
}
