//! What is answered where something is missing, cannot be read, or must not be shown.

use std::collections::BTreeMap;

use ringstorm_records::nimbus::*;
use ringstorm_records::payload::{NimbusAddress, NimbusInfo};
use ringstorm_records::records::{
    ComponentType, ErrorInfo, NimbusSummary, NodeInfo, ProfileAction, ProfileRequest, SpecificAggregateStats,
    StormBase, SupervisorInfo, TopologyStatus,
};
use ringstorm_records::znode::{BlobHolder, ComponentName, LastError, Node, ProfileTarget};
use ringstorm_store::operation::Operation;
use ringstorm_views::history::PastTopology;
use ringstorm_views::{NoAnswer, Read};

use crate::world::{World, name};

pub(crate) const ID: &str = "words-1-1000";
const NOW_SECS: i32 = 2000;
const NOBODY: &str = "nobody-1-1000";

fn world() -> World {
    let mut world = World::new();
    world.submit(ID, 2, "supervisor", 6700..6701);
    let info = SupervisorInfo { hostname: "host".to_owned(), ..SupervisorInfo::default() };
    world.put(&Node::Supervisor { supervisor: name("supervisor") }, &info);
    world
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Something to do with every method that only looks, each about the topology of this id and name.
pub(crate) struct Every<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) now_secs: i32,
}

impl Every<'_> {
    /// What became of each method, by its name.
    pub(crate) fn ask(&mut self) -> Vec<(&'static str, Option<NoAnswer>)> {
        let (id, name) = (text(self.id), text(self.name));
        let (component, window, sys) = (text("count"), text("600"), Some(true));
        let page = GetTopologyPageInfo { id: id.clone(), window: window.clone(), is_include_sys: sys };
        let of_component = GetComponentPageInfo {
            topology_id: id.clone(),
            component_id: component.clone(),
            window,
            is_include_sys: sys,
        };
        let action = Some(ProfileAction::JstackDump);
        vec![
            self.one(GetClusterInfo {}),
            self.one(GetTopologySummaries {}),
            self.one(GetTopologySummary { id: id.clone() }),
            self.one(GetTopologySummaryByName { name: name.clone() }),
            self.one(GetTopologyInfo { id: id.clone() }),
            self.one(GetTopologyInfoByName { name: name.clone() }),
            self.one(GetTopologyInfoWithOpts { id: id.clone(), options: None }),
            self.one(GetTopologyInfoByNameWithOpts { name: name.clone(), options: None }),
            self.one(page),
            self.one(of_component),
            self.one(GetSupervisorPageInfo { id: None, host: text("host"), is_include_sys: sys }),
            self.one(GetTopologyConf { id: id.clone() }),
            self.one(GetTopology { id: id.clone() }),
            self.one(GetUserTopology { id: id.clone() }),
            self.one(GetTopologyHistory { user: text("user") }),
            self.one(GetOwnerResourceSummaries { owner: None }),
            self.one(GetNimbusConf {}),
            self.one(GetSupervisorAssignments { node: text("supervisor") }),
            self.one(GetLogConfig { name: id.clone() }),
            self.one(GetComponentPendingProfileActions { id, component_id: component, action }),
            self.one(IsTopologyNameAllowed { name }),
            self.one(GetBlobReplication { key: text(&format!("{}-stormcode.ser", self.id)) }),
        ]
    }

    fn one<M: Read>(&mut self, method: M) -> (&'static str, Option<NoAnswer>) {
        (M::NAME, self.world.ask(method, self.now_secs).err())
    }
}

/// The methods that are not about one topology.
const OF_THE_CLUSTER: [&str; 9] = [
    "getClusterInfo",
    "getTopologySummaries",
    "getSupervisorPageInfo",
    "getTopologyHistory",
    "getOwnerResourceSummaries",
    "getNimbusConf",
    "getSupervisorAssignments",
    "isTopologyNameAllowed",
    "getBlobReplication",
];

