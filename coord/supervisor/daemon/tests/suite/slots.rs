//! Slots that are given work, lose it, cannot be used, and are taken out of service.

use std::net::{Ipv4Addr, TcpListener};

use ringstorm_launch::OperatorSays;
use serde_json::json;

use crate::world::{WORDS, World, is_running};

#[test]
fn a_topology_that_is_gone_has_its_worker_asked_to_end_and_leaves_nothing() {
    let Some(world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    let pid = world.process(port, 1);
    world.wait_until_up(port);
    world.kill(WORDS);
    let (how, why) = world.eventually("it ended", || world.ended(port).pop());
    assert_eq!(
        (how.as_str(), why.as_str()),
        ("was ended by signal 15", "its slot is to run something else, or nothing")
    );
    assert!(!is_running(pid));
    world.eventually("its code is gone", || {
        let count = |folder: &str| std::fs::read_dir(world.local_dir().join(folder)).unwrap().count();
        let workers = std::fs::read_dir(world.local_dir().join("workers")).unwrap().flatten();
        let folders = workers.filter(|entry| entry.path().is_dir()).count();
        (count("supervisor/stormdist") + count("supervisor/code") + folders == 0).then_some(())
    });
}

#[test]
fn a_history_that_cannot_be_written_is_named_once_in_the_log() {
    let Some(world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    std::fs::create_dir(world.local_dir().join("workers/history")).unwrap();
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    world.wait_until_up(port);
    world.kill(WORDS);
    world.eventually("its worker ended", || world.log().contains("was ended by signal 15").then_some(()));
    let log = world.log();
    assert_eq!(log.matches("workers/history cannot be written: it is a folder, not a file").count(), 1, "{log}");
}

#[test]
fn a_slot_with_other_executors_gets_a_new_process_with_a_higher_incarnation() {
    let Some(world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    world.process(port, 1);
    world.wait_until_up(port);
    world.assign(WORDS, 2, &[(port, &[1, 2])]);
    world.process(port, 2);
    let incarnations: Vec<u64> = world.history().iter().map(|entry| entry.incarnation).collect();
    assert!(incarnations.is_sorted() && incarnations.first() < incarnations.last(), "{incarnations:?}");
}

#[test]
fn a_slot_whose_port_is_taken_is_withdrawn() {
    let manners = [(WORDS, "is fine"), ("slow-2-1", "cannot use its slot")];
    let Some(world) = World::start(&manners, &json!({})) else { return };
    let ports = &world.ports;
    let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, ports[0])).unwrap();
    world.assign(WORDS, 1, &[(ports[0], &[1])]);
    world.assign("slow-2-1", 1, &[(ports[1], &[1])]);
    world.eventually("both slots are withdrawn", || (world.info()?.meta.unwrap_or_default().is_empty()).then_some(()));
    let log = world.log();
    for port in ports {
        assert!(
            log.contains(&format!("slot {port} is withdrawn for 30 s, since another process has its port")),
            "{log}"
        );
    }
    assert!(world.started(ports[0]).is_empty());
}

#[test]
fn a_supervisor_is_taken_out_of_service_and_back() {
    let Some(world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    let pid = world.process(port, 1);
    let offers = |count: usize| {
        world.eventually("its slots are offered, or not", || {
            (world.info()?.meta.unwrap_or_default().len() == count).then_some(())
        });
    };
    world.say(OperatorSays::OutOfService);
    offers(0);
    assert!(is_running(pid) && world.state().unwrap().is_out_of_service);
    world.say(OperatorSays::InService);
    offers(2);
}
