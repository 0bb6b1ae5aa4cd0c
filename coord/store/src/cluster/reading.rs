//! Reading nodes: what is there, what is not, and what cannot be read.

use ringstorm_records::payload::{self, PayloadError};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::Node;

use super::Tree;
use super::trouble::{Trouble, answer};
use crate::operation::{Answer, Operation, Stat};
use crate::outcome::{Condition, Outcome};
use crate::path::ZnodePath;

/// How many operations are asked for at once. Stores bound how many may be under way, and several conversations share
/// that.
const ASKED_AT_ONCE: usize = 1000;

/// How often a read starts anew when the node comes and goes meanwhile.
pub(super) const TRIES_MAX: usize = 8;

/// What was found of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading<T> {
    /// It is not there.
    Absent,
    /// It is there and cannot be read.
    Garbage {
        /// Why.
        why: String,
        /// The node.
        stat: Stat,
    },
    /// It is there.
    Found {
        /// What it holds.
        value: T,
        /// The node.
        stat: Stat,
    },
}

/// A node that was passed over, since it cannot be read. It stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it lies.
    pub path: ZnodePath,
    /// What is wrong with it.
    pub why: String,
}

/// What was found of several nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// Those that could be read.
    pub found: Vec<T>,
    /// Those that could not.
    pub skipped: Vec<Skipped>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { found: Vec::new(), skipped: Vec::new() }
    }
}

impl<T> Reading<T> {
    /// What it holds, if it can be read.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Found { value, .. } => Some(value),
            Self::Absent | Self::Garbage { .. } => None,
        }
    }

    /// Whether the node is there, readable or not.
    pub fn is_there(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    pub(super) fn decode(
        found: Option<(Vec<u8>, Stat)>,
        decode: impl FnOnce(&[u8]) -> Result<T, PayloadError>,
    ) -> Self {
        match found {
            None => Self::Absent,
            Some((data, stat)) => match decode(&data) {
                Ok(value) => Self::Found { value, stat },
                Err(why) => Self::Garbage { why: why.to_string(), stat },
            },
        }
    }
}

impl<T> Listing<T> {
    /// The same with other values.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Listing<U> {
        Listing { found: self.found.into_iter().map(change).collect(), skipped: self.skipped }
    }

    fn skip(&mut self, path: ZnodePath, why: impl Into<String>) {
        self.skipped.push(Skipped { path, why: why.into() });
    }
}

impl Tree {
    /// Reads a record. With `watch` the next change is told, also that the node comes to be.
    ///
    /// # Errors
    /// [`Trouble`], as for every method here.
    pub async fn read<R: Record>(&self, node: &Node, watch: bool) -> Result<Reading<R>, Trouble> {
        let found = self.get(&self.path(node), watch).await?;
        Ok(Reading::decode(found, payload::decode))
    }