#[test]
fn a_topology_that_is_not_there_is_not_alive_in_storms_words() {
    let mut world = world();
    for (method, answer) in (Every { world: &mut world, id: NOBODY, name: "nobody", now_secs: NOW_SECS }).ask() {
        let told = match method {
            "getTopologySummary" => "nobody-1-1000 is not alive",
            _ if method.contains("ByName") => "nobody is not alive",
            _ => NOBODY,
        };
        match answer {
            None => assert!(OF_THE_CLUSTER.contains(&method), "{method}"),
            Some(NoAnswer::KeyNotFound(_)) => assert_eq!(method, "getBlobReplication"),
            Some(other) => {
                assert_eq!(other, NoAnswer::NotAlive(told.to_owned()), "{method}");
                assert!(matches!(other.exception(), Some(NimbusException::NotAlive(_))));
            }
        }
    }
    // What cannot be the name of a node is no topology either.
    let odd = world.ask(GetTopologyInfo { id: text("a/b") }, 2000);
    assert_eq!(odd, Err(NoAnswer::NotAlive("a/b".to_owned())));
}

#[test]
fn nothing_that_is_asked_changes_the_tree() {
    let mut world = world();
    let before = world.dump();
    let answers = (Every { world: &mut world, id: ID, name: "words", now_secs: NOW_SECS }).ask();
    assert!(answers.iter().all(|(_, trouble)| trouble.is_none()), "{answers:?}");
    assert_eq!(world.dump(), before);
}

#[test]
fn every_question_begins_by_catching_up() {
    let mut world = world();
    world.told(GetTopologySummaries {}, 2000);
    assert!(matches!(world.asked[0], Operation::Sync { .. }));
    world.told(GetTopologyInfoByName { name: text("words") }, 2000);
    assert!(matches!(world.asked[0], Operation::Sync { .. }));
    // What is answered by the disk alone does not wait for the tree.
    world.told(GetTopologyConf { id: text(ID) }, 2000);
    assert_eq!(world.asked, []);
}

#[test]
fn a_tree_that_cannot_be_asked_is_no_empty_one() {
    let mut world = world();
    world.is_connected = false;
    for (method, answer) in (Every { world: &mut world, id: ID, name: "words", now_secs: NOW_SECS }).ask() {
        let needs_no_tree = ["getTopologyConf", "getTopology", "getUserTopology", "getNimbusConf"].contains(&method);
        match answer {
            None => assert!(needs_no_tree, "{method}"),
            Some(NoAnswer::Tree(_)) => assert!(!needs_no_tree, "{method}"),
            Some(other) => panic!("{method}: {other}"),
        }
    }
}

#[test]
fn a_base_that_cannot_be_read_is_named_and_not_taken_for_a_dead_topology() {
    let mut world = world();
    world.submit("other-2-1000", 1, "supervisor", 6701..6702);
    world.put_bytes(&format!("/storm/storms/{ID}"), b"damaged");
    let listed = world.ask(GetTopologySummaries {}, 2000).unwrap();
    assert_eq!(listed.value.iter().map(|of| of.id.as_str()).collect::<Vec<_>>(), ["other-2-1000"]);
    assert_eq!(listed.skipped[0].path.as_str(), "/storm/storms/words-1-1000");
    let unreadable = world.ask(GetClusterInfo {}, 2000).unwrap().value.unreadable.unwrap();
    assert_eq!(unreadable.keys().collect::<Vec<_>>(), [ID]);
    for result in [
        world.ask(GetTopologyInfo { id: text(ID) }, 2000).err(),
        world.ask(GetTopologyInfoByName { name: text("words") }, 2000).err(),
    ] {
        let words = result.as_ref().map(ToString::to_string).unwrap_or_default();
        assert!(words.contains("put back what it held, or kill the topology and submit it again"), "{words}");
        let Some(NoAnswer::Damaged(skipped)) = result else { panic!("{result:?}") };
        assert_eq!(skipped.path.as_str(), "/storm/storms/words-1-1000");
    }
    // The name may be that topology's.
    assert!(!world.told(IsTopologyNameAllowed { name: text("words") }, 2000));
    // What is no id of a topology takes no name from anybody.
    world.put_bytes("/storm/storms/junk", b"damaged");
    assert!(world.told(IsTopologyNameAllowed { name: text("free") }, 2000));
    world.told(GetTopologyInfo { id: text("other-2-1000") }, 2000);
}

