//! The way to one other core: in this worker a data ring, a control ring and that core's doorbell; to another worker a
//! connection (see [`remote`](super::remote)).
//!
//! Invariants: control messages never wait behind data (they have their own ring, or go first); what the way does not
//! take stays with the sender, in order, and blocks nobody who does not send there.
//!
//! Threading: the producer ends belong to one core. Errors: a ring whose consumer is gone swallows what is sent and
//! counts it; that only happens when the worker is stopping.

use std::sync::Arc;

use ringstorm_frame::prefetch;
use ringstorm_ring::{Consumer, Doorbell, Producer, PublishError, RoomWanted};

use crate::core::control::{BATCH_MESSAGES_MAX, ControlBatch, ControlMessage};
use crate::core::frame_cell::FrameCell;
use crate::core::outlet::{FramePool, Outlet};
use crate::worker::blueprint::Place;

/// The sending side of a link.
pub(crate) struct Link {
    /// The other core.
    pub(crate) place: Place,
    pub(crate) way: Way,
    /// Control messages that wait for the end of the turn or for room.
    pub(crate) control_queue: Vec<ControlMessage>,
    /// Something was published since the doorbell was rung last.
    pub(crate) must_ring: bool,
    /// The way had no room at the last try: senders to that core are held.
    pub(crate) blocked: bool,
    /// The other core is away for too long: what is for it is dropped and holds nobody.
    pub(crate) is_away: bool,
    /// Times that there was no room.
    pub(crate) full_count: u64,
    /// Tuples that could not be delivered because the other core had ended.
    pub(crate) undeliverable: u64,
}

/// How a link's frames and messages get to the other core.
#[expect(clippy::large_enum_variant, reason = "nearly all are rings, which are used for each frame")]
pub(crate) enum Way {
    /// By rings, within this worker.
    Ring(RingWay),
    /// On a connection: the peer's index among the core's sockets.
    Socket(usize),
}

/// The rings to another core of this worker.
pub(crate) struct RingWay {
    doorbell: Doorbell,
    data: Option<Producer<FrameCell>>,
    control: Producer<ControlBatch>,
    spare_batch: ControlBatch,
    /// The reader runs code that may wait: a frame goes with what there is, and the ring is short, so that a slow call
    /// holds little.
    is_eager: bool,
    /// Shared with the reading core: it rings this core's doorbell when it has made room that this core parked for.
    pub(crate) room_wanted: Arc<RoomWanted>,
}

/// The core at the other end of an inbound link.
pub(crate) struct Feeder {
    pub(crate) doorbell: Doorbell,
    /// The other end of [`RingWay::room_wanted`].
    pub(crate) room_wanted: Arc<RoomWanted>,
    /// Cells were freed since the feeder was told last.
    pub(crate) freed: bool,
}

impl Feeder {
    /// Cells were freed, and the caller has passed a SeqCst fence since: wakes the feeder if it parked for want of room.
    #[inline]
    pub(crate) fn tell_of_room_after_fence(&self) {
        if self.room_wanted.is_asked_after_fence() {
            self.doorbell.ring_after_fence();
        }
    }
}

/// The receiving side of a link.
pub(crate) struct Inbound {
    pub(crate) data: Option<Consumer<FrameCell>>,
    pub(crate) control: Consumer<ControlBatch>,
}

impl RingWay {
    pub(crate) fn new(
        doorbell: Doorbell,
        data: Option<Producer<FrameCell>>,
        control: Producer<ControlBatch>,
        is_eager: bool,
    ) -> Self {
        let spare_batch = ControlBatch::default();
        Self { doorbell, data, control, spare_batch, is_eager, room_wanted: Arc::default() }
    }
}

impl Link {
    pub(crate) fn new(place: Place, way: Way) -> Self {
        Self {
            place,
            way,
            control_queue: Vec::new(),
            must_ring: false,
            blocked: false,
            is_away: false,
            full_count: 0,
            undeliverable: 0,
        }
    }

