//! The spout's side of reliability for one task: roots, pending messages, and when they were emitted.
//!
//! Invariants: each message id that was emitted hears exactly one ack or fail; roots of a lane are consecutive.
//!
//! Threading: belongs to the core of its task.

use ringstorm_acking::{EmitTimes, FailReason, Pending, RootId};
use ringstorm_types::{MessageId, TaskId};

use crate::api::emittable::Emittable;
use crate::core::output::{SpoutCopies, TaskOutput, Untracked};
use crate::core::transfer::Transfer;

/// Runs of emit times kept for one lane; beyond it the oldest go and their latencies are not recorded.
const EMIT_TIME_RUNS_MAX: usize = 1 << 16;
/// Roots told to the acker at once, at most: the emit time of the last is then still true for the first.
const OPEN_ROOTS_MAX: u32 = 64;
/// Roots taken from one lane before the next lane has its turn, when no acker is near.
const ROOTS_PER_LANE_TURN: u64 = 1024;

/// Emits with message ids and what becomes of them.
pub(crate) struct Tracker {
    /// The next root of each lane of this task; empty when acking is off.
    next_roots: Vec<RootId>,
    /// The lane in use; with an acker on the own core it is always the first.
    lane: usize,
    near: bool,
    taken: u64,
    pub(crate) pending: Pending,
    pub(crate) emit_times: EmitTimes,
    /// Messages whose fate was settled within the emit, to be told when the call has returned.
    pub(crate) settled: Vec<(MessageId, Option<FailReason>)>,
    /// Consecutive roots that the pending table and the acker have yet to hear of, and their message ids.
    open: OpenRoots,
    open_ids: [u64; OPEN_ROOTS_MAX as usize],
}

/// Roots of one lane in a row, each sent to as many positions.
#[derive(Debug, Clone, Copy, Default)]
struct OpenRoots {
    first: RootId,
    next: RootId,
    count: u32,
    positions: u16,
}

impl Tracker {
    /// `first_roots`: where each lane starts, the lane of a near acker first.
    pub(crate) fn new(first_roots: Vec<RootId>, near: bool) -> Self {
        Self {
            next_roots: first_roots,
            lane: 0,
            near,
            taken: 0,
            pending: Pending::new(),
            emit_times: EmitTimes::new(EMIT_TIME_RUNS_MAX),
            settled: Vec::new(),
            open: OpenRoots::default(),
            open_ids: [0; OPEN_ROOTS_MAX as usize],
        }
    }

    #[inline]
    pub(crate) fn pending_count(&self) -> usize {
        self.pending.len() + self.open.count as usize
    }

    /// Emits to every subscriber of a stream and notes the message as pending.
    #[inline(always)]
    pub(crate) fn emit<E: Emittable>(
        &mut self,
        output: &mut TaskOutput,
        transfer: &mut Transfer,
        stream_index: usize,
        id: MessageId,
        tuple: &E,
    ) {
        let Some(root) = self.next_root() else {
            output.emit(transfer, stream_index, tuple, &mut Untracked);
            let refused = output.refused.is_some();
            return self.settle(id, refused.then_some(FailReason::FailedBy { task: output.task }));
        };
        let mut copies = SpoutCopies { root, count: 0 };
        output.emit(transfer, stream_index, tuple, &mut copies);
        self.track(output, transfer, stream_index, copies, id);
    }

    /// As [`Tracker::emit`], to one task of a direct stream.
    pub(crate) fn emit_direct<E: Emittable>(
        &mut self,
        output: &mut TaskOutput,
        transfer: &mut Transfer,
        target: TaskId,
        stream_index: usize,
        id: MessageId,
        tuple: &E,
    ) {
        let Some(root) = self.next_root() else {
            output.emit_direct(transfer, target, stream_index, tuple, &mut Untracked);
            let refused = output.refused.is_some();
            return self.settle(id, refused.then_some(FailReason::FailedBy { task: output.task }));
        };
        let mut copies = SpoutCopies { root, count: 0 };
        output.emit_direct(transfer, target, stream_index, tuple, &mut copies);
        self.track(output, transfer, stream_index, copies, id);
    }

    #[inline]
    fn track(
        &mut self,
        output: &mut TaskOutput,
        transfer: &mut Transfer,
        stream_index: usize,
        SpoutCopies { root, count }: SpoutCopies,
        id: MessageId,
    ) {
        let positions = u16::try_from(count).unwrap_or_else(|_| {
            output.refuse_copies(stream_index, count);
            u16::MAX
        });
        if output.refused.is_some() {
            // Copies that did leave belong to a root that nobody tracks: whatever is acked of them is ignored.
            transfer.folder.forget(root);
            return self.settle(id, Some(FailReason::FailedBy { task: output.task }));
        }
        if root != self.open.next || positions != self.open.positions || self.open.count >= OPEN_ROOTS_MAX {
            self.flush(transfer);
            self.open = OpenRoots { first: root, next: root, count: 0, positions };
        }
        self.open_ids[self.open.count as usize] = id.0;
        self.open.count += 1;
        self.open.next = root.offset(1);
    }

    /// Hands the open roots to the pending table and their acker's folder. Called whenever the spout's calls pause, before
    /// anything can be heard of them.
    #[inline]
    pub(crate) fn flush(&mut self, transfer: &mut Transfer) {
        let OpenRoots { first, count, positions, .. } = self.open;
        if count == 0 {
            return;
        }
        self.pending.insert_run(first, &self.open_ids[..count as usize]);
        self.emit_times.record(first, count, transfer.now_ns);
        transfer.folder.init_derived_run(first, count, positions);
        self.open = OpenRoots::default();
    }

    /// Notes that a message could not be emitted at all.
    #[cold]
    pub(crate) fn refuse(&mut self, id: MessageId, task: u32) {
        self.settle(id, Some(FailReason::FailedBy { task }));
    }

    #[cold]
    fn settle(&mut self, id: MessageId, failed: Option<FailReason>) {
        self.settled.push((id, failed));
    }

    #[inline]
    fn next_root(&mut self) -> Option<RootId> {
        let next = self.next_roots.get_mut(self.lane)?;
        let root = *next;
        *next = root.offset(1);
        if !self.near {
            self.taken += 1;
            if self.taken.is_multiple_of(ROOTS_PER_LANE_TURN) {
                self.lane = (self.lane + 1) % self.next_roots.len();
            }
        }
        Some(root)
    }
}
