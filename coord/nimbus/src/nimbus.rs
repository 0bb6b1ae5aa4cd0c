//! The machine: what it is told goes to whom it concerns.
//!
//! - `conversations`: what is being said with the tree, by session.
//! - `presence`: the root, its folders, and that this nimbus lives.
//! - `leadership`: the queue, and what comes before one leads.
//! - `term`: what a leader has, and how it ends.
//! - `requests`: what clients ask for.
//! - `submission`: topologies that come.
//! - `acts`: what a leader does one after another: `transitions`, `amendments`, `rebalance`, `rounds`, `clean_up`.
//! - `code`: which contents this nimbus holds, lacks and fetches.
//!
//! Invariant: whatever a leader writes belongs to one term; with the term everything ends that it had under way, and an
//! answer that comes later is passed over. Threading: one caller at a time.

mod acts;
mod amendments;
mod clean_up;
mod code;
mod conversations;
mod leadership;
mod presence;
mod rebalance;
mod requests;
mod rounds;
mod said;
mod submission;
mod term;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;

use ringstorm_control::machine::Machine;
use ringstorm_control::session::{Meaning, Session};
use ringstorm_control::talks::FromStore;
use ringstorm_control::time::{Moment, Now};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::znode::Node;
use ringstorm_store::cluster::{Cluster, Skipped, Tree};
use ringstorm_store::store::{SessionEvent, SessionId, WatchEvent, WatchKind};

use crate::interface::{NimbusEffect, NimbusInput, Refusal, Reply, RequestId};
use crate::plants::Plants;
use crate::settings::{Identity, NimbusSettings};
use code::Code;
use conversations::{Conversations, Heard};
use leadership::Election;
use presence::Presence;
use said::Said;
use term::Lead;

/// Of how many nodes that cannot be read it is remembered that this was said.
const GARBAGE_MAX: usize = 10_000;

/// A nimbus.
#[derive(Debug)]
pub struct Nimbus {
    cluster: Cluster,
    identity: Identity,
    settings: NimbusSettings,
    now: Now,
    session: Session,
    conversations: Conversations,
    presence: Presence,
    election: Election,
    lead: Lead,
    code: Code,
    /// Requests that are read for.
    reads: BTreeSet<RequestId>,
    /// What was said of nodes that cannot be read.
    garbage: BTreeMap<String, String>,
    plants: Plants,
    is_stopped: bool,
    effects: Vec<NimbusEffect>,
}

impl Nimbus {
    /// A nimbus that has just started, at this time.
    pub fn new(cluster: Cluster, identity: Identity, settings: NimbusSettings, now: Now) -> Self {
        Self {
            cluster,
            presence: Presence::new(now),
            identity,
            settings,
            now,
            session: Session::default(),
            conversations: Conversations::default(),
            election: Election::default(),
            lead: Lead::default(),
            code: Code::default(),
            reads: BTreeSet::new(),
            garbage: BTreeMap::new(),
            plants: Plants::default(),
            is_stopped: false,
            effects: Vec::new(),
        }
    }

    /// Puts faults in.
    #[cfg(feature = "planted-bugs")]
    #[must_use]
    pub fn with_plants(self, plants: Plants) -> Self {
        Self { plants, ..self }
    }

    /// Whether it acts as the leader now.
    pub fn is_leading(&self) -> bool {
        matches!(self.lead, Lead::Leads(_))
    }

    fn address(&self) -> &NimbusAddress {
        &self.identity.address
    }

    fn note(&mut self, line: impl fmt::Display) {
        self.effects.push(NimbusEffect::Note(line.to_string()));
    }

    /// Says once of each node that it cannot be read, and again when it cannot be read for another reason.
    fn note_skipped(&mut self, skipped: impl IntoIterator<Item = Skipped>) {
        for Skipped { path, why } in skipped {
            if self.garbage.get(path.as_str()) != Some(&why) {
                if self.garbage.len() >= GARBAGE_MAX {
                    self.garbage.clear();
                }
                self.note(format_args!("{path} cannot be read and is passed over: {why}"));
                self.garbage.insert(path.to_string(), why);
            }
        }
    }

    fn reply(&mut self, id: RequestId, reply: Result<Reply, Refusal>) {
        self.effects.push(NimbusEffect::Reply { id, reply });
    }

    /// Begins a conversation in the session that may be used now; in none there is nobody to talk with, and what is meant
    /// is done when the next one begins.
    fn say<B>(&mut self, body: impl FnOnce(Tree) -> B)
    where
        B: Future<Output = Said> + Send + 'static,
    {
        if let Some(session) = self.session.usable() {
            let procedure = self.cluster.procedure(body);
            let heard = self.conversations.begin(session, procedure);
            self.hear(heard);
        }
    }

