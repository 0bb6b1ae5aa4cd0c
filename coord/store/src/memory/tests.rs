//! Laws of the ensemble in memory that a real one cannot be made to show, or not at will.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::{Behind, Ensemble, Loss, MemoryStore, SharedEnsemble};
use crate::acl::{Acl, Acls};
use crate::operation::{Answer, Check, CreateMode, Operation, Write};
use crate::outcome::{Condition, Doubt, Outcome};
use crate::path::ZnodePath;
use crate::store::{Change, Event, SessionEvent, SessionId, Store, WatchEvent, WatchKind};

fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).unwrap()
}

fn open_to_all() -> Acls {
    Arc::from([Acl::anyone()])
}

fn create(at: &str, mode: CreateMode) -> Operation {
    Operation::create(path(at), *b"x", mode, open_to_all())
}

fn done(ensemble: &mut Ensemble, session: SessionId, operation: &Operation) -> Answer {
    match ensemble.perform(session, operation) {
        Outcome::Done(answer) => answer,
        other => panic!("{operation:?}: {other:?}"),
    }
}

fn data_of(ensemble: &mut Ensemble, session: SessionId, at: &str, watch: bool) -> Option<Vec<u8>> {
    match ensemble.perform(session, &Operation::Get { path: path(at), watch }) {
        Outcome::Done(Answer::Data { data, .. }) => Some(data),
        other => {
            assert_eq!(other, Outcome::failed(Condition::NoNode));
            None
        }
    }
}

#[test]
fn a_member_that_is_held_serves_stale_reads_until_it_is_synchronised() {
    let mut ensemble = Ensemble::new(2);
    let (near, far) = (ensemble.open(0, &[]), ensemble.open(1, &[]));
    ensemble.hold(1);
    done(&mut ensemble, near, &create("/a", CreateMode::Persistent));
    assert_eq!(data_of(&mut ensemble, far, "/a", false), None);
    done(&mut ensemble, far, &Operation::Sync { path: path("/") });
    assert_eq!(data_of(&mut ensemble, far, "/a", false), Some(b"x".to_vec()));
}

#[test]
fn a_session_reads_what_it_wrote_and_watches_fire_when_its_member_applies() {
    let mut ensemble = Ensemble::new(2);
    let (near, far) = (ensemble.open(0, &[]), ensemble.open(1, &[]));
    done(&mut ensemble, near, &create("/a", CreateMode::Persistent));
    data_of(&mut ensemble, far, "/a", true);
    ensemble.hold(1);
    done(&mut ensemble, near, &Operation::set(path("/a"), *b"y"));
    assert_eq!(ensemble.take_watch_events(far), []);
    // Its own write brings its member up to it, and with it what came before.
    done(&mut ensemble, far, &create("/b", CreateMode::Persistent));
    let seen = WatchEvent { path: path("/a"), kind: WatchKind::Node, change: Change::Data };
    assert_eq!(ensemble.take_watch_events(far), [seen]);
    assert_eq!(data_of(&mut ensemble, far, "/a", false), Some(b"y".to_vec()));
}

#[test]
fn a_session_stays_away_from_members_behind_what_it_has_seen() {
    let mut ensemble = Ensemble::new(2);
    let session = ensemble.open(0, &[]);
    ensemble.hold(1);
    done(&mut ensemble, session, &create("/a", CreateMode::Persistent));
    ensemble.detach(session);
    assert_eq!(ensemble.perform(session, &Operation::delete(path("/a"))), Outcome::failed(Condition::NotConnected));
    assert_eq!(ensemble.attach(session, 1), Err(Behind));
    ensemble.release(1);
    assert_eq!(ensemble.attach(session, 1), Ok(()));
}

