//! What answers are made of, read from the tree.
//!
//! Each function reads just what a method needs. Lists of the cluster read bases and assignments and no beats at all, so
//! that their cost goes with topologies and not with executors; pages read the beats of the slots that they show. What is
//! read of many nodes is asked for at once.
//!
//! Invariants: nothing is written. A node that cannot be read is named in [`Gathered::skipped`] where others can stand
//! without it, and is a [`NoAnswer`] where the answer is about it; a node that is not there is neither. Errors:
//! [`NoAnswer::Tree`] when the tree could not be asked.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_lifecycle::id::{TopologyBlob, name_of};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{
    Assignment, ClusterWorkerHeartbeat, ErrorInfo, NimbusSummary, StormBase, SupervisorInfo,
};
use ringstorm_records::znode::{ComponentName, LastError, Node, NodeName, Slot};
use ringstorm_store::cluster::{First, Listing, Reading, Skipped, Tree};

use crate::answer::{Answer, NoAnswer};

/// What was read, and what could not be.
pub type Gathered<T> = Answer<T>;

/// A topology, as the tree has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Its id.
    pub id: NodeName,
    /// What nimbus knows of it.
    pub base: StormBase,
    /// Where it runs; `None` before its first round.
    pub assignment: Option<Assignment>,
    /// Why its assignment, which is there, cannot be read.
    pub assignment_fault: Option<String>,
    /// How many nimbuses hold its code.
    pub code_holders: usize,
}

/// Heartbeats of workers by slot.
pub type Beats = BTreeMap<Slot, ClusterWorkerHeartbeat>;

/// Errors of components, the newest first.
pub type Errors = BTreeMap<String, Vec<ErrorInfo>>;

/// Nimbuses that live, and the one that leads.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Nimbuses {
    /// Those that live, as they announced themselves.
    pub living: Vec<NimbusSummary>,
    /// Where the one that leads is reached, if one does.
    pub leader: Option<NimbusAddress>,
    /// Who is first in the queue and does not lead yet.
    pub gaining: Option<NimbusAddress>,
    /// Whose process has ended and is first in the queue all the same, until its session ends.
    pub ended: Option<NimbusAddress>,
}

/// The nimbuses.
///
/// # Errors
/// [`NoAnswer::Tree`], as for every function here.
pub async fn nimbuses(tree: &Tree) -> Result<Gathered<Nimbuses>, NoAnswer> {
    let Listing { found, mut skipped } = tree.nimbuses(false).await?;
    let queue = tree.queue().await?;
    skipped.extend(queue.skipped);
    let living = found.into_iter().map(|(_, summary)| summary).collect();
    let mut value = Nimbuses { living, ..Nimbuses::default() };
    if let Some((candidate, address)) = queue.found.into_iter().next() {
        let of = match tree.first_does(&candidate, &address).await? {
            First::Leads => &mut value.leader,
            First::Waits => &mut value.gaining,
            First::HasEnded => &mut value.ended,
        };
        *of = Some(address);
    }
    Ok(Gathered { value, skipped })
}

/// The supervisors that live, by id.
///
/// # Errors
/// [`NoAnswer::Tree`].
pub async fn supervisors(tree: &Tree) -> Result<Gathered<BTreeMap<NodeName, SupervisorInfo>>, NoAnswer> {
    let Listing { found, skipped } = tree.supervisors(false).await?;
    Ok(Gathered { value: found.into_iter().collect(), skipped })
}

/// All topologies, in the order of ids.
///
/// # Errors
/// [`NoAnswer::Tree`].
pub async fn topologies(tree: &Tree) -> Result<Gathered<Vec<Topology>>, NoAnswer> {
    let bases = tree.records::<StormBase>(&Node::Storms {}, false).await?;
    complete(tree, bases.map(|(node, base, _)| (node, base))).await
}

