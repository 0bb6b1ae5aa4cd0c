//! What readings prove, and what they do not.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringstorm_records::records::{NodeInfo, SupervisorInfo};

use super::*;

const PORT: u16 = 6700;

fn at(secs: u64) -> Moment {
    Moment(Duration::from_secs(secs))
}

fn topology() -> NodeName {
    NodeName::new("t-1-1").unwrap()
}

fn slot(port: u16) -> WorkerSlot {
    WorkerSlot { node_id: "s".into(), port }
}

/// An executor in each of these slots of one supervisor, put there then.
fn assignment(version: i64, ports: &[(u16, i64)]) -> Assignment {
    let tasks = |port: u16| vec![i64::from(port), i64::from(port)];
    let info = |port: u16| NodeInfo { node: "s".into(), port: [i64::from(port)].into() };
    Assignment {
        executor_node_port: ports.iter().map(|(port, _)| (tasks(*port), info(*port))).collect(),
        executor_start_time_secs: ports.iter().map(|(port, secs)| (tasks(*port), *secs)).collect(),
        version: Some(version),
        ..Assignment::default()
    }
}

fn beat(created: i64, version: i32, runs: i64) -> Beat {
    Beat { slot: slot(PORT), created, version, runs: Some(runs) }
}

/// A reader and the supervisor of the slots.
struct World {
    beats: Beats,
    supervisors: Supervisors,
}

impl World {
    /// One slot is assigned, and its supervisor is there.
    fn new() -> Self {
        let mut world = Self { beats: Beats::default(), supervisors: Supervisors::default() };
        world.supervisor(0, Some(&[PORT, 6701]));
        world.beats.assigned(at(0), &topology(), &assignment(1, &[(PORT, 50)]));
        world
    }

    fn supervisor(&mut self, secs: u64, ports: Option<&[u16]>) {
        let record = ports.map(|ports| SupervisorInfo {
            meta: Some(ports.iter().copied().map(i64::from).collect()),
            ..SupervisorInfo::default()
        });
        let nodes: BTreeMap<_, _> =
            record.into_iter().map(|record| (NodeName::new("s").unwrap(), Some(record))).collect();
        self.supervisors.read(at(secs), &nodes);
    }

    fn read(&mut self, secs: u64, beats: &[Beat]) -> Health {
        self.beats.read(at(secs), at(secs), &topology(), Some(beats));
        self.health()
    }

    fn health(&self) -> Health {
        self.beats.health(&topology(), &slot(PORT))
    }

