//! Workers that take more than they should: of memory, of the disk, of the supervisor's attention.

use std::time::Duration;

use ringstorm_supervisor_daemon::history::What;
use serde_json::json;

use crate::world::{WORDS, World, is_running};

/// The worker in the first slot was killed, and another one has taken its place; in the second slot is one that is fine.
struct Stopped {
    world: World,
    /// The process that is fine.
    neighbour: u32,
    /// Why the other one was killed.
    why: String,
}

fn stopped_beside_one_that_is_fine(manner: &str, settings: &serde_json::Value) -> Option<Stopped> {
    let world = World::start(&[(WORDS, manner), ("fine-2-1", "is fine")], settings)?;
    let ports = &world.ports;
    world.assign("fine-2-1", 1, &[(ports[1], &[1])]);
    world.assign(WORDS, 1, &[(ports[0], &[1])]);
    let neighbour = world.process(ports[1], 1);
    let first = world.process(ports[0], 1);
    world.process(ports[0], 2);
    assert!(!is_running(first));
    let (how, why) = world.ended(ports[0])[0].clone();
    assert!(how.contains("signal 9"), "{how}: {why}");
    Some(Stopped { world, neighbour, why })
}

#[test]
fn a_worker_that_leaks_memory_is_stopped_and_named_and_its_neighbour_goes_on() {
    let settings = json!({
        "worker.heap.memory.mb": 50,
        "storm.supervisor.memory.limit.tolerance.margin.mb": 0,
        "storm.supervisor.hard.memory.limit.overage.mb": 0,
        // What the host has left is not the question here.
        "storm.supervisor.low.memory.threshold.mb": 0,
        "storm.supervisor.medium.memory.threshold.mb": 0,
    });
    let Some(Stopped { world, neighbour, why }) = stopped_beside_one_that_is_fine("leaks", &settings) else { return };
    let ports = &world.ports;
    assert!(why.contains("its limit is 100 MiB"), "{why}");
    let used: u64 = why.split_whitespace().nth(4).unwrap().parse().unwrap();
    assert!((100..1000).contains(&used), "{why}");
    world.eventually("it is told of", || {
        world.errors(WORDS, "lines").iter().any(|error| error.contains("its limit is 100 MiB")).then_some(())
    });
    assert!(world.log().contains(&format!("slot {}: the worker of {WORDS}", ports[0])));
    assert!(is_running(neighbour) && world.started(ports[1]) == [neighbour]);
}

#[test]
fn a_worker_that_fills_its_folder_is_stopped_and_named_and_its_neighbour_goes_on() {
    let settings = json!({ "ringstorm.worker.disk.mb": 64 });
    let stopped = stopped_beside_one_that_is_fine("fills its folder", &settings);
    let Some(Stopped { world, neighbour, why }) = stopped else { return };
    let ports = &world.ports;
    assert!(why.contains("disk limit") && why.contains("its limit is 64 MiB"), "{why}");
    world.eventually("it is told of", || {
        world.errors(WORDS, "lines").iter().any(|error| error.contains("ringstorm.worker.disk.mb")).then_some(())
    });
    // What it wrote went with it.
    let folders = std::fs::read_dir(world.local_dir().join("workers")).unwrap().flatten();
    let of_slot = format!("{}-", ports[0]);
    let count = folders.filter(|it| it.file_name().to_str().is_some_and(|name| name.starts_with(&of_slot))).count();
    assert!(count <= 1, "{count} folders");
    assert!(is_running(neighbour) && world.started(ports[1]) == [neighbour]);
}

#[test]
fn a_worker_has_cpus_and_a_limit_of_open_files_and_a_group_of_its_own() {
    let settings = json!({ "ringstorm.worker.open.files": 200 });
    let Some(world) = World::start(&[(WORDS, "is fine")], &settings) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    let pid = world.process(port, 1);
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let files: Vec<&str> = limits.lines().find(|line| line.starts_with("Max open files")).unwrap().split(' ').collect();
    assert_eq!(files.iter().filter(|word| **word == "200").count(), 2, "{files:?}");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert_eq!(stat.rsplit_once(") ").unwrap().1.split(' ').nth(2), Some(&*pid.to_string()));
    world.wait_until_up(port);
    let cpus =
        world.worker_log(port).lines().find_map(|line| Some(line.split_once("with CPUs ")?.1.to_owned())).unwrap();
    assert!(world.log().contains(&format!("slot {port} has the CPUs {cpus}")), "{cpus}\n{}", world.log());
}

#[test]
fn a_worker_that_floods_its_output_has_a_log_that_is_capped_and_is_not_held_up() {
    let settings = json!({ "ringstorm.worker.log.bytes": 100_000, "ringstorm.worker.log.files": 2,
        "supervisor.worker.timeout.secs": 3 });
    let Some(world) = World::start(&[(WORDS, "floods its output")], &settings) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    let pid = world.process(port, 1);
    world.eventually("its log is rotated", || (world.worker_logs(port).len() == 3).then_some(()));
    std::thread::sleep(Duration::from_secs(4));
    let sizes = world.worker_logs(port).into_iter().filter_map(|path| Some(path.metadata().ok()?.len()));
    assert!(sizes.sum::<u64>() <= 300_000);
    assert_eq!(world.started(port), [pid], "{}", world.log());
    assert!(is_running(pid));
}

#[test]
fn whatever_is_said_by_the_control_socket_costs_a_line_at_most() {
    let settings = json!({ "supervisor.worker.timeout.secs": 3 });
    let manners = [(WORDS, "floods the socket"), ("fine-2-1", "is fine")];
    let Some(world) = World::start(&manners, &settings) else { return };
    let ports = &world.ports;
    world.assign(WORDS, 1, &[(ports[0], &[1])]);
    world.assign("fine-2-1", 1, &[(ports[1], &[1])]);
    let pids = [world.process(ports[0], 1), world.process(ports[1], 1)];
    std::thread::sleep(Duration::from_secs(5));
    let lines = world.log().matches("passed over what was said").count();
    assert!((1..=2).contains(&lines), "{}", world.log());
    let is_strange = |entry: &ringstorm_supervisor_daemon::history::Entry| {
        entry.port == 1 || matches!(entry.what, What::Ended { .. } | What::Stopped { .. })
    };
    assert!(!world.history().iter().any(is_strange), "{}", world.log());
    assert!(pids.iter().all(|pid| is_running(*pid)));
}
