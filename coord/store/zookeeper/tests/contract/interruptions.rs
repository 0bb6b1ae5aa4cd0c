//! Sessions that end, are interrupted, or expire.

use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_store::outcome::{Condition, Outcome};
use ringstorm_store::store::{Change, Event, SessionEvent, Store as _, WatchEvent, WatchKind};

use crate::worlds::World;

pub(crate) fn what_a_session_holds_goes_with_its_end<W: World>(world: &W) {
    let (mut holder, mut watcher) = (world.client(None), world.client(None));
    holder.create("/stays", CreateMode::Persistent);
    holder.create("/goes", CreateMode::Ephemeral);
    watcher.wait_until("/goes", true);
    assert!(watcher.exists("/goes", true));
    drop(holder);
    // At once, and not after the session's time-out.
    let path = watcher.path("/goes");
    let gone = WatchEvent { path, kind: WatchKind::Node, change: Change::Deleted };
    assert_eq!(watcher.event(), Event::Watch(gone));
    assert!(watcher.exists("/stays", false));
}

pub(crate) fn an_interruption_keeps_the_session_and_tells_every_watch<W: World>(world: &W) {
    let (mut client, mut other) = (world.client(None), world.client(None));
    client.create("/mine", CreateMode::Ephemeral);
    for below in ["/a", "/b"] {
        let path = client.create(below, CreateMode::Persistent);
        client.done(Operation::Get { path: path.clone(), watch: true });
        client.done(Operation::Children { path, watch: true });
    }
    assert!(!client.exists("/none", true));
    world.cut(&mut client, true);
    let session = client.session;
    assert_eq!(client.event(), Event::Session(SessionEvent::Suspended { session }));
    let refused = client.ask(client.creation("/c", CreateMode::Persistent));
    assert_eq!(refused, Outcome::failed(Condition::NotConnected));
    // What happens meanwhile is not lost: nobody needs to know what it was.
    other.wait_until("/a", true);
    other.set("/a", b"1");
    other.create("/a/b", CreateMode::Persistent);
    assert!(other.exists("/mine", false));
    world.cut(&mut client, false);
    assert_eq!(client.event(), Event::Session(SessionEvent::Resumed { session }));
    let mut missed = Vec::new();
    for _ in 0..5 {
        let Event::Watch(WatchEvent { path, kind, change: Change::Missed }) = client.event() else { panic!() };
        missed.push((path, kind));
    }
    missed.sort();
    let watched = |below: &str, kind| (client.path(below), kind);
    let [node, children] = [WatchKind::Node, WatchKind::Children];
    let expected = [
        watched("/a", node),
        watched("/a", children),
        watched("/b", node),
        watched("/b", children),
        watched("/none", node),
    ];
    assert_eq!(missed, expected);
    assert!(client.exists("/mine", false) && !client.exists("/c", false));
    // Armed anew they work as before, and what was armed before the interruption is told no second time.
    let path = client.path("/b");
    client.done(Operation::Get { path: path.clone(), watch: true });
    other.set("/b", b"1");
    assert_eq!(client.event(), Event::Watch(WatchEvent { path, kind: node, change: Change::Data }));
    other.create("/none", CreateMode::Persistent);
    other.create("/b/c", CreateMode::Persistent);
    client.assert_quiet();
}

pub(crate) fn an_expired_session_is_followed_by_another_and_nothing_slips_into_it<W: World>(world: &W) {
    let (mut client, mut other) = (world.short_client(), world.client(None));
    client.create("/a", CreateMode::Persistent);
    client.create("/mine", CreateMode::Ephemeral);
    assert!(!client.exists("/none", true));
    other.wait_until("/mine", true);
    let old = client.session;
    world.expire(&mut client);
    assert_ne!(client.session, old);
    other.wait_until("/mine", false);
    // What was meant for the old session is refused in the new one.
    let creation = client.creation("/mine", CreateMode::Ephemeral);
    let ticket = client.control.store().submit(old, creation);
    let outcome = Outcome::failed(Condition::SessionOver);
    assert_eq!(client.event(), Event::Outcome { ticket, outcome });
    assert!(!client.exists("/mine", false));
    // Nothing of the old session's watches is left.
    other.create("/none", CreateMode::Persistent);
    client.assert_quiet();
    client.create("/mine", CreateMode::Ephemeral);
}

pub(crate) fn an_operation_under_way_has_an_unknown_outcome<W: World>(world: &W) {
    for (below, is_done) in [("/lost", false), ("/done", true)] {
        let mut client = world.client(None);
        let creation = client.creation(below, CreateMode::Persistent);
        let outcome = world.lose(&mut client, creation, is_done);
        assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
        world.cut(&mut client, false);
        let resumed = SessionEvent::Resumed { session: client.session };
        while client.session_event() != resumed {}
        let path = client.path(below);
        client.done(Operation::Sync { path });
        assert_eq!(client.exists(below, false), is_done);
    }
}
