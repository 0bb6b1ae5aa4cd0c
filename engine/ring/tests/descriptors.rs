//! Alone in its process, as it counts the process's descriptors.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use ringstorm_ring::{Doorbell, Parker};

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn doorbells_and_parkers_leave_no_descriptors() {
    let before = open_descriptors();
    for round in 0..200 {
        let doorbell = Doorbell::new().unwrap();
        let mut parker = Parker::new(&doorbell).unwrap();
        let waker = doorbell.waker();
        assert!(parker.prepare_park());
        waker.wake();
        assert!(parker.park(None), "round {round}, {}", parker.kind());
    }
    assert_eq!(open_descriptors(), before);
}