#[test]
fn a_damaged_assignment_or_beat_does_not_pass_for_a_topology_that_does_not_run() {
    let mut world = world();
    world.put_bytes(&format!("/storm/workerbeats/{ID}/supervisor-6700"), b"damaged");
    let info = world.ask(GetTopologyInfo { id: text(ID) }, 2000).unwrap();
    assert_eq!(info.value.executors.len(), 5);
    assert_eq!(info.skipped[0].path.as_str(), "/storm/workerbeats/words-1-1000/supervisor-6700");
    world.put_bytes(&format!("/storm/assignments/{ID}"), b"damaged");
    let page = GetTopologyPageInfo { id: text(ID), window: None, is_include_sys: None };
    let Err(NoAnswer::Damaged(skipped)) = world.ask(page, 2000) else { panic!() };
    assert_eq!(skipped.path.as_str(), "/storm/assignments/words-1-1000");
    let listed = world.ask(GetTopologySummaries {}, 2000).unwrap();
    assert_eq!(listed.skipped.len(), 1);
    let said = listed.value[0].sched_status.clone().unwrap();
    assert!(said.starts_with("its assignment cannot be read: "), "{said}");
    assert_eq!(world.ask(GetClusterInfo {}, 2000).unwrap().value.unreadable, None);
}

#[test]
fn who_lacks_something_is_told_what_and_nobody_else_is() {
    let mut world = world();
    let said = |world: &mut World| world.told(GetTopologySummaryByName { name: text("words") }, 2000).sched_status;
    assert_eq!(said(&mut world), None);
    // Its only worker is nowhere, and the only supervisor offers nothing.
    world.remove(&Node::Assignment { topology: name(ID) });
    let lacks = said(&mut world).unwrap();
    assert!(lacks.starts_with("0 of 5 tasks are placed: no slot is free"), "{lacks}");
    let page = GetTopologyPageInfo { id: text(ID), window: None, is_include_sys: None };
    assert_eq!(world.told(page, 2000).sched_status, Some(lacks.clone()));
    assert_eq!(world.told(GetTopologySummaries {}, 2000)[0].sched_status, Some(lacks.clone()));
    assert_eq!(world.told(GetClusterInfo {}, 2000).topologies[0].sched_status, Some(lacks.clone()));
    assert_eq!(world.told(GetTopologyInfo { id: text(ID) }, 2000).sched_status, Some(lacks));
    let info = SupervisorInfo { meta: Some(vec![6700]), ..SupervisorInfo::default() };
    world.put(&Node::Supervisor { supervisor: name("supervisor") }, &info);
    assert!(said(&mut world).unwrap().contains("its log says why if that lasts"));
    // A worker still runs there.
    let info = SupervisorInfo { used_ports: Some(vec![6700]), ..info };
    world.put(&Node::Supervisor { supervisor: name("supervisor") }, &info);
    assert!(said(&mut world).unwrap().contains("no slot is free"));
    world.remove(&Node::Supervisor { supervisor: name("supervisor") });
    assert!(said(&mut world).unwrap().contains("there is no supervisor"));
    let holder = BlobHolder { nimbus: NimbusAddress::new("host", 6627, 0).unwrap(), version: 1 };
    world.remove(&Node::BlobHolder { key: name(&format!("{ID}-stormcode.ser")), holder });
    // This nimbus has it, and has not said so again since its session began.
    assert!(said(&mut world).unwrap().contains("there is no supervisor"));
    world.here.definitions.remove(ID);
    assert!(said(&mut world).unwrap().contains("no nimbus that lives holds its code"));
    // One that has come back a moment ago may hold it.
    world.put(&Node::Nimbus { name: name("back") }, &NimbusSummary::default());
    let words = world.told(GetTopologySummaries {}, 5)[0].sched_status.clone().unwrap();
    assert!(words.contains("5 s ago, so that this may change") && !words.contains("kill"), "{words}");
    let settled = world.told(GetTopologySummaries {}, 60)[0].sched_status.clone().unwrap();
    assert!(settled.contains("kill it and submit it again"), "{settled}");
    // One is first in the queue and waits for it.
    world.put_bytes("/storm/leader-lock/_c_id1-latch-0000000001", b"back:6627:0");
    let words = world.told(GetTopologySummaries {}, 60)[0].sched_status.clone().unwrap();
    assert!(words.contains("nimbus back:6627 waits for one that does") && !words.contains("kill"), "{words}");
    // The place is of a process that has ended: the nimbus that lives there now has another session.
    let back = NimbusSummary { host: "back".to_owned(), port: 6627, ..NimbusSummary::default() };
    world.put_of_another_session(&Node::Nimbus { name: name("back:6627") }, &back);
    let words = world.told(GetTopologySummaries {}, 60)[0].sched_status.clone().unwrap();
    assert!(words.contains("a process of nimbus back:6627 that has ended") && !words.contains("kill"), "{words}");
}

