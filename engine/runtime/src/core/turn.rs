//! The turn of a core: control messages, frames, a slice for each ready executor, then everything is published.
//!
//! Threading: belongs to one core. Errors: failures of user code are settled by the executors and reported here.

use std::sync::atomic::{Ordering, fence};

use crate::core::bolt_executor::{Budget, Stop, Surroundings};
use crate::core::control::ControlRecipients;
use crate::core::link::{Link, OpenFrame, Way};
use crate::core::spout_executor::SpoutExecutor;
use crate::core::status::{Event, SpoutsLeft};
use crate::core::{Core, LocalExecutor};
use ringstorm_frame::{Anchors, FrameReader, RunCursor};

/// Frames taken from one ring in one turn.
const FRAMES_PER_TURN: usize = 16;
/// Cells of control messages taken from one ring in one turn.
const CONTROL_CELLS_PER_TURN: usize = 64;
/// Time that the slices of one turn may take together; the rest keep their place.
const TURN_NS: u64 = 100_000;

impl Core {
    /// Runs until told to stop.
    pub(crate) fn run(&mut self) {
        self.open();
        while !self.stopping {
            if self.turn() {
                continue;
            }
            self.rest();
        }
        self.close_sockets();
    }

    /// One turn. Returns whether anything was done.
    pub(crate) fn turn(&mut self) -> bool {
        self.transfer.now_ns = crate::clock::now_ns();
        let sent_before = self.transfer.counters.sent;
        let mut progress = false;
        if self.commands.is_waiting() {
            self.obey();
            if self.stopping {
                // The tasks are gone: what still lies in rings and inboxes is nobody's.
                return true;
            }
            progress = true;
        }
        progress |= self.read_control();
        progress |= self.read_frames();
        progress |= self.read_sockets();
        if self.transfer.now_ns >= self.next_deadline_ns {
            self.tick();
        }
        self.gate_version_seen = self.transfer.gate_version;
        progress |= self.run_ackers();
        progress |= self.run_bolts();
        progress |= self.run_spouts();
        self.end_turn(if self.may_wait { OpenFrame::Go } else { OpenFrame::WhenRead });
        // A spout may emit and say that it waits: what it emitted to this core is there to be worked on.
        progress |= self.transfer.counters.sent != sent_before || !self.transfer.local_acks.is_empty();
        if progress {
            self.report_failures();
            self.show_numbers();
            self.policy.work_arrived(self.transfer.now_ns);
            self.idle_since_ns = self.transfer.now_ns;
            self.idle_reported = false;
        }
        progress
    }

    fn open(&mut self) {
        self.transfer.now_ns = crate::clock::now_ns();
        self.each_bolt(|bolt, transfer| {
            bolt.each_task(transfer, "prepare", |bolt, context, _| bolt.prepare(context), true);
        });
        self.each_spout(SpoutExecutor::open);
        self.report_failures();
        self.show_numbers();
        self.update_ticks();
        self.update_deadline();
        self.send_event(Event::Ready { core: self.index });
    }

    fn read_control(&mut self) -> bool {
        let Self { inbound, feeders, transfer, spouts, ackers, locals, status, .. } = self;
        let mut recipients = ControlRecipients { transfer, spouts, ackers, locals };
        let mut received = 0u64;
        for (link, feeder) in inbound.iter_mut().zip(feeders) {
            if !link.control.has_available() {
                continue;
            }
            link.control.poll(CONTROL_CELLS_PER_TURN, |cell| {
                received += cell.len() as u64;
                cell.iter().for_each(|message| recipients.take(*message));
            });
            feeder.freed = true;
        }
        if received > 0 {
            status.count_control_received(received);
        }
        received > 0
    }

    fn read_frames(&mut self) -> bool {
        let mut read = 0;
        for index in 0..self.inbound.len() {
            let Some(mut data) = self.inbound[index].data.take() else { continue };
            if data.has_available() {
                read += data.poll(FRAMES_PER_TURN, |cell| {
                    cell.read(|frame| self.deliver(frame));
                });
                self.feeders[index].freed = true;
            }
            self.inbound[index].data = Some(data);
        }
        read > 0
    }

