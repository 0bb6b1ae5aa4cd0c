//! The methods of nimbus that only look.
//!
//! [`Reads::ask`] makes a method a conversation with the tree that ends with its answer. Each begins by catching up, so
//! that whoever has changed something and looks then sees it, whichever member of the ensemble is asked. Any nimbus may
//! answer; only `getSupervisorAssignments` is for the leader alone, which its caller looks after.
//!
//! What a conversation needs besides the tree comes from [`Local`], which is asked in between. Threading: a conversation
//! belongs to whoever drives it. Errors: [`NoAnswer`]; one with an exception that the method does not declare goes to the
//! client as an internal error, as every other.

mod cluster;
mod topology;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;

use ringstorm_lifecycle::conf::Conf;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_records::nimbus::Method;
use ringstorm_records::records::NimbusSummary;
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::{Cluster, Reading, Skipped, Tree};
use ringstorm_store::procedure::Procedure;

use crate::answer::{Answer, NoAnswer};
use crate::definition::Definition;
use crate::gather::{self, Topology};
use crate::history::PastTopology;
use crate::placing::{Holding, Lack, Room, lack, words};
use crate::topologies::Definitions;

/// What this nimbus has on its disk.
pub trait Local: Send + Sync {
    /// The definition of a topology, from its blobs `stormcode.ser` and `stormconf.ser`; `None` where they are not here.
    /// It is asked for with each question, so that it should be kept until a blob changes.
    ///
    /// # Errors
    /// What is here cannot be used, in words.
    fn definition(&self, topology: &str) -> Result<Option<Arc<Definition>>, String>;

    /// Topologies that were killed, as far as this nimbus has noted them.
    fn past_topologies(&self) -> Vec<PastTopology> {
        Vec::new()
    }

    /// The groups that a user is in, as far as this host knows.
    fn groups_of(&self, user: &str) -> BTreeSet<String> {
        let _ = user;
        BTreeSet::new()
    }
}

/// A method that only looks.
pub trait Read: Method + Send + 'static {
    /// The conversation that answers it.
    fn answer(self, asking: Asking) -> impl Future<Output = Result<Answer<Self::Success>, NoAnswer>> + Send + 'static;
}

/// Who answers methods that only look.
#[derive(Clone)]
pub struct Reads {
    cluster: Cluster,
    daemon: Arc<Conf>,
    local: Arc<dyn Local>,
}

/// What answers one method.
#[derive(Clone)]
pub struct Asking {
    tree: Tree,
    daemon: Arc<Conf>,
    local: Arc<dyn Local>,
    now_secs: i32,
}

impl Reads {
    /// For a tree, with the configuration of this daemon and what it has on its disk.
    pub fn new(cluster: Cluster, daemon: Arc<Conf>, local: Arc<dyn Local>) -> Self {
        Self { cluster, daemon, local }
    }

    /// The conversation that answers a method at this second since 1970.
    pub fn ask<M: Read>(&self, method: M, now_secs: i32) -> Procedure<Result<Answer<M::Success>, NoAnswer>> {
        let (daemon, local) = (Arc::clone(&self.daemon), Arc::clone(&self.local));
        self.cluster.procedure(move |tree| method.answer(Asking { tree, daemon, local, now_secs }))
    }
}

impl Asking {
    /// The tree, with everything in it that was written before the question.
    async fn fresh(&self) -> Result<&Tree, NoAnswer> {
        self.tree.catch_up().await?;
        Ok(&self.tree)
    }

    /// The definition of a topology, if it is here.
    fn definition_here(&self, topology: &str) -> Result<Option<Arc<Definition>>, NoAnswer> {
        let bad = |why| NoAnswer::BadCode { topology: topology.to_owned(), why };
        self.local.definition(topology).map_err(bad)
    }

    /// The definition of a topology that lives.
    async fn definition(&self, topology: &NodeName) -> Result<Arc<Definition>, NoAnswer> {
        match self.definition_here(topology.as_str())? {
            Some(definition) => Ok(definition),
            None => Err(self.no_definition(topology).await?),
        }
    }