    fn hear(&mut self, heard: Heard) {
        self.effects.extend(heard.asks.into_iter().map(NimbusEffect::Store));
        match heard.said {
            None => {}
            Some(Said::Presence(said)) => self.hear_presence(said),
            Some(Said::Election(said)) => self.hear_election(said),
            Some(Said::Code(said)) => self.hear_code(said),
            Some(Said::Read { request, reply }) => self.hear_read(request, reply),
            Some(Said::Term { term, said }) => self.hear_term(term, said),
        }
    }

    fn hear_session(&mut self, event: &SessionEvent) {
        let before = self.session;
        // What was under way belongs to what was before.
        self.conversations.abandon();
        self.election.forget_conversations();
        self.code.forget_conversations();
        self.fail_reads("the connection with ZooKeeper was lost");
        match self.session.take(event) {
            Meaning::Began { session, .. } => {
                self.end_term("its session with ZooKeeper is over");
                self.election.forget();
                self.code.forget_session();
                self.presence.begin_session(session);
                self.look_at_root();
            }
            Meaning::GoesOn(session) => {
                self.note(format_args!("session {session} with ZooKeeper goes on"));
                self.resume_presence();
            }
            Meaning::Stops => {
                if before.usable().is_some() {
                    self.note("the connection with ZooKeeper is lost; what runs goes on");
                }
                if let SessionEvent::Unreachable { why } = event {
                    self.note(format_args!("ZooKeeper cannot be reached: {why}"));
                }
                self.end_term("the connection with ZooKeeper is lost");
            }
        }
    }

    /// Ends: everybody who waits is told what is known.
    fn stop(&mut self, why: String) {
        self.conversations.abandon();
        self.fail_reads("this nimbus is ending");
        self.end_term("it is ending");
        self.is_stopped = true;
        self.effects.push(NimbusEffect::Stop(why));
    }

    fn hear_watch(&mut self, event: &WatchEvent) {
        self.watch_election(event);
        match (self.cluster.root().node(event.path.as_str()), event.kind) {
            (Some(Node::Blobs {}), WatchKind::Children) => self.code.keys_are_stale(self.now.moment),
            (Some(Node::Blob { key }), WatchKind::Children) => self.code.is_stale(key, self.now.moment),
            (Some(Node::Supervisors {} | Node::Storms {} | Node::Assignments {}), WatchKind::Children) => {
                self.want_round();
            }
            _ => {}
        }
    }

    fn usable(&self) -> Option<SessionId> {
        self.session.usable()
    }

    /// What has become due; each of these looks at its own time.
    fn look_at_time(&mut self) {
        self.wake_presence();
        self.wake_election();
        self.wake_code();
        self.wake_term();
    }

    fn due(&self) -> [Option<Moment>; 4] {
        // Before it is there, code is not asked for; all of it is looked at when it is.
        let code = if self.presence.is_there() { self.code.due() } else { None };
        [self.presence.due(), self.election.due(), code, self.lead.due()]
    }
}

impl Machine for Nimbus {
    type Input = NimbusInput;
    type Effect = NimbusEffect;

    fn handle(&mut self, now: Now, input: NimbusInput) -> Vec<NimbusEffect> {
        self.now = now;
        match input {
            NimbusInput::Request { id, request: _ } if self.is_stopped => {
                self.reply(id, Err(Refusal::TryAgain("this nimbus has stopped".into())));
            }
            _ if self.is_stopped => {}
            NimbusInput::Store(FromStore::Session(event)) => self.hear_session(&event),
            NimbusInput::Store(FromStore::Watch(event)) => self.hear_watch(&event),
            NimbusInput::Store(FromStore::Outcome { question, outcome }) => {
                let heard = self.conversations.answer(question, outcome);
                self.hear(heard);
            }
            NimbusInput::Request { id, request } => self.take_request(id, request),
            NimbusInput::Code(event) => self.take_code_event(event),
            NimbusInput::Stop(why) => self.stop(why),
        }
        self.wake(now)
    }

    fn wake(&mut self, now: Now) -> Vec<NimbusEffect> {
        self.now = now;
        if !self.is_stopped && self.session.usable().is_some() {
            self.look_at_time();
        }
        std::mem::take(&mut self.effects)
    }

    fn wake_at(&self) -> Option<Moment> {
        // Without a session there is nothing that could be done at any time.
        self.session.usable().filter(|_| !self.is_stopped)?;
        self.due().into_iter().flatten().min()
    }
}