    /// Hands every tuple of a frame to its executor: executed where it lies, or copied to the inbox.
    pub(super) fn deliver(&mut self, frame: &[u8]) {
        let mut budget = Budget::new(self.transfer.now_ns);
        for run in FrameReader::new(frame) {
            let mut cursor = run.start();
            if let Some(target) = run.single_target() {
                let Some(Some(LocalExecutor::Bolt(index))) = self.locals.get(target as usize).copied() else {
                    continue;
                };
                let outlet_is_empty = self.transfer.outlets[index as usize].is_empty();
                let executor = &mut self.bolts[index as usize];
                if outlet_is_empty && executor.runs_in_place(&self.transfer) {
                    let around = Surroundings { sources: &self.sources, component_numbers: &self.component_numbers };
                    enter(&self.status, executor.component_number, self.transfer.now_ns);
                    let was_unknown = executor.tuple_ns == 0;
                    let stop = executor.execute(&run, &mut cursor, &mut budget, &mut self.transfer, &around);
                    if was_unknown {
                        // Its speed is to be told.
                        self.transfer.list(index);
                    }
                    leave(&self.status);
                    if !executor.listed && executor.has_work() {
                        executor.listed = true;
                        self.ready.push_back(index);
                    }
                    if stop == Stop::EndOfRun {
                        continue;
                    }
                }
                if cursor == RunCursor::default() {
                    let transfer = &mut self.transfer;
                    transfer.list(index);
                    transfer.outlets[index as usize].append_run(&run, &mut transfer.pool);
                    continue;
                }
            }
            while let Some(tuple) = run.next(&mut cursor) {
                let Some(Some(LocalExecutor::Bolt(index))) = self.locals.get(tuple.target as usize).copied() else {
                    continue;
                };
                let transfer = &mut self.transfer;
                transfer.list(index);
                let outlet = &mut transfer.outlets[index as usize];
                outlet.make_room(tuple.payload.len(), &mut transfer.pool);
                let copied = outlet.writer.append(run.source(), run.stream(), tuple.target, tuple.anchors, |bytes| {
                    bytes.extend_from_slice(tuple.payload);
                    Ok::<(), std::convert::Infallible>(())
                });
                debug_assert!(copied.is_ok(), "copying bytes cannot fail");
                if let Anchors::Many(many) = tuple.anchors {
                    outlet.note_joined(many.len(), transfer.limits.frame_bytes);
                }
            }
        }
    }

    fn run_ackers(&mut self) -> bool {
        let mut progress = false;
        for (acker, message) in self.transfer.local_acks.drain(..) {
            if let Some(LocalExecutor::Acker(index)) = self.locals[acker as usize] {
                self.ackers[index as usize].push(message);
            }
        }
        for acker in &mut self.ackers {
            progress |= acker.run(&mut self.transfer);
        }
        for (spout, outcome) in self.transfer.local_outcomes.drain(..) {
            if let Some(LocalExecutor::Spout(index)) = self.locals[spout as usize] {
                self.spouts[index as usize].push_outcome(spout, outcome);
            }
        }
        progress
    }

    fn run_bolts(&mut self) -> bool {
        self.list_fresh_inboxes();
        let until_ns = self.transfer.now_ns + TURN_NS;
        let mut progress = false;
        for _ in 0..self.ready.len() {
            let Some(index) = self.ready.pop_front() else { break };
            let around = Surroundings { sources: &self.sources, component_numbers: &self.component_numbers };
            let executor = &mut self.bolts[index as usize];
            enter(&self.status, executor.component_number, self.transfer.now_ns);
            progress |= executor.run(index, &mut self.transfer, &around);
            leave(&self.status);
            if executor.is_ready(&self.transfer, index) {
                self.ready.push_back(index);
            } else {
                executor.listed = false;
            }
            if self.transfer.now_ns >= until_ns {
                break;
            }
        }
        // Asynchronous work is woken from outside and not by what comes in.
        for index in &self.watched {
            let executor = &mut self.bolts[*index as usize];
            if !executor.listed && executor.has_work() {
                executor.listed = true;
                self.ready.push_back(*index);
                progress = true;
            }
        }
        progress
    }

    /// Lists the executors whose inbox got something.
    fn list_fresh_inboxes(&mut self) {
        for position in 0..self.transfer.fresh.len() {
            let outlet = self.transfer.fresh[position] as usize;
            if outlet < self.bolts.len() && !self.bolts[outlet].listed {
                self.bolts[outlet].listed = true;
                self.ready.push_back(outlet as u32);
            }
        }
    }

    fn run_spouts(&mut self) -> bool {
        let mut progress = false;
        for spout in &mut self.spouts {
            enter(&self.status, spout.component_number, self.transfer.now_ns);
            progress |= spout.run(&mut self.transfer);
            leave(&self.status);
        }
        progress
    }

