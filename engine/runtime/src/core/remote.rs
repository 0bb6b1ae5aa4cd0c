//! The connections of a core to cores of other workers: what goes out on them and what comes in.
//!
//! Invariants: what comes from outside is checked before anything reads it: the structure of a frame, that its source
//! and stream exist and its targets live here, and each payload against its stream; what fails costs its connection.
//! Control messages of a turn go before its frames.
//!
//! Threading: belongs to one core. Errors: a lost connection is told to the worker's keeper, which makes the next one;
//! meanwhile units are kept, and senders wait when there are too many.

use std::sync::atomic::Ordering;

use ringstorm_frame::FrameReader;
use ringstorm_net::Sockets;
use ringstorm_protocol::unit::{Header, Kind, begin};

use crate::core::control::{BATCH_MESSAGES_MAX, ControlMessage, ControlRecipients};
use crate::core::control_bytes::{self, MESSAGE_BYTES};
use crate::core::link::{Link, OpenFrame};
use crate::core::outlet::{FramePool, Outlet};
use crate::core::status::Event;
use crate::core::{Core, LocalExecutor};

/// Bytes that a peer may have to confirm while an open frame still goes: above, it is busy with what it has, and waiting
/// makes a fuller frame.
const BUSY_BYTES: usize = 128 << 10;
/// Likewise units. A peer that is awake confirms sooner (after 64); behind one that is not, each small frame would hold a
/// buffer, and those beyond the pool's come from the heap.
const BUSY_UNITS: u64 = 96;

impl Link {
    /// Hands over every sealed frame, and the open one when `open` allows it. Returns whether all were taken.
    pub(super) fn publish_to_socket(
        &mut self,
        peer: usize,
        sockets: &mut Sockets,
        outlet: &mut Outlet,
        pool: &mut FramePool,
        open: OpenFrame,
    ) -> bool {
        let open_may_go = match open {
            OpenFrame::Keep => false,
            OpenFrame::WhenRead => sockets.kept_bytes(peer) <= BUSY_BYTES && sockets.kept_units(peer) <= BUSY_UNITS,
            OpenFrame::Go => true,
        };
        while outlet.has_sealed() || open_may_go && !outlet.writer.is_empty() {
            if !self.is_away && !sockets.has_room(peer) {
                self.full_count += u64::from(!self.blocked);
                self.blocked = true;
                return false;
            }
            let Some(frame) = outlet.pop() else { break };
            sockets.push(peer, frame);
            if !outlet.writer.has_buffer() {
                outlet.writer.begin(pool.take());
            }
        }
        self.blocked = false;
        true
    }

    /// Hands over every control message that waits, and returns how many there were.
    pub(super) fn control_to_socket(&mut self, peer: usize, sockets: &mut Sockets, pool: &mut FramePool) -> usize {
        let count = self.control_queue.len();
        for messages in self.control_queue.chunks(BATCH_MESSAGES_MAX) {
            let mut unit = pool.take();
            begin(Kind::Control, messages.len() as u32, &mut unit);
            messages.iter().for_each(|message| control_bytes::write(message, &mut unit));
            sockets.push(peer, unit);
        }
        self.drop_control(count);
        count
    }
}

impl Core {
    /// Takes what came on sockets. Returns whether there was anything.
    pub(super) fn read_sockets(&mut self) -> bool {
        let Some(mut sockets) = self.transfer.sockets.take() else { return false };
        let Some(mut parker) = self.parker.take() else { return false };
        let mut progress = false;
        if parker.has_news() || sockets.has_hot() || sockets.has_unread() {
            let mut pool = std::mem::take(&mut self.transfer.spare_pool);
            progress = sockets.receive(
                &mut parker,
                |peer, header, unit| self.take_unit(peer, header, unit),
                |buffer| pool.push(buffer),
            );
            pool.drain(..).for_each(|buffer| self.transfer.pool.put(buffer));
            self.transfer.spare_pool = pool;
            for (peer, lost) in sockets.take_lost() {
                self.events.send(Event::ConnectionLost { core: self.index, peer, lost });
            }
            if let Some(version) = sockets.take_ahead() {
                self.events.send(Event::Ahead { version });
            }
            for peer in sockets.take_ready() {
                self.events.send(Event::Connected { core: self.index, peer });
            }
        }
        self.parker = Some(parker);
        self.transfer.sockets = Some(sockets);
        progress
    }