#[test]
fn an_older_state_comes_back_without_the_sessions_of_now() {
    let mut ensemble = Ensemble::new(1);
    let early = ensemble.open(0, &[]);
    done(&mut ensemble, early, &create("/early", CreateMode::Ephemeral));
    let older = ensemble.clone();
    let late = ensemble.open(0, &[]);
    done(&mut ensemble, late, &create("/late", CreateMode::Persistent));
    ensemble.restore(&older);
    assert_eq!((ensemble.is_open(early), ensemble.is_open(late)), (true, false));
    assert_ne!(ensemble.open(0, &[]), late);
    let paths = |ensemble: &Ensemble| ensemble.dump().into_iter().map(|node| node.path).collect::<Vec<_>>();
    assert_eq!(paths(&ensemble), [path("/"), path("/early")]);
    ensemble.end(early);
    assert_eq!(paths(&ensemble), [path("/")]);
}

#[test]
fn an_unknown_outcome_was_done_or_not() {
    for (loss, is_there) in [(Loss::BeforeItWasDone, false), (Loss::AfterItWasDone, true)] {
        let shared = SharedEnsemble::new(Ensemble::new(1));
        let mut store = MemoryStore::open(&shared, 0, &[]);
        let Some(Event::Session(SessionEvent::Opened { session, .. })) = store.poll() else { panic!() };
        store.lose_next(loss);
        let ticket = store.submit(session, create("/a", CreateMode::Persistent));
        let outcome = Outcome::Unknown(Doubt::TimedOut);
        assert_eq!(store.poll(), Some(Event::Outcome { ticket, outcome }));
        assert_eq!(shared.with(|ensemble| ensemble.dump().len()) == 2, is_there);
    }
}

#[test]
fn operations_that_are_held_back_are_done_in_part_when_the_connection_is_lost() {
    let shared = SharedEnsemble::new(Ensemble::new(1));
    let mut store = MemoryStore::open(&shared, 0, &[]);
    let Some(Event::Session(SessionEvent::Opened { session, .. })) = store.poll() else { panic!() };
    store.hold_operations();
    let first = store.submit(session, create("/a", CreateMode::Persistent));
    let second = store.submit(session, create("/b", CreateMode::Persistent));
    assert_eq!(store.poll(), None);
    store.do_held_and_disconnect(1);
    assert_eq!(store.poll(), Some(Event::Session(SessionEvent::Suspended { session })));
    for ticket in [first, second] {
        assert_eq!(store.poll(), Some(Event::Outcome { ticket, outcome: Outcome::Unknown(Doubt::ConnectionLost) }));
    }
    let paths: Vec<_> = shared.with(|ensemble| ensemble.dump().into_iter().map(|node| node.path).collect());
    assert_eq!(paths, [path("/"), path("/a")]);
}

#[test]
fn watches_can_be_late_and_can_be_lost() {
    let shared = SharedEnsemble::new(Ensemble::new(1));
    let (mut store, mut other) = (MemoryStore::open(&shared, 0, &[]), MemoryStore::open(&shared, 0, &[]));
    let Some(Event::Session(SessionEvent::Opened { session, .. })) = store.poll() else { panic!() };
    let Some(Event::Session(SessionEvent::Opened { session: others, .. })) = other.poll() else { panic!() };
    for is_lost in [false, true] {
        store.submit(session, Operation::Children { path: path("/"), watch: true });
        assert!(matches!(store.poll(), Some(Event::Outcome { .. })));
        store.hold_watches(true);
        other.submit(others, create("/a", CreateMode::PersistentSequential));
        assert_eq!(store.poll(), None);
        if is_lost {
            store.drop_held_watches();
        }
        store.hold_watches(false);
        let seen = WatchEvent { path: path("/"), kind: WatchKind::Children, change: Change::Children };
        assert_eq!(store.poll(), (!is_lost).then_some(Event::Watch(seen)));
    }
}