    /// Publishes what there is, tells feeders of full and empty inboxes, and shows the coordinator the numbers.
    pub(super) fn end_turn(&mut self, open: OpenFrame) {
        self.list_fresh_inboxes();
        let mut fresh = std::mem::take(&mut self.transfer.fresh);
        fresh.retain(|outlet_index| {
            let index = *outlet_index as usize;
            let stays = if index < self.transfer.inbox_count {
                self.check_inbox(index)
            } else {
                !self.transfer.publish(index - self.transfer.inbox_count, open)
                    || !self.transfer.outlets[index].is_empty()
            };
            self.transfer.outlets[index].listed = stays;
            if !stays {
                // The next emit must list it again.
                self.transfer.outlets[index].writer.set_limit(0);
            }
            stays
        });
        // Nothing was listed meanwhile: publishing and checking emit nothing.
        debug_assert!(self.transfer.fresh.is_empty());
        self.transfer.fresh = fresh;
        self.transfer.flush_acks();
        if self.transfer.some_are_away {
            self.drop_for_absent();
        }
        self.publish_control();
        self.ring_doorbells();
        self.flush_sockets(open == OpenFrame::Go);
    }

    /// One fence for everything that this turn has published and freed: a store that another core waits for would be
    /// held up by each.
    fn ring_doorbells(&mut self) {
        if !self.transfer.links.iter().any(|link| link.must_ring) && !self.feeders.iter().any(|feeder| feeder.freed) {
            return;
        }
        fence(Ordering::SeqCst);
        self.transfer.links.iter_mut().for_each(Link::ring_after_fence);
        for feeder in &mut self.feeders {
            if std::mem::take(&mut feeder.freed) {
                feeder.tell_of_room_after_fence();
            }
        }
    }

    fn publish_control(&mut self) {
        let shown = &self.status.control_sent;
        for link in &mut self.transfer.links {
            let count = link.control_queue.len();
            if count == 0 || link.is_away {
                continue;
            }
            // Shown as sent before anybody can receive them.
            let before = shown.load(Ordering::Relaxed);
            shown.store(before + count as u64, Ordering::Release);
            let taken = match (&link.way, &mut self.transfer.sockets) {
                (Way::Socket(peer), Some(sockets)) => {
                    self.transfer.counters.control_sent_away += count as u64;
                    link.control_to_socket(*peer, sockets, &mut self.transfer.pool)
                }
                _ => link.publish_control(),
            };
            if taken < count {
                shown.store(before + taken as u64, Ordering::Release);
            }
        }
    }

    pub(super) fn show_numbers(&self) {
        let executed: u64 = self.bolts.iter().map(|bolt| bolt.taken - bolt.in_progress() as u64).sum();
        let pending: usize = self.spouts.iter().map(|spout| spout.pending_count()).sum();
        let undeliverable: u64 = self.transfer.links.iter().map(|link| link.undeliverable).sum();
        let status = &self.status;
        let had_ended = status.spouts_left().is_nothing();
        status.sent.store(self.transfer.counters.sent, Ordering::Release);
        status.executed.store(executed + undeliverable, Ordering::Release);
        let finished = self.spouts.iter().all(|spout| spout.is_finished());
        let left = SpoutsLeft::new(pending as u64, finished);
        status.show_spouts_left(left);
        status.turns.store(status.turns.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // The coordinator looks rarely by itself; a run of a moment should not end half a second late.
        if left.is_nothing() && !had_ended {
            self.send_event(Event::Idle);
        }
    }

    pub(super) fn report_failures(&mut self) {
        let bolts = self.bolts.iter_mut().map(|bolt| &mut bolt.failed);
        let spouts = self.spouts.iter_mut().map(|spout| &mut spout.failed);
        for failed in bolts.chain(spouts) {
            for failure in failed.drain(..) {
                self.events.send(Event::Failed { failure });
            }
        }
        let bolts = self.bolts.iter_mut().flat_map(|bolt| bolt.tasks.iter_mut().map(|task| &mut task.output));
        let spouts = self.spouts.iter_mut().flat_map(|spout| spout.tasks.iter_mut().map(|task| &mut task.output));
        for output in bolts.chain(spouts) {
            for text in output.reported.texts.drain(..) {
                let (component, task) = (output.component.clone(), output.task);
                self.events.send(Event::Reported { component, task, text });
            }
            if output.reported.more > 0 {
                self.events.send(Event::MoreReported { count: std::mem::take(&mut output.reported.more) });
            }
        }
    }

    pub(super) fn send_event(&self, event: Event) {
        self.events.send(event);
    }
}

/// Notes whose user code runs now, so that a stalled core can be named from outside.
#[inline]
pub(super) fn enter(status: &crate::core::status::CoreStatus, component: u32, now_ns: u64) {
    status.running_since_ns.store(now_ns, Ordering::Relaxed);
    status.running.store(component + 1, Ordering::Release);
}

#[inline]
pub(super) fn leave(status: &crate::core::status::CoreStatus) {
    status.running.store(0, Ordering::Release);
}
