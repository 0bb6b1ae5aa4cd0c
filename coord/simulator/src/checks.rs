//! The laws that hold at every step, whatever happens.
//!
//! Each law is a module: what it looks at, and the words in which a breach of it is told. Invariant: a law only looks;
//! whether it is checked changes nothing in a run. Threading: plain data. Errors: a [`Violation`] ends the run; it is a
//! fault of a machine, of the store, or of the law itself.

pub mod cleaning;
pub mod generations;
pub mod incarnations;
pub mod leadership;
pub mod paths;
pub mod slots;
pub mod transitions;

use std::collections::BTreeMap;

use ringstorm_records::payload;
use ringstorm_records::records::{Assignment, StormBase};
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::path::ZnodePath;

use crate::actor::Role;

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law}: {message}")]
pub struct Violation {
    /// Which law.
    pub law: &'static str,
    /// Who broke it, and how.
    pub message: String,
}

impl Violation {
    /// A law that was broken.
    pub fn new(law: &'static str, message: impl Into<String>) -> Self {
        Self { law, message: message.into() }
    }
}

/// A node that a process changed.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Who did it.
    pub who: &'a str,
    /// What that is.
    pub role: Role,
    /// Where.
    pub path: &'a ZnodePath,
    /// What that is, if the tree has such a node.
    pub node: Option<&'a Node>,
    /// What it held; `None` if it was not there.
    pub before: Option<&'a [u8]>,
    /// What it holds; `None` if it is no more.
    pub after: Option<&'a [u8]>,
    /// Whether the session that did it had the lowest candidate's node just before.
    pub is_leader: bool,
}

/// What the tree says of topologies, decoded.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    /// What nimbus knows of each topology, as far as it can be read.
    pub bases: BTreeMap<NodeName, StormBase>,
    /// Where each topology runs, as far as it can be read.
    pub assignments: BTreeMap<NodeName, Assignment>,
}

impl Mirror {
    /// Takes a change of a node.
    pub fn take(&mut self, node: &Node, after: Option<&[u8]>) {
        match node {
            Node::Storm { topology } => put(&mut self.bases, topology, after.and_then(|it| payload::decode(it).ok())),
            Node::Assignment { topology } => {
                put(&mut self.assignments, topology, after.and_then(|it| payload::decode(it).ok()));
            }
            _ => {}
        }
    }
}

fn put<T>(map: &mut BTreeMap<NodeName, T>, key: &NodeName, value: Option<T>) {
    match value {
        Some(value) => {
            map.insert(key.clone(), value);
        }
        None => {
            map.remove(key);
        }
    }
}

/// Looks at a change that a process made. `mirror` is the tree before it.
///
/// # Errors
/// The law that was broken.
pub fn before(mirror: &Mirror, seen: Seen<'_>) -> Result<(), Violation> {
    paths::check(seen)?;
    leadership::check(seen)?;
    transitions::check(mirror, seen)?;
    cleaning::check(mirror, seen)
}

/// Looks at the tree after a change.
///
/// # Errors
/// The law that was broken.
pub fn after(mirror: &Mirror, seen: Seen<'_>) -> Result<(), Violation> {
    match seen.node {
        Some(Node::Assignment { topology }) => slots::check(mirror, topology, seen.who),
        _ => Ok(()),
    }
}
