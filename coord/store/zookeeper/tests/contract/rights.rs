//! Lists of rights, and who a session says it is.

use ringstorm_store::acl::{Acl, Credential, Rights};
use ringstorm_store::operation::{Answer, CreateMode, Operation, Write};
use ringstorm_store::outcome::{Condition, Failure, Outcome, Part};

use crate::worlds::{World, open_to_all};

fn acl_of(answer: Answer) -> Vec<String> {
    match answer {
        Answer::Acl { acl, .. } => acl.iter().map(Acl::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn only_who_has_a_right_may_do_what_it_says<W: World>(world: &W) {
    let (daemon, worker) = (Credential::new("storm:a").unwrap(), Credential::new("words:b").unwrap());
    let mut owner = world.client(Some(&daemon));
    let mut reader = world.client(Some(&worker));
    let mut stranger = world.client(None);
    let path = owner.path("/a");
    let acl = [Acl::creator(), Acl::digest(&worker, Rights::READ)];
    owner.done(Operation::create(path.clone(), *b"x", CreateMode::Persistent, acl.into()));
    let get = Operation::Get { path: path.clone(), watch: false };
    for client in [&mut reader, &mut stranger] {
        client.done(Operation::Sync { path: path.clone() });
    }
    assert!(matches!(reader.done(get.clone()), Answer::Data { .. }));
    assert_eq!(stranger.ask(get.clone()), Outcome::failed(Condition::NoAuth));
    let children = Operation::Children { path: path.clone(), watch: false };
    assert_eq!(stranger.ask(children), Outcome::failed(Condition::NoAuth));
    // Whether a node is there is no secret.
    assert!(stranger.exists("/a", false));
    let set = Operation::set(path.clone(), *b"y");
    let create = reader.creation("/a/b", CreateMode::Persistent);
    let set_acl = Operation::SetAcl { path: path.clone(), acl: open_to_all(), version: None };
    for operation in [set.clone(), create, set_acl.clone()] {
        assert_eq!(reader.ask(operation), Outcome::failed(Condition::NoAuth));
    }
    let writes = vec![Write::Set { path: path.clone(), data: vec![1], version: None }];
    let failure = Failure { condition: Condition::NoAuth, part: Part::Write(0) };
    assert_eq!(reader.ask(Operation::Multi { checks: Vec::new(), writes }), Outcome::Failed(failure));
    owner.done(set.clone());
    // The list names the creator; whoever may not change it does not learn the hashes.
    let full = [Acl::digest(&daemon, Rights::ALL).to_string(), Acl::digest(&worker, Rights::READ).to_string()];
    assert_eq!(acl_of(owner.done(Operation::Acl { path: path.clone() })), full);
    let masked = acl_of(reader.done(Operation::Acl { path: path.clone() }));
    assert_eq!(masked, ["31:digest:storm:x", "1:digest:words:x"]);
    let Answer::AclSet { stat } = owner.done(set_acl) else { panic!() };
    assert_eq!((stat.acl_version, stat.version), (1, 1));
    stranger.done(Operation::Sync { path: path.clone() });
    stranger.done(set);
    assert_eq!(acl_of(stranger.done(Operation::Acl { path })), ["31:world:anyone"]);
}

pub(crate) fn the_creator_must_have_said_who_it_is<W: World>(world: &W) {
    let mut stranger = world.client(None);
    let creation = Operation::create(stranger.path("/a"), *b"", CreateMode::Persistent, [Acl::creator()].into());
    assert_eq!(stranger.ask(creation), Outcome::failed(Condition::InvalidAcl));
}