#[test]
fn a_thread_that_waits_hears_of_what_another_does() {
    let shared = SharedEnsemble::new(Ensemble::new(1));
    let mut store = MemoryStore::open(&shared, 0, &[]);
    let Some(Event::Session(SessionEvent::Opened { session, .. })) = store.poll() else { panic!() };
    store.submit(session, Operation::Exists { path: path("/a"), watch: true });
    assert!(matches!(store.poll(), Some(Event::Outcome { .. })));
    let waiting = std::thread::spawn(move || store.wait(Duration::from_secs(60)));
    let mut other = MemoryStore::open(&shared, 0, &[]);
    let Some(Event::Session(SessionEvent::Opened { session, .. })) = other.poll() else { panic!() };
    other.submit(session, create("/a", CreateMode::Persistent));
    let seen = WatchEvent { path: path("/a"), kind: WatchKind::Node, change: Change::Created };
    assert_eq!(waiting.join().unwrap(), Some(Event::Watch(seen)));
}

/// Any write to one of a few nodes.
fn writes() -> impl Strategy<Value = Write> {
    let node = prop::sample::select(vec!["/a", "/b", "/a/c", "/a/d", "/b/e"]).prop_map(path);
    let mode = prop::sample::select(vec![
        CreateMode::Persistent,
        CreateMode::PersistentSequential,
        CreateMode::Ephemeral,
        CreateMode::EphemeralSequential,
    ]);
    let version = prop::option::weighted(0.3, 0..3);
    (node, mode, version, 0..3).prop_map(|(path, mode, version, what)| match what {
        0 => Write::Create { path, data: vec![1], mode, acl: open_to_all() },
        1 => Write::Set { path, data: vec![2], version },
        _ => Write::Delete { path, version },
    })
}

proptest! {
    #[test]
    fn a_multi_is_done_as_a_whole_or_leaves_no_trace(
        before in prop::collection::vec(writes(), 0..12),
        checked in prop::sample::select(vec!["/", "/a", "/none"]),
        inside in prop::collection::vec(writes(), 0..6),
    ) {
        let mut ensemble = Ensemble::new(2);
        let session = ensemble.open(0, &[]);
        for write in before {
            let _ = ensemble.perform(session, &Operation::Write(write));
        }
        let dump = ensemble.dump();
        let mut single = ensemble.clone();
        let checks = vec![Check { path: path(checked), version: None }];
        match ensemble.perform(session, &Operation::Multi { checks, writes: inside.clone() }) {
            Outcome::Done(Answer::Multi(answers)) => prop_assert_eq!(answers.len(), inside.len()),
            other => {
                prop_assert!(matches!(other, Outcome::Failed(_)), "{:?}", other);
                prop_assert_eq!(&ensemble.dump(), &dump);
                return Ok(());
            }
        }
        // One after the other they come to the same nodes.
        for write in inside {
            let outcome = single.perform(session, &Operation::Write(write));
            prop_assert!(matches!(outcome, Outcome::Done(_)), "{:?}", outcome);
        }
        let nodes = |ensemble: &Ensemble| {
            ensemble.dump().into_iter().map(|it| (it.path, it.data, it.stat.version, it.stat.owner)).collect::<Vec<_>>()
        };
        prop_assert_eq!(nodes(&ensemble), nodes(&single));
    }

    #[test]
    fn every_member_comes_to_the_same_tree(
        writes in prop::collection::vec((0..3_usize, writes()), 0..40),
        held in prop::collection::vec((0..3_usize, any::<bool>()), 40),
    ) {
        let mut ensemble = Ensemble::new(3);
        let sessions: Vec<_> = (0..3).map(|member| ensemble.open(member, &[])).collect();
        for ((member, write), (other, is_held)) in writes.into_iter().zip(held) {
            if is_held { ensemble.hold(other) } else { ensemble.release(other) }
            let _ = ensemble.perform(sessions[member], &Operation::Write(write));
        }
        ensemble.end(sessions[0]);
        (0..3).for_each(|member| ensemble.release(member));
        let newest = ensemble.dump();
        prop_assert!(newest.iter().all(|node| node.stat.owner != Some(sessions[0])));
        for session in &sessions[1..] {
            for node in &newest {
                let get = Operation::Get { path: node.path.clone(), watch: false };
                let answer = Answer::Data { data: node.data.clone(), stat: node.stat };
                prop_assert_eq!(ensemble.perform(*session, &get), Outcome::Done(answer));
            }
        }
    }
}
