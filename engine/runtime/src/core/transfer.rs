//! The output side of a core: everything that its executors write to.
//!
//! An emit ends in the outlet of its target: the inbox of an executor on this core, or the open frame of the link to
//! another. User code never runs inside another's emit, and an emit never blocks and never fails for lack of room; the
//! surplus of one call waits in overflow frames, and the executor is not scheduled again until they are gone.
//!
//! Invariants: `gate_version` changes whenever an answer of [`Transfer::may_emit`] may have changed.
//!
//! Threading: belongs to one core.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

use ringstorm_acking::{AckMessage, EdgeKey, Folder, Lanes, Outcome, RootId};
use ringstorm_frame::Anchors;
use ringstorm_net::Sockets;
use ringstorm_tuple::EncodeError;

use crate::api::emittable::Emittable;
use crate::core::control::ControlMessage;
use crate::core::link::{Link, OpenFrame, Way};
use crate::core::outlet::{FramePool, Outlet};
use crate::core::status::CoreStatus;
use crate::worker::blueprint::Place;

/// What every core of a worker can see of every task: cheap hints, never used for correctness.
pub(crate) struct TaskBoard {
    /// Estimated microseconds of work in a task's queue.
    pub(crate) wait_us: Box<[AtomicU32]>,
    /// Recent microseconds for each of its tuples; [`UNKNOWN_US`] until its first call has ended.
    pub(crate) tuple_us: Box<[AtomicU32]>,
    /// Changes whenever `wait_us` was estimated anew.
    pub(crate) estimates: Box<[AtomicU32]>,
    /// The task's inbox is past the hard limit of cycles.
    pub(crate) over_limit: Box<[AtomicBool]>,
}

/// The speed of a task that has not ended a call yet.
pub(crate) const UNKNOWN_US: u32 = u32::MAX;

/// What is shown of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// See [`TaskBoard::wait_us`].
    pub(crate) wait_us: u32,
    /// See [`TaskBoard::tuple_us`].
    pub(crate) tuple_us: u32,
    /// See [`TaskBoard::over_limit`].
    pub(crate) over_limit: bool,
}

impl TaskBoard {
    /// Shows the load of the tasks `first..=last`; those that do not exist are left out.
    pub(crate) fn show(&self, first: u32, last: u32, load: Load) {
        for task in first as usize..self.wait_us.len().min(last as usize + 1) {
            self.wait_us[task].store(load.wait_us, Ordering::Relaxed);
            self.tuple_us[task].store(load.tuple_us, Ordering::Relaxed);
            // One core alone writes it.
            let estimate = self.estimates[task].load(Ordering::Relaxed).wrapping_add(1);
            self.estimates[task].store(estimate, Ordering::Relaxed);
            self.over_limit[task].store(load.over_limit, Ordering::Relaxed);
        }
    }

    pub(crate) fn new(task_count: usize) -> Self {
        let zeros = || (0..=task_count).map(|_| AtomicU32::new(0)).collect();
        Self {
            wait_us: zeros(),
            tuple_us: (0..=task_count).map(|_| AtomicU32::new(UNKNOWN_US)).collect(),
            estimates: zeros(),
            over_limit: (0..=task_count).map(|_| AtomicBool::new(false)).collect(),
        }
    }
}

/// Where tasks live, seen from one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// In the executor with this index on this core; the outlet has the same index.
    Local(u32),
    /// Behind the link with this index.
    Link(u32),
    /// Nowhere: not a task of this topology.
    Nowhere,
}

impl Destination {
    /// The link that leads to a core, if there is one.
    pub(crate) fn behind(links: &[Link], place: Place) -> Self {
        let link = links.iter().position(|link| link.place == place);
        link.map_or(Self::Nowhere, |link| Self::Link(link as u32))
    }
}

/// Bounds that an emit checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferLimits {
    /// `topology.tuple.max.bytes`.
    pub(crate) tuple_bytes_max: usize,
    /// Bytes at which a frame is full.
    pub(crate) frame_bytes: usize,
    /// Bytes that a cycle may hold before its emits fail.
    pub(crate) cycle_bytes_max: usize,
}

