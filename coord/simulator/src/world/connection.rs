//! Connections of processes to the tree: requests and answers on their way, interruptions, the ends of sessions.
//!
//! It keeps to the contract of every store (`ringstorm_store::store`) and to no more: outcomes in the order of the
//! requests, watches late, all of them told as missed after an interruption, requests that arrive after their sender has
//! given them up, as long as its session has not gone on elsewhere.

use std::time::Duration;

use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_store::desk::Question;
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::{Condition, Doubt, Outcome};
use ringstorm_store::store::{Change, SessionEvent, SessionId, WatchEvent};

use super::process::{Doubtful, LinkState, ProcessId};
use super::zookeeper::Served;
use super::{Event, World};
use crate::actor::{At, Input};
use crate::brief::{brief_operation, brief_outcome};
use crate::checks::Violation;

/// More operations of one process than this in a second are a loop without a pause.
const ASKED_PER_SECOND_MAX: u32 = 4_000;

/// A request on its way to the ensemble.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) process: ProcessId,
    pub(crate) life: u64,
    pub(crate) session: SessionId,
    pub(crate) link: u64,
    pub(crate) order: u64,
    pub(crate) question: Question,
    pub(crate) operation: Operation,
    pub(crate) is_cut_after: bool,
}

/// An answer on its way back.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) process: ProcessId,
    pub(crate) life: u64,
    pub(crate) link: u64,
    pub(crate) question: Question,
    pub(crate) outcome: Outcome,
}

impl World {
    /// Sends an operation of a process to the ensemble.
    pub(crate) fn submit(&mut self, id: ProcessId, asked: ToStore) -> Result<(), Violation> {
        let delay = self.delay();
        let now = self.now;
        let process = &mut self.processes[id.0];
        if now.saturating_sub(process.asked.0) >= Duration::from_secs(1) {
            process.asked = (now, 0);
        }
        process.asked.1 += 1;
        if process.asked.1 > ASKED_PER_SECOND_MAX {
            let message = format!("{} asked the tree {ASKED_PER_SECOND_MAX} times within a second", process.name);
            return Err(Violation::new("no busy loop", message));
        }
        let link = &mut process.link;
        let failed = match link.state {
            LinkState::Open(session) if session == asked.session => None,
            LinkState::Suspended(session) if session == asked.session => Some(Condition::NotConnected),
            _ => Some(Condition::SessionOver),
        };
        if let Some(condition) = failed {
            self.coverage.hit("operation asked without a connection");
            let outcome = Outcome::failed(condition);
            self.tell(id, FromStore::Outcome { question: asked.question, outcome });
            return Ok(());
        }
        let order = link.submitted;
        link.submitted += 1;
        link.in_flight.push_back(asked.question);
        let at = (now + delay).max(link.last_arrival);
        link.last_arrival = at;
        let doubt = if asked.operation.is_write() { process.doubt.take() } else { None };
        let request = Asked {
            process: id,
            life: process.life,
            session: asked.session,
            link: process.link.number,
            order,
            question: asked.question,
            operation: asked.operation,
            is_cut_after: doubt == Some(Doubtful::After),
        };
        self.queue.push(at, Event::Arrive(Box::new(request)));
        if doubt == Some(Doubtful::Before) {
            self.coverage.hit("fault: write lost with its connection");
            self.cut(id, Some(order));
        }
        Ok(())
    }

