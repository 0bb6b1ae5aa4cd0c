//! A whole tree, written as a topology goes through its life, compared at each stage with what a real Storm wrote.
//!
//! The records themselves are Storm's, changed only where Ringstorm declares to write something else ([`declared`]); what
//! is compared is everything that the store decides: which nodes are there, how they were made, what they hold, who may do
//! what with them, and how often they were written.

mod tree;

use std::collections::BTreeMap;
use std::path::Path;

use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{
    Assignment, ClusterWorkerHeartbeat, ErrorInfo, LogConfig, NimbusSummary, StormBase, SupervisorInfo,
};
use ringstorm_records::znode::{BlobHolder, ComponentName, ErrorNumber, Node, Slot};
use ringstorm_store::cluster::{Announced, Candidacy, Cluster, ClusterAcls, Leadership, Standing};
use ringstorm_store::operation::{Answer, Operation};

use crate::election::name;
use crate::worlds::{Client, LIMIT, World};
use tree::{Seen, Stage, VERSION, declared, is_on_a_timer, root, seen};

/// What Storm wrote at a stage.
fn read(file: &str) -> Stage {
    Stage::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records/tests/golden"), file)
}

/// A nimbus, a supervisor and a worker that write.
struct Life<W: World> {
    nimbus: Client<W>,
    supervisor: Client<W>,
    worker: Client<W>,
    cluster: Cluster,
    leader: Leadership,
    assignment_version: i64,
}

fn topology() -> ringstorm_records::znode::NodeName {
    name("words-1-1795972824")
}

impl<W: World> Life<W> {
    /// Up to the idle cluster.
    fn begin(world: &W, stage: &Stage) -> Self {
        let cluster = Cluster::new(root(), ClusterAcls::open());
        let (mut nimbus, supervisor, worker) = (world.client(None), world.client(None), world.client(None));
        let [latch] = &stage.find(|node| match node {
            Node::LeaderCandidate { candidate } => Some(candidate.clone()),
            _ => None,
        })[..] else {
            panic!()
        };
        let [host] = &stage.find(|node| match node {
            Node::Nimbus { name } => Some(name.clone()),
            _ => None,
        })[..] else {
            panic!()
        };
        let (session, id, host) = (nimbus.session, latch.id.clone(), host.clone());
        let summary: NimbusSummary = stage.record(&Node::Nimbus { name: host.clone() });
        let summary = NimbusSummary { version: VERSION.into(), ..summary };
        let leader = nimbus.tree(&cluster, |tree| async move {
            tree.prepare().await?;
            assert_eq!(tree.announce_nimbus(session, &host, &summary, None).await?, Announced::Ours);
            let candidacy: Candidacy = tree.stand(session, &id, &address()).await?;
            let Standing::Leads(leader) = tree.standing(&candidacy).await? else { panic!() };
            tree.set_leader_info(&leader, &address()).await?;
            Ok(leader)
        });
        let leader = leader.unwrap();
        let mut life = Self { nimbus, supervisor, worker, cluster, leader, assignment_version: 0 };
        life.beat(stage);
        life
    }

    /// The supervisor's own heartbeat.
    fn beat(&mut self, stage: &Stage) {
        let node = Node::Supervisor { supervisor: name("4be0d7ae-239e-41c3-92a6-dc234ddd1267-127.0.0.1") };
        let info: SupervisorInfo = stage.record(&node);
        let info = SupervisorInfo { version: Some(VERSION.into()), ..info };
        let session = self.supervisor.session;
        let beaten = self.supervisor.tree(&self.cluster, |tree| async move {
            let Node::Supervisor { supervisor } = node else { panic!() };
            tree.announce_supervisor(session, &supervisor, &info, None).await
        });
        assert_eq!(beaten, Ok(Announced::Ours));
    }

    /// Nimbus takes a topology and assigns it.
    fn submit(&mut self, stage: &Stage) {
        let keys = stage.find(|node| match node {
            Node::Blob { key } => Some(key.clone()),
            _ => None,
        });
        assert_eq!(keys.len(), 3);
        let (session, leader) = (self.nimbus.session, self.leader.clone());
        let submitted = self.nimbus.tree(&self.cluster, |tree| async move {
            for key in &keys {
                let number = tree.number_blob(key, &address(), Some(&leader)).await?;
                let holder = BlobHolder { nimbus: address(), version: number.try_into().unwrap() };
                tree.hold_blob(session, key, &holder).await?;
            }
            tree.set_up_workers(&leader, &topology()).await
        });
        assert_eq!(submitted, Ok(()));
        self.base(stage, 1);
        self.assign(stage);
    }

