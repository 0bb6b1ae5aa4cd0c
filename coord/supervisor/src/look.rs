//! A fresh look at the assignments, as a conversation with the tree.
//!
//! It is behind everything that was written before it began. Only what changed since the last look is read, by the stats
//! of nodes. Of topologies that have lost their assignment the base is read, too: its existence is the topology's.
//! Invariants: it gives everything or a trouble. Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::payload;
use ringstorm_records::records::{Assignment, StormBase, TopologyStatus};
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::{Reading, Skipped, Tree, Trouble};
use ringstorm_store::operation::{Answer, Operation, Stat};
use ringstorm_store::outcome::{Condition, Doubt, Outcome};
use ringstorm_store::path::ZnodePath;

/// How many operations are asked for at once.
const ASKED_AT_ONCE: usize = 1000;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Look {
    /// Whether the folder of the assignments is there. Without it nothing was found out.
    pub(crate) has_folder: bool,
    /// The topologies that have an assignment, readable or not.
    pub(crate) listed: BTreeSet<NodeName>,
    /// Assignments that changed since the last look, or why one cannot be read.
    pub(crate) changed: BTreeMap<NodeName, (Stat, Result<Assignment, String>)>,
    /// Nodes that are no assignments.
    pub(crate) skipped: Vec<Skipped>,
    /// Of the topologies that were asked for and have no assignment: whether they live by their base.
    pub(crate) unassigned: BTreeMap<NodeName, Base>,
}

/// What a topology's base says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// There is none.
    Absent,
    /// The topology was killed.
    Killed,
    /// The topology lives, or it cannot be told.
    Lives,
}

/// Looks. `known` are the assignments that were read, `cared_for` the topologies that have a part here.
pub(crate) async fn look(
    tree: Tree,
    known: BTreeMap<NodeName, Stat>,
    cared_for: BTreeSet<NodeName>,
) -> Result<Look, Trouble> {
    let folder = tree.path(&Node::Assignments {});
    done(&folder, tree.asker().ask(Operation::Sync { path: folder.clone() }).await)?;
    let listing = tree.assigned_topologies(true).await?;
    let has_folder = !listing.found.is_empty() || stat(&tree, &folder).await?.is_some();
    let mut look = Look {
        has_folder,
        listed: listing.found.into_iter().collect(),
        changed: BTreeMap::new(),
        skipped: listing.skipped,
        unassigned: BTreeMap::new(),
    };

    let names: Vec<_> = look.listed.iter().cloned().collect();
    let exists = |path| Operation::Exists { path, watch: true };
    let mut changed = Vec::new();
    for (name, path, answer) in ask(&tree, names, exists).await? {
        match answer {
            Some(Answer::Exists(Some(stat))) if known.get(&name) == Some(&stat) => {}
            Some(Answer::Exists(Some(_))) => changed.push(name),
            Some(Answer::Exists(None)) | None => drop(look.listed.remove(&name)),
            Some(other) => return Err(odd(&path, &other)),
        }
    }
    // Its watch was armed before, so that a change in between is told.
    let get = |path| Operation::Get { path, watch: false };
    for (name, path, answer) in ask(&tree, changed, get).await? {
        match answer {
            Some(Answer::Data { data, stat }) => {
                let read = payload::decode(&data).map_err(|error| error.to_string());
                look.changed.insert(name, (stat, read));
            }
            None => drop(look.listed.remove(&name)),
            Some(other) => return Err(odd(&path, &other)),
        }
    }

    if look.has_folder {
        for name in cared_for.difference(&look.listed.clone()) {
            let base = match tree.storm_base(name, false).await? {
                Reading::Absent => Base::Absent,
                Reading::Found { value: StormBase { status: TopologyStatus::Killed, .. }, .. } => Base::Killed,
                Reading::Found { .. } | Reading::Garbage { .. } => Base::Lives,
            };
            look.unassigned.insert(name.clone(), base);
        }
    }
    Ok(look)
}

/// Asks the same of several assignments; `None` for one that is not there.
async fn ask(
    tree: &Tree,
    names: Vec<NodeName>,
    operation: impl Fn(ZnodePath) -> Operation,
) -> Result<Vec<(NodeName, ZnodePath, Option<Answer>)>, Trouble> {
    let mut answers = Vec::with_capacity(names.len());
    for names in names.chunks(ASKED_AT_ONCE) {
        let path = |name: &NodeName| tree.path(&Node::Assignment { topology: name.clone() });
        let paths: Vec<_> = names.iter().map(path).collect();
        let outcomes = tree.asker().ask_all(paths.iter().cloned().map(&operation).collect()).await;
        for ((name, path), outcome) in names.iter().zip(paths).zip(outcomes) {
            let answer = match outcome {
                outcome if outcome.condition() == Some(&Condition::NoNode) => None,
                outcome => Some(done(&path, outcome)?),
            };
            answers.push((name.clone(), path, answer));
        }
    }
    Ok(answers)
}

async fn stat(tree: &Tree, path: &ZnodePath) -> Result<Option<Stat>, Trouble> {
    match done(path, tree.asker().ask(Operation::Exists { path: path.clone(), watch: false }).await)? {
        Answer::Exists(stat) => Ok(stat),
        other => Err(odd(path, &other)),
    }
}

fn done(path: &ZnodePath, outcome: Outcome) -> Result<Answer, Trouble> {
    match outcome {
        Outcome::Done(answer) => Ok(answer),
        Outcome::Failed(failure) => Err(Trouble::Failed { path: path.clone(), condition: failure.condition }),
        Outcome::Unknown(doubt) => Err(Trouble::Unknown { path: path.clone(), doubt }),
    }
}

/// An answer of another kind than was asked for, which no store gives.
fn odd(path: &ZnodePath, answer: &Answer) -> Trouble {
    let doubt = Doubt::Unreadable(format!("an answer of another kind came: {answer:?}"));
    Trouble::Unknown { path: path.clone(), doubt }
}
