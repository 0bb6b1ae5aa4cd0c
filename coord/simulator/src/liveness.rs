//! What must come true after everything has healed, and soon.
//!
//! Looks at the tree, at disks and at processes from outside, as nobody in the world can. Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_lifecycle::executors::Tasks;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_lifecycle::system::system_topology;
use ringstorm_nimbus::interface::Content;
use ringstorm_records::records::{Assignment, StormBase, TopologyStatus};
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::path::ZnodePath;

use crate::actor::Role;
use crate::world::World;
use crate::world::process::ProcessId;

/// How many nimbuses hold the code of a topology at least, while so many live.
const REPLICATION: usize = 2;

/// The first thing that is not as it should be; `None` when all is well.
pub fn unmet(world: &World) -> Option<String> {
    leader(world)
        .or_else(|| world.open_wish())
        .or_else(|| announced(world))
        .or_else(|| topologies(world))
        .or_else(|| strangers(world))
        .or_else(|| remains(world))
}

/// The first topology that does not run as it should, or worker that should not, wherever the code is; `None` when all do.
pub fn not_running(world: &World) -> Option<String> {
    let unmet = world.mirror.bases.iter().find_map(|(topology, base)| match world.mirror.assignments.get(topology) {
        None => Some(format!("{topology} has no assignment")),
        Some(assignment) => {
            assigned(world, topology, base, assignment).or_else(|| running(world, topology, base, assignment))
        }
    });
    unmet.or_else(|| strangers(world))
}

fn leader(world: &World) -> Option<String> {
    let Some(session) = world.leading_session() else { return Some("nobody leads".to_owned()) };
    let process = world.zookeeper.process_of(session).map(|id| &world.processes[id.0]);
    if process.is_some_and(|process| process.link.session() == Some(session)) {
        return None;
    }
    Some("the lowest candidate belongs to nobody who lives".to_owned())
}

fn announced(world: &World) -> Option<String> {
    let down = world.processes.iter().find(|process| process.is_restarted && !process.is_up());
    if let Some(process) = down {
        return Some(format!("{} is down", process.name));
    }
    let supervisors = world.processes.iter().filter(|process| process.role == Role::Supervisor && process.is_up());
    for process in supervisors {
        let Some(id) = process.disk.local_state.supervisor.as_ref().and_then(|id| NodeName::new(id).ok()) else {
            return Some(format!("{} has no id", process.name));
        };
        let path = ZnodePath::of(&world.root, &Node::Supervisor { supervisor: id });
        let owner = world.zookeeper.ensemble.look(&path).and_then(|(_, stat)| stat.owner);
        if owner.is_none() || owner != process.link.session() {
            return Some(format!("{path} is not of the session of {}", process.name));
        }
    }
    None
}

fn topologies(world: &World) -> Option<String> {
    let slots: usize = world.slots;
    let wanted: usize = world.mirror.bases.values().map(|base| usize::try_from(base.num_workers).unwrap_or(0)).sum();
    for (topology, base) in &world.mirror.bases {
        // Nothing can be done for it but its end.
        if is_lost(world, topology) && base.status != TopologyStatus::Killed {
            continue;
        }
        if !matches!(base.status, TopologyStatus::Active | TopologyStatus::Inactive) {
            return Some(format!("{topology} is {:?}", base.status));
        }
        if let Some(unmet) = code(world, topology) {
            return Some(unmet);
        }
        let suffices = wanted <= slots;
        let Some(assignment) = world.mirror.assignments.get(topology) else {
            if suffices {
                return Some(format!("{topology} has no assignment"));
            }
            continue;
        };
        if suffices && let Some(unmet) = assigned(world, topology, base, assignment) {
            return Some(unmet);
        }
        if let Some(unmet) = running(world, topology, base, assignment) {
            return Some(unmet);
        }
    }
    None
}

/// Whether no disk has the code of a topology any more, which only happens when an older tree was brought back.
fn is_lost(world: &World, topology: &NodeName) -> bool {
    world.damage.is_any() && keys(topology).iter().any(|key| holders(world, key) == 0)
}

fn keys(topology: &NodeName) -> Vec<NodeName> {
    TopologyBlob::ALL.iter().filter_map(|blob| NodeName::new(&blob.key(topology.as_str())).ok()).collect()
}

fn holders(world: &World, key: &NodeName) -> usize {
    world.processes.iter().filter(|process| process.disk.blobs.contains_key(key)).count()
}

fn code(world: &World, topology: &NodeName) -> Option<String> {
    let nimbuses = world.processes.iter().filter(|process| process.role == Role::Nimbus).count();
    let needed = nimbuses.min(REPLICATION);
    let missing = keys(topology).into_iter().find(|key| holders(world, key) < needed)?;
    Some(format!("{} of {nimbuses} nimbuses hold {missing}", holders(world, &missing)))
}

