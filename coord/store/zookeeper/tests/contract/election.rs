//! Who leads, and what a leader that was deposed can do.

use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{StormBase, TopologyStatus};
use ringstorm_records::thrift::UnknownFields;
use ringstorm_records::znode::NodeName;
use ringstorm_store::cluster::{Candidacy, Leadership, Reading, Standing, Trouble};
use ringstorm_store::outcome::Condition;
use ringstorm_store::store::{Change, Event, WatchEvent, WatchKind};

use crate::worlds::{Client, World};

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

pub(crate) fn address(host: &str) -> NimbusAddress {
    NimbusAddress::new(host, 6627, 0).unwrap()
}

pub(crate) fn base(topology: &str) -> StormBase {
    StormBase {
        name: topology.into(),
        status: TopologyStatus::Active,
        num_workers: 2,
        component_executors: None,
        launch_time_secs: None,
        owner: None,
        topology_action_options: None,
        prev_status: None,
        component_debug: None,
        principal: None,
        topology_version: None,
        unknown: UnknownFields::default(),
    }
}

pub(crate) fn stand<W: World>(world: &W, client: &mut Client<W>, id: &str) -> Candidacy {
    let (session, id) = (client.session, name(id));
    let address = address(id.as_str());
    client.tree(&world.cluster(), |tree| async move { tree.stand(session, &id, &address).await }).unwrap()
}

pub(crate) fn standing<W: World>(world: &W, client: &mut Client<W>, candidacy: &Candidacy) -> Standing {
    let candidacy = candidacy.clone();
    client.tree(&world.cluster(), |tree| async move { tree.standing(&candidacy).await }).unwrap()
}