#[test]
fn code_that_is_elsewhere_is_not_a_dead_topology() {
    let mut world = world();
    let definition = world.here.definitions.remove(ID);
    for (method, answer) in (Every { world: &mut world, id: ID, name: "words", now_secs: NOW_SECS }).ask() {
        match answer {
            // Lists do without.
            None => assert!(OF_THE_CLUSTER.contains(&method) || method.contains("Summary") || method == "getLogConfig"),
            Some(other) => assert_eq!(other, NoAnswer::NoCode(ID.to_owned()), "{method}"),
        }
    }
    assert_eq!(world.told(GetTopologySummaries {}, 2000)[0].storm_version, None);
    // Nobody holds it: there is nobody to fetch it from.
    let holder = BlobHolder { nimbus: NimbusAddress::new("host", 6627, 0).unwrap(), version: 1 };
    let held = Node::BlobHolder { key: name(&format!("{ID}-stormcode.ser")), holder };
    world.remove(&held);
    for (method, answer) in (Every { world: &mut world, id: ID, name: "words", now_secs: NOW_SECS }).ask() {
        let lost = NoAnswer::CodeIsLost(ID.to_owned());
        assert!(answer.is_none_or(|answer| answer == lost || method == "getBlobReplication"), "{method}");
    }
    let words = world.ask(GetTopology { id: text(ID) }, 2000).unwrap_err().to_string();
    assert!(words.contains("no nimbus that lives holds its code; bring back one that does, or kill it"), "{words}");
    // One that came just now may say yet that it does.
    world.put(&Node::Nimbus { name: name("back") }, &NimbusSummary::default());
    assert_eq!(world.ask(GetTopology { id: text(ID) }, 5), Err(NoAnswer::NoCode(ID.to_owned())));
    world.remove(&Node::Nimbus { name: name("back") });
    let path = world.cluster.path(&held);
    world.put_bytes(path.as_str(), &[]);
    world.here.definitions.insert(ID.to_owned(), Err("it is damaged".to_owned()));
    let listed = world.ask(GetTopologySummaries {}, 2000).unwrap();
    assert_eq!((listed.value.len(), &*listed.skipped[0].why), (1, "it is damaged"));
    assert!(matches!(world.ask(GetTopology { id: text(ID) }, 2000), Err(NoAnswer::BadCode { .. })));
    // A topology that was removed is known by its code for as long as that is here, as in Storm.
    world.here.definitions.insert(ID.to_owned(), definition.unwrap());
    world.remove(&Node::Storm { topology: name(ID) });
    world.told(GetTopologyConf { id: text(ID) }, 2000);
    assert!(matches!(world.ask(GetTopologyInfo { id: text(ID) }, 2000), Err(NoAnswer::NotAlive(_))));
}

#[test]
fn who_looks_sees_no_secret() {
    let mut world = world();
    world.daemon.insert("storm.zookeeper.auth.password".to_owned(), "hunter2".into());
    let page = world.told(GetTopologyPageInfo { id: text(ID), window: None, is_include_sys: None }, 2000);
    let shown = [
        world.told(GetTopologyConf { id: text(ID) }, 2000),
        world.told(GetNimbusConf {}, 2000),
        page.topology_conf.unwrap(),
        format!("{:?}", world.told(GetTopology { id: text(ID) }, 2000)),
        format!("{:?}", world.told(GetUserTopology { id: text(ID) }, 2000)),
    ];
    for text in shown {
        assert!(!text.contains("hunter2") && text.contains("(hidden)"), "{text}");
    }
}

#[test]
fn before_the_first_beat_a_page_has_what_there_will_be() {
    let mut world = world();
    let page = |sys| GetTopologyPageInfo { id: text(ID), window: text("600"), is_include_sys: Some(sys) };
    let with_system = world.told(page(true), 2000);
    let bolts = with_system.id_to_bolt_agg_stats.unwrap();
    assert_eq!(bolts.keys().collect::<Vec<_>>(), ["__acker", "count"]);
    let common = bolts["count"].common_stats.clone().unwrap();
    assert_eq!((common.num_executors, common.num_tasks, common.failed), (Some(2), Some(2), None));
    assert!(common.resources_map.unwrap().contains_key("onheap.memory.mb"));
    let spout = &with_system.id_to_spout_agg_stats.unwrap()["words"];
    assert!(matches!(spout.specific_stats, Some(SpecificAggregateStats::Spout(_))));
    // Workers that have not beaten are there, and count as none.
    assert_eq!((with_system.num_workers, with_system.workers.unwrap().len()), (Some(0), 1));
    let without = world.told(page(false), 2000);
    assert_eq!(without.id_to_bolt_agg_stats.unwrap().keys().collect::<Vec<_>>(), ["count"]);
    let unplaced = Node::Assignment { topology: name(ID) };
    world.remove(&unplaced);
    let page = world.told(page(true), 2000);
    assert_eq!((page.workers, page.num_executors, page.num_tasks), (None, Some(0), Some(5)));
}

