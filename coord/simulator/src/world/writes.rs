//! Writes, and whether they were lawful.

use std::cell::RefCell;

use ringstorm_records::znode::{Candidate, Node, Root};
use ringstorm_store::memory::Ensemble;
use ringstorm_store::operation::{Answer, Operation, Write};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::SessionId;

use super::World;
use crate::actor::Role;
use crate::checks::{self, Seen, Violation};

/// Where the candidates for leadership are, and the lowest of those that were there when it was asked last: they change
/// far more seldom than somebody asks.
#[derive(Debug)]
pub(crate) struct Queued {
    folder: ZnodePath,
    known: RefCell<Known>,
}

#[derive(Debug, Default)]
struct Known {
    names: Vec<String>,
    lowest: Option<ZnodePath>,
}

impl Queued {
    pub(crate) fn new(root: &Root) -> Self {
        Self { folder: ZnodePath::of(root, &Node::LeaderLock {}), known: RefCell::default() }
    }

    /// The lowest candidate's node.
    fn lowest(&self, root: &Root, ensemble: &Ensemble) -> Option<ZnodePath> {
        let mut known = self.known.borrow_mut();
        if !ensemble.names(&self.folder).eq(known.names.iter()) {
            known.names = ensemble.names(&self.folder).map(str::to_owned).collect();
            let candidates = known.names.iter().filter_map(|name| {
                let path = ZnodePath::new(&format!("{}/{name}", self.folder)).ok()?;
                match root.node(path.as_str()) {
                    Some(Node::LeaderCandidate { candidate: Candidate { number, .. } }) => Some((number, path)),
                    _ => None,
                }
            });
            known.lowest = candidates.min().map(|(_, path)| path);
        }
        known.lowest.clone()
    }
}

impl World {
    /// Does a write, and looks at each node that it changed.
    pub(crate) fn perform_watched(&mut self, session: SessionId, operation: &Operation) -> Result<Outcome, Violation> {
        let writes: &[Write] = match operation {
            Operation::Write(write) => std::slice::from_ref(write),
            Operation::Multi { writes, .. } => writes,
            _ => &[],
        };
        let ensemble = &self.zookeeper.ensemble;
        let before: Vec<Option<Vec<u8>>> =
            writes.iter().map(|write| ensemble.look(write.path()).map(|(data, _)| data.to_vec())).collect();
        let writer = self.zookeeper.process_of(session).map(|id| &self.processes[id.0]);
        let (who, role) = writer.map_or((String::new(), None), |writer| (writer.name.clone(), Some(writer.role)));
        let is_leader = role == Some(Role::Nimbus) && self.leading_session() == Some(session);
        let outcome = self.zookeeper.ensemble.perform(session, operation);
        let Outcome::Done(answer) = &outcome else { return Ok(outcome) };
        for (index, write) in writes.iter().enumerate() {
            let path = match written(answer, index) {
                Some(Answer::Created { path }) => path,
                _ => write.path(),
            };
            let node = self.root.node(path.as_str());
            let after = self.zookeeper.ensemble.look(path).map(|(data, _)| data);
            let base_before = match &node {
                Some(Node::Storm { topology }) => self.mirror.bases.get(topology).cloned(),
                _ => None,
            };
            if let Some(role) = role {
                let before = before[index].as_deref();
                let seen = Seen { who: &who, role, path, node: node.as_ref(), before, after, is_leader };
                checks::before(&self.mirror, seen)?;
                if let Some(node) = &node {
                    self.mirror.take(node, after);
                }
                checks::after(&self.mirror, seen)?;
            } else if let Some(node) = &node {
                self.mirror.take(node, after);
            }
            match &node {
                Some(Node::Storm { topology }) => {
                    let base = self.mirror.bases.get(topology).cloned();
                    self.note_base(topology, base_before.as_ref(), base.as_ref(), self.zookeeper.process_of(session))?;
                }
                Some(Node::Supervisor { .. }) if role == Some(Role::Supervisor) && after.is_some() => {
                    if let Some(id) = self.zookeeper.process_of(session) {
                        self.processes[id.0].was_admitted = true;
                    }
                }
                _ => {}
            }
        }
        Ok(outcome)
    }

    /// The session of who leads.
    pub(crate) fn leading_session(&self) -> Option<SessionId> {
        self.zookeeper.ensemble.look(&self.leading_place()?)?.1.owner
    }

    /// The lowest candidate's node.
    pub(crate) fn leading_place(&self) -> Option<ZnodePath> {
        self.queued.lowest(&self.root, &self.zookeeper.ensemble)
    }

    /// Reads the tree anew, after it was exchanged.
    pub(crate) fn reflect(&mut self) {
        let before = std::mem::take(&mut self.mirror);
        for dumped in self.zookeeper.ensemble.dump() {
            if let Some(node) = self.root.node(dumped.path.as_str()) {
                self.mirror.take(&node, Some(&dumped.data));
            }
        }
        self.note_exchanged_bases(&before);
    }
}

/// What came of the write at an index.
fn written(answer: &Answer, index: usize) -> Option<&Answer> {
    match answer {
        Answer::Multi(answers) => answers.get(index),
        single => Some(single),
    }
}
