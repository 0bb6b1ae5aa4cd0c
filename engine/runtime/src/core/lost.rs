//! What becomes of what was sent to a core of another worker that is gone, or away for too long.
//!
//! Its tuples are dropped and counted, and their trees fail; what it was to hear of other trees goes to the ackers that
//! are there now. With that, and with each spout failing what it has pending and may have had there, no worker has to wait
//! for another: whichever hears of a loss first, nothing is left to the time-out of messages.
//!
//! - A tuple that the lost process took and did not finish is of a tree that was pending before the process died, so that
//!   its spout fails it.
//! - A tuple that is sent there later, by a worker that has not heard of it yet, is not confirmed by anybody, and fails
//!   here once that worker hears of it.
//! - So with an ack that was bound for an acker there; it counts for trees that began after, and for no others.
//!
//! Invariants: whoever is away holds nobody: tuples for it are dropped at the end of each turn, and a tree that would have
//! its acker there fails as soon as it begins. What its ackers are to hear of other trees waits for it, up to a bound:
//! not everybody thinks at the same time that it is away.
//!
//! Threading: belongs to one core. Errors: none of its own.

use ringstorm_acking::{AckMessage, FailReason, Outcome, RootId};
use ringstorm_frame::{Anchors, FrameReader};
use ringstorm_protocol::unit::{HEADER_BYTES, Kind, kind_of};

use crate::core::Core;
use crate::core::control::ControlMessage;
use crate::core::control_bytes::{self, MESSAGE_BYTES};
use crate::core::link::{Link, Way};
use crate::core::transfer::{Destination, Load, Transfer};

/// Messages to the ackers of a core that is away, at most; the oldest go, and their trees are left to the time-out. There is
/// room for what comes of tens of thousands of messages while some connections to a worker are back and others are not.
const HELD_MESSAGES_MAX: usize = 1 << 18;

/// What was for a peer and did not get there.
#[derive(Debug, Default)]
struct Losses {
    /// Copies of tuples.
    tuples: u64,
    /// Trees that fail, and the tasks that would have had their tuples.
    roots: Vec<(RootId, u32)>,
    /// For ackers.
    acks: Vec<(u32, AckMessage)>,
}

impl Losses {
    /// Adds what a unit held.
    fn add_unit(&mut self, unit: &[u8]) {
        if kind_of(unit) == Some(Kind::Frame) {
            return self.add_frame(unit);
        }
        let (messages, _) = unit[HEADER_BYTES..].as_chunks::<MESSAGE_BYTES>();
        messages.iter().filter_map(control_bytes::read).for_each(|message| self.add_message(message));
    }

    fn add_frame(&mut self, frame: &[u8]) {
        for run in FrameReader::new(frame) {
            let mut cursor = run.start();
            while let Some(tuple) = run.next(&mut cursor) {
                self.tuples += 1;
                match tuple.anchors {
                    Anchors::None => {}
                    Anchors::Derived { root, .. } | Anchors::Pair { root, .. } => {
                        self.roots.push((RootId(root), tuple.target));
                    }
                    Anchors::Many(many) => {
                        self.roots.extend(many.iter().map(|(root, _)| (RootId(root), tuple.target)));
                    }
                }
            }
        }
    }

    fn add_message(&mut self, message: ControlMessage) {
        if let ControlMessage::Ack { acker, message } = message {
            self.acks.push((acker, message));
        }
    }
}

impl Core {
    /// Another process takes the place of the one behind these peers: what that has not confirmed is lost, and what it
    /// said does not hold any more.
    pub(super) fn forget(&mut self, worker: u64, peers: &[usize]) {
        let mut losses = Losses::default();
        if let Some(sockets) = &mut self.transfer.sockets {
            peers.iter().for_each(|peer| sockets.start_over(*peer, |unit| losses.add_unit(unit)));
        }
        let is_there = self.tasks_behind(peers);
        self.forget_what_was_said(&is_there);
        self.forget_trees(&is_there);
        self.lose_pending(worker);
        self.settle(losses);
        self.announce_pauses(peers);
    }

    /// These peers are away for too long: they hold nobody any more, until they are back.
    pub(super) fn give_up(&mut self, worker: u64, peers: &[usize]) {
        for link in self.transfer.links.iter_mut().filter(|link| link.leads_to(peers)) {
            link.is_away = true;
            link.blocked = false;
        }
        self.transfer.some_are_away = true;
        self.forget_what_was_said(&self.tasks_behind(peers));
        self.lose_pending(worker);
        self.drop_for_absent();
    }

    /// Drops what is for those that are away. Called at the end of each turn while there are any, before control messages
    /// are published.
    pub(super) fn drop_for_absent(&mut self) {
        let mut losses = Losses::default();
        if let Some(sockets) = &mut self.transfer.sockets {
            for link in self.transfer.links.iter().filter(|link| link.is_away) {
                if let Way::Socket(peer) = link.way
                    && sockets.kept_bytes(peer) > 0
                {
                    sockets.give_up_units(peer, |unit| losses.add_unit(unit));
                }
            }
        }
        self.settle(losses);
        self.transfer.hold_control();
    }

    /// Peers that were away, or are new, are told once more what holds their senders.
    pub(super) fn come_back(&mut self, peer: usize) {
        for link in self.transfer.links.iter_mut().filter(|link| link.leads_to(&[peer])) {
            link.is_away = false;
        }
        self.transfer.some_are_away = self.transfer.links.iter().any(|link| link.is_away);
        self.announce_pauses(&[peer]);
    }

