//! Errors of components.

use std::time::Duration;

use ringstorm_records::records::ErrorInfo;
use ringstorm_records::znode::{ComponentName, LastError, Node};
use ringstorm_store::memory::Loss;
use ringstorm_worker::CoresEvent;

use crate::rig::{Rig, topology};

fn component(name: &str) -> ComponentName {
    ComponentName::new(name).unwrap()
}

fn written(rig: &Rig, name: &str) -> usize {
    rig.children(&Node::ComponentErrors { topology: topology(), component: component(name) }).len()
}

fn last(rig: &Rig, name: &str) -> ErrorInfo {
    rig.read(&Node::LastError { topology: topology(), last_error: LastError(component(name)) }).unwrap().0
}

fn fail(rig: &mut Rig, name: &str, task: u32, text: &str) {
    let time = Duration::from_secs(1_795_972_950);
    rig.cores(CoresEvent::Error { component: name.into(), task, text: text.into(), time });
}

#[test]
fn an_error_is_written_with_its_place_and_time() {
    let mut rig = Rig::running();
    fail(&mut rig, "count", 2, "no such word");
    let expected = ErrorInfo {
        error: "no such word".into(),
        error_time_secs: 1_795_972_950,
        host: Some("alpha.example".into()),
        port: Some(6700),
    };
    assert_eq!(last(&rig, "count"), expected);
    assert_eq!(rig.control.unwritten_errors(), 0);
    assert!(rig.notes().iter().any(|note| note.contains("no such word")));
}

#[test]
fn five_errors_of_a_task_are_written_in_ten_seconds_and_all_are_logged() {
    let mut rig = Rig::running();
    rig.taken();
    for _ in 0..8 {
        fail(&mut rig, "count", 2, "no such word");
    }
    assert_eq!((written(&rig, "count"), rig.notes().len()), (5, 8));
    fail(&mut rig, "count", 3, "no such word");
    assert_eq!(written(&rig, "count"), 6, "another task has a count of its own");
    rig.work(11);
    fail(&mut rig, "count", 2, "no such word");
    assert_eq!(written(&rig, "count"), 7);
}

#[test]
fn an_error_of_which_nobody_knows_is_written_again() {
    let mut rig = Rig::running();
    rig.store.lose_next(Loss::BeforeItWasDone);
    fail(&mut rig, "count", 2, "no such word");
    assert_eq!(written(&rig, "count"), 0);
    rig.work(2);
    assert_eq!(written(&rig, "count"), 1);
}

#[test]
fn errors_wait_for_the_tree_and_those_for_which_there_is_no_room_are_counted() {
    let mut rig = Rig::running();
    rig.taken();
    rig.store.expire();
    rig.settle();
    for task in 0..100 {
        fail(&mut rig, "count", task, "no such word");
    }
    rig.taken();
    rig.store.reopen(0);
    rig.work(2);
    assert_eq!(written(&rig, "count"), 10, "the newest ten are kept");
    assert_eq!(rig.notes(), ["36 errors were not written: too many waited for the tree"]);
}

#[test]
fn odd_errors_cost_one_line() {
    let mut rig = Rig::running();
    rig.taken();
    fail(&mut rig, "", 2, "who am I?");
    let notes = rig.notes();
    assert!(notes.len() == 1 && notes[0].contains("not written"), "{notes:?}");
    fail(&mut rig, "count", 2, &"\u{1F300}".repeat(1 << 20));
    assert_eq!(last(&rig, "count").error.len(), 64 << 10);
}
