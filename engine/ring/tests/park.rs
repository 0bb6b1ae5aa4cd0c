//! The doorbell and the parker against the real kernel: rings are not missed, time-outs are kept, wakers are sticky.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use ringstorm_ring::{Doorbell, ParkKind, Parker, ParkerError};

const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(20);

/// Runs `test` with each way to wait.
fn with_each_kind(test: impl Fn(&Doorbell, Parker)) {
    for make in [Parker::new, Parker::with_ppoll] {
        let doorbell = Doorbell::new().unwrap();
        let parker = make(&doorbell).unwrap();
        test(&doorbell, parker);
    }
}

#[test]
fn a_timeout_ends_the_park() {
    with_each_kind(|_, mut parker| {
        for _ in 0..3 {
            assert!(parker.prepare_park());
            let start = Instant::now();
            assert!(!parker.park(Some(SHORT)), "nobody rang");
            assert!(start.elapsed() >= SHORT, "{} returned early", parker.kind());
        }
    });
}

#[test]
fn a_timeout_of_zero_returns_at_once_and_any_timeout_is_accepted() {
    with_each_kind(|doorbell, mut parker| {
        assert!(parker.prepare_park());
        assert!(!parker.park(Some(Duration::ZERO)));
        for timeout in [None, Some(Duration::MAX)] {
            assert!(parker.prepare_park());
            doorbell.ring();
            assert!(parker.park(timeout));
        }
    });
}

#[test]
fn rings_between_prepare_and_park_end_the_park() {
    with_each_kind(|doorbell, mut parker| {
        let kind = parker.kind();
        for _ in 0..100 {
            assert!(parker.prepare_park());
            doorbell.ring();
            doorbell.ring();
            let start = Instant::now();
            assert!(parker.park(Some(LONG)));
            assert!(start.elapsed() < LONG, "missed a ring");
        }
        assert_eq!(parker.kind(), kind, "no wait failed");
    });
}

#[test]
fn a_ring_from_another_thread_wakes_each_time() {
    with_each_kind(|doorbell, mut parker| {
        for _ in 0..50 {
            assert!(parker.prepare_park());
            let doorbell = doorbell.clone();
            let ringer = thread::spawn(move || {
                thread::sleep(Duration::from_micros(200));
                doorbell.ring();
            });
            assert!(parker.park(Some(LONG)));
            ringer.join().unwrap();
        }
    });
}

#[test]
fn rings_of_an_awake_core_cost_no_wake_up() {
    with_each_kind(|doorbell, mut parker| {
        for _ in 0..1000 {
            doorbell.ring();
        }
        assert!(parker.prepare_park());
        parker.cancel_park();
        doorbell.ring();
        assert!(parker.prepare_park());
        assert!(!parker.park(Some(SHORT)));
    });
}

#[test]
fn a_waker_is_remembered_while_the_core_is_awake() {
    with_each_kind(|doorbell, mut parker| {
        let waker = doorbell.waker();
        waker.wake_by_ref();
        assert!(!parker.prepare_park());
        assert!(parker.prepare_park(), "the wake was taken");
        waker.wake();
        assert!(parker.park(Some(LONG)), "the waker rang");
        assert!(!parker.prepare_park());
    });
}

#[test]
fn a_doorbell_has_one_parker_at_a_time() {
    let doorbell = Doorbell::new().unwrap();
    let first = Parker::new(&doorbell).unwrap();
    assert!(matches!(Parker::new(&doorbell), Err(ParkerError::Taken)));
    drop(first);
    assert!(Parker::new(&doorbell).is_ok());
}

#[test]
fn rings_outlive_the_parker() {
    let doorbell = Doorbell::new().unwrap();
    let mut parker = Parker::new(&doorbell).unwrap();
    assert!(parker.prepare_park());
    drop(parker);
    doorbell.ring();
    let mut parker = Parker::with_ppoll(&doorbell).unwrap();
    assert_eq!(parker.kind(), ParkKind::Ppoll);
    assert!(parker.prepare_park());
    assert!(parker.park(Some(LONG)), "the early ring makes one park return early");
    assert!(parker.prepare_park());
    assert!(!parker.park(Some(SHORT)));
}

#[test]
fn a_watched_descriptor_ends_the_park_and_is_told_once() {
    with_each_kind(|_, mut parker| {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        parker.watch(reader.try_clone().unwrap().into());
        for _ in 0..50 {
            parker.take_readable();
            assert!(parker.prepare_park());
            assert!(!parker.park(Some(Duration::from_micros(100))), "{} woke for nothing", parker.kind());
            let mut writer = writer.try_clone().unwrap();
            let late = thread::spawn(move || {
                thread::sleep(Duration::from_micros(200));
                writer.write_all(&[1]).unwrap();
            });
            assert!(parker.prepare_park());
            assert!(parker.park(Some(LONG)), "the descriptor wakes");
            late.join().unwrap();
            assert!(parker.has_news());
            assert!(parker.take_readable());
            reader.read_exact(&mut [0]).unwrap();
        }
    });
}

#[test]
fn what_became_readable_before_the_park_ends_it() {
    with_each_kind(|doorbell, mut parker| {
        let (reader, mut writer) = UnixStream::pair().unwrap();
        writer.write_all(&[1]).unwrap();
        parker.watch(reader.into());
        assert!(parker.prepare_park());
        assert!(parker.park(Some(LONG)));
        assert!(parker.take_readable());
        // Rings are heard beside it.
        assert!(parker.prepare_park());
        doorbell.ring();
        assert!(parker.park(Some(LONG)));
    });
}
