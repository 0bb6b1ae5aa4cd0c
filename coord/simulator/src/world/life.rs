//! How processes start, act, freeze and end.
//!
//! Invariants: effects are done in their order; a crash may fall between any two of them, and what comes behind it is
//! never done.

use std::time::Duration;

use ringstorm_nimbus::NimbusEffect;
use ringstorm_nimbus::interface::RequestId;
use ringstorm_supervisor::events::Exit;

use super::process::{Link, LinkState, ProcessId};
use super::{Event, World};
use crate::actor::{Birth, Effect, Errand, Input, Role};
use crate::checks::Violation;

/// More wake-ups at one time than this are a loop without a pause.
const WAKES_MAX: u32 = 100;

impl World {
    /// A process starts.
    pub(crate) fn start(&mut self, id: ProcessId, life: u64) -> Result<(), Violation> {
        if self.workers.get(&id).is_some_and(|worker| !worker.is_alive) {
            return Ok(());
        }
        let is_down = self.is_down(self.processes[id.0].host);
        let process = &mut self.processes[id.0];
        if process.life != life || process.is_up() || is_down {
            return Ok(());
        }
        process.life += 1;
        let born = process.life.div_ceil(2);
        let now = process.clock.now(self.now);
        let factory = process.factory.clone();
        self.trace.line(self.now, &self.processes[id.0].name, || format!("starts for the {born}. time"));
        let found = self.found_workers(id);
        let (mirror, disk) = (&self.mirror, &self.processes[id.0].disk);
        let actor = factory(Birth { life: born, now, random: &mut self.random, disk, found, mirror });
        let process = &mut self.processes[id.0];
        let Some(actor) = actor else {
            self.coverage.hit("worker ended at its start");
            return self.exit_worker(id, Exit::Code(1));
        };
        process.was_admitted = false;
        process.actor = Some(actor);
        process.link = Link { number: process.link.number + 1, ..Link::default() };
        (process.crash_after, process.doubt) = (None, None);
        let delay = self.random.millis(1, 100);
        self.plan_connect(id, delay);
        match self.processes[id.0].role {
            Role::Nimbus => self.read_directory(id),
            Role::Worker => {
                let life = self.processes[id.0].life;
                self.queue.push(self.now + Duration::from_secs(1), Event::Tick { process: id, life });
            }
            Role::Supervisor | Role::Client => {}
        }
        self.act(id, None)
    }

    /// Gives a process an input; one that is frozen gets it when it thaws.
    pub(crate) fn give(&mut self, id: ProcessId, input: Input) -> Result<(), Violation> {
        match &mut self.processes[id.0].frozen {
            Some(kept) => {
                kept.push(input);
                Ok(())
            }
            None => self.act(id, Some(input)),
        }
    }

    /// The time has come at which a process wanted to be woken.
    pub(crate) fn wake(&mut self, id: ProcessId, life: u64, number: u64) -> Result<(), Violation> {
        let now = self.now;
        let process = &mut self.processes[id.0];
        if process.life != life || process.wake_number != number || process.frozen.is_some() {
            return Ok(());
        }
        process.woken = if process.woken.0 == now { (now, process.woken.1 + 1) } else { (now, 0) };
        if process.woken.1 > WAKES_MAX {
            return Err(Violation::new("no busy loop", format!("{} wants to be woken again and again", process.name)));
        }
        self.act(id, None)
    }

    /// Lets a process take an input, or the time alone, and does what it wants.
    fn act(&mut self, id: ProcessId, input: Option<Input>) -> Result<(), Violation> {
        let process = &mut self.processes[id.0];
        let Some(actor) = &mut process.actor else { return Ok(()) };
        if let Some(input) = &input {
            self.trace.line(self.now, &process.name, || input.to_string());
        }
        let now = process.clock.now(self.now);
        let effects = match input {
            Some(input) => actor.handle(now, input),
            None => actor.wake(now),
        };
        let crash_after = process.crash_after.take().map(|after| after % (effects.len() + 1));
        let life = process.life;
        for (index, effect) in effects.into_iter().enumerate() {
            if crash_after == Some(index) {
                self.coverage.hit("fault: crash between two effects");
                return self.crash(id);
            }
            self.trace.line(self.now, &self.processes[id.0].name, || format!("   {effect}"));
            self.do_effect(id, effect)?;
            if self.processes[id.0].life != life {
                return Ok(());
            }
        }
        if crash_after.is_some() {
            self.coverage.hit("fault: crash after an input");
            return self.crash(id);
        }
        self.plan_wake(id);
        Ok(())
    }

