//! Ways to send units that lie in several places.

use std::net::TcpStream;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};

use crate::group::Group;
use crate::receivers::{RingKind, post};

#[derive(Clone, Copy, Debug)]
pub(crate) enum SendWay {
    /// `sendmsg`.
    Call,
    /// `IORING_OP_SENDMSG`.
    UringMessage,
    /// `IORING_OP_SEND` of a bundle of provided buffers.
    Bundle,
}

/// Sends the same units over and over, each time all of them.
pub(crate) struct Sender<'a> {
    way: SendWay,
    socket: types::Fd,
    units: &'a [Vec<u8>],
    pieces: Vec<libc::iovec>,
    ring: IoUring,
    group: Group,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(way: SendWay, stream: &TcpStream, units: &'a [Vec<u8>]) -> Self {
        let ring = RingKind::Deferred.make();
        let piece = |unit: &Vec<u8>| libc::iovec { iov_base: unit.as_ptr().cast_mut().cast(), iov_len: unit.len() };
        // SAFETY: fields are dropped in their order.
        let group = unsafe { Group::new(&ring, 16, false) };
        Self {
            way,
            socket: types::Fd(stream.as_raw_fd()),
            units,
            pieces: units.iter().map(piece).collect(),
            ring,
            group,
        }
    }

    /// Returns whether the connection took them.
    pub(crate) fn send(&mut self) -> bool {
        // SAFETY: a message header of zeros is a valid one.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (self.pieces.as_mut_ptr(), self.pieces.len());
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let entry = match self.way {
            // SAFETY: the pieces point to the units, which outlive this call.
            SendWay::Call => return unsafe { libc::sendmsg(self.socket.0, &raw const message, flags) } > 0,
            SendWay::UringMessage => opcode::SendMsg::new(self.socket, &raw const message).flags(flags as u32).build(),
            SendWay::Bundle => {
                for (number, unit) in self.units.iter().enumerate() {
                    // SAFETY: units are not moved while this exists.
                    unsafe { self.group.give(number as u16, unit.as_ptr(), unit.len()) };
                }
                opcode::SendBundle::new(self.socket, 0).flags(flags).build()
            }
        };
        // SAFETY: what it names is there until its completion, for which this waits.
        unsafe { self.ring.submission().push(&entry) }.expect("there is room for one");
        loop {
            post(&mut self.ring);
            if let Some(completion) = self.ring.completion().next() {
                return completion.result() > 0;
            }
        }
    }
}