/// Makes a client the leader of an empty tree.
pub(crate) fn leader<W: World>(world: &W, client: &mut Client<W>) -> Leadership {
    let candidacy = stand(world, client, "leader");
    match standing(world, client, &candidacy) {
        Standing::Leads(leadership) => leadership,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn create_base<W: World>(world: &W, client: &mut Client<W>, leader: &Leadership) -> Result<(), Trouble> {
    let (leader, words) = (leader.clone(), name("words"));
    client.tree(&world.cluster(), |tree| async move { tree.create_storm_base(&leader, &words, &base("words")).await })
}

pub(crate) fn the_first_candidate_leads_and_the_next_one_follows<W: World>(world: &W) {
    let mut clients: Vec<_> = (0..3).map(|_| world.client(None)).collect();
    let mut candidacies = Vec::new();
    for (index, client) in clients.iter_mut().enumerate() {
        candidacies.push(stand(world, client, &format!("nimbus-{index}")));
    }
    let first = standing(world, &mut clients[0], &candidacies[0]);
    let Standing::Leads(leadership) = &first else { panic!("{first:?}") };
    let second = standing(world, &mut clients[1], &candidacies[1]);
    let Standing::Waits { before, address } = &second else { panic!("{second:?}") };
    assert_eq!((before, address.as_ref().map(|address| address.host())), (leadership.latch(), Some("nimbus-0")));
    assert!(matches!(standing(world, &mut clients[2], &candidacies[2]), Standing::Waits { .. }));
    let queue = clients[2].tree(&world.cluster(), |tree| async move { tree.queue().await }).unwrap();
    let hosts: Vec<_> = queue.found.iter().map(|(_, address)| address.host().to_owned()).collect();
    assert_eq!(hosts, ["nimbus-0", "nimbus-1", "nimbus-2"]);
    // The end of the leader wakes the second and not the third.
    let latch = leadership.latch().clone();
    drop(clients.remove(0));
    let gone = WatchEvent { path: latch, kind: WatchKind::Node, change: Change::Deleted };
    assert_eq!(clients[0].event(), Event::Watch(gone));
    assert!(matches!(standing(world, &mut clients[0], &candidacies[1]), Standing::Leads(_)));
    clients[1].assert_quiet();
    // The third stays where it is when the second stands down and up again, and then leads.
    let second = candidacies[1].clone();
    clients[0].tree(&world.cluster(), |tree| async move { tree.stand_down(&second).await }).unwrap();
    assert!(matches!(clients[1].event(), Event::Watch(_)));
    assert!(matches!(standing(world, &mut clients[1], &candidacies[2]), Standing::Leads(_)));
    assert_eq!(standing(world, &mut clients[0], &candidacies[1]), Standing::Gone);
    let again = stand(world, &mut clients[0], "nimbus-1-again");
    assert!(matches!(standing(world, &mut clients[0], &again), Standing::Waits { .. }));
}

pub(crate) fn a_deposed_leader_writes_nothing<W: World>(world: &W) {
    let (mut first, mut second) = (world.short_client(), world.client(None));
    let leadership = leader(world, &mut first);
    create_base(world, &mut first, &leadership).unwrap();
    let candidacy = stand(world, &mut second, "second");
    assert!(matches!(standing(world, &mut second, &candidacy), Standing::Waits { .. }));
    // Its own node is deleted under a leader whose session goes on, and that hears of it.
    let latch = leadership.latch().clone();
    second.done(ringstorm_store::operation::Operation::delete(latch.clone()));
    let gone = WatchEvent { path: latch, kind: WatchKind::Node, change: Change::Deleted };
    assert_eq!(first.event(), Event::Watch(gone));
    let words = name("words");
    let refuse = |client: &mut Client<W>, leadership: &Leadership| {
        assert_eq!(create_base(world, client, leadership), Err(Trouble::Deposed));
        let (leader, topology) = (leadership.clone(), words.clone());
        let change = |base: &StormBase| Some(StormBase { num_workers: 9, ..base.clone() });
        let changed = client
            .tree(&world.cluster(), |tree| async move { tree.change_storm_base(&leader, &topology, change).await });
        assert_eq!(changed, Err(Trouble::Deposed));
        let (leader, topology) = (leadership.clone(), words.clone());
        let removed =
            client.tree(&world.cluster(), |tree| async move { tree.remove_topology(&leader, &topology).await });
        assert_eq!(removed, Err(Trouble::Deposed));
        let (leader, topology) = (leadership.clone(), words.clone());
        let made = client.tree(&world.cluster(), |tree| async move { tree.set_up_workers(&leader, &topology).await });
        assert_eq!(made, Err(Trouble::Deposed));
    };
    refuse(&mut first, &leadership);
    // Neither does the right come back with a new session, nor with somebody else's.
    let old = first.session;
    world.expire(&mut first);
    refuse(&mut first, &leadership);
    refuse(&mut second, &leadership);
    let (leader, topology) = (leadership, words.clone());
    let procedure = world
        .cluster()
        .procedure(|tree| async move { tree.create_storm_base(&leader, &topology, &base("words")).await });
    let late = first.control.run(old, procedure, crate::worlds::LIMIT).unwrap();
    assert_eq!(late.unwrap_err().condition(), Some(&Condition::SessionOver));
    let Standing::Leads(leadership) = standing(world, &mut second, &candidacy) else { panic!() };
    // What is there stays as it is, but for whoever means to change it.
    create_base(world, &mut second, &leadership).unwrap();
    let change = |base: &StormBase| Some(StormBase { num_workers: 9, ..base.clone() });
    let found = second
        .tree(&world.cluster(), |tree| async move { tree.change_storm_base(&leadership, &words, change).await })
        .unwrap();
    let Reading::Found { value, stat } = found else { panic!("{found:?}") };
    assert_eq!((value, stat.version), (StormBase { num_workers: 9, ..base("words") }, 1));
}

pub(crate) fn a_candidate_finds_its_place_again<W: World>(world: &W) {
    let mut client = world.client(None);
    let first = stand(world, &mut client, "nimbus");
    // As after an outcome that nobody knows.
    assert_eq!(stand(world, &mut client, "nimbus"), first);
    let queue = client.tree(&world.cluster(), |tree| async move { tree.queue().await }).unwrap();
    assert_eq!(queue.found.len(), 1);
    // One of the same name in another session is somebody else.
    let mut other = world.client(None);
    assert_ne!(stand(world, &mut other, "nimbus"), first);
}

/// An older snapshot can bring back a place that the session had under another id. Nobody would lead while it is first.
pub(crate) fn a_session_has_one_place_in_the_queue<W: World>(world: &W) {
    let mut client = world.client(None);
    stand(world, &mut client, "once");
    let now = stand(world, &mut client, "now");
    assert!(matches!(standing(world, &mut client, &now), Standing::Leads(_)));
    let queue = client.tree(&world.cluster(), |tree| async move { tree.queue().await }).unwrap();
    assert_eq!(queue.found.len(), 1);
}