/// Why a tuple could not be emitted. The emitting call fails with it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("{0}")]
    Encode(#[from] EncodeError),
    #[error(
        "the tuple has {size_bytes} bytes, more than topology.tuple.max.bytes allows ({max_bytes}); emit smaller tuples or raise the setting"
    )]
    TooLarge { size_bytes: usize, max_bytes: usize },
    #[error(
        "it is anchored to {roots} trees, more than the {ROOTS_MAX} that one tuple may belong to; emit one for fewer"
    )]
    TooManyRoots { roots: usize },
    #[error("its cycle holds more than ringstorm.cycle.limit.bytes ({max_bytes} bytes)")]
    CycleFull { max_bytes: usize },
    #[error("task {0} is not a task of this topology")]
    Nowhere(u32),
}

/// The most trees that one tuple may belong to: a frame counts them in 16 bits.
const ROOTS_MAX: usize = u16::MAX as usize;

/// Counters of a core's output side.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct TransferCounters {
    /// Copies of tuples that were put in an outlet.
    pub(crate) sent: u64,
    /// Those of them that were handed over to connections, and control messages that were.
    pub(crate) sent_away: u64,
    pub(crate) control_sent_away: u64,
    /// Tuples that were lost with another worker.
    pub(crate) lost_away: u64,
    /// Un-anchored tuples that a full cycle refused.
    pub(crate) refused_unanchored: u64,
}

/// Plain acks of roots in a row, at one position.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckRun {
    first: RootId,
    next: RootId,
    count: u32,
    position: u16,
}

pub(crate) struct Transfer {
    /// By task id; index 0 is the system.
    pub(crate) destinations: Vec<Destination>,
    /// Inboxes of local executors first, then one for each link.
    pub(crate) outlets: Vec<Outlet>,
    pub(crate) inbox_count: usize,
    pub(crate) links: Vec<Link>,
    /// The connections to cores of other workers, if there are any.
    pub(crate) sockets: Option<Sockets>,
    /// Some cores of other workers are away for too long.
    pub(crate) some_are_away: bool,
    /// Buffers on their way back from the sockets.
    pub(crate) spare_pool: Vec<Vec<u8>>,
    pub(crate) pool: FramePool,
    pub(crate) limits: TransferLimits,
    /// Outlets with something new since the end of the last turn.
    pub(crate) fresh: Vec<u32>,
    pub(crate) folder: Folder,
    /// Acks of consecutive roots that the folder has yet to hear of.
    pub(crate) acks: AckRun,
    pub(crate) edge_key: EdgeKey,
    pub(crate) lanes: Lanes,
    /// Task ids of the ackers by acker index; empty when acking is off.
    pub(crate) ackers: Vec<u32>,
    /// Task ids of the spout tasks by spout task index.
    pub(crate) spouts: Vec<u32>,
    /// Messages for ackers on this core.
    pub(crate) local_acks: Vec<(u32, AckMessage)>,
    /// Outcomes for spouts on this core.
    pub(crate) local_outcomes: Vec<(u32, Outcome)>,
    /// By task id: the task has enough to do.
    pub(crate) paused: Vec<bool>,
    pub(crate) gate_version: u64,
    pub(crate) board: Arc<TaskBoard>,
    pub(crate) counters: TransferCounters,
    pub(crate) status: Arc<CoreStatus>,
    pub(crate) now_ns: u64,
}

impl Transfer {
    /// The outlet of a task.
    #[inline]
    pub(crate) fn outlet_of(&self, task: u32) -> Option<u32> {
        match self.destinations.get(task as usize) {
            Some(Destination::Local(inbox)) => Some(*inbox),
            Some(Destination::Link(link)) => Some(self.inbox_count as u32 + link),
            _ => None,
        }
    }