    /// Starts what is to be sent and received. `resting`: the core is about to park.
    pub(super) fn flush_sockets(&mut self, resting: bool) {
        if let (Some(sockets), Some(parker)) = (&mut self.transfer.sockets, &mut self.parker) {
            let pool = &mut self.transfer.pool;
            sockets.set_now(self.transfer.now_ns);
            sockets.flush(parker, resting, |buffer| pool.put(buffer));
            let (status, counters) = (&self.status, &self.transfer.counters);
            status.unconfirmed.store(sockets.unconfirmed_bytes(), Ordering::Release);
            status.sent_away.store(counters.sent_away, Ordering::Release);
            status.control_sent_away.store(counters.control_sent_away, Ordering::Release);
        }
    }

    fn take_unit(&mut self, peer: usize, header: &Header, unit: &[u8]) -> Result<(), String> {
        match header.kind {
            Kind::Frame => {
                self.check_frame(unit)?;
                self.status.count_came(FrameReader::new(unit).tuple_count().into(), 0);
                self.deliver(unit);
                Ok(())
            }
            _ => self.take_control(peer, &unit[ringstorm_protocol::unit::HEADER_BYTES..]),
        }
    }

    fn take_control(&mut self, peer: usize, body: &[u8]) -> Result<(), String> {
        let (messages, rest) = body.as_chunks::<MESSAGE_BYTES>();
        if !rest.is_empty() {
            return Err("a control unit ends in the middle of a message".into());
        }
        let Self { transfer, spouts, ackers, locals, status, .. } = self;
        status.count_came(0, messages.len() as u64);
        let mut recipients = ControlRecipients { transfer, spouts, ackers, locals };
        for bytes in messages {
            let message = control_bytes::read(bytes).ok_or("a control message is of an unknown kind")?;
            if matches!(message, ControlMessage::Pause { .. }) {
                count_pause(&mut self.pauses_by_peer, peer);
            }
            recipients.take(message);
        }
        status.count_control_received(messages.len() as u64);
        Ok(())
    }

    /// Checks a frame from another worker, before anything reads it.
    fn check_frame(&self, frame: &[u8]) -> Result<(), String> {
        ringstorm_frame::validate(frame).map_err(|error| error.to_string())?;
        for run in FrameReader::new(frame) {
            let streams = self.sources.get(run.source() as usize);
            let source = streams.and_then(|streams| streams.get(usize::from(run.stream())));
            let source = source.ok_or_else(|| {
                format!("a frame has tuples of task {}, stream {}, which does not exist", run.source(), run.stream())
            })?;
            let mut cursor = run.start();
            while let Some(tuple) = run.next(&mut cursor) {
                let target = self.locals.get(tuple.target as usize);
                if !matches!(target, Some(Some(LocalExecutor::Bolt(_)))) {
                    return Err(format!("a frame has a tuple for task {}, which is not on this core", tuple.target));
                }
                source.schema.validate(tuple.payload).map_err(|error| {
                    format!("a tuple of stream {} of {} is malformed: {error}", source.stream, source.component)
                })?;
            }
        }
        Ok(())
    }

    /// At the end of the core: the kernel is done with its memory before that is freed.
    pub(super) fn close_sockets(&mut self) {
        if let (Some(sockets), Some(parker)) = (&mut self.transfer.sockets, &mut self.parker) {
            sockets.close(parker);
        }
    }
}

#[cold]
fn count_pause(pauses_by_peer: &mut Vec<u64>, peer: usize) {
    if peer >= pauses_by_peer.len() {
        pauses_by_peer.resize(peer + 1, 0);
    }
    pauses_by_peer[peer] += 1;
}
