//! Who a supervisor is: one per folder, and not the copy of another; and what it does without its memory.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::world::{WORDS, World, is_running};

#[test]
fn the_copy_of_a_host_starts_and_stops_nothing_while_the_host_lives() {
    let Some(world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    let pid = world.process(port, 1);
    world.wait_until_up(port);
    let copy = world.folder.path().join("copy");
    copy_folder(&world.local_dir(), &copy);
    let mut other = world.spawn_supervisor(&copy, Some("another host"));
    let log = || std::fs::read_to_string(copy.join("logs/supervisor.log")).unwrap_or_default();
    world.eventually("it is refused", || log().contains("is held by another live session").then_some(()));
    std::thread::sleep(Duration::from_secs(2));
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!log().contains("started the worker"), "{}", log());
    assert!(is_running(pid) && world.started(port) == [pid], "{}", world.log());
}

#[test]
fn a_second_supervisor_with_the_same_folder_ends_at_once() {
    let Some(world) = World::start(&[], &json!({})) else { return };
    let mut second = world.spawn_supervisor(&world.local_dir(), None);
    assert!(!second.wait().unwrap().success());
    assert!(world.info().is_some());
}

#[test]
fn a_broken_local_state_costs_a_line_and_its_workers_but_no_incarnation_twice() {
    let Some(mut world) = World::start(&[(WORDS, "is fine")], &json!({})) else { return };
    let port = world.ports[0];
    world.assign(WORDS, 1, &[(port, &[1])]);
    let pid = world.process(port, 1);
    let before = world.state().unwrap();
    world.end_supervisor(Signal::KILL);
    std::fs::write(world.local_dir().join("supervisor/local-state.json"), "{\"supervisor\":").unwrap();
    world.start_supervisor();
    let after = world.eventually("it has another id", || {
        world.state().filter(|state| state.supervisor.is_some() && state.supervisor != before.supervisor)
    });
    world.eventually("its worker is stopped", || (!is_running(pid)).then_some(()));
    assert!(after.slots[&port].last_incarnation >= before.slots[&port].last_incarnation);
    assert_eq!(world.log().matches("local-state.json.broken").count(), 1, "{}", world.log());
    // Under its new id nothing was assigned to it, and the code goes.
    let code = world.local_dir().join("supervisor/stormdist").join(WORDS);
    world.eventually("the code is gone", || (!code.exists()).then_some(()));
    world.assign(WORDS, 2, &[(port, &[1])]);
    world.end_supervisor(Signal::KILL);
    world.place_code(WORDS, "is fine");
    world.start_supervisor();
    world.process(port, 2);
    let started = world.state().unwrap().slots[&port].last_incarnation;
    assert!(started > before.slots[&port].last_incarnation);
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (to.join(entry.file_name()), entry.file_type().unwrap());
        if kind.is_dir() {
            copy_folder(&entry.path(), &path);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path()).unwrap(), path).unwrap();
        } else if kind.is_file() {
            std::fs::copy(entry.path(), path).unwrap();
        }
    }
}