    /// A request arrives at the ensemble.
    pub(crate) fn arrive(&mut self, request: Asked) -> Result<(), Violation> {
        let Some(served) = self.zookeeper.served.get_mut(&request.session) else { return Ok(()) };
        if served.link != request.link || request.order >= served.lost_from {
            return Ok(());
        }
        if self.zookeeper.is_down {
            return Ok(());
        }
        served.arrived = request.order + 1;
        let process = &self.processes[request.process.0];
        let is_heard = process.life == request.life && process.link.number == request.link;
        if !is_heard {
            self.coverage.hit("request done after its sender gave it up");
        }
        let trouble = if self.random.chance(self.weather.failing_operations_per_mille) {
            self.coverage.hit("fault: operation without success on a good connection");
            Some(self.random.below(3))
        } else {
            None
        };
        let is_write = request.operation.is_write();
        let was_leading = is_write && self.leading_session() == Some(request.session);
        let outcome = match trouble {
            Some(0) => Outcome::failed(Condition::Overloaded),
            Some(1) => Outcome::Unknown(Doubt::TimedOut),
            _ => self.perform(request.session, &request.operation)?,
        };
        let is_leaders = was_leading && matches!(outcome, Outcome::Done(_));
        let outcome = if trouble == Some(2) { Outcome::Unknown(Doubt::TimedOut) } else { outcome };
        if is_leaders && let Some(left) = &mut self.kill_leader_after {
            *left -= 1;
            if *left == 0 {
                self.kill_leader_after = None;
                self.coverage.hit("leader killed after a write");
                return self.crash(request.process);
            }
        }
        if is_heard {
            let delay = self.delay();
            let link = &mut self.processes[request.process.0].link;
            let at = (self.now + delay).max(link.last_delivery);
            link.last_delivery = at;
            let Asked { process, life, link, question, .. } = request;
            self.queue.push(at, Event::Reply(Box::new(Answered { process, life, link, question, outcome })));
            if request.is_cut_after {
                self.coverage.hit("fault: answer to a write lost with its connection");
                self.cut(process, None);
            }
        }
        Ok(())
    }

    /// Does an operation of a session, and looks whether it was lawful.
    pub(crate) fn perform(&mut self, session: SessionId, operation: &Operation) -> Result<Outcome, Violation> {
        self.zookeeper.performed += 1;
        self.zookeeper.ensemble.set_now_ms(i64::try_from(self.now.as_millis()).unwrap_or(i64::MAX));
        let outcome = if operation.is_write() {
            self.perform_watched(session, operation)?
        } else {
            self.zookeeper.ensemble.perform(session, operation)
        };
        if operation.is_write() {
            let who = self.zookeeper.process_of(session).map_or("by hand", |id| self.processes[id.0].name.as_str());
            self.trace
                .line(self.now, who, || format!("== {} => {}", brief_operation(operation), brief_outcome(&outcome)));
        }
        self.spread_watches();
        Ok(outcome)
    }

    /// Sends on what watches have seen.
    pub(crate) fn spread_watches(&mut self) {
        let told: Vec<SessionId> = self.zookeeper.ensemble.sessions_told().collect();
        for session in told {
            let events = self.zookeeper.ensemble.take_watch_events(session);
            let Some(served) = self.zookeeper.served.get(&session) else { continue };
            let (id, served_link) = (served.process, served.link);
            for event in events {
                let delay =
                    if self.weather.slow_watch_per_mille > 0 && self.random.chance(self.weather.slow_watch_per_mille) {
                        self.coverage.hit("fault: late watch");
                        self.random.millis(100, 8_000)
                    } else {
                        self.delay()
                    };
                let process = &mut self.processes[id.0];
                if process.link.session() != Some(session) {
                    continue;
                }
                if process.link.number != served_link {
                    process.link.missed.push(event);
                    continue;
                }
                let number = process.link.next_watch;
                process.link.next_watch += 1;
                process.link.watches.insert(number, event);
                self.queue.push(self.now + delay, Event::Watch { process: id, life: process.life, number });
            }
        }
    }

    /// An answer arrives at its process.
    pub(crate) fn reply(&mut self, reply: Answered) -> Result<(), Violation> {
        let process = &mut self.processes[reply.process.0];
        if process.life != reply.life || process.link.number != reply.link {
            return Ok(());
        }
        let first = process.link.in_flight.pop_front();
        debug_assert_eq!(first, Some(reply.question), "answers come in the order of the requests");
        let said = FromStore::Outcome { question: reply.question, outcome: reply.outcome };
        self.give(reply.process, Input::Store(said))
    }