    /// Nimbus writes the base, as often as it did.
    fn base(&mut self, stage: &Stage, times: usize) {
        let base: StormBase = stage.record(&Node::Storm { topology: topology() });
        for _ in 0..times {
            let (leader, base) = (self.leader.clone(), base.clone());
            let written = self.nimbus.tree(&self.cluster, |tree| async move {
                let changed = tree.change_storm_base(&leader, &topology(), |_| Some(base.clone())).await?;
                if changed.is_there() { Ok(()) } else { tree.create_storm_base(&leader, &topology(), &base).await }
            });
            assert_eq!(written, Ok(()));
        }
    }

    fn set_log_config(&mut self, stage: &Stage) {
        let levels: LogConfig = stage.record(&Node::LogConfig { topology: topology() });
        let leader = self.leader.clone();
        let written = self
            .nimbus
            .tree(&self.cluster, |tree| async move { tree.set_log_config(&leader, &topology(), &levels).await });
        assert_eq!(written, Ok(()));
    }

    /// The wait after the kill is over.
    fn remove_topology(&mut self) {
        let leader = self.leader.clone();
        let removed =
            self.nimbus.tree(&self.cluster, |tree| async move { tree.remove_topology(&leader, &topology()).await });
        assert_eq!(removed, Ok(()));
    }

    /// The delay after which nothing of a topology is kept is over.
    fn clean_up(&mut self) {
        let leader = self.leader.clone();
        let cleaned = self.nimbus.tree(&self.cluster, |tree| async move {
            for remains in tree.topologies_with_remains().await?.found {
                tree.remove_remains(&leader, &remains).await?;
            }
            for key in tree.blob_keys(false).await?.found {
                tree.remove_blob(&leader, &key).await?;
            }
            Ok(())
        });
        assert_eq!(cleaned, Ok(()));
    }

    fn assign(&mut self, stage: &Stage) {
        self.assignment_version += 1;
        let assignment: Assignment = stage.record(&Node::Assignment { topology: topology() });
        let assignment = Assignment { version: Some(self.assignment_version), ..assignment };
        let leader = self.leader.clone();
        let assigned = self
            .nimbus
            .tree(&self.cluster, |tree| async move { tree.set_assignment(&leader, &topology(), &assignment).await });
        assert_eq!(assigned, Ok(()));
    }

    /// What workers wrote up to a stage: their heartbeats, and the errors of one component.
    fn work(&mut self, stage: &Stage) {
        let slots = stage.find(|node| match node {
            Node::WorkerBeat { slot, .. } => Some(slot.clone()),
            _ => None,
        });
        for slot in slots {
            self.worker_beats(stage, &slot);
        }
        let newest = stage.find(|node| match node {
            Node::Error { component, number: ErrorNumber(number), .. } => Some((component.clone(), *number)),
            _ => None,
        });
        let Some((component, newest)) = newest.into_iter().max_by_key(|(_, number)| *number) else { return };
        let errors: BTreeMap<i32, ErrorInfo> = stage
            .find(|node| match node {
                Node::Error { number: ErrorNumber(number), .. } => Some((*number, stage.record(node))),
                _ => None,
            })
            .into_iter()
            .collect();
        let last: ErrorInfo = stage.record(&last_error(&component));
        let reported = self.worker.tree(&self.cluster, |tree| async move {
            let folder = Node::ComponentErrors { topology: topology(), component: component.clone() };
            let written = tree.nodes(&folder, false).await?.found.into_iter().filter_map(|node| match node {
                Node::Error { number: ErrorNumber(number), .. } => Some(number + 1),
                _ => None,
            });
            for number in written.max().unwrap_or(0)..=newest {
                // Those that are gone in the record may have said anything.
                let error = errors.get(&number).unwrap_or(&last);
                tree.report_error(&topology(), &component, error).await?;
            }
            Ok(())
        });
        assert_eq!(reported, Ok(()));
    }

    fn worker_beats(&mut self, stage: &Stage, slot: &Slot) {
        let node = Node::WorkerBeat { topology: topology(), slot: slot.clone() };
        let beat: ClusterWorkerHeartbeat = stage.record(&node);
        let (path, wanted) = (self.cluster.path(&node), stage.version(&node));
        loop {
            let found = self.worker.done(Operation::Exists { path: path.clone(), watch: false });
            let Answer::Exists(stat) = found else { panic!() };
            if stat.is_some_and(|stat| stat.version == wanted) {
                return;
            }
            let (slot, beat) = (slot.clone(), beat.clone());
            let beaten = self
                .worker
                .tree(&self.cluster, |tree| async move { tree.set_worker_beat(&topology(), &slot, &beat).await });
            assert_eq!(beaten, Ok(()));
        }
    }