    /// Reads a record behind everything that was written before, by whomever.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn read_fresh<R: Record>(&self, node: &Node) -> Result<Reading<R>, Trouble> {
        let path = self.path(node);
        let operations =
            vec![Operation::Sync { path: path.clone() }, Operation::Get { path: path.clone(), watch: false }];
        let mut outcomes = self.asker.ask_all(operations).await.into_iter();
        let (Some(synced), Some(read)) = (outcomes.next(), outcomes.next()) else { return Ok(Reading::Absent) };
        answer(&path, synced)?;
        Ok(Reading::decode(data(&path, answer(&path, read))?, payload::decode))
    }

    /// Whatever was written before, by whomever, is seen by what is read in this session afterwards.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn catch_up(&self) -> Result<(), Trouble> {
        let path = self.path(&Node::Root {});
        answer(&path, self.asker.ask(Operation::Sync { path: path.clone() }).await).map(drop)
    }

    /// The nodes below one, as far as the tree knows such nodes.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn nodes(&self, below: &Node, watch: bool) -> Result<Listing<Node>, Trouble> {
        let path = self.path(below);
        let names = self.children(&path, watch).await?.unwrap_or_default();
        let mut listing = Listing::default();
        for name in names {
            let child = path.joined(&name);
            match self.root.node(child.as_str()) {
                Some(node) => listing.found.push(node),
                None => listing.skip(child, "the tree has no such node"),
            }
        }
        Ok(listing)
    }

    /// The records of the nodes below one.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn records<R: Record>(&self, below: &Node, watch: bool) -> Result<Listing<(Node, R, Stat)>, Trouble> {
        let nodes = self.nodes(below, watch).await?;
        let mut records = self.records_of(nodes.found).await?;
        records.skipped.extend(nodes.skipped);
        Ok(records)
    }

    /// The records of these nodes; those that are not there are left out.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn records_of<R: Record>(&self, nodes: Vec<Node>) -> Result<Listing<(Node, R, Stat)>, Trouble> {
        let paths: Vec<_> = nodes.iter().map(|node| self.path(node)).collect();
        let gets = paths.iter().map(|path| Operation::Get { path: path.clone(), watch: false }).collect();
        let outcomes = self.ask_many(gets).await;
        let mut listing = Listing::default();
        for ((node, path), outcome) in nodes.into_iter().zip(paths).zip(outcomes) {
            match Reading::decode(data(&path, answer(&path, outcome))?, payload::decode) {
                Reading::Found { value, stat } => listing.found.push((node, value, stat)),
                Reading::Garbage { why, .. } => listing.skip(path, why),
                // It went between two reads.
                Reading::Absent => {}
            }
        }
        Ok(listing)
    }

    /// How many children each of these nodes has; none for one that is not there.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn child_counts(&self, nodes: &[Node]) -> Result<Vec<usize>, Trouble> {
        let paths: Vec<_> = nodes.iter().map(|node| self.path(node)).collect();
        let asked = paths.iter().map(|path| Operation::Exists { path: path.clone(), watch: false }).collect();
        let mut counts = Vec::with_capacity(paths.len());
        for (path, outcome) in paths.iter().zip(self.ask_many(asked).await) {
            match answer(path, outcome)? {
                Answer::Exists(stat) => counts.push(stat.map_or(0, |stat| stat.child_count)),
                other => return Err(Trouble::odd(path, &other)),
            }
        }
        Ok(counts)
    }

    /// Any number of operations, with their outcomes in their order.
    pub(super) async fn ask_many(&self, operations: Vec<Operation>) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(operations.len());
        let mut operations = operations.into_iter();
        while operations.len() > 0 {
            outcomes.extend(self.asker.ask_all(operations.by_ref().take(ASKED_AT_ONCE).collect()).await);
        }
        outcomes
    }

    /// The data of a node; `None` when it is not there.
    pub(super) async fn get(&self, path: &ZnodePath, watch: bool) -> Result<Option<(Vec<u8>, Stat)>, Trouble> {
        for _ in 0..TRIES_MAX {
            let get = Operation::Get { path: path.clone(), watch };
            let found = data(path, answer(path, self.asker.ask(get).await))?;
            if found.is_some() || !watch || !self.exists(path, true).await? {
                return Ok(found);
            }
        }
        Err(Trouble::failed(path, Condition::NoNode))
    }

    /// The names below a node; `None` when it is not there.
    pub(super) async fn children(&self, path: &ZnodePath, watch: bool) -> Result<Option<Vec<String>>, Trouble> {
        for _ in 0..TRIES_MAX {
            let children = Operation::Children { path: path.clone(), watch };
            let names = names(path, answer(path, self.asker.ask(children).await))?;
            if names.is_some() || !watch || !self.exists(path, true).await? {
                return Ok(names);
            }
        }
        Err(Trouble::failed(path, Condition::NoNode))
    }

    pub(super) async fn exists(&self, path: &ZnodePath, watch: bool) -> Result<bool, Trouble> {
        match answer(path, self.asker.ask(Operation::Exists { path: path.clone(), watch }).await)? {
            Answer::Exists(stat) => Ok(stat.is_some()),
            other => Err(Trouble::odd(path, &other)),
        }
    }
}

pub(super) fn data(path: &ZnodePath, read: Result<Answer, Trouble>) -> Result<Option<(Vec<u8>, Stat)>, Trouble> {
    match absent_as_none(read)? {
        None => Ok(None),
        Some(Answer::Data { data, stat }) => Ok(Some((data, stat))),
        Some(other) => Err(Trouble::odd(path, &other)),
    }
}

pub(super) fn names(path: &ZnodePath, read: Result<Answer, Trouble>) -> Result<Option<Vec<String>>, Trouble> {
    match absent_as_none(read)? {
        None => Ok(None),
        Some(Answer::Children { names, .. }) => Ok(Some(names)),
        Some(other) => Err(Trouble::odd(path, &other)),
    }
}

fn absent_as_none(read: Result<Answer, Trouble>) -> Result<Option<Answer>, Trouble> {
    match read {
        Err(Trouble::Failed { condition: Condition::NoNode, .. }) => Ok(None),
        other => other.map(Some),
    }
}
