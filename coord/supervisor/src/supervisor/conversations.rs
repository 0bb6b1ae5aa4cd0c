//! Conversations with the tree: preparing it, saying that one lives, looking at the assignments.
//!
//! Invariants: what comes of a conversation counts only if the session was neither interrupted nor ended since it began;
//! otherwise it is held anew. Threading: plain data. Errors: a trouble is said once and tried again after a pause.

use ringstorm_control::session::Meaning;
use ringstorm_control::talks::{FromStore, Progress};
use ringstorm_control::time::Now;
use ringstorm_records::records::SupervisorInfo;
use ringstorm_records::znode::NodeName;
use ringstorm_store::cluster::{Announced, Reading, RootUse, Trouble};
use ringstorm_store::operation::Stat;
use ringstorm_store::procedure::Procedure;
use ringstorm_store::store::{Change, SessionEvent, SessionId};

use super::{Standing, Supervisor};
use crate::chore::Chore;
use crate::events::SupervisorEffect;
use crate::local_state::SESSIONS_KEPT;
use crate::look::{Look, look};
use crate::plants::Plant;

/// About what notes are.
const SESSION: &str = "session";
const TROUBLE: &str = "trouble";
const IDENTITY: &str = "identity";

/// What a conversation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    kind: Kind,
    generation: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Prepare,
    Announce,
    Look,
}

/// What comes of one.
#[derive(Debug)]
pub(super) enum Value {
    Prepared(RootUse),
    Announced(Box<Announced<SupervisorInfo>>),
    Looked(Look),
}

impl Supervisor {
    /// Takes what the tree says.
    pub(super) fn hear(&mut self, now: Now, from: FromStore, effects: &mut Vec<SupervisorEffect>) {
        match from {
            FromStore::Session(event) => self.session_changed(now, &event, effects),
            FromStore::Watch(event) => {
                let is_missed = event.change == Change::Missed;
                if !(is_missed && self.plants.has(Plant::StaleAfterInterruption)) {
                    self.look.ask(now.moment);
                }
            }
            FromStore::Outcome { question, outcome } => {
                let progress = self.talks.answer(question, outcome);
                self.follow(now, progress, effects);
            }
        }
    }

    /// Begins what is due.
    pub(super) fn converse(&mut self, now: Now, effects: &mut Vec<SupervisorEffect>) {
        // What comes of one may make another one due.
        while let Some((session, kind)) = self.next_conversation(now) {
            let procedure = self.procedure(now, session, kind);
            let progress = self.talks.begin(session, Tag { kind, generation: self.generation }, procedure);
            self.follow(now, progress, effects);
        }
    }

    fn next_conversation(&mut self, now: Now) -> Option<(SessionId, Kind)> {
        let session = self.session.usable().filter(|_| !self.is_stopped)?;
        let kinds = [Kind::Prepare, Kind::Announce, Kind::Look];
        let kind = kinds.into_iter().find(|kind| self.chore(*kind).begins(now.moment))?;
        Some((session, kind))
    }

    fn chore(&mut self, kind: Kind) -> &mut Chore {
        match kind {
            Kind::Prepare => &mut self.prepare,
            Kind::Announce => &mut self.announce,
            Kind::Look => &mut self.look,
        }
    }

    fn procedure(&mut self, now: Now, session: SessionId, kind: Kind) -> Procedure<Result<Value, Trouble>> {
        match kind {
            Kind::Prepare => self.cluster.procedure(|tree| async move {
                let root_use = tree.root_use().await?;
                if matches!(root_use, RootUse::Ours { .. }) {
                    tree.prepare().await?;
                }
                Ok(Value::Prepared(root_use))
            }),
            Kind::Announce => {
                let publication = self.publication();
                let info = self.info(now, &publication);
                self.published = Some(publication);
                let (id, replaces) = (self.id.clone(), self.replaces);
                self.cluster.procedure(move |tree| async move {
                    let announced = tree.announce_supervisor(session, &id, &info, replaces).await?;
                    Ok(Value::Announced(Box::new(announced)))
                })
            }
            Kind::Look => {
                let known = self.assignments.known().clone();
                let ours = self.assignments.ours().keys();
                let cared_for = ours.filter_map(|topology| NodeName::new(topology).ok()).collect();
                self.cluster.procedure(move |tree| async move { look(tree, known, cared_for).await.map(Value::Looked) })
            }
        }
    }

    fn follow(
        &mut self,
        now: Now,
        progress: Progress<Tag, Result<Value, Trouble>>,
        effects: &mut Vec<SupervisorEffect>,
    ) {
        match progress {
            Progress::Asks(asked) => effects.extend(asked.into_iter().map(SupervisorEffect::Store)),
            Progress::Done(tag, _) if tag.generation != self.generation => {}
            Progress::Done(tag, Err(trouble)) => {
                let (first, longest) = (self.settings.tree_pause, self.settings.tree_pause_max);
                self.chore(tag.kind).failed(now.moment, first, longest);
                // That there is no session at present is said when it is lost.
                if !trouble.condition().is_some_and(|condition| condition.is_of_the_connection()) {
                    self.note(TROUBLE, format!("the tree could not be used, and is tried again: {trouble}"), effects);
                }
            }
            Progress::Done(_, Ok(value)) => {
                self.notes.is_over(TROUBLE);
                match value {
                    Value::Prepared(root_use) => self.prepared(now, root_use, effects),
                    Value::Announced(announced) => self.announced(now, *announced, effects),
                    Value::Looked(look) => self.looked(now, look, effects),
                }
            }
        }
    }

