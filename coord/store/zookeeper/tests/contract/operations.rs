//! Operations and their outcomes.

use ringstorm_store::operation::{Answer, Check, CreateMode, OPERATION_BYTES_MAX, Operation, Stat, Write};
use ringstorm_store::outcome::{Condition, Failure, Outcome, Part};
use ringstorm_store::store::{Event, Store as _};

use crate::worlds::{Client, LIMIT, World, open_to_all};

fn get<W: World>(client: &mut Client<W>, below: &str) -> (Vec<u8>, Stat) {
    let path = client.path(below);
    match client.done(Operation::Get { path, watch: false }) {
        Answer::Data { data, stat } => (data, stat),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn a_node_is_made_read_set_and_deleted<W: World>(world: &W) {
    let mut client = world.client(None);
    assert_eq!(client.create("/a", CreateMode::Persistent), client.path("/a"));
    let (data, made) = get(&mut client, "/a");
    assert_eq!((data.as_slice(), made.version, made.owner, made.data_bytes), (&b"x"[..], 0, None, 1));
    client.set("/a", b"longer");
    let (data, set) = get(&mut client, "/a");
    assert_eq!((data.as_slice(), set.version, set.data_bytes), (&b"longer"[..], 1, 6));
    assert!(set.changed > made.changed && set.created == made.created);
    let owned = client.create("/a/b", CreateMode::Persistent);
    let (path, watch) = (client.path("/a"), false);
    let Answer::Children { names, stat } = client.done(Operation::Children { path, watch }) else { panic!() };
    assert_eq!((names.as_slice(), stat.child_count, stat.children_version), (&["b".to_owned()][..], 1, 1));
    assert!(stat.children_changed > set.children_changed);
    client.done(Operation::delete(owned));
    let (path, watch) = (client.path("/a"), false);
    let Answer::Exists(Some(stat)) = client.done(Operation::Exists { path, watch }) else { panic!() };
    assert_eq!((stat.child_count, stat.children_version), (0, 2));
    assert_eq!(client.done(Operation::delete(client.path("/a"))), Answer::Deleted);
    assert!(!client.exists("/a", false));
    let owned = client.create("/mine", CreateMode::Ephemeral);
    assert_eq!(get(&mut client, "/mine").1.owner, Some(client.session));
    client.done(Operation::delete(owned));
}

pub(crate) fn each_condition_is_told<W: World>(world: &W) {
    let mut client = world.client(None);
    client.create("/a", CreateMode::Persistent);
    client.create("/a/b", CreateMode::Persistent);
    client.create("/mine", CreateMode::Ephemeral);
    let set = |path, version| Operation::Write(Write::Set { path, data: vec![1], version: Some(version) });
    let delete = |path, version| Operation::Write(Write::Delete { path, version: Some(version) });
    let [a, b, none] = ["/a", "/a/b", "/none"].map(|below| client.path(below));
    for (operation, condition) in [
        (client.creation("/a", CreateMode::Persistent), Condition::NodeExists),
        (client.creation("/none/b", CreateMode::Persistent), Condition::NoNode),
        (client.creation("/mine/b", CreateMode::Persistent), Condition::EphemeralParent),
        (Operation::create(none.clone(), *b"", CreateMode::Persistent, [].into()), Condition::InvalidAcl),
        (set(a.clone(), 1), Condition::BadVersion),
        (set(none.clone(), 0), Condition::NoNode),
        (delete(a.clone(), 0), Condition::NotEmpty),
        (delete(b.clone(), 3), Condition::BadVersion),
        (delete(none.clone(), 0), Condition::NoNode),
        (Operation::Get { path: none.clone(), watch: true }, Condition::NoNode),
        (Operation::Children { path: none.clone(), watch: true }, Condition::NoNode),
        (Operation::Acl { path: none.clone() }, Condition::NoNode),
        (Operation::SetAcl { path: none.clone(), acl: open_to_all(), version: None }, Condition::NoNode),
        (Operation::SetAcl { path: a.clone(), acl: open_to_all(), version: Some(4) }, Condition::BadVersion),
    ] {
        assert_eq!(client.ask(operation.clone()), Outcome::failed(condition), "{operation:?}");
    }
    assert_eq!(client.done(Operation::Exists { path: none, watch: false }), Answer::Exists(None));
    client.assert_quiet();
}

pub(crate) fn numbers_count_every_child_that_was_ever_made<W: World>(world: &W) {
    let mut client = world.client(None);
    client.create("/a", CreateMode::Persistent);
    let first = client.create("/a/e", CreateMode::PersistentSequential);
    assert_eq!(first, client.path("/a/e0000000000"));
    client.done(Operation::delete(first));
    client.create("/a/other", CreateMode::Persistent);
    let third = client.create("/a/q-", CreateMode::EphemeralSequential);
    assert_eq!(third, client.path("/a/q-0000000002"));
    // A number that is made inside a transaction, and the data that goes with it.
    let writes = [CreateMode::PersistentSequential, CreateMode::PersistentSequential].map(|mode| Write::Create {
        path: client.path("/a/e"),
        data: vec![1],
        mode,
        acl: open_to_all(),
    });
    let made = ["/a/e0000000003", "/a/e0000000004"].map(|below| Answer::Created { path: client.path(below) });
    let multi = Operation::Multi { checks: Vec::new(), writes: writes.to_vec() };
    assert_eq!(client.done(multi), Answer::Multi(made.to_vec()));
}

pub(crate) fn a_multi_is_done_as_a_whole_or_not_at_all<W: World>(world: &W) {
    let mut client = world.client(None);
    client.create("/a", CreateMode::Persistent);
    let check = |client: &Client<W>, below: &str, version| Check { path: client.path(below), version };
    let create = |client: &Client<W>, below: &str| match client.creation(below, CreateMode::Persistent) {
        Operation::Write(write) => write,
        other => panic!("{other:?}"),
    };
    let set = Write::Set { path: client.path("/a/b"), data: vec![9], version: Some(0) };
    let delete = Write::Delete { path: client.path("/a/c"), version: None };
    // Each write sees the ones before it.
    let writes = vec![create(&client, "/a/b"), set.clone(), create(&client, "/a/c"), delete.clone()];
    let checks = vec![check(&client, "/a", Some(0)), check(&client, "/a", None)];
    let Answer::Multi(answers) = client.done(Operation::Multi { checks, writes }) else { panic!() };
    assert!(matches!(
        answers.as_slice(),
        [
            Answer::Created { .. },
            Answer::Set { stat: Stat { version: 1, .. } },
            Answer::Created { .. },
            Answer::Deleted
        ]
    ));
    let failed = |condition, part| Outcome::Failed(Failure { condition, part });
    for (checks, writes, expected) in [
        (
            vec![check(&client, "/a", None), check(&client, "/gone", None)],
            vec![create(&client, "/a/d")],
            failed(Condition::NoNode, Part::Check(1)),
        ),
        (vec![check(&client, "/a", Some(5))], Vec::new(), failed(Condition::BadVersion, Part::Check(0))),
        (
            vec![check(&client, "/a", None)],
            vec![create(&client, "/a/d"), set, create(&client, "/a/e")],
            failed(Condition::BadVersion, Part::Write(1)),
        ),
        (Vec::new(), vec![create(&client, "/a/d"), delete], failed(Condition::NoNode, Part::Write(1))),
    ] {
        assert_eq!(client.ask(Operation::Multi { checks, writes }), expected);
        assert!(!client.exists("/a/d", false) && !client.exists("/a/e", false));
    }
    let nothing = Operation::Multi { checks: Vec::new(), writes: Vec::new() };
    assert_eq!(client.done(nothing), Answer::Multi(Vec::new()));
}

pub(crate) fn operations_are_done_and_answered_in_their_order<W: World>(world: &W) {
    let mut client = world.client(None);
    client.create("/a", CreateMode::Persistent);
    let (path, session) = (client.path("/a"), client.session);
    let mut tickets = Vec::new();
    for index in 0..500_i32 {
        // Every seventh fails, and every eleventh is refused before it is sent.
        let version = if index % 7 == 6 { Some(-7) } else { None };
        let bytes = if index % 11 == 10 { OPERATION_BYTES_MAX } else { 4 };
        let mut data = index.to_be_bytes().to_vec();
        data.resize(bytes, 0);
        let set = Operation::Write(Write::Set { path: path.clone(), data, version });
        tickets.push(client.control.store().submit(session, set));
    }
    let mut version = 0;
    for (index, wanted) in tickets.into_iter().enumerate() {
        let Some(Event::Outcome { ticket, outcome }) = client.control.next_event(LIMIT) else { panic!() };
        assert_eq!(ticket, wanted);
        match (outcome, index % 11 == 10, index % 7 == 6) {
            (Outcome::Failed(Failure { condition: Condition::TooLarge { .. }, .. }), true, _) => {}
            (Outcome::Failed(Failure { condition: Condition::BadVersion, .. }), false, true) => {}
            (Outcome::Done(Answer::Set { stat }), false, false) => {
                version += 1;
                assert_eq!(stat.version, version);
            }
            (other, ..) => panic!("{index}: {other:?}"),
        }
    }
}

pub(crate) fn what_is_too_large_is_refused_and_the_connection_stays<W: World>(world: &W) {
    let mut client = world.client(None);
    client.create("/a", CreateMode::Persistent);
    let path = client.path("/a");
    let outcome = client.ask(Operation::set(path.clone(), vec![0; 2 << 20]));
    assert!(matches!(outcome.condition(), Some(Condition::TooLarge { bytes }) if *bytes > 2 << 20), "{outcome:?}");
    // The most that is taken is taken by ZooKeeper too.
    let most = vec![7; OPERATION_BYTES_MAX - 64 - path.as_str().len()];
    client.done(Operation::set(path, most.clone()));
    assert_eq!(get(&mut client, "/a").0, most);
    client.assert_quiet();
}

pub(crate) fn after_a_sync_a_read_is_fresh<W: World>(world: &W) {
    let mut writer = world.client(None);
    let mut readers: Vec<_> = (0..3).map(|_| world.client(None)).collect();
    writer.create("/a", CreateMode::Persistent);
    for value in 0..20 {
        writer.set("/a", &[value]);
        for reader in &mut readers {
            let path = reader.path("/a");
            assert_eq!(reader.done(Operation::Sync { path }), Answer::Synced);
            assert_eq!(get(reader, "/a").0, [value]);
        }
    }
}