    /// Why the definition of a topology that lives is not here: another nimbus holds it, or may yet come with it, or none
    /// does.
    async fn no_definition(&self, topology: &NodeName) -> Result<NoAnswer, NoAnswer> {
        let key = NodeName::new(&TopologyBlob::Code.key(topology.as_str())).ok();
        let nodes: Vec<Node> = key.map(|key| Node::Blob { key }).into_iter().collect();
        let is_lost = self.tree.child_counts(&nodes).await?.contains(&0) && self.holding().await? == Holding::Known;
        let id = topology.as_str().to_owned();
        Ok(if is_lost { NoAnswer::CodeIsLost(id) } else { NoAnswer::NoCode(id) })
    }

    /// The definition of a topology that need not be in the tree any more. Only when it is not here does the tree say
    /// whether it lives.
    async fn definition_alone(&self, topology: &str) -> Result<Arc<Definition>, NoAnswer> {
        if let Some(definition) = self.definition_here(topology)? {
            return Ok(definition);
        }
        let topology = self.living(topology).await?;
        Err(self.no_definition(&topology).await?)
    }

    /// The name of the node of a topology that is in the tree.
    async fn living(&self, topology: &str) -> Result<NodeName, NoAnswer> {
        let Ok(name) = NodeName::new(topology) else { return Err(NoAnswer::NotAlive(topology.to_owned())) };
        match self.fresh().await?.storm_base(&name, false).await? {
            Reading::Absent => Err(NoAnswer::NotAlive(topology.to_owned())),
            Reading::Found { .. } | Reading::Garbage { .. } => Ok(name),
        }
    }

    /// The definitions of these topologies, as far as they are here. One that cannot be used is named.
    fn definitions<'a>(&self, topologies: impl Iterator<Item = &'a NodeName>) -> Answer<Definitions> {
        let mut found = Answer::whole(Definitions::new());
        for id in topologies {
            match self.local.definition(id.as_str()) {
                Ok(Some(definition)) => {
                    found.value.insert(id.as_str().to_owned(), definition);
                }
                Ok(None) => {}
                Err(why) => found.skipped.extend(self.code_path(id).map(|path| Skipped { path, why })),
            }
        }
        found
    }

    fn definitions_of(&self, topologies: &[Topology]) -> Answer<Definitions> {
        self.definitions(topologies.iter().map(|topology| &topology.id))
    }

    /// What these topologies lack, in words, by id. Supervisors and all assignments are read only when one lacks something.
    async fn lacking(&self, topologies: &[Topology], definitions: &Definitions) -> Result<Words, NoAnswer> {
        let lack = |topology: &Topology| {
            let definition = definitions.get(topology.id.as_str()).map(|definition| &**definition);
            Some((topology.id.as_str().to_owned(), lack(topology, definition)?))
        };
        let lacks: Vec<(String, Lack)> = topologies.iter().filter_map(lack).collect();
        if lacks.is_empty() {
            return Ok(Words::new());
        }
        let supervisors = gather::supervisors(&self.tree).await?.value;
        let assignments = gather::assignments(&self.tree).await?.value;
        let room = Room::of(&supervisors, assignments.values());
        let lacks_code = lacks.iter().any(|(_, lack)| *lack == Lack::Code);
        let holding = if lacks_code { self.holding().await? } else { Holding::Known };
        Ok(lacks.into_iter().map(|(id, lack)| (id, words(&lack, room, &holding))).collect())
    }

    /// Whether all nimbuses have said which code they hold.
    async fn holding(&self) -> Result<Holding, NoAnswer> {
        let nimbuses = gather::nimbuses(&self.tree).await?.value;
        let living = self.tree.records::<NimbusSummary>(&Node::Nimbuses {}, false).await?.found;
        let newest_ms = living.iter().map(|(_, _, stat)| stat.created_ms).max();
        Ok(Holding::of(&nimbuses, newest_ms, i64::from(self.now_secs) * 1000))
    }

    fn code_path(&self, topology: &NodeName) -> Option<ringstorm_store::path::ZnodePath> {
        let key = NodeName::new(&TopologyBlob::Code.key(topology.as_str())).ok()?;
        Some(self.tree.path(&Node::Blob { key }))
    }
}

/// Words by topology id.
type Words = BTreeMap<String, String>;

/// An argument that has to be there.
fn needed<M: Method, T>(value: Option<T>, argument: &'static str) -> Result<T, NoAnswer> {
    value.ok_or(NoAnswer::Missing { method: M::NAME, argument })
}