    /// Puts one copy of a tuple in an outlet.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the parts of a tuple, on the hottest path, where a struct costs")]
    pub(crate) fn send<E: Emittable>(
        &mut self,
        outlet_index: u32,
        source: u32,
        stream: u16,
        target: u32,
        anchors: Anchors<'_>,
        tuple: &E,
        in_cycle: bool,
    ) -> Result<(), SendError> {
        // The limit that `make_room` gave the writer stands for everything that the long way checks.
        if let Some(size) = E::FIXED_SIZE {
            let writer = &mut self.outlets[outlet_index as usize].writer;
            let write = |bytes: &mut Vec<u8>| tuple.serialize(bytes);
            if let Some(written) = writer.append_fixed(source, stream, target, anchors, size, write) {
                written?;
                self.counters.sent += 1;
                return Ok(());
            }
        }
        self.send_any(outlet_index, source, stream, target, anchors, tuple, in_cycle)
    }

    /// [`Transfer::send`] for the first tuples of a frame or run, and for sizes that vary.
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "as for `send`")]
    fn send_any<E: Emittable>(
        &mut self,
        outlet_index: u32,
        source: u32,
        stream: u16,
        target: u32,
        anchors: Anchors<'_>,
        tuple: &E,
        in_cycle: bool,
    ) -> Result<(), SendError> {
        let hint = tuple.size_hint();
        let roots = if let Anchors::Many(many) = anchors { many.len() } else { 0 };
        if roots > ROOTS_MAX {
            return Err(SendError::TooManyRoots { roots });
        }
        let outlet = &self.outlets[outlet_index as usize];
        if !outlet.listed || !outlet.writer.has_buffer() || outlet.writer.len_bytes() + hint > self.limits.frame_bytes {
            self.make_room(outlet_index, hint, target, in_cycle)?;
        }
        let max_bytes = self.limits.tuple_bytes_max;
        let writer = &mut self.outlets[outlet_index as usize].writer;
        writer.append(source, stream, target, anchors, |bytes| {
            let start = bytes.len();
            tuple.serialize(bytes)?;
            let size_bytes = bytes.len() - start;
            if size_bytes > max_bytes { Err(SendError::TooLarge { size_bytes, max_bytes }) } else { Ok(()) }
        })?;
        writer.set_limit(self.limits.frame_bytes);
        self.counters.sent += 1;
        if roots > 0 {
            self.outlets[outlet_index as usize].note_joined(roots, self.limits.frame_bytes);
        }
        Ok(())
    }

    /// The open frame is full, missing, or not yet listed for the end of the turn.
    #[cold]
    #[inline(never)]
    fn make_room(
        &mut self,
        outlet_index: u32,
        room_bytes: usize,
        target: u32,
        in_cycle: bool,
    ) -> Result<(), SendError> {
        if room_bytes > self.limits.tuple_bytes_max {
            return Err(SendError::TooLarge { size_bytes: room_bytes, max_bytes: self.limits.tuple_bytes_max });
        }
        let index = outlet_index as usize;
        let outlet = &mut self.outlets[index];
        if in_cycle
            && (outlet.bytes() > self.limits.cycle_bytes_max
                || self.board.over_limit[target as usize].load(Ordering::Relaxed))
        {
            return Err(SendError::CycleFull { max_bytes: self.limits.cycle_bytes_max });
        }
        if !outlet.listed {
            outlet.listed = true;
            self.fresh.push(outlet_index);
        }
        outlet.make_room(room_bytes, &mut self.pool);
        if index >= self.inbox_count && outlet.has_sealed() {
            let link = index - self.inbox_count;
            self.publish(link, OpenFrame::Keep);
            // The turn may yet take long.
            fence(Ordering::SeqCst);
            self.links[link].ring_after_fence();
        }
        Ok(())
    }

    /// Publishes what is bound for a link and notes whether its senders are to be held.
    pub(crate) fn publish(&mut self, link_index: usize, open: OpenFrame) -> bool {
        let link = &mut self.links[link_index];
        // Shown as sent before another core can take them.
        self.status.sent.store(self.counters.sent, Ordering::Release);
        let was_blocked = link.blocked;
        let outlet = &mut self.outlets[self.inbox_count + link_index];
        let all = match (&link.way, &mut self.sockets) {
            (Way::Socket(peer), Some(sockets)) => {
                let queued = outlet.queued();
                let all = link.publish_to_socket(*peer, sockets, outlet, &mut self.pool, open);
                self.counters.sent_away += (queued - outlet.queued()) as u64;
                all
            }
            _ => link.publish(outlet, &mut self.pool, open),
        };
        if link.blocked != was_blocked {
            self.gate_version += 1;
        }
        all
    }

    /// Marks an inbox as one that the end of the turn must look at.
    #[inline]
    pub(crate) fn list(&mut self, outlet_index: u32) {
        let outlet = &mut self.outlets[outlet_index as usize];
        if !outlet.listed {
            outlet.listed = true;
            self.fresh.push(outlet_index);
        }
    }

    /// A tuple of a spout, without children, is acked.
    #[inline]
    pub(crate) fn ack_derived(&mut self, root: RootId, position: u16) {
        let acks = &mut self.acks;
        if root == acks.next && position == acks.position && acks.count != 0 {
            acks.count += 1;
            acks.next = root.offset(1);
        } else {
            self.close_ack_run();
            self.acks = AckRun { first: root, next: root.offset(1), count: 1, position };
        }
    }

    /// A tuple of this root failed at a task.
    pub(crate) fn fail(&mut self, root: RootId, task: u32) {
        self.close_ack_run();
        self.folder.fail(root, task);
    }

    /// The time-out of this root starts anew.
    pub(crate) fn reset_timeout(&mut self, root: RootId) {
        self.close_ack_run();
        self.folder.reset_timeout(root);
    }

    fn close_ack_run(&mut self) {
        let AckRun { first, count, position, .. } = std::mem::take(&mut self.acks);
        match count {
            0 => {}
            1 => self.folder.ack_derived(first, position),
            _ => self.folder.ack_derived_run(first, count, position),
        }
    }

    /// Hands folded ack values on to their ackers.
    pub(crate) fn flush_acks(&mut self) {
        self.close_ack_run();
        if self.folder.is_empty() {
            return;
        }
        let Self { folder, lanes, ackers, destinations, links, local_acks, .. } = self;
        folder.flush(|message| {
            let acker_index = lanes.acker_index(message.root().lane());
            if let Some(&acker) = acker_index.and_then(|index| ackers.get(index as usize)) {
                match destinations[acker as usize] {
                    Destination::Link(link) => {
                        links[link as usize].control_queue.push(ControlMessage::Ack { acker, message });
                    }
                    _ => local_acks.push((acker, message)),
                }
            }
            true
        });
    }

    /// Hands an acker's outcome on to the spout task that owns the root.
    pub(crate) fn route_outcome(&mut self, root: RootId, outcome: Outcome) {
        let spout_index = self.lanes.spout_task_index(root.lane());
        let Some(&spout) = spout_index.and_then(|index| self.spouts.get(index as usize)) else { return };
        match self.destinations[spout as usize] {
            Destination::Link(link) => {
                self.links[link as usize].control_queue.push(ControlMessage::Outcome { spout, outcome });
            }
            _ => self.local_outcomes.push((spout, outcome)),
        }
    }

    /// Notes that tasks are paused or not, as their own core said.
    pub(crate) fn set_paused(&mut self, first: u32, last: u32, paused: bool) {
        let (first, end) = (first as usize, self.paused.len().min(last as usize + 1));
        if let Some(flags) = self.paused.get_mut(first..end) {
            flags.fill(paused);
        }
        self.gate_version += 1;
    }

    /// Whether nothing holds emits to a task: it is not paused and the ring on the way has room.
    #[inline]
    pub(crate) fn may_emit(&self, task: u32) -> bool {
        !self.paused[task as usize] && self.has_way(task)
    }

    /// Whether the way to a task has room.
    #[inline]
    pub(crate) fn has_way(&self, task: u32) -> bool {
        match self.destinations[task as usize] {
            Destination::Link(link) => !self.links[link as usize].blocked,
            _ => true,
        }
    }

    /// Bytes of frames held on this core.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.pool.memory_bytes() + self.outlets.iter().map(Outlet::memory_bytes).sum::<usize>()
    }
}
