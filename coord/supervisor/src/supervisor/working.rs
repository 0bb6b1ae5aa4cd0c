//! Slots, processes that belong to none of them, and code. Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_control::time::{Moment, Now};

use super::{Standing, Supervisor};
use crate::events::{CodeEvent, ProcessEvent, StartWorker, StopHow, StopReason, SupervisorEffect};
use crate::local_state::{LocalState, SlotState};
use crate::slot::{Slot, SlotAction, SlotInput, Surroundings, Wanted};
use crate::stopping::Stopping;

impl Supervisor {
    /// Whether anything may be started or stopped.
    fn may_act(&self) -> bool {
        self.standing == Standing::Admitted
    }

    /// When the machine was frozen, beats may lie in its queue: nobody's silence counts.
    pub(super) fn thaw(&mut self, now: Now, effects: &mut Vec<SupervisorEffect>) {
        let is_frozen = self.alarm.is_some_and(|alarm| now.moment.since(alarm) >= self.settings.frozen_after);
        if is_frozen {
            let ports: Vec<u16> = self.slots.keys().copied().collect();
            for port in ports {
                self.tell(now, port, SlotInput::SilenceIsExcused, effects);
            }
        }
    }

    /// Takes what became of a process.
    pub(super) fn process(&mut self, now: Now, event: ProcessEvent, effects: &mut Vec<SupervisorEffect>) {
        let (port, incarnation) = event.process();
        let slot = self.slots.get(&port);
        if slot.and_then(Slot::process).is_some_and(|process| process.incarnation() == incarnation) {
            self.tell(now, port, SlotInput::Process(event), effects);
            return;
        }
        if matches!(event, ProcessEvent::Exited { .. } | ProcessEvent::StartFailed { .. }) {
            self.strays.remove(&(port, incarnation));
        } else if !slot.is_some_and(|slot| slot.has_ended(incarnation)) {
            self.strays.entry((port, incarnation)).or_insert(None);
            self.slots.get_mut(&port).into_iter().for_each(|slot| slot.saw(incarnation));
        }
    }

    /// Takes what became of code.
    pub(super) fn code(&mut self, now: Now, event: CodeEvent, effects: &mut Vec<SupervisorEffect>) {
        let changed = match &event {
            CodeEvent::Changed { topology } if self.codes.here().contains_key(topology) => Some(topology.clone()),
            _ => None,
        };
        let failed = match &event {
            CodeEvent::Failed { topology, .. } => Some(topology.clone()),
            _ => None,
        };
        effects.extend(self.codes.take(now.moment, event, &self.settings).map(SupervisorEffect::Note));
        failed.into_iter().for_each(|topology| self.report_missing_code(&topology, effects));
        if let Some(topology) = changed {
            let ports: Vec<u16> = self.slots.keys().copied().collect();
            for port in ports {
                self.tell(now, port, SlotInput::CodeChanged(topology.clone()), effects);
            }
        }
    }

    /// Why a slot without a process cannot be given work for want of code, if so.
    pub(super) fn lacks_code(&self, slot: &Slot) -> Option<&str> {
        let topology = match slot.wanted() {
            Some(Wanted::Run(share)) => Some(share.topology.as_str()),
            Some(Wanted::Nothing) | None => None,
        };
        self.codes.trouble(topology).filter(|_| slot.process().is_none())
    }

    /// Tells whoever looks at the topology why it does not run in the slots that wait for its code.
    fn report_missing_code(&self, topology: &str, effects: &mut Vec<SupervisorEffect>) {
        let Some(why) = self.codes.failure(topology, &self.settings) else { return };
        let waiting = self.slots.iter().filter_map(|(port, slot)| Some((*port, slot.waits_for_code()?)));
        effects.extend(waiting.filter(|(_, share)| share.topology == topology).map(|(port, share)| {
            let host = &self.host.name;
            let text =
                format!("its worker in slot {port} of {host} did not start: its code could not be fetched: {why}");
            SupervisorEffect::Report { port, share: share.clone(), text }
        }));
    }

    /// Says which slots are withdrawn for want of code, and which are so no more.
    fn note_missing_code(&mut self, effects: &mut Vec<SupervisorEffect>) {
        let ports: Vec<u16> = self.slots.keys().copied().collect();
        for port in ports {
            let about = format!("the code of slot {port}");
            let why = self.slots.get(&port).and_then(|slot| self.lacks_code(slot));
            match why.map(|why| format!("slot {port} is withdrawn, since code cannot be fetched: {why}")) {
                Some(line) => self.note(&about, line, effects),
                None if self.notes.is_over(&about) => {
                    effects.push(SupervisorEffect::Note(format!("slot {port} is in service again")));
                }
                None => {}
            }
        }
    }

    /// Does what is due.
    pub(super) fn settle(&mut self, now: Now, effects: &mut Vec<SupervisorEffect>) {
        let ports: Vec<u16> = self.slots.keys().copied().collect();
        for port in ports {
            let input = self.wanted(port).map_or(SlotInput::Time, SlotInput::Want);
            self.tell(now, port, input, effects);
        }
        if !self.may_act() {
            return;
        }
        self.stop_strays(now, effects);
        if self.assignments.has_looked() {
            let waiting = self.slots.values().filter_map(Slot::waits_for_code);
            let waited_for = waiting.map(|share| share.topology.clone()).collect();
            let processes = self.slots.values().filter_map(Slot::process);
            let running: BTreeSet<_> = processes.map(|process| process.share().topology.clone()).collect();
            let ours = self.assignments.ours();
            let may_be_needed = |topology: &str| ours.contains_key(topology);
            effects.extend(self.codes.settle(now.moment, &waited_for, &running, may_be_needed));
        }
        self.note_missing_code(effects);
        if self.published.as_ref().is_some_and(|published| *published != self.publication()) {
            self.announce.ask(now.moment);
        }
    }

