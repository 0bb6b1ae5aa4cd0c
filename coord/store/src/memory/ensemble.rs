//! Several members that apply one order of transactions.
//!
//! Invariants: every member is a prefix of the head. A session never reads something older than what it has read or
//! written. Threading: plain data.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::rules::{self, Caller, allows};
use super::tree::{Change, Stamp, Tree};
use crate::acl::{Acls, Credential, Rights};
use crate::operation::{Operation, Stat};
use crate::outcome::{Condition, Outcome};
use crate::path::ZnodePath;
use crate::store::{Change as Seen, SessionId, WatchEvent, WatchKind};

/// An ensemble.
#[derive(Clone, Debug)]
pub struct Ensemble {
    head: Tree,
    number: i64,
    now_ms: i64,
    members: Vec<Member>,
    /// What some member has yet to apply, oldest first.
    log: VecDeque<Transaction>,
    sessions: BTreeMap<SessionId, Session>,
    next_session: i64,
}

#[derive(Clone, Debug)]
struct Member {
    tree: Tree,
    /// The number of the last transaction that it applied.
    applied: i64,
    is_held: bool,
}

#[derive(Clone, Debug)]
struct Transaction {
    stamp: Stamp,
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
struct Session {
    credentials: Vec<Credential>,
    /// To which member it is attached; `None` while its connection is lost.
    member: Option<usize>,
    /// The number of the last transaction that it has seen.
    seen: i64,
    watches: BTreeSet<(ZnodePath, WatchKind)>,
    told: VecDeque<WatchEvent>,
}

/// A member has not applied what the session has seen already, so that the session stays away from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the member is behind what the session has seen, or the session is over")]
pub struct Behind;

/// A node, as it lies in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dumped {
    /// Where.
    pub path: ZnodePath,
    /// What it holds.
    pub data: Vec<u8>,
    /// Who may do what with it.
    pub acl: Acls,
    /// The rest.
    pub stat: Stat,
}

impl Ensemble {
    /// An ensemble of at least one member, with an empty tree.
    pub fn new(members: usize) -> Self {
        let member = Member { tree: Tree::new(), applied: 0, is_held: false };
        Self {
            head: Tree::new(),
            number: 0,
            now_ms: 0,
            members: vec![member; members.max(1)],
            log: VecDeque::new(),
            sessions: BTreeMap::new(),
            next_session: 1,
        }
    }

    /// Sets its clock, in milliseconds since 1970.
    pub fn set_now_ms(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// How many members it has.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Opens a session at a member. A new session sees everything that was done.
    pub fn open(&mut self, member: usize, credentials: &[Credential]) -> SessionId {
        let session = SessionId(self.next_session);
        self.next_session += 1;
        let member = member % self.members.len();
        let stamp = self.next_stamp();
        self.commit(Transaction { stamp, changes: Vec::new() });
        self.catch_up(member);
        self.sessions.insert(
            session,
            Session {
                credentials: credentials.to_vec(),
                member: Some(member),
                seen: self.number,
                watches: BTreeSet::new(),
                told: VecDeque::new(),
            },
        );
        session
    }

    /// Ends a session: by its own wish, or because it was silent for too long. Its ephemeral nodes go in one
    /// transaction. One that is over already stays so.
    pub fn end(&mut self, session: SessionId) {
        if self.sessions.remove(&session).is_none() {
            return;
        }
        let owned = self.head.owned_by(session);
        let changes = owned.into_iter().map(|path| Change::Delete { path }).collect::<Vec<_>>();
        let stamp = self.next_stamp();
        for change in &changes {
            self.head.apply(stamp, change, &mut Vec::new());
        }
        self.commit(Transaction { stamp, changes });
    }

    /// Whether a session is not over.
    pub fn is_open(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }

    /// The sessions that are not over.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.keys().copied()
    }