    /// Everything for a link that leads nowhere any more.
    pub(super) fn abandon(&mut self, link_index: usize) {
        let mut losses = Losses::default();
        let transfer = &mut self.transfer;
        let link = &mut transfer.links[link_index];
        if let (Way::Socket(peer), Some(sockets)) = (&link.way, &mut transfer.sockets) {
            sockets.start_over(*peer, |unit| losses.add_unit(unit));
        }
        link.control_queue.drain(..).for_each(|message| losses.add_message(message));
        link.blocked = false;
        let outlet = &mut transfer.outlets[transfer.inbox_count + link_index];
        while let Some(frame) = outlet.pop() {
            losses.add_frame(&frame);
            transfer.counters.sent_away += u64::from(FrameReader::new(&frame).tuple_count());
            transfer.pool.put(frame);
        }
        self.settle(losses);
    }

    /// What these tasks have said of themselves does not hold any more.
    pub(super) fn forget_what_was_said(&mut self, is_there: &[bool]) {
        for task in (0..is_there.len()).filter(|task| is_there[*task]) {
            self.transfer.paused[task] = false;
            self.transfer.board.show(task as u32, task as u32, Load::default());
        }
        self.transfer.gate_version += 1;
    }

    /// The trees of these tasks, as far as they are spouts, are nobody's: a new process begins elsewhere in each lane.
    pub(super) fn forget_trees(&mut self, is_there: &[bool]) {
        let transfer = &self.transfer;
        let spouts = transfer.spouts.iter().enumerate().filter(|(_, task)| is_there[**task as usize]);
        for (spout, _) in spouts {
            for (lane, _) in transfer.lanes.lanes_of_spout_task(spout as u32) {
                for acker in &mut self.ackers {
                    acker.ledger.forget_lane(lane);
                }
            }
        }
    }

    /// By task: whether it lives behind one of these peers.
    fn tasks_behind(&self, peers: &[usize]) -> Vec<bool> {
        let transfer = &self.transfer;
        let leads_there: Vec<bool> = transfer.links.iter().map(|link| link.leads_to(peers)).collect();
        let is_there =
            |destination: &Destination| matches!(destination, Destination::Link(link) if leads_there[*link as usize]);
        transfer.destinations.iter().map(is_there).collect()
    }

    /// Each spout fails what it has pending and may have had at that worker.
    pub(super) fn lose_pending(&mut self, worker: u64) {
        let Self { spouts, transfer, .. } = self;
        spouts.iter_mut().for_each(|spout| spout.lose_pending(worker, transfer));
        self.report_failures();
    }

    fn announce_pauses(&mut self, peers: &[usize]) {
        for index in 0..self.bolts.len() {
            let id = self.bolts[index].id;
            let (first, last) = (id.first.0 as u32, id.last.0 as u32);
            let message = if self.paused[index] {
                ControlMessage::Pause { first, last }
            } else {
                ControlMessage::Resume { first, last }
            };
            for link in &self.pause_links[index] {
                let link = &mut self.transfer.links[*link as usize];
                if link.leads_to(peers) {
                    link.control_queue.push(message);
                }
            }
        }
    }

    fn settle(&mut self, losses: Losses) {
        let Losses { tuples, roots, acks } = losses;
        self.transfer.counters.lost_away += tuples;
        roots.into_iter().for_each(|(root, target)| self.transfer.fail(root, target));
        acks.into_iter().for_each(|(acker, message)| self.transfer.send_ack(acker, message));
    }
}

impl Link {
    fn leads_to(&self, peers: &[usize]) -> bool {
        matches!(self.way, Way::Socket(peer) if peers.contains(&peer))
    }
}

impl Transfer {
    /// Keeps what is for ackers that are away, fails what begins there, and forgets the rest.
    fn hold_control(&mut self) {
        for index in 0..self.links.len() {
            if !self.links[index].is_away {
                continue;
            }
            let worker = self.links[index].place.worker;
            let mut queue = std::mem::take(&mut self.links[index].control_queue);
            queue.retain(|message| {
                let ControlMessage::Ack { message, .. } = message else { return false };
                for root in begun_by(message) {
                    self.route_outcome(root, Outcome::Failed { root, reason: FailReason::Lost { worker } });
                }
                !is_a_beginning(message)
            });
            let surplus = queue.len().saturating_sub(HELD_MESSAGES_MAX);
            queue.drain(..surplus);
            self.links[index].control_queue = queue;
        }
    }

    /// An ack that its acker did not get goes to where that acker is now.
    fn send_ack(&mut self, acker: u32, message: AckMessage) {
        match self.destinations.get(acker as usize) {
            Some(Destination::Link(link)) => {
                self.links[*link as usize].control_queue.push(ControlMessage::Ack { acker, message });
            }
            _ => self.local_acks.push((acker, message)),
        }
    }
}

fn is_a_beginning(message: &AckMessage) -> bool {
    matches!(message, AckMessage::InitRange { .. } | AckMessage::Init { .. })
}

/// The roots that a message of their own spout begins.
fn begun_by(message: &AckMessage) -> impl Iterator<Item = RootId> {
    match *message {
        AckMessage::InitRange { first, stride, count, .. } => first.range(stride, count),
        AckMessage::Init { root, .. } => root.range(1, 1),
        _ => message.root().range(1, 0),
    }
}
