//! Storm's cluster state: what its daemons keep in the tree, as conversations with it.
//!
//! A [`Cluster`] knows the root and who may do what. [`Cluster::procedure`] gives a [`Procedure`] whose body talks with
//! the [`Tree`]: one method for each thing that Storm's `IStormClusterState` does, and whatever a daemon makes of them.
//! Nodes are made as Storm makes them: kinds, data of folders, payloads, what is overwritten and what is made anew.
//!
//! **Fencing.** What only a leader may write takes a [`Leadership`], and goes in one transaction with a check that the
//! leader's own candidate node is there. That node is ephemeral, bears the lowest number, and no later one can get a
//! lower: so as long as it exists nobody else leads, and the ensemble itself refuses a write that comes after. An epoch
//! node, the other way to do it, would be one more node in a tree that is Storm's; a check leaves no trace at all. It
//! also holds where a session alone does not: after the leader stood down, after somebody deleted its node, and after an
//! older snapshot was restored.
//!
//! **Garbage.** What cannot be read is reported beside what can, and stays where it is. A read that failed is an error and
//! never looks like an empty answer.
//!
//! **Unknown outcomes** end a conversation as [`Trouble::Unknown`]. Every method may be called again after one, and comes
//! to the same tree.
//!
//! Threading: plain data. Errors: [`Trouble`].

mod assignments;
mod blobs;
mod election;
mod ephemerals;
mod errors;
mod folders;
mod heartbeats;
mod layout;
mod profiling;
mod reading;
mod topologies;
mod trouble;
mod writing;

pub use blobs::{BlobNumber, next_blob_number};
pub use election::{Candidacy, First, Leadership, Standing};
pub use ephemerals::Announced;
pub use errors::ERRORS_KEPT;
pub use layout::{FOLDERS, RootUse};
pub use reading::{Listing, Reading, Skipped};
pub use trouble::Trouble;

use std::future::Future;

use ringstorm_records::znode::{Node, Root};

use crate::acl::{Acl, Acls, Credential, Rights};
use crate::path::ZnodePath;
use crate::procedure::{Asker, Procedure};

/// Who may do what with the nodes that are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterAcls {
    /// With nodes of daemons.
    pub daemons: Acls,
    /// With nodes of a topology that its workers read.
    pub topology_read: Acls,
    /// With nodes of a topology that its workers write into.
    pub topology_write: Acls,
}

impl ClusterAcls {
    /// The same for all nodes.
    pub fn all(acls: Acls) -> Self {
        Self { daemons: acls.clone(), topology_read: acls.clone(), topology_write: acls }
    }

    /// Anyone may do anything, as in a cluster of Storm without security.
    pub fn open() -> Self {
        Self::all([Acl::anyone()].into())
    }

    /// Whoever makes a node may do anything with it, and a topology's workers what they need.
    pub fn of_creator(worker: Option<&Credential>) -> Self {
        let with_worker = |rights| {
            let worker = worker.map(|worker| Acl::digest(worker, rights));
            [Acl::creator()].into_iter().chain(worker).collect()
        };
        Self {
            daemons: [Acl::creator()].into(),
            topology_read: with_worker(Rights::READ),
            topology_write: with_worker(Rights::ALL),
        }
    }
}

/// A tree of Storm at its root.
#[derive(Clone, Debug)]
pub struct Cluster {
    root: Root,
    acls: ClusterAcls,
}

/// The tree, as the body of a procedure sees it.
#[derive(Clone)]
pub struct Tree {
    root: Root,
    acls: ClusterAcls,
    asker: Asker,
}

impl Cluster {
    /// The tree at a root.
    pub fn new(root: Root, acls: ClusterAcls) -> Self {
        Self { root, acls }
    }

    /// The same tree, with other rights for what is made: those of one topology.
    pub fn with_acls(&self, acls: ClusterAcls) -> Self {
        Self { root: self.root.clone(), acls }
    }

    /// Where it lies.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The path of a node.
    pub fn path(&self, node: &Node) -> ZnodePath {
        ZnodePath::of(&self.root, node)
    }

    /// A conversation with the tree.
    pub fn procedure<T, B>(&self, body: impl FnOnce(Tree) -> B) -> Procedure<T>
    where
        B: Future<Output = T> + Send + 'static,
    {
        let (root, acls) = (self.root.clone(), self.acls.clone());
        Procedure::new(|asker| body(Tree { root, acls, asker }))
    }
}

impl Tree {
    /// For whatever is not here.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// The path of a node.
    pub fn path(&self, node: &Node) -> ZnodePath {
        ZnodePath::of(&self.root, node)
    }
}