/// One topology.
///
/// # Errors
/// [`NoAnswer::NotAlive`] with the id where there is none; [`NoAnswer::Damaged`]; [`NoAnswer::Tree`].
pub async fn topology(tree: &Tree, id: &str) -> Result<Gathered<Topology>, NoAnswer> {
    let Ok(topology) = NodeName::new(id) else { return Err(NoAnswer::NotAlive(id.to_owned())) };
    let node = Node::Storm { topology };
    match tree.read::<StormBase>(&node, false).await? {
        Reading::Absent => Err(NoAnswer::NotAlive(id.to_owned())),
        Reading::Garbage { why, .. } => Err(NoAnswer::Damaged(Skipped { path: tree.path(&node), why })),
        Reading::Found { value, .. } => {
            let bases = Listing { found: vec![(node, value)], skipped: Vec::new() };
            let Gathered { mut value, skipped } = complete(tree, bases).await?;
            // A page without its workers would say that it does not run.
            if let Some(assignment) = skipped.into_iter().next() {
                return Err(NoAnswer::Damaged(assignment));
            }
            let topology = value.pop().ok_or_else(|| NoAnswer::NotAlive(id.to_owned()))?;
            Ok(Gathered::whole(topology))
        }
    }
}

/// The topologies that run something on one of these supervisors.
///
/// # Errors
/// [`NoAnswer::Tree`].
pub async fn topologies_on(tree: &Tree, supervisors: &[&str]) -> Result<Gathered<Vec<Topology>>, NoAnswer> {
    let assignments = tree.assignments(false).await?;
    let is_there = |(_, assignment): &(NodeName, Assignment)| {
        assignment.executor_node_port.values().any(|slot| supervisors.contains(&slot.node.as_str()))
    };
    let there = assignments.found.into_iter().filter(is_there);
    let nodes = there.map(|(topology, _)| Node::Storm { topology }).collect();
    let bases = tree.records_of::<StormBase>(nodes).await?;
    let mut gathered = complete(tree, bases.map(|(node, base, _)| (node, base))).await?;
    gathered.skipped.extend(assignments.skipped);
    Ok(gathered)
}

/// The id of the topology with a name, whatever it is doing. Ids begin with names, so that one base is read and not all.
///
/// # Errors
/// [`NoAnswer::NotAlive`], in Storm's words; [`NoAnswer::Damaged`] where the one that it would be cannot be read;
/// [`NoAnswer::Tree`].
pub async fn id_of(tree: &Tree, name: &str) -> Result<String, NoAnswer> {
    let ids = tree.topologies(false).await?.found;
    let candidates = ids.into_iter().filter(|id| name_of(id.as_str()).is_none_or(|of| of == name));
    let nodes = candidates.map(|topology| Node::Storm { topology }).collect();
    let bases = tree.records_of::<StormBase>(nodes).await?;
    let found = bases.found.into_iter().find(|(_, base, _)| base.name == name);
    // What is no id and cannot be read has no name that anybody could ask for.
    let is_it = |node: &Skipped| name_of(node.path.name()) == Some(name);
    match (found, bases.skipped.into_iter().find(is_it)) {
        (Some((Node::Storm { topology }, _, _)), _) => Ok(topology.as_str().to_owned()),
        (_, Some(skipped)) => Err(NoAnswer::Damaged(skipped)),
        _ => Err(NoAnswer::NotAlive(format!("{name} is not alive"))),
    }
}