    /// A watch arrives at its process.
    pub(crate) fn watch(&mut self, id: ProcessId, life: u64, number: u64) -> Result<(), Violation> {
        let process = &mut self.processes[id.0];
        if process.life != life {
            return Ok(());
        }
        match process.link.watches.remove(&number) {
            Some(event) => self.give(id, Input::Store(FromStore::Watch(event))),
            None => Ok(()),
        }
    }

    /// Tells a process something of the tree, behind what it was told before.
    pub(crate) fn tell(&mut self, id: ProcessId, said: FromStore) {
        let process = &mut self.processes[id.0];
        let at = self.now.max(process.link.last_delivery);
        process.link.last_delivery = at;
        let life = process.life;
        self.queue.push(at, Event::Give { process: id, life, input: Box::new(Input::Store(said)) });
    }

    /// The connection of a process is lost. Of the requests under way, those from `lost_from` on never arrive; `None`
    /// leaves that to chance.
    pub(crate) fn cut(&mut self, id: ProcessId, lost_from: Option<u64>) {
        let LinkState::Open(session) = self.processes[id.0].link.state else { return };
        self.coverage.hit("connection lost");
        self.lose(id, lost_from);
        let is_told_first = self.random.chance(500);
        let suspended = FromStore::Session(SessionEvent::Suspended { session });
        if is_told_first {
            self.tell(id, suspended.clone());
        }
        let link = &mut self.processes[id.0].link;
        link.state = LinkState::Suspended(session);
        let in_flight = std::mem::take(&mut link.in_flight);
        let watches = std::mem::take(&mut link.watches);
        link.missed.extend(watches.into_values());
        for question in in_flight {
            self.tell(id, FromStore::Outcome { question, outcome: Outcome::Unknown(Doubt::ConnectionLost) });
        }
        if !is_told_first {
            self.tell(id, suspended);
        }
        let delay = if self.random.chance(200) { self.random.millis(500, 20_000) } else { self.random.millis(10, 500) };
        self.plan_connect(id, delay);
    }

    /// What the ensemble sees of a connection that is lost, or of a process that died.
    pub(crate) fn lose(&mut self, id: ProcessId, lost_from: Option<u64>) {
        let link = &mut self.processes[id.0].link;
        link.number += 1;
        let (session, submitted) = (link.session(), link.submitted);
        let Some(session) = session else { return };
        if let Some(served) = self.zookeeper.served.get_mut(&session) {
            let under_way = usize::try_from(submitted.saturating_sub(served.arrived)).unwrap_or(usize::MAX);
            let by_chance = served.arrived + self.random.below(under_way.saturating_add(1)) as u64;
            served.lost_from = served.lost_from.min(lost_from.unwrap_or(by_chance));
        }
        self.silence(session);
    }

    /// A session is not heard of any more.
    pub(crate) fn silence(&mut self, session: SessionId) {
        let Some(served) = self.zookeeper.served.get_mut(&session) else { return };
        if served.is_silent {
            return;
        }
        served.is_silent = true;
        served.silence += 1;
        let silence = served.silence;
        // Sessions expire in steps of the servers' tick.
        let at = self.now + self.zookeeper.timeout + self.random.millis(0, 2_000);
        self.queue.push(at, Event::Expire { session, silence });
    }

    /// A session is heard of again.
    pub(crate) fn hear(&mut self, session: SessionId) {
        if let Some(served) = self.zookeeper.served.get_mut(&session) {
            served.is_silent = false;
            served.silence += 1;
        }
    }

    /// A session was silent for its time.
    pub(crate) fn expire(&mut self, session: SessionId, silence: u64) -> Result<(), Violation> {
        let Some(served) = self.zookeeper.served.get(&session) else { return Ok(()) };
        if !served.is_silent || served.silence != silence {
            return Ok(());
        }
        if self.zookeeper.is_down {
            self.queue.push(self.now + self.zookeeper.timeout, Event::Expire { session, silence });
            return Ok(());
        }
        self.coverage.hit("session expired");
        self.end_session(session)
    }