    fn plan_wake(&mut self, id: ProcessId) {
        let late = self.random.duration(Duration::ZERO, Duration::from_millis(2));
        let process = &mut self.processes[id.0];
        process.wake_number += 1;
        let Some(moment) = process.actor.as_ref().and_then(|actor| actor.wake_at()) else { return };
        let due = process.clock.when(moment);
        // Nobody is woken on the dot; who wants it at once is woken at once, so that a loop is seen.
        let at = if due <= self.now { self.now } else { due + late };
        let (life, number) = (process.life, process.wake_number);
        self.queue.push(at, Event::Wake { process: id, life, number });
    }

    fn do_effect(&mut self, id: ProcessId, effect: Effect) -> Result<(), Violation> {
        match effect {
            Effect::Store(asked) => self.submit(id, asked),
            Effect::Note(line) => {
                self.notes.iter_mut().for_each(|notes| notes.push(line.clone()));
                Ok(())
            }
            Effect::Nimbus(effect) => self.do_nimbuses(id, *effect),
            Effect::Supervisor(effect) => self.do_supervisors(id, *effect),
            Effect::Worker(effect) => self.do_workers(id, *effect),
            Effect::Client(effect) => self.do_clients(id, *effect),
        }
    }

    fn do_nimbuses(&mut self, id: ProcessId, effect: NimbusEffect) -> Result<(), Violation> {
        match effect {
            NimbusEffect::Reply { id: RequestId(number), reply } => self.answer(number, reply),
            NimbusEffect::Code(request) => self.ask_code(id, request),
            NimbusEffect::Stop(_) => {
                self.coverage.hit("nimbus stopped itself");
                self.crash(id)
            }
            NimbusEffect::Store(asked) => self.submit(id, asked),
            NimbusEffect::Note(_) => Ok(()),
        }
    }

    fn do_clients(&mut self, id: ProcessId, effect: Errand) -> Result<(), Violation> {
        match effect {
            Errand::Call { call, to, request } => {
                self.call(id, call, &to, *request);
                Ok(())
            }
            Errand::Upload { call, to } => {
                self.upload(id, call, &to);
                Ok(())
            }
            Errand::Tell { wish, verdict } => self.told(wish, verdict),
        }
    }

    /// A process ends at once. Its host may start it again later.
    pub(crate) fn crash(&mut self, id: ProcessId) -> Result<(), Violation> {
        if self.workers.get(&id).is_some_and(|worker| worker.is_alive) {
            // It is its supervisor that hears of it.
            return self.exit_worker(id, Exit::Signal(9));
        }
        if !self.processes[id.0].is_up() {
            return Ok(());
        }
        self.trace.line(self.now, &self.processes[id.0].name, || "== crashes".to_owned());
        self.lose(id, None);
        let process = &mut self.processes[id.0];
        process.actor = None;
        process.frozen = None;
        process.life += 1;
        process.link.state = LinkState::None;
        let (life, is_restarted) = (process.life, process.is_restarted);
        self.lose_calls(id);
        if is_restarted {
            let delay =
                if self.random.chance(300) { self.random.millis(2_000, 40_000) } else { self.random.millis(50, 2_000) };
            self.queue.push(self.now + delay, Event::Start { process: id, life });
        }
        Ok(())
    }

    /// Stops a process for a while: what comes for it waits, and its session falls silent.
    pub(crate) fn freeze(&mut self, id: ProcessId, duration: Duration) {
        let process = &mut self.processes[id.0];
        if !process.is_up() || process.frozen.is_some() {
            return;
        }
        self.trace.line(self.now, &process.name, || format!("== freezes for {duration:?}"));
        process.frozen = Some(Vec::new());
        let (life, session) = (process.life, process.link.session());
        self.queue.push(self.now + duration, Event::Thaw { process: id, life });
        if let Some(session) = session {
            self.silence(session);
        }
    }

    /// A frozen process goes on with everything that waited for it.
    pub(crate) fn thaw(&mut self, id: ProcessId, life: u64) -> Result<(), Violation> {
        let process = &mut self.processes[id.0];
        if process.life != life {
            return Ok(());
        }
        let Some(kept) = process.frozen.take() else { return Ok(()) };
        self.trace.line(self.now, &process.name, || format!("== thaws, {} inputs wait", kept.len()));
        if let Some(session) = self.processes[id.0].link.session() {
            if self.zookeeper.ensemble.is_open(session) {
                if self.processes[id.0].link.is_open() {
                    self.hear(session);
                }
            } else {
                // The servers have closed the connection long since; the process learns of it behind all the rest.
                self.coverage.hit("thawed behind the end of its session");
                self.queue.push(self.now + Duration::from_millis(20), Event::Cut { process: id, life });
            }
        }
        for input in kept {
            self.act(id, Some(input))?;
            if self.processes[id.0].life != life {
                return Ok(());
            }
        }
        self.act(id, None)
    }
}