    /// What a slot is to run, if that is known.
    fn wanted(&self, port: u16) -> Option<Wanted> {
        let slot = self.slots.get(&port).filter(|_| self.assignments.has_looked())?;
        let running = slot.process().map(|process| process.share().topology.as_str());
        let running = running.or(match slot.wanted() {
            Some(Wanted::Run(share)) => Some(share.topology.as_str()),
            Some(Wanted::Nothing) | None => None,
        });
        Some(self.assignments.wanted(port, running))
    }

    fn tell(&mut self, now: Now, port: u16, input: SlotInput, effects: &mut Vec<SupervisorEffect>) {
        let around = Surroundings {
            now,
            settings: &self.settings,
            may_act: self.may_act(),
            is_free: self.strays.range((port, 0)..=(port, u64::MAX)).next().is_none(),
            gone: self.assignments.gone(),
            code: self.codes.here(),
            plants: &self.plants,
        };
        let Some(slot) = self.slots.get_mut(&port) else { return };
        for action in slot.handle(around, input) {
            effects.push(match action {
                SlotAction::Note(line) => SupervisorEffect::Note(line),
                SlotAction::Stop { incarnation, how, why } => {
                    SupervisorEffect::StopWorker { port, incarnation, how, why }
                }
                SlotAction::Start { incarnation, share } => {
                    let assigned = self.assignments.ours().get(&share.topology);
                    SupervisorEffect::StartWorker(StartWorker {
                        port,
                        topology: share.topology,
                        incarnation,
                        executors: share.executors,
                        resources: share.resources,
                        cores: assigned.map_or(1, |it| it.cores),
                        version: assigned.map_or(0, |it| it.version),
                    })
                }
            });
        }
    }

    fn stop_strays(&mut self, now: Now, effects: &mut Vec<SupervisorEffect>) {
        for ((port, incarnation), stopping) in &mut self.strays {
            let (port, incarnation) = (*port, *incarnation);
            let how = match stopping {
                None => {
                    *stopping = Some(Stopping::begin(now.moment, &self.settings, StopReason::Stray));
                    let line = format!(
                        "port {port}: a worker (incarnation {incarnation}) runs that is not the one of its slot; it is \
                         stopped"
                    );
                    effects.push(SupervisorEffect::Note(line));
                    Some(StopHow::Ask)
                }
                Some(stopping) => stopping.step(now.moment, &self.settings),
            };
            let why = StopReason::Stray;
            effects.extend(how.map(|how| SupervisorEffect::StopWorker { port, incarnation, how, why }));
        }
    }

    /// When something is to be done without the tree.
    pub(super) fn work_wakes_at(&self) -> Option<Moment> {
        let may_act = self.may_act();
        let slots = self.slots.values().filter_map(|slot| slot.wake_at(&self.settings, may_act));
        let strays = self.strays.values().filter_map(|stopping| stopping.as_ref().map(Stopping::next));
        let codes = self.codes.wake_at().filter(|_| self.assignments.has_looked());
        slots.chain(strays.chain(codes).filter(|_| may_act)).min()
    }

    /// Whether what is to be on disk is there. It is asked after everything that happens, so nothing is copied for it.
    pub(super) fn is_saved(&self) -> bool {
        let saved = &self.saved;
        let is_slot_saved = |(port, slot): (&u16, &SlotState)| match self.slots.get(port) {
            Some(own) => own.is_saved_as(slot),
            None => slot.running.is_none(),
        };
        let is_saved = saved.supervisor.as_deref() == Some(self.id.as_str())
            && saved.host_mark == self.host.mark
            && saved.sessions.iter().copied().eq(self.sessions.iter().map(|session| session.0))
            && saved.is_out_of_service == self.is_out_of_service
            && self.slots.keys().all(|port| saved.slots.contains_key(port))
            && saved.slots.iter().all(is_slot_saved)
            && saved.assigned == *self.assignments.ours();
        debug_assert_eq!(is_saved, *saved == self.local_state(), "the two look at the same");
        is_saved
    }

    /// What is to be on disk.
    pub(super) fn local_state(&self) -> LocalState {
        // Of slots that there are no more, the incarnations are kept, should they come again.
        let earlier = self
            .saved
            .slots
            .iter()
            .map(|(port, slot)| (*port, SlotState { last_incarnation: slot.last_incarnation, running: None }));
        let mut slots: BTreeMap<u16, SlotState> = earlier.collect();
        slots.extend(self.slots.iter().map(|(port, slot)| (*port, slot.saved())));
        LocalState {
            supervisor: Some(self.id.to_string()),
            host_mark: self.host.mark.clone(),
            sessions: self.sessions.iter().map(|session| session.0).collect(),
            is_out_of_service: self.is_out_of_service,
            slots,
            assigned: self.assignments.ours().clone(),
        }
    }
}
