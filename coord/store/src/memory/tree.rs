//! The nodes of one replica, and elementary changes of them.
//!
//! Invariants: every node but `/` has its parent; a change that was applied can be undone exactly, in reverse order.
//! Changes are checked before they come here ([`rules`](super::rules)). Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::acl::{Acl, Acls};
use crate::operation::Stat;
use crate::path::ZnodePath;
use crate::store::{Change as Seen, SessionId, WatchKind};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Znode {
    pub(super) data: Arc<[u8]>,
    pub(super) acl: Acls,
    pub(super) marks: Marks,
    pub(super) children: BTreeSet<String>,
}

/// The numbers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    created: i64,
    changed: i64,
    children_changed: i64,
    created_ms: i64,
    changed_ms: i64,
    pub(super) version: i32,
    pub(super) acl_version: i32,
    /// How many children were ever made: the number of the next sequential one.
    pub(super) children_made: i32,
    pub(super) owner: Option<SessionId>,
}

/// An elementary change.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Create { path: ZnodePath, data: Arc<[u8]>, acl: Acls, owner: Option<SessionId> },
    Set { path: ZnodePath, data: Arc<[u8]> },
    Delete { path: ZnodePath },
    SetAcl { path: ZnodePath, acl: Acls },
}

/// What brings back the state before a change.
#[derive(Debug)]
pub(super) enum Undo {
    Create { path: ZnodePath, parent_marks: Marks },
    Delete { path: ZnodePath, node: Znode, parent_marks: Marks },
    Replace { path: ZnodePath, node: Znode },
}

/// The number and time of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) number: i64,
    pub(super) at_ms: i64,
}

/// What a watch may see of a change, if its session may read the node.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) path: ZnodePath,
    pub(super) kind: WatchKind,
    pub(super) change: Seen,
    pub(super) acl: Acls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    nodes: BTreeMap<ZnodePath, Znode>,
}

impl Znode {
    pub(super) fn stat(&self) -> Stat {
        let child_count = self.children.len();
        let Marks { created, changed, children_changed, created_ms, changed_ms, version, acl_version, owner, .. } =
            self.marks;
        Stat {
            created,
            changed,
            children_changed,
            created_ms,
            changed_ms,
            version,
            // Of the children that were made, those that are gone count twice, as in ZooKeeper (`DataNode.copyStat`).
            children_version: (self.marks.children_made.wrapping_mul(2)).wrapping_sub(child_count as i32),
            acl_version,
            owner,
            data_bytes: self.data.len(),
            child_count,
        }
    }
}

impl Sight {
    fn of(path: &ZnodePath, node: &Znode, kind: WatchKind, change: Seen) -> Self {
        Self { path: path.clone(), kind, change, acl: node.acl.clone() }
    }
}

impl Tree {
    /// The root alone, open to anyone.
    pub(super) fn new() -> Self {
        let marks = Marks {
            created: 0,
            changed: 0,
            children_changed: 0,
            created_ms: 0,
            changed_ms: 0,
            version: 0,
            acl_version: 0,
            children_made: 0,
            owner: None,
        };
        let root = Znode { data: Arc::from([]), acl: Arc::from([Acl::anyone()]), marks, children: BTreeSet::new() };
        Self { nodes: BTreeMap::from([(root_path(), root)]) }
    }

    pub(super) fn get(&self, path: &ZnodePath) -> Option<&Znode> {
        self.nodes.get(path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ZnodePath, &Znode)> {
        self.nodes.iter()
    }

    /// The nodes that go with a session, deepest first.
    pub(super) fn owned_by(&self, session: SessionId) -> Vec<ZnodePath> {
        let owned = self.nodes.iter().filter(|(_, node)| node.marks.owner == Some(session));
        owned.map(|(path, _)| path.clone()).rev().collect()
    }

    /// Does what was found to be right.
    ///
    /// # Panics
    /// It was not: a fault of this module's callers.
    pub(super) fn apply(&mut self, stamp: Stamp, change: &Change, sights: &mut Vec<Sight>) -> Undo {
        match change {
            Change::Create { path, data, acl, owner } => {
                let marks = Marks {
                    created: stamp.number,
                    changed: stamp.number,
                    children_changed: stamp.number,
                    created_ms: stamp.at_ms,
                    changed_ms: stamp.at_ms,
                    version: 0,
                    acl_version: 0,
                    children_made: 0,
                    owner: *owner,
                };
                let node = Znode { data: data.clone(), acl: acl.clone(), marks, children: BTreeSet::new() };
                let parent = self.parent_of(path);
                let parent_marks = parent.marks;
                parent.children.insert(path.name().to_owned());
                parent.marks.children_made = parent.marks.children_made.wrapping_add(1);
                parent.marks.children_changed = stamp.number;
                sights.push(Sight::of(path, &node, WatchKind::Node, Seen::Created));
                self.nodes.insert(path.clone(), node);
                sights.extend(self.sight_of_parent(path));
                Undo::Create { path: path.clone(), parent_marks }
            }
            Change::Set { path, data } => {
                let node = self.node_at(path);
                let before = node.clone();
                node.data = data.clone();
                node.marks.version = node.marks.version.wrapping_add(1);
                node.marks.changed = stamp.number;
                node.marks.changed_ms = stamp.at_ms;
                sights.push(Sight::of(path, node, WatchKind::Node, Seen::Data));
                Undo::Replace { path: path.clone(), node: before }
            }
            Change::Delete { path } => {
                let node = self.nodes.remove(path).expect("what is deleted was found before");
                let parent = self.parent_of(path);
                let parent_marks = parent.marks;
                parent.children.remove(path.name());
                parent.marks.children_changed = stamp.number;
                sights.push(Sight::of(path, &node, WatchKind::Node, Seen::Deleted));
                sights.push(Sight::of(path, &node, WatchKind::Children, Seen::Deleted));
                sights.extend(self.sight_of_parent(path));
                Undo::Delete { path: path.clone(), node, parent_marks }
            }
            Change::SetAcl { path, acl } => {
                let node = self.node_at(path);
                let before = node.clone();
                node.acl = acl.clone();
                node.marks.acl_version = node.marks.acl_version.wrapping_add(1);
                Undo::Replace { path: path.clone(), node: before }
            }
        }
    }

    /// Takes back the change that was applied last.
    pub(super) fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Create { path, parent_marks } => {
                self.nodes.remove(&path);
                let parent = self.parent_of(&path);
                parent.children.remove(path.name());
                parent.marks = parent_marks;
            }
            Undo::Delete { path, node, parent_marks } => {
                let parent = self.parent_of(&path);
                parent.children.insert(path.name().to_owned());
                parent.marks = parent_marks;
                self.nodes.insert(path, node);
            }
            Undo::Replace { path, node } => {
                self.nodes.insert(path, node);
            }
        }
    }

    fn sight_of_parent(&self, path: &ZnodePath) -> Option<Sight> {
        let parent = path.parent()?;
        Some(Sight::of(&parent, self.nodes.get(&parent)?, WatchKind::Children, Seen::Children))
    }

    fn node_at(&mut self, path: &ZnodePath) -> &mut Znode {
        self.nodes.get_mut(path).expect("what is changed was found before")
    }

    fn parent_of(&mut self, path: &ZnodePath) -> &mut Znode {
        let parent = path.parent().expect("the root is neither made nor deleted");
        self.nodes.get_mut(&parent).expect("every node has its parent")
    }
}

pub(super) fn root_path() -> ZnodePath {
    ZnodePath::new("/").expect("the root is a path")
}