/// How many executors a topology has: no component has more than it has tasks.
fn executors(world: &World, topology: &NodeName, base: &StormBase) -> Option<usize> {
    let blob = |blob: TopologyBlob| {
        let key = NodeName::new(&blob.key(topology.as_str())).ok()?;
        world.processes.iter().find_map(|process| process.disk.blobs.get(&key))
    };
    match (&blob(TopologyBlob::Code)?.content, &blob(TopologyBlob::Conf)?.content) {
        (Content::Code(code), Content::Conf(conf)) => {
            let tasks = Tasks::number(&system_topology(conf, code).ok()?).ok()?;
            Some(tasks.executors(base.component_executors.as_ref()?).len())
        }
        _ => None,
    }
}

fn assigned(world: &World, topology: &NodeName, base: &StormBase, assignment: &Assignment) -> Option<String> {
    let Some(wanted) = executors(world, topology, base) else { return Some(format!("{topology} has no code")) };
    let executors = assignment.executor_node_port.len();
    if wanted != executors {
        return Some(format!("{executors} of {wanted} executors of {topology} are assigned"));
    }
    let slots: BTreeSet<_> = assignment.executor_node_port.values().collect();
    let workers = usize::try_from(base.num_workers).unwrap_or(0).min(executors);
    (slots.len() != workers).then(|| format!("{topology} has {} of {workers} workers", slots.len()))
}

fn running(world: &World, topology: &NodeName, base: &StormBase, assignment: &Assignment) -> Option<String> {
    let mut slots: BTreeMap<(String, u16), usize> = BTreeMap::new();
    for slot in assignment.executor_node_port.values() {
        for port in &slot.port {
            *slots.entry((slot.node.clone(), u16::try_from(*port).unwrap_or(0))).or_default() += 1;
        }
    }
    for ((node, port), executors) in slots {
        let found = world
            .workers
            .iter()
            .find(|(_, worker)| worker.is_alive && worker.slot.supervisor.as_str() == node && worker.port == port);
        let Some((id, worker)) = found else { return Some(format!("nothing runs in {node}:{port}")) };
        let name = &world.processes[id.0].name;
        if worker.topology != topology.as_str() {
            return Some(format!("{name} runs {}, not {topology}", worker.topology));
        }
        let Some(own) = &worker.path.assignment else { return Some(format!("{name} has no assignment")) };
        if Some(own.version) != assignment.version {
            return Some(format!("{name} runs version {}, not {:?}", own.version, assignment.version));
        }
        let runs = own.workers.iter().find(|peer| peer.number == worker.number).map_or(0, |it| it.executors.len());
        if runs != executors {
            return Some(format!("{name} runs {runs} executors, not {executors}"));
        }
        if !worker.path.is_ready {
            return Some(format!("{name} is not connected to all of its peers"));
        }
        if worker.path.is_active != (base.status == TopologyStatus::Active) {
            return Some(format!("the spouts of {name} are not as {topology} is: {:?}", base.status));
        }
    }
    None
}

/// Workers that should not run.
fn strangers(world: &World) -> Option<String> {
    let alive = world.workers.iter().filter(|(_, worker)| worker.is_alive);
    for (ProcessId(index), worker) in alive {
        let assignment =
            NodeName::new(&worker.topology).ok().and_then(|topology| world.mirror.assignments.get(&topology));
        let is_assigned = assignment.is_some_and(|assignment| {
            assignment
                .executor_node_port
                .values()
                .any(|slot| slot.node == worker.slot.supervisor.as_str() && slot.port.contains(&i64::from(worker.port)))
        });
        if !is_assigned {
            return Some(format!("{} runs without an assignment", world.processes[*index].name));
        }
    }
    None
}

/// What is left of topologies that are gone.
fn remains(world: &World) -> Option<String> {
    for dumped in world.zookeeper.ensemble.dump() {
        let topology = match world.root.node(dumped.path.as_str()) {
            Some(
                Node::Assignment { topology }
                | Node::TopologyWorkerBeats { topology }
                | Node::TopologyErrors { topology }
                | Node::Credentials { topology }
                | Node::LogConfig { topology },
            ) => Some(topology),
            Some(Node::Blob { key } | Node::BlobSequence { key }) => crate::checks::cleaning::topology_of_blob(&key),
            _ => None,
        };
        if topology.is_some_and(|topology| !world.mirror.bases.contains_key(&topology)) {
            return Some(format!("{} is left of a topology that is gone", dumped.path));
        }
    }
    for process in &world.processes {
        let left = process.disk.blobs.keys().find(|key| {
            let topology = crate::checks::cleaning::topology_of_blob(key);
            topology.is_some_and(|topology| !world.mirror.bases.contains_key(&topology))
        });
        if let Some(key) = left {
            return Some(format!("{key} is left on the disk of {}", process.name));
        }
    }
    None
}