    /// Ends a session.
    pub(crate) fn end_session(&mut self, session: SessionId) -> Result<(), Violation> {
        let who = self.zookeeper.process_of(session).map_or("by hand", |id| self.processes[id.0].name.as_str());
        self.trace.line(self.now, who, || format!("== session {session} ends"));
        self.zookeeper.ensemble.end(session);
        self.spread_watches();
        Ok(())
    }

    /// Plans that a process tries to connect.
    pub(crate) fn plan_connect(&mut self, id: ProcessId, delay: Duration) {
        let process = &self.processes[id.0];
        let (life, link) = (process.life, process.link.number);
        self.queue.push(self.now + delay, Event::Connect { process: id, life, link });
    }

    /// A process tries to connect.
    pub(crate) fn connect(&mut self, id: ProcessId, life: u64, link: u64) -> Result<(), Violation> {
        let process = &self.processes[id.0];
        if process.life != life || process.link.number != link || !process.is_up() {
            return Ok(());
        }
        let (state, is_frozen) = (process.link.state, process.frozen.is_some());
        let is_reachable = !self.zookeeper.is_down && self.network.reaches_zookeeper(process.host);
        if is_frozen || !is_reachable {
            if state == LinkState::None && !is_frozen {
                let why = "no member of the ensemble answers".to_owned();
                self.tell(id, FromStore::Session(SessionEvent::Unreachable { why }));
            }
            let delay = self.random.millis(300, 2_000);
            self.plan_connect(id, delay);
            return Ok(());
        }
        let up = self.zookeeper.members_up();
        let member = self.random.pick(&up).copied().unwrap_or(0);
        match state {
            LinkState::Open(_) => {}
            LinkState::None => self.open(id, member),
            LinkState::Suspended(session) if !self.zookeeper.ensemble.is_open(session) => {
                self.coverage.hit("session found expired");
                let link = &mut self.processes[id.0].link;
                link.state = LinkState::None;
                link.missed.clear();
                self.tell(id, FromStore::Session(SessionEvent::Expired { session }));
                let delay = self.random.millis(5, 200);
                self.plan_connect(id, delay);
            }
            LinkState::Suspended(session) => {
                if self.zookeeper.ensemble.attach(session, member).is_ok() {
                    self.go_on(id, session, member);
                } else {
                    self.coverage.hit("member refused that is behind");
                    let delay = self.random.millis(20, 300);
                    self.plan_connect(id, delay);
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, id: ProcessId, member: usize) {
        let session = self.zookeeper.ensemble.open(member, &[]);
        let link = &mut self.processes[id.0].link;
        link.number += 1;
        link.state = LinkState::Open(session);
        link.submitted = 0;
        let served = Served {
            process: id,
            link: link.number,
            member,
            arrived: 0,
            lost_from: u64::MAX,
            silence: 0,
            is_silent: false,
        };
        self.zookeeper.served.insert(session, served);
        let timeout = self.zookeeper.timeout;
        self.tell(id, FromStore::Session(SessionEvent::Opened { session, timeout }));
    }

    fn go_on(&mut self, id: ProcessId, session: SessionId, member: usize) {
        let link = &mut self.processes[id.0].link;
        link.number += 1;
        link.state = LinkState::Open(session);
        link.submitted = 0;
        let number = link.number;
        let missed = std::mem::take(&mut link.missed);
        if let Some(served) = self.zookeeper.served.get_mut(&session) {
            (served.link, served.member, served.arrived, served.lost_from) = (number, member, 0, u64::MAX);
        }
        self.hear(session);
        self.tell(id, FromStore::Session(SessionEvent::Resumed { session }));
        for event in missed {
            let WatchEvent { path, kind, .. } = event;
            self.tell(id, FromStore::Watch(WatchEvent { path, kind, change: Change::Missed }));
        }
        self.spread_watches();
    }

    /// How long something is under way between a process and the ensemble.
    pub(crate) fn delay(&mut self) -> At {
        if self.random.chance(self.weather.slow_per_mille) {
            return self.random.millis(20, 1_500);
        }
        self.random.duration(Duration::from_micros(200), Duration::from_millis(4))
    }
}
