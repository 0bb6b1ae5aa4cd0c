//! One connection: its socket, at most one receive and one send under way, and the bytes between.
//!
//! Invariants: see [`super`]. A connection that was given up starts nothing more; it is over when the kernel is done.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use ringstorm_protocol::handshake::HandshakeError;
use ringstorm_protocol::unit::{HEADER_BYTES, Header, Kind};
use ringstorm_protocol::{Arrival, ReceiveBuffer, Session};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::{Lost, PeerCounts, SocketsSettings};
use crate::operations::Operations;

/// For so many polls in a row that find nothing, a connection on which something came is polled: about as long as the
/// answer to an answer takes. Then a receive is left to the kernel.
const HOT_POLLS: u32 = 100;
/// Pieces of one send: units, mostly of a few KiB.
const PIECES_MAX: usize = 64;
/// Bytes of one send; what comes later need not wait for more.
const SEND_BYTES_MAX: usize = 256 << 10;

pub(super) struct Connection {
    socket: OwnedFd,
    received: ReceiveBuffer,
    is_receiving: bool,
    is_sending: bool,
    is_given_up: bool,
    /// Polls that may find nothing before a receive is left to the kernel; 0: one is, or will be.
    hot_polls: u32,
    /// Bytes were received that were not looked at yet.
    has_unread: bool,
    /// Resumptions and confirmations, to be sent before units that were not begun.
    pub(super) urgent: Vec<u8>,
    /// How the send that is under way is made up.
    sending: Sending,
    /// What the kernel reads of it; at one place as long as the connection lives.
    pieces: Box<[libc::iovec; PIECES_MAX]>,
    message: Box<libc::msghdr>,
}

