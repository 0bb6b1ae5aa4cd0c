//! Writing nodes as Storm's state storage does: folders, data that is made or overwritten, removal with everything below.

use std::future::Future;
use std::pin::Pin;

use ringstorm_records::payload::{self, CONTAINER, PayloadKind};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::Node;

use super::reading::{TRIES_MAX, names};
use super::trouble::{Trouble, answer};
use super::{Leadership, Tree};
use crate::acl::Acls;
use crate::operation::{Answer, CreateMode, Operation, Write};
use crate::outcome::Condition;
use crate::path::ZnodePath;

impl Tree {
    /// One change. With a leader it is done only while that leads.
    pub(super) async fn write(&self, leader: Option<&Leadership>, write: Write) -> Result<Answer, Trouble> {
        let path = write.path().clone();
        answer(&path, self.asker.ask(fenced(leader, write)).await).and_then(|answer| first(&path, answer))
    }

    /// Makes a node that is there for its children, and those above it, each with what Storm puts there. One that is
    /// there stays as it is.
    pub(super) async fn make_folder(
        &self,
        leader: Option<&Leadership>,
        path: &ZnodePath,
        acl: &Acls,
    ) -> Result<(), Trouble> {
        let mut missing = vec![path.clone()];
        let mut tries = 0;
        while let Some(path) = missing.last() {
            match self.write(leader, self.folder(path, acl)).await {
                Ok(_) | Err(Trouble::Failed { condition: Condition::NodeExists, .. }) => {
                    missing.pop();
                }
                Err(Trouble::Failed { condition: Condition::NoNode, path }) => {
                    // Somebody who removes what is made here must not keep this going for ever.
                    tries += 1;
                    let parent = path.parent().filter(|_| tries < TRIES_MAX * TRIES_MAX);
                    missing.push(parent.ok_or_else(|| Trouble::failed(&path, Condition::NoNode))?);
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    fn folder(&self, path: &ZnodePath, acl: &Acls) -> Write {
        let holds = self.root.node(path.as_str()).map(|node| node.payload());
        let data = if matches!(holds, Some(PayloadKind::Container)) { CONTAINER.to_vec() } else { Vec::new() };
        Write::Create { path: path.clone(), data, mode: CreateMode::Persistent, acl: acl.clone() }
    }

    /// Sets a persistent node's data whatever its version, and makes it, and those above it, where it is not there.
    pub(super) async fn set_data(
        &self,
        leader: Option<&Leadership>,
        path: &ZnodePath,
        data: &[u8],
        acl: &Acls,
    ) -> Result<(), Trouble> {
        let mut last = Condition::NoNode;
        for _ in 0..TRIES_MAX {
            let set = Write::Set { path: path.clone(), data: data.to_vec(), version: None };
            match self.write(leader, set).await {
                Err(Trouble::Failed { condition: Condition::NoNode, .. }) => {}
                done => return done.map(drop),
            }
            match self.try_to_make(leader, path, data, acl).await? {
                Made::Now => return Ok(()),
                // Somebody was faster.
                Made::Before => last = Condition::NodeExists,
                Made::OnlyAbove => {}
            }
        }
        Err(Trouble::failed(path, last))
    }

    /// Makes a persistent node, or those above it if they are not there.
    async fn try_to_make(
        &self,
        leader: Option<&Leadership>,
        path: &ZnodePath,
        data: &[u8],
        acl: &Acls,
    ) -> Result<Made, Trouble> {
        let (mode, acl_of_node) = (CreateMode::Persistent, acl.clone());
        let create = Write::Create { path: path.clone(), data: data.to_vec(), mode, acl: acl_of_node };
        match self.write(leader, create).await {
            Ok(_) => Ok(Made::Now),
            Err(Trouble::Failed { condition: Condition::NodeExists, .. }) => Ok(Made::Before),
            Err(Trouble::Failed { condition: Condition::NoNode, .. }) => {
                let parent = path.parent().ok_or_else(|| Trouble::failed(path, Condition::NoNode))?;
                self.make_folder(leader, &parent, acl).await?;
                Ok(Made::OnlyAbove)
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Makes a persistent node with a record, and those above it. One that is there stays as it is.
    pub(super) async fn make_record<R: Record>(
        &self,
        leader: Option<&Leadership>,
        node: &Node,
        record: &R,
        acl: &Acls,
    ) -> Result<(), Trouble> {
        let (path, data) = (self.path(node), payload::encode(record));
        for _ in 0..TRIES_MAX {
            match self.try_to_make(leader, &path, &data, acl).await? {
                Made::Now | Made::Before => return Ok(()),
                Made::OnlyAbove => {}
            }
        }
        Err(Trouble::failed(&path, Condition::NoNode))
    }

    /// As [`Self::set_data`], for a record.
    pub(super) async fn set_record<R: Record>(
        &self,
        leader: Option<&Leadership>,
        node: &Node,
        record: &R,
        acl: &Acls,
    ) -> Result<(), Trouble> {
        self.set_data(leader, &self.path(node), &payload::encode(record), acl).await
    }

    /// Removes a node with everything below. What is gone already, or goes meanwhile, is fine.
    pub(super) async fn remove(&self, leader: Option<&Leadership>, path: &ZnodePath) -> Result<(), Trouble> {
        for _ in 0..TRIES_MAX {
            match self.write(leader, Write::Delete { path: path.clone(), version: None }).await {
                Ok(_) | Err(Trouble::Failed { condition: Condition::NoNode, .. }) => return Ok(()),
                Err(Trouble::Failed { condition: Condition::NotEmpty, .. }) => self.remove_below(leader, path).await?,
                Err(trouble) => return Err(trouble),
            }
        }
        // Somebody makes new ones as fast as they are removed.
        Err(Trouble::failed(path, Condition::NotEmpty))
    }

    fn remove_below<'a>(
        &'a self,
        leader: Option<&'a Leadership>,
        path: &'a ZnodePath,
    ) -> Pin<Box<dyn Future<Output = Result<(), Trouble>> + Send + 'a>> {
        Box::pin(async move {
            let children = Operation::Children { path: path.clone(), watch: false };
            let found = names(path, answer(path, self.asker.ask(children).await))?.unwrap_or_default();
            let paths: Vec<_> = found.iter().map(|name| path.joined(name)).collect();
            let delete = |path: &ZnodePath| fenced(leader, Write::Delete { path: path.clone(), version: None });
            let outcomes = self.ask_many(paths.iter().map(delete).collect()).await;
            for (path, outcome) in paths.iter().zip(outcomes) {
                match answer(path, outcome) {
                    Ok(_) | Err(Trouble::Failed { condition: Condition::NoNode, .. }) => {}
                    Err(Trouble::Failed { condition: Condition::NotEmpty, .. }) => self.remove(leader, path).await?,
                    Err(trouble) => return Err(trouble),
                }
            }
            Ok(())
        })
    }
}

/// What came of a try to make a node.
enum Made {
    Now,
    /// It was there already.
    Before,
    /// Those above it were not there, and are now.
    OnlyAbove,
}

/// The operation that does a write, in one transaction with a check that the leader leads.
fn fenced(leader: Option<&Leadership>, write: Write) -> Operation {
    match leader {
        None => Operation::Write(write),
        Some(leader) => Operation::Multi { checks: vec![leader.check()], writes: vec![write] },
    }
}

/// The answer to the one write of an operation.
fn first(path: &ZnodePath, answer: Answer) -> Result<Answer, Trouble> {
    match answer {
        Answer::Multi(mut answers) if answers.len() == 1 => Ok(answers.remove(0)),
        Answer::Multi(_) => Err(Trouble::odd(path, &answer)),
        single => Ok(single),
    }
}