    fn session_changed(&mut self, now: Now, event: &SessionEvent, effects: &mut Vec<SupervisorEffect>) {
        self.generation += 1;
        let moment = now.moment;
        match self.session.take(event) {
            Meaning::Began { session, .. } => {
                self.sessions.retain(|earlier| *earlier != session);
                self.replaces = self.sessions.last().copied();
                self.sessions.push(session);
                let surplus = self.sessions.len().saturating_sub(SESSIONS_KEPT);
                self.sessions.drain(..surplus);
                // It may be another history of the tree.
                self.assignments.forget_known();
                if self.is_prepared {
                    self.announce.anew(moment);
                    self.look.anew(moment);
                } else {
                    self.prepare.anew(moment);
                }
                self.connected(effects);
            }
            Meaning::GoesOn(_) => {
                if self.is_prepared {
                    self.announce.anew(moment);
                    if self.plants.has(Plant::StaleAfterInterruption) {
                        self.look.stop();
                    } else {
                        self.look.anew(moment);
                    }
                } else {
                    self.prepare.anew(moment);
                }
                self.connected(effects);
            }
            Meaning::Stops => {
                for kind in [Kind::Prepare, Kind::Announce, Kind::Look] {
                    self.chore(kind).stop();
                }
                let line = match event {
                    SessionEvent::Unreachable { why } => format!("ZooKeeper cannot be reached; workers go on: {why}"),
                    SessionEvent::Expired { .. } => "the session with ZooKeeper is over; workers go on".to_owned(),
                    _ => "the connection to ZooKeeper is lost; workers go on".to_owned(),
                };
                self.note(SESSION, line, effects);
            }
        }
    }

    fn connected(&mut self, effects: &mut Vec<SupervisorEffect>) {
        if self.notes.is_over(SESSION) {
            effects.push(SupervisorEffect::Note("connected to ZooKeeper again".to_owned()));
        }
    }

    fn prepared(&mut self, now: Now, root_use: RootUse, effects: &mut Vec<SupervisorEffect>) {
        match root_use {
            RootUse::ApacheStorm { path, sign } => {
                let why = format!(
                    "a live daemon of Apache Storm uses this root: {path}, {sign}; nothing was written. Set \
                     storm.zookeeper.root to another one, or stop that cluster"
                );
                self.is_stopped = true;
                effects.push(SupervisorEffect::Stop { why });
            }
            RootUse::Ours { skipped } => {
                for skipped in skipped {
                    let path = skipped.path.to_string();
                    self.note(&path, format!("{path} is passed over: {}", skipped.why), effects);
                }
                self.is_prepared = true;
                self.prepare.stop();
                self.announce.anew(now.moment);
                self.look.anew(now.moment);
            }
        }
    }

    fn announced(&mut self, now: Now, announced: Announced<SupervisorInfo>, effects: &mut Vec<SupervisorEffect>) {
        let moment = now.moment;
        match announced {
            Announced::Ours => {
                self.sessions = self.session.usable().into_iter().collect();
                self.admitted(effects);
            }
            Announced::Held { stat, .. } if self.is_own(&stat) => {
                self.replaces = stat.owner;
                self.announce.anew(moment);
                return;
            }
            Announced::Held { .. } if self.plants.has(Plant::ClonedIdAccepted) => self.admitted(effects),
            Announced::Held { record, stat } => {
                self.standing = Standing::Refused;
                let line = self.refusal(&record, &stat);
                self.note(IDENTITY, line, effects);
            }
        }
        self.announce.done(moment, self.settings.heartbeat_period);
    }

    /// Whether the node is of an earlier session of this host's, which was not tried to be replaced just now.
    fn is_own(&self, stat: &Stat) -> bool {
        stat.owner.is_some_and(|owner| self.sessions.contains(&owner)) && self.replaces != stat.owner
    }

    fn admitted(&mut self, effects: &mut Vec<SupervisorEffect>) {
        self.standing = Standing::Admitted;
        if self.notes.is_over(IDENTITY) {
            effects.push(SupervisorEffect::Note(format!("supervisor {} is this host's again", self.id)));
        }
    }

    fn refusal(&self, record: &Reading<SupervisorInfo>, stat: &Stat) -> String {
        let id = &self.id;
        let Some(owner) = stat.owner else {
            return format!(
                "the node of supervisor {id} goes with no session; nothing is started or stopped here until somebody \
                 deletes it"
            );
        };
        let by = match record {
            Reading::Found { value, .. } => format!("host {}, session {owner}", value.hostname),
            Reading::Garbage { .. } | Reading::Absent => format!("session {owner}"),
        };
        format!(
            "supervisor {id} is held by another live session ({by}); nothing is started or stopped here until that is \
             over. If one host was copied from the other, remove the supervisor's local state on one of them"
        )
    }

    fn looked(&mut self, now: Now, look: Look, effects: &mut Vec<SupervisorEffect>) {
        let settings = &self.settings;
        let (lines, again) = self.assignments.take(now.moment, look, settings.gone_for, &settings.ports);
        effects.extend(lines.into_iter().map(SupervisorEffect::Note));
        self.look.done(now.moment, self.settings.look_period);
        if let Some(again) = again {
            self.look.ask_by(again);
        }
        self.settle(now, effects);
    }
}
