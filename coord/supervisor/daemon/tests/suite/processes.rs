//! Workers that are started, die, hang, and leave others behind; and the supervisor that dies meanwhile.

use std::time::{Duration, Instant};

use ringstorm_supervisor_daemon::kill_workers;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use serde_json::json;

use crate::world::{WORDS, World, is_running, kill};

#[test]
fn a_worker_that_is_killed_is_started_again_at_once() {
    let Some(world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1, 2])]);
    let first = world.process(port, 1);
    world.wait_until_up(port);
    let since = Instant::now();
    kill(first, Signal::KILL);
    let second = world.process(port, 2);
    let took = since.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(is_running(second) && !is_running(first));
    let (how, why) = world.ended(port).remove(0);
    assert_eq!((how.as_str(), why.contains("neither this supervisor nor")), ("was ended by signal 9", true), "{why}");
    let state = world.eventually("it is remembered", || {
        let state = world.state()?;
        state.slots[&port].running.clone().filter(|it| it.pid == Some(second))
    });
    assert!(world.local_dir().join(format!("workers/{port}-{}", state.incarnation)).is_dir());
    println!("started again after {took:?}");
}

#[test]
fn a_worker_that_crashes_at_once_is_started_with_growing_pauses_and_told_of() {
    let Some(world) = World::start(&[(WORDS, "crashes")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    world.process(port, 2);
    let since = Instant::now();
    world.process(port, 4);
    assert!(since.elapsed() > Duration::from_millis(2500), "pauses of one and two seconds");
    let errors = world.eventually("it is told of", || Some(world.errors(WORDS, "lines")).filter(|it| !it.is_empty()));
    assert!(
        errors[0].contains("ended with code 3: it ended by itself; its last words: there is no such broker\n"),
        "{errors:?}"
    );
    assert!(errors[0].contains("worker.log"), "{errors:?}");
    assert!(world.worker_log(port).contains("in slot"));
}

#[test]
fn a_worker_that_has_nothing_to_do_any_more_is_no_error_of_its_topology() {
    let Some(world) = World::start(&[(WORDS, "leaves")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    // It is wanted all the same.
    world.process(port, 2);
    let (how, why) = world.ended(port).remove(0);
    assert_eq!((how.as_str(), why.as_str()), ("ended with code 0", "the assignment has nothing for it"));
    assert!(world.log().contains("ended with code 0: the assignment has nothing for it"));
    world.process(port, 3);
    assert_eq!(world.errors(WORDS, "lines"), Vec::<String>::new());
}

#[test]
fn a_worker_that_an_operator_killed_is_said_to_be_and_is_no_error_of_its_topology() {
    let Some(world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1, 2])]);
    world.process(port, 1);
    world.wait_until_up(port);
    assert_eq!(kill_workers(&world.local_dir(), Duration::ZERO).left, 0);
    world.process(port, 2);
    let (_, why) = world.ended(port).remove(0);
    assert!(why.contains("`ringstorm kill_workers`"), "{why}");
    assert_eq!(world.errors(WORDS, "lines"), [""; 0]);
}

#[test]
fn workers_go_on_without_their_supervisor_and_are_adopted() {
    let Some(mut world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let ports = world.ports.clone();
    world.assign(WORDS, 1, &[(ports[0], &[1]), (ports[1], &[2])]);
    let first: Vec<u32> = ports.iter().map(|port| world.process(*port, 1)).collect();
    ports.iter().for_each(|port| world.wait_until_up(*port));
    // What user code may leave among the folders: it holds nobody up, and goes.
    let pipes = ["x", "65000-1"].map(|name| world.local_dir().join("workers").join(name));
    for signal in [Signal::KILL, Signal::TERM] {
        for pipe in &pipes {
            mknodat(CWD, pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        }
        world.end_supervisor(signal);
        assert!(first.iter().all(|pid| is_running(*pid)));
        goes_on_writing(&world, ports[0]);
        let adopted = world.log().matches("runs, and goes on").count();
        world.start_supervisor();
        world.eventually("they are adopted", || {
            (world.log().matches("runs, and goes on").count() == adopted + 2).then_some(())
        });
        world.eventually("the pipes are removed", || (!pipes.iter().any(|pipe| pipe.exists())).then_some(()));
    }
    world.eventually("the supervisor is there again", || world.info());
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!([world.started(ports[0]), world.started(ports[1])].concat(), first, "{}", world.log());
    // The end of one that was adopted is seen, too, also when it comes while no supervisor runs.
    kill(first[0], Signal::KILL);
    let second = world.process(ports[0], 2);
    assert!(is_running(second));
    world.end_supervisor(Signal::KILL);
    kill(first[1], Signal::KILL);
    world.start_supervisor();
    assert!(is_running(world.process(ports[1], 2)));
    assert_eq!(world.ended(ports[1])[0].1, "it ended while no supervisor ran");
    assert!(is_running(second), "{}", world.log());
}

#[test]
fn a_log_writer_that_dies_is_replaced_and_the_worker_notices_nothing() {
    let Some(world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    let worker = world.process(port, 1);
    goes_on_writing(&world, port);
    let is_writer = |cmdline: &str| cmdline.contains("log-writer") && cmdline.contains(&format!("/{port}/worker.log"));
    let writers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let pid = path.file_name()?.to_str()?.parse::<u32>().ok()?;
        is_writer(&std::fs::read_to_string(path.join("cmdline")).ok()?).then_some(pid)
    });
    let writers: Vec<u32> = writers.collect();
    assert_eq!(writers.len(), 1);
    kill(writers[0], Signal::KILL);
    world.eventually("the writer is replaced", || world.log().contains("another one was started").then_some(()));
    goes_on_writing(&world, port);
    assert!(is_running(worker) && world.started(port) == [worker], "{}", world.log());
}

/// Waits until there is more in the log of a worker.
fn goes_on_writing(world: &World, port: u16) {
    let before = world.worker_log(port).len();
    world.eventually("there is more in the log", || (world.worker_log(port).len() > before).then_some(()));
}

#[test]
fn a_worker_that_hangs_is_killed_and_started_again() {
    let settings = json!({ "supervisor.worker.timeout.secs": 2, "supervisor.worker.start.timeout.secs": 2 });
    let manners = [(WORDS, "hangs"), ("late-2-1", "never comes up")];
    let Some(world) = World::start(&manners, &settings) else { return };
    let ports = &world.ports;
    world.assign(WORDS, 1, &[(ports[0], &[1])]);
    world.assign("late-2-1", 1, &[(ports[1], &[1])]);
    world.process(ports[0], 2);
    world.process(ports[1], 2);
    assert_eq!(world.ended(ports[0])[0].1, "it did not beat in time");
    assert_eq!(world.ended(ports[1])[0].1, "it did not come up in time");
    world.eventually("it is told of", || {
        world.errors(WORDS, "lines").iter().any(|error| error.contains("did not beat")).then_some(())
    });
}

#[test]
fn nothing_that_a_worker_has_started_outlives_it() {
    let Some(mut world) = World::start(&[(WORDS, "starts others")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    let others = |world: &World, count: usize| {
        world.eventually("it has started others", || {
            let log = world.worker_log(port);
            let pids: Vec<u32> = log.lines().filter_map(|line| line.strip_prefix("started ")?.parse().ok()).collect();
            (pids.len() == count).then_some(pids)
        })
    };
    let first = world.process(port, 1);
    let pids = others(&world, 2);
    assert!(pids.iter().all(|pid| is_running(*pid)));
    kill(first, Signal::KILL);
    let second = world.process(port, 2);
    assert!(!pids.iter().any(|pid| is_running(*pid)), "{}", world.log());
    // Also when nobody sees how the worker ends.
    let pids = others(&world, 4);
    world.end_supervisor(Signal::KILL);
    kill(second, Signal::KILL);
    assert!(is_running(pids[3]));
    world.start_supervisor();
    world.process(port, 3);
    assert!(!pids.iter().any(|pid| is_running(*pid)), "{}", world.log());
}