/// Its worker ends before it beats, as its supervisor reports.
#[test]
fn the_error_of_a_component_that_never_beat_is_on_the_page() {
    let mut world = world();
    let error = ErrorInfo {
        error: "its worker ended with code 3".to_owned(),
        error_time_secs: NOW_SECS,
        host: None,
        port: None,
    };
    let last_error = LastError(ComponentName::new("count").unwrap());
    world.put(&Node::LastError { topology: name(ID), last_error }, &error);
    let page = GetTopologyPageInfo { id: text(ID), window: text("600"), is_include_sys: Some(false) };
    let page = world.told(page, NOW_SECS);
    assert_eq!(page.id_to_bolt_agg_stats.unwrap()["count"].last_error, Some(error));
    assert_eq!(page.id_to_spout_agg_stats.unwrap()["words"].last_error, None);
}

#[test]
fn a_component_or_supervisor_that_is_not_there_is_told_in_words() {
    let mut world = world();
    let page = |component: &str| GetComponentPageInfo {
        topology_id: text(ID),
        component_id: text(component),
        window: None,
        is_include_sys: None,
    };
    let told = world.ask(page("nothing"), 2000).unwrap_err();
    assert_eq!(told.to_string(), "topology words-1-1000 has no component \"nothing\"; it has __acker, count, words");
    assert_eq!(told.exception(), None);
    // As user interfaces encode it.
    assert_eq!(world.told(page("%63ount"), 2000).component_type, ComponentType::Bolt);
    for (id, host, words) in [
        (text("gone"), None, "supervisor gone is not alive"),
        (None, text("nowhere"), "supervisor on host nowhere is not alive"),
    ] {
        let told = world.ask(GetSupervisorPageInfo { id, host, is_include_sys: None }, 2000);
        assert_eq!(told, Err(NoAnswer::NotAlive(words.to_owned())));
    }
    let missing = world.ask(GetTopologyInfo { id: None }, 2000).unwrap_err();
    assert_eq!(missing.to_string(), "getTopologyInfo needs its argument id");
}

#[test]
fn who_leads_is_who_is_first_in_the_queue_and_lives() {
    let mut world = world();
    assert_eq!(world.ask(GetLeader {}, 2000), Err(NoAnswer::NobodyLeads));
    let candidate = |number| format!("/storm/leader-lock/_c_id{number}-latch-000000000{number}");
    world.put_bytes(&candidate(2), b"second:6627:0");
    world.put_bytes(&candidate(1), b"first:6627:0");
    assert_eq!(world.ask(GetLeader {}, 2000), Err(NoAnswer::NobodyLeads));
    for (host, since) in [("first", 1500), ("second", 2500)] {
        let summary =
            NimbusSummary { host: host.to_owned(), port: 6627, uptime_secs: since, ..NimbusSummary::default() };
        world.put(&Node::Nimbus { name: name(host) }, &summary);
    }
    // It queues up before it leads, and leads when it says so; what it said in an earlier place does not count.
    let says = |world: &mut World, host: &str| {
        let address = NimbusAddress::new(host, 6627, 0).unwrap();
        world.put_bytes("/storm/storm", &[7]);
        world.put_bytes("/storm/storm/leader-info", &NimbusInfo { address, is_leader: false }.to_bytes());
    };
    assert_eq!(world.ask(GetLeader {}, 2000), Err(NoAnswer::NobodyLeads));
    says(&mut world, "second");
    assert_eq!(world.ask(GetLeader {}, 2000), Err(NoAnswer::NobodyLeads));
    says(&mut world, "first");
    let leader = world.told(GetLeader {}, 2000);
    assert_eq!((&*leader.host, leader.uptime_secs, leader.is_leader), ("first", 500, true));
    // One that will start in the future has a clock of its own.
    let nimbuses = world.told(GetClusterInfo {}, 2000).nimbuses;
    let shown: Vec<_> = nimbuses.iter().map(|of| (&*of.host, of.uptime_secs, of.is_leader)).collect();
    assert_eq!(shown, [("first", 500, true), ("second", 0, false)]);
    world.remove_path(&candidate(1));
    world.put_bytes(&candidate(1), b"first:6627:0");
    assert_eq!(world.ask(GetLeader {}, 2000), Err(NoAnswer::NobodyLeads));
}