    fn verdict(&self) -> Verdict {
        self.beats.verdict(&topology(), &slot(PORT), &self.supervisors, None)
    }
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn three_beats_without_one_are_silence() {
    let mut world = World::new();
    assert_eq!(world.health(), Health::Unknown);
    // A new leader finds a node, and cannot know how old it is.
    assert_eq!(world.read(1, &[beat(5, 9, 1)]), Health::Alive);
    assert_eq!(world.read(9, &[beat(5, 9, 1)]), Health::Alive);
    assert_eq!(world.read(10, &[beat(5, 9, 1)]), Health::Silent(secs(9)));
    assert_eq!(world.read(11, &[beat(5, 10, 1)]), Health::Alive);
    // A node that was made anew has a lower version.
    assert_eq!(world.read(20, &[beat(7, 0, 1)]), Health::Alive);
    // One that is removed is no beat, and one that comes back is one.
    assert_eq!(world.read(29, &[]), Health::Silent(secs(9)));
    assert_eq!(world.read(30, &[beat(7, 0, 1)]), Health::Silent(secs(10)));
    assert_eq!(world.read(31, &[beat(8, 0, 1)]), Health::Alive);
}

#[test]
fn a_failed_reading_proves_nothing_and_silence_counts_anew() {
    let mut world = World::new();
    world.read(1, &[beat(5, 9, 1)]);
    world.beats.read(at(4), at(30), &topology(), None);
    assert_eq!(world.health(), Health::Unknown);
    assert_eq!(world.read(31, &[beat(5, 9, 1)]), Health::Alive);
    assert_eq!(world.read(39, &[beat(5, 9, 1)]), Health::Alive);
    world.beats.interrupted();
    assert_eq!(world.verdict(), Verdict::Lives);
    assert_eq!(world.read(60, &[beat(5, 9, 1)]), Health::Alive);
    assert_eq!(world.read(69, &[beat(5, 9, 1)]), Health::Silent(secs(9)));
}

#[test]
fn a_reading_proves_what_was_when_it_was_asked_for() {
    let mut world = World::new();
    // The answer took eight seconds: the beat may be as young as that.
    world.beats.read(at(1), at(9), &topology(), Some(&[beat(5, 9, 1)]));
    assert_eq!(world.read(17, &[beat(5, 9, 1)]), Health::Alive);
    assert_eq!(world.read(18, &[beat(5, 9, 1)]), Health::Silent(secs(9)));
}

#[test]
fn a_worker_that_was_just_assigned_has_never_beaten_until_it_does() {
    let mut world = World::new();
    assert_eq!(world.read(1, &[]), Health::NeverBeat(secs(1)));
    world.read(2, &[beat(5, 0, 1)]);
    // Its executors change, in the same slot.
    world.beats.assigned(at(10), &topology(), &assignment(2, &[(PORT, 60), (6701, 60)]));
    assert_eq!(world.health(), Health::Unknown);
    assert_eq!(world.read(11, &[beat(5, 3, 1)]), Health::NeverBeat(secs(1)), "that is the worker before");
    assert_eq!(world.read(40, &[beat(5, 3, 1)]), Health::NeverBeat(secs(30)));
    assert_eq!(world.read(41, &[beat(5, 4, 2)]), Health::Alive);
    // What stays is not started anew.
    world.beats.assigned(at(42), &topology(), &assignment(3, &[(PORT, 60)]));
    assert_eq!(world.read(43, &[beat(5, 4, 2)]), Health::Alive);
    // A reading from before the assignment says nothing about it.
    world.beats.assigned(at(50), &topology(), &assignment(4, &[(PORT, 70)]));
    assert_eq!(world.read(49, &[beat(5, 5, 4)]), Health::Unknown);
}

#[test]
fn a_supervisor_that_is_there_has_storms_times_to_mend_its_worker() {
    let mut world = World::new();
    world.read(1, &[beat(5, 9, 1)]);
    world.read(30, &[beat(5, 9, 1)]);
    assert_eq!(world.verdict(), Verdict::Lives);
    world.read(31, &[beat(5, 9, 1)]);
    assert_eq!(world.verdict(), Verdict::Dead(Dead::Silent));
    let asks = |secs| {
        let timeout = Some(Duration::from_secs(secs));
        world.beats.verdict(&topology(), &slot(PORT), &world.supervisors, timeout)
    };
    assert_eq!((asks(31), asks(5)), (Verdict::Lives, Verdict::Dead(Dead::Silent)));
    world.read(31 + 600, &[beat(5, 9, 1)]);
    let timeout = Some(Duration::from_secs(6000));
    let verdict = world.beats.verdict(&topology(), &slot(PORT), &world.supervisors, timeout);
    assert_eq!(verdict, Verdict::Dead(Dead::Silent), "six hundred seconds are the most");
}

#[test]
fn a_worker_that_never_beat_is_given_up_after_the_time_of_a_launch() {
    let mut world = World::new();
    world.read(1, &[]);
    world.read(119, &[]);
    assert_eq!(world.verdict(), Verdict::Lives);
    world.beats.interrupted();
    world.read(120, &[]);
    assert_eq!(world.verdict(), Verdict::Lives, "its first beat may have been held up too");
    world.read(129, &[]);
    assert_eq!(world.verdict(), Verdict::Dead(Dead::NeverBeat));
}

#[test]
fn without_its_supervisor_silence_is_enough_and_nothing_less_is() {
    let mut world = World::new();
    world.read(1, &[beat(5, 9, 1)]);
    world.supervisor(2, None);
    world.read(9, &[beat(5, 9, 1)]);
    assert_eq!(world.verdict(), Verdict::Lives);
    world.read(10, &[beat(5, 9, 1)]);
    assert_eq!(world.verdict(), Verdict::Dead(Dead::Lost));
    for now in 11..200 {
        world.read(now, &[beat(5, now as i32, 1)]);
        assert_eq!(world.verdict(), Verdict::Lives);
    }
    // One that is being started has three beats from when its supervisor went.
    let mut world = World::new();
    world.read(60, &[]);
    world.supervisor(61, None);
    world.read(69, &[]);
    assert_eq!(world.verdict(), Verdict::Lives);
    world.read(70, &[]);
    assert_eq!(world.verdict(), Verdict::Dead(Dead::Lost));
}

#[test]
fn what_a_supervisor_withdrew_is_given_up_whatever_beats_there() {
    let mut world = World::new();
    world.read(1, &[beat(5, 9, 1)]);
    world.supervisor(2, Some(&[6701]));
    assert_eq!(world.verdict(), Verdict::Dead(Dead::Withdrawn));
}

#[test]
fn who_never_read_supervisors_gives_up_nothing() {
    let mut world = World::new();
    world.supervisors = Supervisors::default();
    world.read(1, &[beat(5, 9, 1)]);
    world.read(1000, &[beat(5, 9, 1)]);
    assert_eq!(world.verdict(), Verdict::Lives);
}

#[test]
fn the_highest_version_is_remembered_also_of_workers_that_are_gone() {
    let mut world = World::new();
    assert_eq!(world.beats.version_max(&topology()), None);
    world.read(1, &[beat(5, 9, 7), Beat { slot: slot(6999), created: 1, version: 0, runs: Some(9) }]);
    world.read(2, &[beat(5, 10, 8)]);
    assert_eq!(world.beats.version_max(&topology()), Some(9));
    assert_eq!(world.beats.occupied(&topology()), [slot(PORT)]);
    world.read(30, &[beat(5, 10, 8)]);
    assert_eq!(world.beats.occupied(&topology()), []);
    world.beats.unassigned(&topology());
    assert_eq!(world.health(), Health::Unknown);
    assert_eq!(world.beats.version_max(&topology()), Some(9));
    world.beats.forget(&topology());
    assert_eq!((world.beats.version_max(&topology()), world.beats.topologies().count()), (None, 0));
}

/// What happens next to a reader.
#[derive(Clone, Copy, Debug)]
enum Event {
    Read { takes_ms: u64 },
    Fails,
    Interrupted,
}

proptest! {
    /// Whatever fails in between and however long answers take: a worker that beats in time is never given up while its
    /// supervisor does not withdraw it, and one that stopped is, once readings succeed for long enough.
    #[test]
    fn who_beats_is_never_given_up_and_who_does_not_is(
        events in prop::collection::vec(
            (0..5_000_u64, prop_oneof![
                6 => (0..3_000_u64).prop_map(|takes_ms| Event::Read { takes_ms }),
                1 => Just(Event::Fails),
                1 => Just(Event::Interrupted),
            ]),
            1..60,
        ),
        is_gone in any::<bool>(),
    ) {
        let mut world = World::new();
        if is_gone {
            world.supervisor(1, None);
        }
        // It beats every three seconds.
        let version_at = |ms: u64| i32::try_from(ms / 3_000).unwrap();
        let mut now = 0;
        for (pause, event) in events {
            let asked = Moment(Duration::from_millis(now + pause));
            now += pause;
            match event {
                Event::Read { takes_ms } => {
                    // What is read is as it was at some moment between question and answer.
                    let version = version_at(now + takes_ms / 2);
                    now += takes_ms;
                    let answered = Moment(Duration::from_millis(now));
                    world.beats.read(asked, answered, &topology(), Some(&[beat(5, version, 1)]));
                }
                Event::Fails => world.beats.read(asked, asked, &topology(), None),
                Event::Interrupted => world.beats.interrupted(),
            }
            prop_assert_eq!(world.verdict(), Verdict::Lives);
        }
        let last = version_at(now);
        for _ in 0..12 {
            now += 3_000;
            let moment = Moment(Duration::from_millis(now));
            world.beats.read(moment, moment, &topology(), Some(&[beat(5, last, 1)]));
        }
        prop_assert!(world.verdict() != Verdict::Lives);
    }
}