/// Assignments and holders of code for these bases.
async fn complete(tree: &Tree, bases: Listing<(Node, StormBase)>) -> Result<Gathered<Vec<Topology>>, NoAnswer> {
    let mut skipped = bases.skipped;
    let mut found = Vec::new();
    for (node, base) in bases.found {
        if let Node::Storm { topology } = node {
            found.push((topology, base));
        }
    }
    let nodes = found.iter().map(|(id, _)| Node::Assignment { topology: id.clone() }).collect();
    let assignments = tree.records_of::<Assignment>(nodes).await?;
    let mut faults: BTreeMap<String, String> =
        assignments.skipped.iter().map(|it| (it.path.name().to_owned(), it.why.clone())).collect();
    skipped.extend(assignments.skipped);
    let mut by_id: BTreeMap<Node, Assignment> =
        assignments.found.into_iter().map(|(node, assignment, _)| (node, assignment)).collect();
    let mut keys = Vec::new();
    for (id, _) in &found {
        let key = NodeName::new(&TopologyBlob::Code.key(id.as_str()));
        keys.push(Node::Blob { key: key.expect("an id that is a name is one with a suffix of letters, too") });
    }
    let holders = tree.child_counts(&keys).await?;
    let topology = |((id, base), code_holders): ((NodeName, StormBase), usize)| {
        let assignment = by_id.remove(&Node::Assignment { topology: id.clone() });
        let assignment_fault = faults.remove(id.as_str());
        Topology { id, base, assignment, assignment_fault, code_holders }
    };
    Ok(Gathered { value: found.into_iter().zip(holders).map(topology).collect(), skipped })
}

/// All assignments, by topology id.
///
/// # Errors
/// [`NoAnswer::Tree`].
pub async fn assignments(tree: &Tree) -> Result<Gathered<BTreeMap<NodeName, Assignment>>, NoAnswer> {
    let Listing { found, skipped } = tree.assignments(false).await?;
    Ok(Gathered { value: found.into_iter().collect(), skipped })
}

/// The heartbeats in these slots of a topology, of workers that have beaten.
///
/// # Errors
/// [`NoAnswer::Tree`].
pub async fn beats(tree: &Tree, topology: &NodeName, slots: BTreeSet<Slot>) -> Result<Gathered<Beats>, NoAnswer> {
    let nodes = slots.into_iter().map(|slot| Node::WorkerBeat { topology: topology.clone(), slot }).collect();
    let Listing { found, skipped } = tree.records_of::<ClusterWorkerHeartbeat>(nodes).await?;
    let beat = |(node, beat, _)| match node {
        Node::WorkerBeat { slot, .. } => Some((slot, beat)),
        _ => None,
    };
    Ok(Gathered { value: found.into_iter().filter_map(beat).collect(), skipped })
}

/// All errors of these components that are kept; an empty list for one without any.
///
/// # Errors
/// [`NoAnswer::Tree`].
pub async fn errors(tree: &Tree, topology: &NodeName, components: &[&str]) -> Result<Gathered<Errors>, NoAnswer> {
    let with_errors = tree.components_with_errors(topology).await?;
    let mut gathered = Gathered { value: Errors::new(), skipped: with_errors.skipped };
    let with_errors: BTreeSet<ComponentName> = with_errors.found.into_iter().collect();
    for component in components {
        let mut list = Vec::new();
        if let Ok(name) = ComponentName::new(component)
            && with_errors.contains(&name)
        {
            let listing = tree.errors(topology, &name).await?;
            gathered.skipped.extend(listing.skipped);
            list = listing.found;
        }
        gathered.value.insert((*component).to_owned(), list);
    }
    Ok(gathered)
}

/// The last error of each of these components that had one.
///
/// # Errors
/// [`NoAnswer::Tree`].
pub async fn last_errors(
    tree: &Tree,
    topology: &NodeName,
    components: &[&str],
) -> Result<Gathered<BTreeMap<String, ErrorInfo>>, NoAnswer> {
    let names = components.iter().filter_map(|component| ComponentName::new(component).ok());
    let node = |name| Node::LastError { topology: topology.clone(), last_error: LastError(name) };
    let Listing { found, skipped } = tree.records_of::<ErrorInfo>(names.map(node).collect()).await?;
    let error = |(node, error, _)| match node {
        Node::LastError { last_error: LastError(component), .. } => Some((component.as_str().to_owned(), error)),
        _ => None,
    };
    Ok(Gathered { value: found.into_iter().filter_map(error).collect(), skipped })
}