    /// A worker ends in good order and takes its heartbeat with it.
    fn end_worker(&mut self, port: u16) {
        let ended = self.worker.tree(&self.cluster, |tree| async move {
            let supervisor = name("4be0d7ae-239e-41c3-92a6-dc234ddd1267-127.0.0.1");
            tree.remove_worker_beat(&topology(), &Slot { supervisor, port }).await
        });
        assert_eq!(ended, Ok(()));
    }

    /// Asserts that the tree is Storm's, but for what is declared. What is gone in Storm and stays here is `more`.
    fn compare(&mut self, file: &str, stage: &Stage, more: &BTreeMap<Node, Seen>) {
        let (control, session) = (&mut self.nimbus.control, self.nimbus.session);
        let mut ours = seen(&tree::dump(control, session, &root(), LIMIT).unwrap());
        let mut storms = seen(&stage.0);
        for (node, seen) in &mut storms {
            declared(node, seen, self.assignment_version);
        }
        storms.extend(more.clone());
        for (node, seen) in ours.iter_mut().filter(|(node, _)| is_on_a_timer(node)) {
            assert!(storms.contains_key(node), "{file}: {node:?} is not there in Storm");
            seen.version = storms[node].version;
            if let (Node::LastError { .. }, Some(fields)) = (node, seen.holds.as_object_mut()) {
                // It was recorded a moment after the others, and is of a later error.
                for field in ["error", "error_time_secs"] {
                    fields[field] = storms[node].holds[field].clone();
                }
            }
        }
        let differing = tree::differing(&ours, &storms);
        assert!(differing.is_empty(), "{file}: ours and Storm's differ in {differing:#?}");
    }
}

fn address() -> NimbusAddress {
    NimbusAddress::new("127.0.0.1", 6627, 0).unwrap()
}

fn last_error(component: &ComponentName) -> Node {
    let last_error = ringstorm_records::znode::LastError(component.clone());
    Node::LastError { topology: topology(), last_error }
}

pub(crate) fn a_tree_in_the_same_situation_is_storms<W: World>(world: &W) {
    let nothing = BTreeMap::new();
    let read = |file: &'static str| (file, read(file));
    let (file, stage) = read("00-no-topology");
    let mut life = Life::begin(world, &stage);
    life.compare(file, &stage, &nothing);
    let (file, stage) = read("01-submitted");
    life.submit(&stage);
    life.beat(&stage);
    life.compare(file, &stage, &nothing);
    // Each: how often the base is written, and whether the topology is assigned anew.
    for (file, bases, is_assigned) in [
        ("02-running", 0, false),
        ("06-inactive", 1, false),
        ("08-log-level", 1, false),
        ("09-rebalancing", 1, false),
        ("10-rebalanced", 2, true),
        ("12-killed", 1, false),
    ] {
        let stage = read(file).1;
        life.base(&stage, bases);
        if is_assigned {
            life.assign(&stage);
            life.end_worker(6700);
            life.end_worker(6701);
        }
        if file == "08-log-level" {
            life.set_log_config(&stage);
        }
        life.beat(&stage);
        life.work(&stage);
        life.compare(file, &stage, &nothing);
    }
    let killed = read("12-killed").1;
    let (file, stage) = read("13-gone");
    life.remove_topology();
    life.beat(&stage);
    // The errors of the workers that are gone: Storm loses them.
    let kept = killed.0.iter().filter(|(node, _)| matches!(node, Node::Error { .. }));
    let kept = kept.map(|(node, (_, seen))| {
        let mut seen = seen.clone();
        declared(node, &mut seen, 0);
        (node.clone(), seen)
    });
    life.compare(file, &stage, &kept.collect());
    // The clean-up leaves an idle cluster, in which Storm's folder of blobs' numbers stays.
    life.clean_up();
    let idle = read("00-no-topology").1;
    let numbers = stage.0.iter().filter(|(node, _)| matches!(node, Node::BlobSequences {}));
    let numbers = numbers.map(|(node, (_, seen))| (node.clone(), seen.clone())).collect();
    life.beat(&idle);
    life.compare("00-no-topology", &idle, &numbers);
}
