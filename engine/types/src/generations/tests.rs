//! Whatever is heard in whatever order, nothing of the past is accepted.

use proptest::prelude::*;

use super::*;

/// Something that a worker hears.
#[derive(Clone, Debug)]
enum Heard {
    Version(i64),
    Take(i64),
    Process(u64, u64),
    Meet(u64, u64, i64),
    Succeed(u64, i64),
}

fn heard() -> impl Strategy<Value = Heard> {
    let (worker, incarnation, version) = (0_u64..3, 0_u64..12, -2_i64..12);
    prop_oneof![
        version.clone().prop_map(Heard::Version),
        version.clone().prop_map(Heard::Take),
        (worker.clone(), incarnation.clone()).prop_map(|(worker, incarnation)| Heard::Process(worker, incarnation)),
        (worker.clone(), incarnation, version.clone())
            .prop_map(|(worker, it, version)| Heard::Meet(worker, it, version)),
        (worker, version).prop_map(|(worker, version)| Heard::Succeed(worker, version)),
    ]
}

proptest! {
    #[test]
    fn nothing_lower_is_accepted_after_something_higher(events in prop::collection::vec(heard(), 0..60)) {
        let mut generations = Generations::default();
        let mut newest = i64::MIN;
        let mut lowest: BTreeMap<u64, u64> = BTreeMap::new();
        for event in events {
            match event {
                Heard::Version(version) => {
                    prop_assert_eq!(generations.hear_of_version(version), version > newest);
                    newest = newest.max(version);
                }
                Heard::Take(version) => {
                    let expected = if version < newest { Err(StaleVersion { found: version, newest }) } else { Ok(()) };
                    prop_assert_eq!(generations.take_version(version), expected);
                    newest = newest.max(version);
                }
                Heard::Process(worker, incarnation) => {
                    let known = lowest.entry(worker).or_default();
                    *known = incarnation.max(*known);
                    prop_assert_eq!(generations.hear_of_process(worker, incarnation), *known);
                }
                Heard::Meet(worker, incarnation, version) => {
                    let known = lowest.entry(worker).or_default();
                    let stale = StaleIncarnation { worker, found: incarnation, newest: *known };
                    let expected = if incarnation < *known { Err(stale) } else { Ok(incarnation > *known) };
                    prop_assert_eq!(generations.meet(worker, incarnation, version), expected);
                    *known = incarnation.max(*known);
                    newest = newest.max(version);
                }
                Heard::Succeed(worker, before) => {
                    let known = lowest.entry(worker).or_default();
                    let current = generations.succeed(worker, before);
                    prop_assert!(current == *known || current == *known + 1);
                    *known = current;
                }
            }
            prop_assert_eq!(generations.newest_version(), newest);
            for (worker, incarnation) in &lowest {
                prop_assert_eq!(generations.incarnation_of(*worker), *incarnation);
            }
        }
    }
}

#[test]
fn who_ran_what_another_runs_now_is_of_the_past() {
    let mut generations = Generations::default();
    assert_eq!(generations.meet(1, 50, 7), Ok(true));
    assert_eq!(generations.succeed(1, 7), 51);
    assert!(generations.meet(1, 50, 8).is_err());
    assert_eq!(generations.meet(1, 60, 8), Ok(true));
}

#[test]
fn a_successor_that_came_before_the_assignment_stays() {
    let mut generations = Generations::default();
    assert_eq!(generations.meet(1, 50, 7), Ok(true));
    assert_eq!(generations.meet(1, 60, 8), Ok(true), "it was faster than the assignment");
    assert_eq!(generations.succeed(1, 7), 60);
    assert_eq!(generations.meet(1, 60, 8), Ok(false));
}

#[test]
fn what_a_stale_process_says_of_the_assignment_counts() {
    let mut generations = Generations::default();
    assert_eq!(generations.hear_of_process(1, 60), 60);
    assert!(generations.meet(1, 50, 9).is_err());
    assert_eq!(generations.take_version(8), Err(StaleVersion { found: 8, newest: 9 }));
}
