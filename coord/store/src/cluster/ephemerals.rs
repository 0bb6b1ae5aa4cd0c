//! Nodes that say who lives: of supervisors and nimbuses.
//!
//! Storm overwrites a node that is there already, also when another session made it; then the node goes with that
//! session, and whoever lives is taken for dead. Here such a node is replaced by one of this session, if that is wanted,
//! in one transaction.

use ringstorm_records::payload;
use ringstorm_records::records::{NimbusSummary, SupervisorInfo};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::{Node, NodeName};

use super::trouble::{Trouble, answer};
use super::{Listing, Reading, Tree};
use crate::operation::{CreateMode, Operation, Stat, Write};
use crate::outcome::Condition;
use crate::path::ZnodePath;
use crate::store::SessionId;

use super::reading::TRIES_MAX;

/// What came of saying that one lives.
#[derive(Clone, Debug, PartialEq)]
pub enum Announced<R> {
    /// The node is there, and goes with this session.
    Ours,
    /// Another session holds the node. Nothing was written.
    Held {
        /// What it holds.
        record: Reading<R>,
        /// The node; its owner is `None` when somebody made it persistent.
        stat: Stat,
    },
}

impl Tree {
    /// Says that a supervisor lives. A node of `replaces`, an earlier session, is replaced; one of any other session is
    /// somebody else's.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn announce_supervisor(
        &self,
        session: SessionId,
        supervisor: &NodeName,
        info: &SupervisorInfo,
        replaces: Option<SessionId>,
    ) -> Result<Announced<SupervisorInfo>, Trouble> {
        let node = Node::Supervisor { supervisor: supervisor.clone() };
        self.announce(session, &node, info, replaces).await
    }

    /// Says that a nimbus lives, under a name: its host, or host and port when another one lives on that host.
    /// `replaces` is as for [`Self::announce_supervisor`].
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn announce_nimbus(
        &self,
        session: SessionId,
        name: &NodeName,
        summary: &NimbusSummary,
        replaces: Option<SessionId>,
    ) -> Result<Announced<NimbusSummary>, Trouble> {
        self.announce(session, &Node::Nimbus { name: name.clone() }, summary, replaces).await
    }

    /// All supervisors that live.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn supervisors(&self, watch: bool) -> Result<Listing<(NodeName, SupervisorInfo)>, Trouble> {
        let records = self.records(&Node::Supervisors {}, watch).await?;
        Ok(keep(records, |node| match node {
            Node::Supervisor { supervisor } => Some(supervisor),
            _ => None,
        }))
    }

    /// All nimbuses that live.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn nimbuses(&self, watch: bool) -> Result<Listing<(NodeName, NimbusSummary)>, Trouble> {
        let records = self.records(&Node::Nimbuses {}, watch).await?;
        Ok(keep(records, |node| match node {
            Node::Nimbus { name } => Some(name),
            _ => None,
        }))
    }

    /// Takes back that a nimbus lives.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn withdraw_nimbus(&self, name: &NodeName) -> Result<(), Trouble> {
        self.remove(None, &self.path(&Node::Nimbus { name: name.clone() })).await
    }

    /// Takes back that a supervisor lives.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn withdraw_supervisor(&self, supervisor: &NodeName) -> Result<(), Trouble> {
        self.remove(None, &self.path(&Node::Supervisor { supervisor: supervisor.clone() })).await
    }

    async fn announce<R: Record>(
        &self,
        session: SessionId,
        node: &Node,
        record: &R,
        replaces: Option<SessionId>,
    ) -> Result<Announced<R>, Trouble> {
        let path = self.path(node);
        let data = payload::encode(record);
        let replaceable = |stat: &Stat| replaces.is_some() && stat.owner == replaces;
        let held = self.hold(session, &path, &data, replaceable).await?;
        Ok(held.map_or(Announced::Ours, |(data, stat)| {
            let record = Reading::decode(Some((data, stat)), payload::decode);
            Announced::Held { record, stat }
        }))
    }

    /// Makes a node of this session, or sets it. What another session holds is given back, unless it may be replaced.
    pub(super) async fn hold(
        &self,
        session: SessionId,
        path: &ZnodePath,
        data: &[u8],
        may_replace: impl Fn(&Stat) -> bool,
    ) -> Result<Option<(Vec<u8>, Stat)>, Trouble> {
        let create = Write::Create {
            path: path.clone(),
            data: data.to_vec(),
            mode: CreateMode::Ephemeral,
            acl: self.acls.daemons.clone(),
        };
        for _ in 0..TRIES_MAX {
            let condition = match self.write(None, create.clone()).await {
                Ok(_) => return Ok(None),
                Err(Trouble::Failed { condition, .. }) => condition,
                Err(trouble) => return Err(trouble),
            };
            match condition {
                Condition::NoNode => {
                    let parent = path.parent().ok_or_else(|| Trouble::failed(path, Condition::NoNode))?;
                    self.make_folder(None, &parent, &self.acls.daemons).await?;
                    continue;
                }
                Condition::NodeExists => {}
                other => return Err(Trouble::failed(path, other)),
            }
            let Some((found, stat)) = self.get(path, false).await? else { continue };
            let version = Some(stat.version);
            let operation = if stat.owner == Some(session) {
                Operation::Write(Write::Set { path: path.clone(), data: data.to_vec(), version })
            } else if may_replace(&stat) {
                let delete = Write::Delete { path: path.clone(), version };
                Operation::Multi { checks: Vec::new(), writes: vec![delete, create.clone()] }
            } else {
                return Ok(Some((found, stat)));
            };
            match answer(path, self.asker.ask(operation).await) {
                Ok(_) => return Ok(None),
                // It changed, or went, between the two.
                Err(Trouble::Failed { condition: Condition::BadVersion | Condition::NoNode, .. }) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(Trouble::failed(path, Condition::NodeExists))
    }
}

/// Records of one kind of node, with what their nodes are named by.
fn keep<R, K>(records: Listing<(Node, R, Stat)>, key: impl Fn(Node) -> Option<K>) -> Listing<(K, R)> {
    let found = records.found.into_iter().filter_map(|(node, record, _)| Some((key(node)?, record)));
    Listing { found: found.collect(), skipped: records.skipped }
}