    /// Cuts a session's connection. Its watches stay armed and see nothing.
    pub fn detach(&mut self, session: SessionId) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.member = None;
        }
    }

    /// Connects a session again. All watches that it had armed are told as missed.
    ///
    /// # Errors
    /// [`Behind`].
    pub fn attach(&mut self, session: SessionId, member: usize) -> Result<(), Behind> {
        let member = member % self.members.len();
        let applied = self.members[member].applied;
        let session = self.sessions.get_mut(&session).ok_or(Behind)?;
        if applied < session.seen {
            return Err(Behind);
        }
        session.member = Some(member);
        let missed = std::mem::take(&mut session.watches).into_iter();
        session.told.extend(missed.map(|(path, kind)| WatchEvent { path, kind, change: Seen::Missed }));
        Ok(())
    }

    /// Keeps a member from applying what is written from now on, but for what its own sessions write.
    pub fn hold(&mut self, member: usize) {
        let member = member % self.members.len();
        self.members[member].is_held = true;
    }

    /// Lets a member apply everything again.
    pub fn release(&mut self, member: usize) {
        let member = member % self.members.len();
        self.members[member].is_held = false;
        self.catch_up(member);
    }

    /// Does an operation of a session, now.
    pub fn perform(&mut self, session: SessionId, operation: &Operation) -> Outcome {
        if let Err(condition) = operation.check() {
            return Outcome::failed(condition);
        }
        let Some(state) = self.sessions.get(&session) else { return Outcome::failed(Condition::SessionOver) };
        let Some(member) = state.member else { return Outcome::failed(Condition::NotConnected) };
        let outcome = if operation.is_write() {
            self.write(session, member, operation)
        } else {
            if matches!(operation, Operation::Sync { .. }) {
                self.catch_up(member);
            }
            self.read(session, member, operation)
        };
        let applied = self.members[member].applied;
        if let Some(state) = self.sessions.get_mut(&session) {
            state.seen = state.seen.max(applied);
        }
        outcome
    }

    fn write(&mut self, session: SessionId, member: usize, operation: &Operation) -> Outcome {
        let stamp = Stamp { number: self.number + 1, at_ms: self.now_ms };
        let credentials = &self.sessions[&session].credentials;
        match rules::write(&mut self.head, stamp, Caller { session, credentials }, operation) {
            Err(failure) => Outcome::Failed(failure),
            Ok(taken) => {
                self.number = stamp.number;
                self.commit(Transaction { stamp, changes: taken.changes });
                self.catch_up(member);
                Outcome::Done(taken.answer)
            }
        }
    }

    fn read(&mut self, session: SessionId, member: usize, operation: &Operation) -> Outcome {
        let tree = &self.members[member].tree;
        let Some(state) = self.sessions.get_mut(&session) else { return Outcome::failed(Condition::SessionOver) };
        match rules::read(tree, Caller { session, credentials: &state.credentials }, operation) {
            Err(condition) => Outcome::failed(condition),
            Ok(answer) => {
                let watch = match operation {
                    Operation::Get { path, watch: true } | Operation::Exists { path, watch: true } => {
                        Some((path.clone(), WatchKind::Node))
                    }
                    Operation::Children { path, watch: true } => Some((path.clone(), WatchKind::Children)),
                    _ => None,
                };
                state.watches.extend(watch);
                Outcome::Done(answer)
            }
        }
    }

    /// The sessions for which [`Self::take_watch_events`] has something.
    pub fn sessions_told(&self) -> impl Iterator<Item = SessionId> {
        let told = self.sessions.iter().filter(|(_, state)| state.member.is_some() && !state.told.is_empty());
        told.map(|(session, _)| *session)
    }

    /// What watches of a session have seen since the last call, in order. Nothing while it is detached.
    pub fn take_watch_events(&mut self, session: SessionId) -> Vec<WatchEvent> {
        let state = self.sessions.get_mut(&session).filter(|state| state.member.is_some());
        state.map(|state| state.told.drain(..).collect()).unwrap_or_default()
    }

    /// Brings back an older state of this ensemble, as operators do from a snapshot. Every session that is open now is
    /// over; those that were open then are open again, detached, until they are ended.
    pub fn restore(&mut self, older: &Self) {
        let next_session = self.next_session;
        *self = older.clone();
        self.next_session = next_session;
        self.log.clear();
        for member in &mut self.members {
            *member = Member { tree: self.head.clone(), applied: self.number, is_held: false };
        }
        for session in self.sessions.values_mut() {
            session.member = None;
            session.watches.clear();
            session.told.clear();
        }
    }

    /// A node of the newest state: what it holds, and the rest.
    pub fn look(&self, path: &ZnodePath) -> Option<(&[u8], Stat)> {
        self.head.get(path).map(|node| (&*node.data, node.stat()))
    }

    /// The names of a node's children in the newest state, in order; none if it is not there.
    pub fn names(&self, path: &ZnodePath) -> impl Iterator<Item = &str> {
        self.head.get(path).into_iter().flat_map(|node| node.children.iter().map(String::as_str))
    }

    /// Every node of the newest state, parents before children.
    pub fn dump(&self) -> Vec<Dumped> {
        let dumped = |(path, node): (&ZnodePath, &super::tree::Znode)| Dumped {
            path: path.clone(),
            data: node.data.to_vec(),
            acl: node.acl.clone(),
            stat: node.stat(),
        };
        self.head.iter().map(dumped).collect()
    }

    fn next_stamp(&mut self) -> Stamp {
        self.number += 1;
        Stamp { number: self.number, at_ms: self.now_ms }
    }

    /// Takes what the head has applied: members that may apply it do.
    fn commit(&mut self, transaction: Transaction) {
        self.log.push_back(transaction);
        for member in 0..self.members.len() {
            if !self.members[member].is_held {
                self.catch_up(member);
            }
        }
    }

    /// Lets a member apply everything that is in the log, and tells the watches of its sessions.
    fn catch_up(&mut self, index: usize) {
        let member = &mut self.members[index];
        let mut sights = Vec::new();
        for transaction in self.log.iter().filter(|transaction| transaction.stamp.number > member.applied) {
            for change in &transaction.changes {
                member.tree.apply(transaction.stamp, change, &mut sights);
            }
        }
        member.applied = self.number;
        let sessions = self.sessions.values_mut().filter(|session| session.member == Some(index));
        for session in sessions {
            for sight in &sights {
                let is_armed = session.watches.remove(&(sight.path.clone(), sight.kind));
                // Who may not read a node does not hear of it, from ZooKeeper 3.8.4 and 3.9.2 on (CVE-2024-23944).
                if is_armed && allows(&sight.acl, Rights::READ, &session.credentials) {
                    let (path, kind, change) = (sight.path.clone(), sight.kind, sight.change);
                    session.told.push_back(WatchEvent { path, kind, change });
                }
            }
        }
        let applied_by_all = self.members.iter().map(|member| member.applied).min().unwrap_or(self.number);
        while self.log.front().is_some_and(|transaction| transaction.stamp.number <= applied_by_all) {
            self.log.pop_front();
        }
    }
}
