//! Watches: what is told, and how often.

use ringstorm_store::operation::{Answer, CreateMode, Operation};
use ringstorm_store::store::{Change, Event, WatchEvent, WatchKind};

use crate::worlds::{Client, World};

fn told<W: World>(client: &mut Client<W>, below: &str, kind: WatchKind, change: Change) {
    let path = client.path(below);
    assert_eq!(client.event(), Event::Watch(WatchEvent { path, kind, change }));
}

fn watch_data<W: World>(client: &mut Client<W>, below: &str) {
    let path = client.path(below);
    client.done(Operation::Get { path, watch: true });
}

fn watch_children<W: World>(client: &mut Client<W>, below: &str) -> Vec<String> {
    let path = client.path(below);
    match client.done(Operation::Children { path, watch: true }) {
        Answer::Children { names, .. } => names,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn a_change_of_data_is_told_once<W: World>(world: &W) {
    let (mut writer, mut watcher) = (world.client(None), world.client(None));
    writer.create("/a", CreateMode::Persistent);
    watcher.wait_until("/a", true);
    watch_data(&mut watcher, "/a");
    writer.set("/a", b"1");
    told(&mut watcher, "/a", WatchKind::Node, Change::Data);
    writer.set("/a", b"2");
    watcher.assert_quiet();
    // A watch belongs to its read, whether the node is changed by others or by the watcher itself.
    watch_data(&mut watcher, "/a");
    watcher.set("/a", b"3");
    told(&mut watcher, "/a", WatchKind::Node, Change::Data);
    // Without one nothing is told.
    let path = watcher.path("/a");
    watcher.done(Operation::Get { path, watch: false });
    writer.set("/a", b"4");
    watcher.assert_quiet();
}

pub(crate) fn a_node_that_comes_or_goes_is_told<W: World>(world: &W) {
    let (mut writer, mut watcher) = (world.client(None), world.client(None));
    assert!(!watcher.exists("/a", true));
    let path = writer.create("/a", CreateMode::Persistent);
    told(&mut watcher, "/a", WatchKind::Node, Change::Created);
    watch_data(&mut watcher, "/a");
    assert_eq!(watch_children(&mut watcher, "/a"), Vec::<String>::new());
    writer.done(Operation::delete(path));
    let mut kinds = Vec::new();
    for _ in 0..2 {
        let Event::Watch(WatchEvent { path, kind, change: Change::Deleted }) = watcher.event() else { panic!() };
        assert_eq!(path, watcher.path("/a"));
        kinds.push(kind);
    }
    kinds.sort();
    assert_eq!(kinds, [WatchKind::Node, WatchKind::Children]);
    // A read of what is not there arms nothing.
    let path = watcher.path("/a");
    assert!(watcher.ask(Operation::Get { path, watch: true }).condition().is_some());
    writer.create("/a", CreateMode::Persistent);
    watcher.assert_quiet();
}

pub(crate) fn children_that_come_and_go_are_told<W: World>(world: &W) {
    let (mut writer, mut watcher) = (world.client(None), world.client(None));
    writer.create("/a", CreateMode::Persistent);
    watcher.wait_until("/a", true);
    for round in 0..3 {
        let names = watch_children(&mut watcher, "/a");
        assert_eq!(names.len(), round % 2);
        if round % 2 == 0 {
            writer.create("/a/b", CreateMode::Persistent);
        } else {
            writer.done(Operation::delete(writer.path("/a/b")));
        }
        told(&mut watcher, "/a", WatchKind::Children, Change::Children);
    }
    // Neither a child's data nor a child's child is the parent's affair.
    assert_eq!(watch_children(&mut watcher, "/a"), ["b"]);
    writer.set("/a/b", b"1");
    writer.create("/a/b/c", CreateMode::Persistent);
    writer.set("/a", b"1");
    watcher.assert_quiet();
}

pub(crate) fn a_watch_that_is_armed_twice_is_told_once<W: World>(world: &W) {
    let (mut writer, mut watcher) = (world.client(None), world.client(None));
    writer.create("/a", CreateMode::Persistent);
    watcher.wait_until("/a", true);
    // Two reads of different kinds, and a thousand of one kind: as many as a daily look makes in an hour.
    watcher.exists("/a", true);
    for _ in 0..200 {
        watch_data(&mut watcher, "/a");
        watch_children(&mut watcher, "/a");
    }
    writer.set("/a", b"1");
    told(&mut watcher, "/a", WatchKind::Node, Change::Data);
    writer.create("/a/b", CreateMode::Persistent);
    told(&mut watcher, "/a", WatchKind::Children, Change::Children);
    writer.set("/a", b"2");
    watcher.assert_quiet();
}