    /// Publishes every sealed frame, and the open one when `open` allows it, into the ring. Returns whether it took all.
    pub(crate) fn publish(&mut self, outlet: &mut Outlet, pool: &mut FramePool, open: OpenFrame) -> bool {
        let Way::Ring(RingWay { data: Some(data), is_eager, .. }) = &mut self.way else { return outlet.is_empty() };
        let open = if *is_eager && open == OpenFrame::WhenRead { OpenFrame::Go } else { open };
        while outlet.has_sealed() || open.may_go(data) && !outlet.writer.is_empty() {
            if !data.has_room() && !data.consumer_is_gone() {
                self.blocked = true;
                self.full_count += 1;
                return false;
            }
            let Some(mut frame) = outlet.pop() else { break };
            let is_regular = pool.is_regular(&frame);
            let mut kept = Vec::new();
            match data.try_publish_with(|cell| kept = cell.put(&mut frame, is_regular)) {
                Ok(()) => self.must_ring = true,
                Err(PublishError::Full) => {
                    outlet.put_back(frame);
                    self.blocked = true;
                    self.full_count += 1;
                    return false;
                }
                Err(PublishError::Closed) => {
                    self.undeliverable += u64::from(ringstorm_frame::FrameReader::new(&frame).tuple_count());
                }
            }
            let (next, other) = if frame.is_empty() { (kept, frame) } else { (frame, kept) };
            pool.put(other);
            if outlet.writer.has_buffer() || !pool.is_regular(&next) {
                pool.put(next);
                continue;
            }
            // The lines that the next frame needs change hands now and not when it is urgent.
            outlet.writer.begin(next);
            let next_cell = std::ptr::without_provenance(data.next_cell_address());
            for line in 0..FrameCell::LINES {
                prefetch::for_write(next_cell, 64 * line);
            }
        }
        self.blocked = false;
        true
    }

    /// Rings the other core's doorbell if something was published since the last time. To be called after a SeqCst fence.
    #[inline]
    pub(crate) fn ring_after_fence(&mut self) {
        if std::mem::take(&mut self.must_ring)
            && let Way::Ring(ring) = &self.way
        {
            ring.doorbell.ring_after_fence();
        }
    }

    /// Looks how far the other core has read, so that the next emit need not wait for the answer.
    pub(crate) fn look_ahead(&self) {
        if let Some(data) = self.data() {
            data.consumer_has_read_all();
        }
    }

    /// Bytes that the data ring holds when every cell has carried a frame of this size.
    pub(crate) fn ring_bytes(&self, frame_bytes: usize) -> usize {
        self.data().map_or(0, |data| data.cells() * (frame_bytes + size_of::<FrameCell>()))
    }

    fn data(&self) -> Option<&Producer<FrameCell>> {
        match &self.way {
            Way::Ring(ring) => ring.data.as_ref(),
            Way::Socket(_) => None,
        }
    }

    /// Has the reader ring this core's doorbell when it has made room, or takes that back.
    pub(crate) fn want_room(&self, is_wanted: bool) {
        if let Way::Ring(ring) = &self.way {
            if is_wanted { ring.room_wanted.ask() } else { ring.room_wanted.withdraw() }
        }
    }

    /// Whether a ring that was full has room now.
    pub(crate) fn has_new_room(&self) -> bool {
        let Way::Ring(ring) = &self.way else { return false };
        self.blocked && ring.data.as_ref().is_some_and(Producer::has_room)
            || !self.control_queue.is_empty() && ring.control.free_cells() > 0
    }

    /// Publishes the control messages that wait, as far as the ring takes them, and returns how many it took. To a core
    /// that is gone they need not go.
    pub(crate) fn publish_control(&mut self) -> usize {
        let Way::Ring(ring) = &mut self.way else { return 0 };
        let mut taken = 0;
        for messages in self.control_queue.chunks(BATCH_MESSAGES_MAX) {
            ring.spare_batch.fill(messages);
            match ring.control.try_publish(&mut ring.spare_batch) {
                Ok(()) => {
                    self.must_ring = true;
                    prefetch::for_write(std::ptr::without_provenance(ring.control.next_cell_address()), 0);
                }
                Err(PublishError::Full) => break,
                Err(PublishError::Closed) => {}
            }
            taken += messages.len();
        }
        self.drop_control(taken);
        taken
    }

    /// Forgets the oldest control messages, which are on their way.
    pub(super) fn drop_control(&mut self, taken: usize) {
        self.control_queue.drain(..taken);
        if self.control_queue.is_empty() {
            self.control_queue.shrink_to(CONTROL_QUEUE_KEPT);
        }
    }
}

/// Control messages whose room a link keeps; more than that were a burst.
const CONTROL_QUEUE_KEPT: usize = 4096;

/// Frames that the other core may have yet to read when the next open one is published. With none it would run dry
/// while its news is on the way here.
const FRAMES_AHEAD: u64 = 2;

/// When the open frame of a link may be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenFrame {
    /// Not now: only full frames go.
    Keep,
    /// Unless the other core has yet to read some frames: then waiting makes a fuller frame and costs nothing.
    WhenRead,
    /// In any case, since this core is about to park.
    Go,
}

impl OpenFrame {
    #[inline]
    fn may_go(self, data: &Producer<FrameCell>) -> bool {
        match self {
            Self::Keep => false,
            Self::WhenRead => data.unread_is_at_most(FRAMES_AHEAD),
            Self::Go => true,
        }
    }
}
