//! What people do to the tree: snapshots brought back, nodes deleted, garbage written.
//!
//! Invariant: what was done by hand is known, so that no machine is blamed for what people lost.

use std::time::Duration;

use ringstorm_records::znode::Node;
use ringstorm_store::acl::{Acl, Acls, Rights};
use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::SessionId;

use super::zookeeper::Served;
use super::{Event, World};
use crate::checks::Violation;

/// The folders by which a topology lives.
const LIVES: [&str; 2] = ["storms", "assignments"];

/// How many snapshots are kept.
const SNAPSHOTS_KEPT: usize = 3;

/// What people did.
#[derive(Clone, Debug, Default)]
pub struct Damage {
    /// An older snapshot was brought back: what was written after it is lost.
    pub is_restored: bool,
    /// Something was deleted.
    pub is_deleted: bool,
    /// Something was overwritten, with what it held before; `None` where it was not there.
    garbage: Vec<(ZnodePath, Option<Vec<u8>>, Vec<u8>)>,
    /// Something was overwritten at some time.
    pub was_garbage: bool,
}

impl Damage {
    /// Whether the tree may have lost what was written into it.
    pub fn is_any(&self) -> bool {
        self.is_restored || self.is_deleted || self.was_garbage
    }
}

impl World {
    /// Takes a snapshot, and plans the next one.
    pub(crate) fn snapshot(&mut self) {
        if self.zookeeper.snapshots.len() == SNAPSHOTS_KEPT {
            let which = self.random.below(SNAPSHOTS_KEPT);
            self.zookeeper.snapshots.remove(which);
        }
        self.zookeeper.snapshots.push(self.zookeeper.ensemble.clone());
        let until = self.faults.as_ref().map(|faults| faults.until);
        let next = self.now + self.random.duration(Duration::from_secs(2), Duration::from_secs(40));
        if until.is_some_and(|until| next < until) {
            self.queue.push(next, Event::Snapshot);
        }
    }

    /// Brings a snapshot back, if there is one.
    pub(crate) fn restore(&mut self) {
        let which = self.random.below(self.zookeeper.snapshots.len());
        let Some(older) = self.zookeeper.snapshots.get(which).cloned() else { return };
        self.coverage.hit("snapshot restored");
        self.damage.is_restored = true;
        self.cut_all();
        self.zookeeper.ensemble.restore(&older);
        // Member 0 has applied everything, as all have now.
        let attached = self.zookeeper.ensemble.attach(self.zookeeper.operator, 0);
        debug_assert!(attached.is_ok(), "the operator's session is as old as the ensemble");
        let open: Vec<SessionId> = self.zookeeper.ensemble.sessions().collect();
        for session in open {
            if let Some(Served { is_silent, .. }) = self.zookeeper.served.get_mut(&session) {
                *is_silent = false;
                self.silence(session);
            }
        }
        self.reflect();
    }

    /// Deletes a part of the tree.
    pub(crate) fn delete_by_hand(&mut self) -> Result<(), Violation> {
        let all = self.paths();
        let is_whole = self.random.chance(100);
        let Some(chosen) = (if is_whole { all.first() } else { self.random.pick(&all) }).cloned() else {
            return Ok(());
        };
        self.damage.is_deleted = true;
        self.delete_below(&chosen)
    }

    fn delete_below(&mut self, chosen: &ZnodePath) -> Result<(), Violation> {
        let inside = format!("{chosen}/");
        let mut below = self.paths();
        below.retain(|path| path == chosen || path.as_str().starts_with(&inside));
        // Children come behind their parents.
        for path in below.into_iter().rev() {
            self.by_hand(Operation::delete(path))?;
        }
        Ok(())
    }

    /// Writes garbage over a node, or makes one that is none of the tree.
    pub(crate) fn write_garbage(&mut self) -> Result<(), Violation> {
        let all = self.paths();
        let Some(path) = self.random.pick(&all).cloned() else { return Ok(()) };
        let before = self.zookeeper.ensemble.look(&path).map(|(data, _)| data.to_vec()).unwrap_or_default();
        let garbage = match self.random.below(4) {
            0 => Vec::new(),
            1 => b"garbage".to_vec(),
            2 => before[..self.random.below(before.len())].to_vec(),
            _ => {
                let other = self.random.pick(&all).and_then(|other| self.zookeeper.ensemble.look(other));
                other.map(|(data, _)| data.to_vec()).unwrap_or_default()
            }
        };
        let odd_names = ["x", "x-y-z", "!", "a-1", "0000000001"];
        let name = odd_names[self.random.below(odd_names.len())];
        self.damage.was_garbage = true;
        if self.random.chance(300)
            && let Ok(child) = ZnodePath::new(&format!("{path}/{name}"))
        {
            let acl = [Acl::anyone()].into();
            self.damage.garbage.push((child.clone(), None, garbage.clone()));
            return self.by_hand(Operation::create(child, garbage, CreateMode::Persistent, acl));
        }
        self.damage.garbage.push((path.clone(), Some(before), garbage.clone()));
        self.by_hand(Operation::set(path, garbage))
    }

    /// Takes the right to read and write some folders from everybody.
    pub(crate) fn lock(&mut self) -> Result<(), Violation> {
        let root = ZnodePath::of(&self.root, &Node::Root {});
        let names: Vec<String> = self.zookeeper.ensemble.names(&root).map(str::to_owned).collect();
        let acl: Acls = [Acl { rights: Rights::ADMIN, ..Acl::anyone() }].into();
        // Who cannot read where topologies live, and everything else, must not take them for gone.
        let is_of_lives = self.random.chance(750);
        for name in names {
            let may_be = !is_of_lives || LIVES.contains(&name.as_str());
            if may_be
                && self.random.chance(600)
                && let Ok(path) = ZnodePath::new(&format!("{root}/{name}"))
            {
                self.by_hand(Operation::SetAcl { path, acl: acl.clone(), version: None })?;
            }
        }
        Ok(())
    }

    /// Gives all rights back.
    pub(crate) fn unlock(&mut self) -> Result<(), Violation> {
        let acl: Acls = [Acl::anyone()].into();
        for dumped in self.zookeeper.ensemble.dump() {
            if dumped.acl != acl {
                self.by_hand(Operation::SetAcl { path: dumped.path, acl: acl.clone(), version: None })?;
            }
        }
        Ok(())
    }

    /// Somebody looks after the tree: what is still garbage becomes what it was.
    pub(crate) fn remove_garbage(&mut self) -> Result<(), Violation> {
        for (path, before, garbage) in std::mem::take(&mut self.damage.garbage).into_iter().rev() {
            let is_still = self.zookeeper.ensemble.look(&path).is_some_and(|(data, _)| data == garbage);
            match before {
                Some(before) if is_still => self.by_hand(Operation::set(path, before))?,
                None => self.delete_below(&path)?,
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Every node of the tree, parents before children.
    fn paths(&self) -> Vec<ZnodePath> {
        let root = ZnodePath::of(&self.root, &Node::Root {});
        let inside = format!("{root}/");
        let all = self.zookeeper.ensemble.dump().into_iter().map(|dumped| dumped.path);
        all.filter(|path| *path == root || path.as_str().starts_with(&inside)).collect()
    }

    /// Does an operation by hand.
    pub(crate) fn by_hand(&mut self, operation: Operation) -> Result<(), Violation> {
        // What is gone meanwhile, or has children by now, stays as it is.
        self.perform(self.zookeeper.operator, &operation).map(drop)
    }
}
