//! What rounds say with the tree.

use std::collections::BTreeSet;

use ringstorm_control::time::Moment;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{Assignment, StormBase, SupervisorInfo};
#[cfg(feature = "planted-bugs")]
use ringstorm_records::znode::Node;
use ringstorm_records::znode::NodeName;
use ringstorm_round::{Beat, Write};
use ringstorm_store::cluster::{Leadership, Listing, Tree, Trouble};

use super::view::named;
use crate::nimbus::leadership::bases;
use crate::nimbus::requests::sync;
use crate::plants::Plants;

/// What was read for a round.
#[derive(Debug)]
pub(in crate::nimbus) struct RoundRead {
    pub(super) supervisors: Listing<(NodeName, SupervisorInfo)>,
    pub(super) bases: Listing<(NodeName, StormBase)>,
    pub(super) assignments: Listing<(NodeName, Assignment)>,
    /// Of topologies whose beats were never read.
    pub(super) beats: Vec<(NodeName, Vec<Beat>)>,
    /// What is wrong with the node that says who leads.
    pub(super) leader_info_fault: Option<String>,
    pub(super) asked: Moment,
}

/// A reading of beats.
#[derive(Debug)]
pub(in crate::nimbus) struct Beating {
    pub(super) asked: Moment,
    /// `None` for a topology whose beats could not be read.
    pub(super) beats: Vec<(NodeName, Option<Vec<Beat>>)>,
    pub(super) trouble: Option<Trouble>,
}

/// Reads what a round needs, with watches; and the beats of topologies that are not known yet.
pub(super) async fn read(
    tree: &Tree,
    own: &NimbusAddress,
    known: &BTreeSet<NodeName>,
    asked: Moment,
) -> Result<RoundRead, Trouble> {
    let supervisors = tree.supervisors(true).await?;
    let bases = bases(tree, true).await?;
    let assignments = tree.assignments(true).await?;
    let mut all: BTreeSet<NodeName> = bases.found.iter().map(|(topology, _)| topology.clone()).collect();
    all.extend(assignments.found.iter().map(|(topology, _)| topology.clone()));
    all.extend(bases.skipped.iter().chain(&assignments.skipped).filter_map(named));
    let mut beats = Vec::new();
    for topology in all.difference(known) {
        beats.push((topology.clone(), beats_of(tree, topology).await?));
    }
    let leader_info_fault = tree.leader_info_fault(own).await?;
    Ok(RoundRead { supervisors, bases, assignments, beats, leader_info_fault, asked })
}

async fn beats_of(tree: &Tree, topology: &NodeName) -> Result<Vec<Beat>, Trouble> {
    let beats = tree.worker_beats(topology).await?.found;
    Ok(beats.iter().map(|(slot, beat, stat)| Beat::of(slot, beat, stat.created, stat.version)).collect())
}

/// Reads the beats of topologies, behind what was written before. After a trouble the rest is not read.
pub(super) async fn read_beats(tree: &Tree, topologies: Vec<NodeName>, asked: Moment) -> Beating {
    let mut trouble = sync(tree).await.err();
    let mut beats = Vec::with_capacity(topologies.len());
    for topology in topologies {
        let read = if trouble.is_some() {
            None
        } else {
            beats_of(tree, &topology).await.map_err(|of_reading| trouble = Some(of_reading)).ok()
        };
        beats.push((topology, read));
    }
    Beating { asked, beats, trouble }
}

/// Writes assignments in their order, until one does not succeed.
pub(super) async fn write_all(
    tree: &Tree,
    leader: &Leadership,
    writes: Vec<Write>,
    plants: Plants,
) -> Result<(), Trouble> {
    for Write { topology, assignment } in writes {
        #[cfg(feature = "planted-bugs")]
        if plants.unfenced_assignment {
            write_unfenced(tree, &topology, &assignment).await?;
            continue;
        }
        tree.set_assignment(leader, &topology, &assignment).await?;
    }
    // Nothing is planted in a build that is used.
    let _ = plants;
    Ok(())
}

/// A planted fault: the write of a leader that does not ask whether it leads.
#[cfg(feature = "planted-bugs")]
async fn write_unfenced(tree: &Tree, topology: &NodeName, assignment: &Assignment) -> Result<(), Trouble> {
    use ringstorm_records::payload;
    use ringstorm_store::acl::Acl;
    use ringstorm_store::operation::{CreateMode, Operation};
    use ringstorm_store::outcome::{Condition, Outcome};

    let path = tree.path(&Node::Assignment { topology: topology.clone() });
    let data = payload::encode(assignment);
    let mut outcome = tree.asker().ask(Operation::set(path.clone(), data.clone())).await;
    if outcome.condition() == Some(&Condition::NoNode) {
        let create = Operation::create(path.clone(), data, CreateMode::Persistent, [Acl::anyone()].into());
        outcome = tree.asker().ask(create).await;
    }
    match outcome {
        Outcome::Done(_) => Ok(()),
        Outcome::Failed(failure) => Err(Trouble::Failed { path, condition: failure.condition }),
        Outcome::Unknown(doubt) => Err(Trouble::Unknown { path, doubt }),
    }
}