#[test]
fn a_user_is_shown_the_history_that_is_his() {
    let mut world = world();
    let past = |id: &str, user: &str, group: &str| PastTopology {
        id: id.to_owned(),
        users: [user.to_owned()].into(),
        groups: [group.to_owned()].into(),
    };
    world.here.past = vec![past("gone-1-1", "ann", "x"), past("gone-2-1", "bob", "staff")];
    world.daemon.insert("nimbus.admins".to_owned(), ["root"].into_iter().collect());
    let mut history = |user: Option<&str>, groups: &[&str]| {
        world.here.groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let of = world.told(GetTopologyHistory { user: user.map(str::to_owned) }, 2000);
        of.topo_ids.unwrap()
    };
    let all = ["gone-1-1", "gone-2-1", ID];
    assert_eq!(history(None, &[]), all);
    assert_eq!(history(Some("root"), &[]), all);
    assert_eq!(history(Some("ann"), &[]), ["gone-1-1"]);
    assert_eq!(history(Some("cid"), &["staff"]), ["gone-2-1"]);
    assert_eq!(history(Some("cid"), &[]), [""; 0]);
}

#[test]
fn an_owner_without_topologies_uses_nothing_and_others_do_not_count() {
    let mut world = world();
    world.submit("more-2-1000", 1, "supervisor", 6701..6703);
    let of = |world: &mut World, owner: &str| world.told(GetOwnerResourceSummaries { owner: text(owner) }, 2000);
    let used = &of(&mut world, "owner")[0];
    assert_eq!((used.total_topologies, used.total_executors, used.total_workers), (Some(2), Some(8), Some(3)));
    assert_eq!(used.requested_cpu, Some(80.0));
    let unused = &of(&mut world, "nobody")[0];
    assert_eq!((&*unused.owner, unused.total_topologies, unused.total_tasks), ("nobody", Some(0), Some(0)));
}

#[test]
fn of_requests_to_profile_the_newest_of_each_worker_is_told() {
    let mut world = world();
    for (action, port, time_stamp) in
        [(ProfileAction::JstackDump, 6700, 5), (ProfileAction::JmapDump, 6700, 9), (ProfileAction::JstackDump, 6701, 7)]
    {
        let target = ProfileTarget { host: name("host"), port, action };
        let node_info = NodeInfo { node: "host".to_owned(), port: [i64::from(port)].into() };
        let request = ProfileRequest { node_info, action, time_stamp: Some(time_stamp) };
        for folder in ["/storm/profilerconfigs", "/storm/profilerconfigs/words-1-1000"] {
            world.put_bytes(folder, &[7]);
        }
        world.put(&Node::ProfilerConfig { topology: name(ID), target }, &request);
    }
    let action = Some(ProfileAction::JstackDump);
    let of =
        |component: &str| GetComponentPendingProfileActions { id: text(ID), component_id: text(component), action };
    let told: Vec<_> = world.told(of("count"), 2000).into_iter().map(|request| request.time_stamp).collect();
    assert_eq!(told, [Some(5)]);
    assert_eq!(world.told(of("nothing"), 2000), []);
}

#[test]
fn what_a_topology_is_doing_is_told_in_capitals() {
    let mut world = world();
    let base = |status| StormBase {
        name: "words".to_owned(),
        status,
        num_workers: 1,
        component_executors: Some(BTreeMap::new()),
        launch_time_secs: None,
        owner: None,
        topology_action_options: None,
        prev_status: None,
        component_debug: None,
        principal: None,
        topology_version: Some("7".to_owned()),
        unknown: Default::default(),
    };
    for (status, shown) in [(TopologyStatus::Killed, "KILLED"), (TopologyStatus::Rebalancing, "REBALANCING")] {
        world.put(&Node::Storm { topology: name(ID) }, &base(status));
        let summary = world.told(GetTopologySummary { id: text(ID) }, 2000);
        assert_eq!((&*summary.status, summary.topology_version.as_deref()), (shown, Some("7")));
        assert_eq!(summary.requested_cpu, Some(0.0));
    }
}
