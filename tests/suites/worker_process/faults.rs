//! Workers in a world that fails.

use std::net::TcpListener;
use std::time::Duration;

use ringstorm_ensemble::{Ensemble, free_ports};
use ringstorm_launch::{SlotTrouble, WorkerSays};
use ringstorm_records::records::TopologyStatus;
use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;

use crate::host::Host;
use crate::life::Running;
use crate::tree::{ByHand, LIMIT};

#[test]
fn without_zookeeper_everything_that_runs_goes_on() {
    let Some(mut ensemble) = Ensemble::start_or_skip(1) else { return };
    let mut running = Running::begin(&ensemble, 600);
    ensemble.kill(0);
    // Longer than a session of theirs.
    std::thread::sleep(Duration::from_secs(6));
    running.wait_for_acks();
    let beats = running.host.beats(&running.workers[0], Duration::from_secs(3));
    assert!(beats >= 1, "the supervisor hears of it\n{}", running.logs());
    ensemble.restart(0);
    let port = running.ports[0];
    let before = running.tree.beat(port).map(|beat| beat.uptime_secs);
    until("beats again", LIMIT, || running.tree.beat(port).map(|beat| beat.uptime_secs) > before);
    running.wait_for_acks();
    let fates = running.source.fates();
    assert_eq!((fates.failed, fates.orphaned), (0, 0), "{fates:?}\n{}", running.logs());
}

#[test]
fn a_worker_that_was_killed_is_replaced_and_what_it_had_is_done_again() {
    let Some(ensemble) = Ensemble::start_or_skip(1) else { return };
    let mut running = Running::begin(&ensemble, 600);
    running.workers[1].kill();
    running.workers[1] = running.host.start(running.ports[1], 20, running.source.path());
    running.wait_for_acks();
    let fates = running.source.fates();
    assert!(fates.slowest < Duration::from_secs(20), "nothing waited for its time-out: {fates:?}\n{}", running.logs());
}

/// The supervisor lost count, and starts a process of a lower incarnation than its peers know.
#[test]
fn a_process_of_the_past_says_so_and_ends() {
    let Some(ensemble) = Ensemble::start_or_skip(1) else { return };
    let mut running = Running::begin(&ensemble, 600);
    for place in [0, 1] {
        running.workers[place].kill();
        let port = running.ports[place];
        let mut stale = running.host.start(port, 3, running.source.path());
        let says = running.host.hear("it to say so", |says| matches!(says, WorkerSays::Stale { .. }));
        assert_eq!(says, WorkerSays::Stale { port, incarnation: 3, newest: 10 }, "{}", stale.log());
        assert_eq!(stale.exit_code(), Some(6), "{}", stale.log());
        running.workers[place] = running.host.start(port, 10 + place as u64 + 1, running.source.path());
        running.wait_for_acks();
    }
}

#[test]
fn a_port_that_is_taken_is_told_and_ends_the_worker() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let nobody = ["127.0.0.1:1".parse().unwrap()];
    let mut host = Host::new(&nobody);
    let mut worker = host.start(port, 10, &host.path("source"));
    let says = host.hear("it to say so", |says| matches!(says, WorkerSays::CannotUseSlot { .. }));
    let WorkerSays::CannotUseSlot { kind, why, .. } = says else { panic!("{says:?}") };
    assert_eq!(kind, SlotTrouble::PortTaken);
    assert!(why.contains(&port.to_string()), "{why}");
    assert_eq!(worker.exit_code(), Some(5), "{}", worker.log());
}

/// The source is not there, which the spout says when it is opened: the worker cannot go on, and who asks the cluster reads
/// why.
#[test]
fn what_a_component_says_of_its_failure_is_in_the_tree_before_the_worker_ends() {
    let Some(ensemble) = Ensemble::start_or_skip(1) else { return };
    let (mut tree, host) = (ByHand::new(ensemble.addresses()), Host::new(ensemble.addresses()));
    let port = free_ports(1)[0];
    tree.status(TopologyStatus::Active, None);
    tree.assign(1, &[port]);
    let mut worker = host.start(port, 10, &host.path("nowhere"));
    assert_eq!(worker.exit_code(), Some(1), "{}", worker.log());
    let error = tree.last_error("fetch").unwrap_or_else(|| panic!("no error\n{}", worker.log()));
    assert_eq!((error.host.as_deref(), error.port), (Some("127.0.0.1"), Some(i32::from(port))));
    assert!(error.error.contains("No such file"), "{error:?}");
}

/// Its supervisor wants it to end while it waits for a tree that is not there.
#[test]
fn a_worker_that_waits_for_zookeeper_can_be_ended() {
    let nobody = ["127.0.0.1:1".parse().unwrap()];
    let host = Host::new(&nobody);
    let port = free_ports(1)[0];
    let _source = Outside::start(&host.path("source"), 1, 1.0);
    let mut worker = host.start(port, 10, &host.path("source"));
    until("it to listen", LIMIT, || worker.log().contains("incarnation 10"));
    assert!(worker.is_running());
    worker.signal(rustix::process::Signal::TERM);
    assert_eq!(worker.exit_code(), Some(0), "{}", worker.log());
}