/// Bytes of a send: the rest of a unit that was begun, what is urgent, then whole units.
#[derive(Default)]
struct Sending {
    rest: usize,
    urgent: Vec<u8>,
    urgent_sent: usize,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, settings: &SocketsSettings, bytes: &[u8]) -> Self {
        let mut received = ReceiveBuffer::new(settings.receive_bytes, settings.frame_bytes_max);
        received.extend(bytes);
        let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Self {
            socket,
            received,
            is_receiving: false,
            is_sending: false,
            is_given_up: false,
            hot_polls: 0,
            has_unread: !bytes.is_empty(),
            urgent: Vec::new(),
            sending: Sending::default(),
            pieces: Box::new([nothing; PIECES_MAX]),
            // SAFETY: a message header of zeros is a valid one, with no name, no pieces and no control data.
            message: Box::new(unsafe { std::mem::zeroed() }),
        }
    }

    /// Gives it up: what is under way ends soon.
    pub(super) fn shut_down(&mut self) {
        self.is_given_up = true;
        // One that is not connected any more is as good.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// It was given up and the kernel is done with it.
    pub(super) fn is_over(&self) -> bool {
        self.is_given_up && !self.is_busy()
    }

    /// The kernel may yet read or write its memory.
    pub(super) fn is_busy(&self) -> bool {
        self.is_receiving || self.is_sending
    }

    /// Resumptions, confirmations or an end were not sent yet.
    pub(super) fn has_urgent(&self) -> bool {
        !self.urgent.is_empty() || self.sending.urgent_sent < self.sending.urgent.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.received.memory_bytes()
    }

    /// Bytes that the kernel holds for it.
    pub(super) fn kernel_bytes(&self) -> usize {
        crate::system::kernel_bytes(&self.socket)
    }

    /// Whether it is polled, since something came a moment ago.
    pub(super) fn is_hot(&self) -> bool {
        self.hot_polls > 0 && !self.is_receiving && !self.is_given_up
    }

    /// It is polled no more: the core is about to park.
    pub(super) fn cool(&mut self) {
        self.hot_polls = 0;
    }

    /// Asks the kernel for what has come, without waiting. Returns whether there was something.
    pub(super) fn poll(&mut self, counts: &mut PeerCounts) -> Result<bool, Lost> {
        match rustix::net::recv(&self.socket, self.received.space(), RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Err(Lost::ClosedByPeer),
            Ok((_, count)) => {
                self.came(count, counts);
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                self.hot_polls -= 1;
                Ok(false)
            }
            Err(error) => Err(Lost::System(error.into())),
        }
    }

    fn came(&mut self, count: usize, counts: &mut PeerCounts) {
        self.received.filled(count);
        self.has_unread = true;
        self.hot_polls = HOT_POLLS;
        counts.received_bytes += count as u64;
        counts.receives += 1;
    }

    /// Asks for a receive if none is under way and it is not polled. What came before is read first: nobody may look at the
    /// buffer while the kernel has it, and it may be all that comes.
    pub(super) fn receive(&mut self, operations: &mut impl Operations, peer: usize) {
        if self.is_receiving || self.is_hot() || self.has_unread {
            return;
        }
        // SAFETY: the socket and the buffer live in this boxed connection, which is kept until the completion; until then
        // `is_receiving` keeps everybody off the buffer (`read` comes after `received`). Attacked by
        // `tests/sockets.rs`, in which connections are given up at any moment.
        unsafe { operations.receive(peer, self.socket.as_fd(), self.received.space()) };
        self.is_receiving = true;
    }

    /// Sends what there is, as far as the kernel takes it at once, if no send is under way. Returns whether something is
    /// left.
    pub(super) fn send_now(
        &mut self,
        session: &mut Session,
        counts: &mut PeerCounts,
        free: &mut impl FnMut(Vec<u8>),
    ) -> Result<bool, Lost> {
        if self.is_sending || !self.gather(session) {
            return Ok(self.is_sending);
        }
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the pieces point to `sending.urgent` and to units that the session keeps in place from `unsent` (within
        // `gather`) to `sent`, which is called only after this call has returned.
        let count = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const *self.message, flags) };
        counts.sends += 1;
        let result = match i32::try_from(count) {
            Ok(count) if count >= 0 => count,
            _ => -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        };
        self.sent(result, session, counts, free)?;
        Ok(session.unsent_bytes() > 0 || self.has_urgent())
    }

    /// Asks for a send of what there is, if none is under way.
    pub(super) fn send(
        &mut self,
        operations: &mut impl Operations,
        peer: usize,
        session: &mut Session,
        counts: &mut PeerCounts,
    ) {
        if self.is_sending || !self.gather(session) {
            return;
        }
        // SAFETY: the socket, the message and its pieces live in this boxed connection, which is kept until the
        // completion. The pieces point to `sending.urgent`, which is not touched while `is_sending`, and to units that the
        // session keeps in place from `unsent` to `sent`, which is called upon completion only (an owner that drops the
        // session without that leaks both). Attacked by `tests/sockets.rs`.
        unsafe { operations.send(peer, self.socket.as_fd(), &raw const *self.message) };
        self.is_sending = true;
        counts.sends += 1;
    }

    /// Makes up the message of a send. Returns whether there is anything to send.
    fn gather(&mut self, session: &mut Session) -> bool {
        if self.sending.urgent_sent == self.sending.urgent.len() {
            self.sending.urgent.clear();
            self.sending.urgent_sent = 0;
            std::mem::swap(&mut self.sending.urgent, &mut self.urgent);
        }
        let is_within_unit = session.is_within_unit();
        let (mut count, mut bytes, mut rest) = (0, 0, 0);
        let mut add = |pieces: &mut [libc::iovec; PIECES_MAX], piece: &[u8]| {
            pieces[count] = libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() };
            count += 1;
            bytes += piece.len();
            count < PIECES_MAX - 1 && bytes < SEND_BYTES_MAX
        };
        // A confirmation that was sent in part comes before all else; it was begun between two units.
        let urgent = &self.sending.urgent[self.sending.urgent_sent..];
        let mut units = session.unsent();
        if is_within_unit && let Some(unit) = units.next() {
            rest = unit.len();
            add(&mut self.pieces, unit);
        }
        if !urgent.is_empty() {
            add(&mut self.pieces, urgent);
        }
        for unit in units {
            if !add(&mut self.pieces, unit) {
                break;
            }
        }
        self.sending.rest = rest;
        self.message.msg_iov = self.pieces.as_mut_ptr();
        self.message.msg_iovlen = count;
        count > 0
    }

    /// The receive is over.
    pub(super) fn received(&mut self, result: i32, counts: &mut PeerCounts) -> Result<(), Lost> {
        self.is_receiving = false;
        match result {
            0 => Err(Lost::ClosedByPeer),
            count if count > 0 => {
                self.came(count as usize, counts);
                Ok(())
            }
            error => retry_or_lose(error),
        }
    }

    /// The send is over.
    pub(super) fn sent(
        &mut self,
        result: i32,
        session: &mut Session,
        counts: &mut PeerCounts,
        free: impl FnMut(Vec<u8>),
    ) -> Result<(), Lost> {
        self.is_sending = false;
        let count = usize::try_from(result).unwrap_or(0);
        counts.sent_bytes += count as u64;
        let urgent = &mut self.sending;
        let of_urgent = count.saturating_sub(urgent.rest).min(urgent.urgent.len() - urgent.urgent_sent);
        urgent.urgent_sent += of_urgent;
        session.sent(count - of_urgent, free);
        if result < 0 { retry_or_lose(result) } else { Ok(()) }
    }

    /// Hands on the whole units that came, up to the first whose assignment is newer than `newest_version`. Returns the
    /// version of that one, which waits.
    pub(super) fn read(
        &mut self,
        newest_version: i64,
        session: &mut Session,
        counts: &mut PeerCounts,
        mut deliver: impl FnMut(&Header, &[u8]) -> Result<(), String>,
        free: &mut impl FnMut(Vec<u8>),
    ) -> Result<Option<i64>, Lost> {
        if self.is_receiving || !std::mem::take(&mut self.has_unread) {
            return Ok(None);
        }
        while let Some((header, unit)) = self.received.next_unit()? {
            if header.assignment_version > newest_version && matches!(header.kind, Kind::Frame | Kind::Control) {
                self.received.put_back(&header);
                self.has_unread = true;
                self.cool();
                return Ok(Some(header.assignment_version));
            }
            if header.kind == Kind::Refusal {
                return Err(Lost::RefusedByPeer(HandshakeError::refused(&unit[HEADER_BYTES..])));
            }
            match session.arrived(&header, &mut *free)? {
                Arrival::Deliver => {
                    counts.count_received(header.kind, unit);
                    deliver(&header, unit).map_err(Lost::Refused)?;
                }
                Arrival::Closed => return Err(Lost::PeerEnded),
                Arrival::Duplicate | Arrival::Settled => {}
            }
        }
        Ok(None)
    }
}

/// Interrupted operations are queued again; anything else is the end.
fn retry_or_lose(error: i32) -> Result<(), Lost> {
    match -error {
        libc::EINTR | libc::EAGAIN => Ok(()),
        code => Err(Lost::System(io::Error::from_raw_os_error(code))),
    }
}
