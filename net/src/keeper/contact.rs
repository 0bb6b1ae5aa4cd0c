//! A connection whose handshake is under way, from either side.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use ringstorm_protocol::handshake::{Claims, Handshake, HandshakeError, Judge, Nonce, Progress, Secret};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::HANDSHAKE_TIME;
use crate::system;

/// What a look at a contact came to.
pub(super) enum Step {
    /// The other side, or the kernel, is due.
    Waiting,
    /// Both agree.
    Agreed { socket: OwnedFd, received: Vec<u8>, claims: Box<Claims> },
    /// One refused the other.
    Failed(HandshakeError),
    /// The connection did not come about, or broke, or took too long.
    Gone(String),
}

pub(super) struct Contact {
    socket: OwnedFd,
    handshake: Handshake,
    from: Option<SocketAddr>,
    /// The kernel is still connecting.
    is_connecting: bool,
    /// Bytes of the handshake that the kernel has not taken yet.
    unsent: Vec<u8>,
    deadline: Instant,
}

impl Contact {
    /// Somebody has connected.
    pub(super) fn accepted(socket: OwnedFd, from: SocketAddr, secret: Secret, nonce: Nonce) -> Self {
        Self::new(socket, Some(from), false, Handshake::accept(secret, nonce))
    }

    /// A connect was begun.
    pub(super) fn dialed(socket: OwnedFd, secret: Secret, nonce: Nonce, claims: Claims) -> Self {
        Self::new(socket, None, true, Handshake::dial(secret, nonce, claims))
    }

    fn new(socket: OwnedFd, from: Option<SocketAddr>, is_connecting: bool, handshake: Handshake) -> Self {
        let deadline = Instant::now() + HANDSHAKE_TIME;
        Self { socket, handshake, from, is_connecting, unsent: Vec::new(), deadline }
    }

    pub(super) fn from(&self) -> Option<SocketAddr> {
        self.from
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// What to wait for.
    pub(super) fn poll(&self) -> PollFd<'_> {
        let writes = self.is_connecting || !self.unsent.is_empty();
        PollFd::from_borrowed_fd(
            self.socket.as_fd(),
            if writes { PollFlags::OUT | PollFlags::IN } else { PollFlags::IN },
        )
    }

    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Goes as far as it goes without waiting.
    pub(super) fn advance(&mut self, judge: &mut dyn Judge) -> Step {
        if self.is_late() {
            let what = if self.is_connecting { "no answer to a connect" } else { "the handshake was not done" };
            return Step::Gone(format!("{what} within {} s", HANDSHAKE_TIME.as_secs()));
        }
        if self.is_connecting {
            match is_writable(&self.socket) {
                false => return Step::Waiting,
                true => self.is_connecting = false,
            }
            if let Err(error) = system::connected(&self.socket) {
                return Step::Gone(error.to_string());
            }
        }
        loop {
            if let Err(error) = self.send() {
                return Step::Gone(error.to_string());
            }
            let count = match recv(&self.socket, self.handshake.space(), RecvFlags::empty()) {
                Ok((_, 0)) => return Step::Gone("the peer closed the connection during the handshake".into()),
                Ok((_, count)) => count,
                Err(Errno::AGAIN | Errno::INTR) => return Step::Waiting,
                Err(error) => return Step::Gone(std::io::Error::from(error).to_string()),
            };
            match self.handshake.received(count, judge) {
                Ok(Progress::Waiting) => {}
                Ok(Progress::Agreed(claims)) => {
                    let sent = self.send();
                    if sent.is_err() || !self.unsent.is_empty() {
                        return Step::Gone("the peer did not take the end of the handshake".into());
                    }
                    let socket = match self.socket.try_clone() {
                        Ok(socket) => socket,
                        Err(error) => return Step::Gone(error.to_string()),
                    };
                    return Step::Agreed { socket, received: self.handshake.rest().to_vec(), claims };
                }
                Err(why) => {
                    // The refusal is short: the kernel takes it, or the peer does not listen.
                    let _ = self.send();
                    return Step::Failed(why);
                }
            }
        }
    }

    fn send(&mut self) -> Result<(), std::io::Error> {
        self.unsent.extend(self.handshake.output());
        while !self.unsent.is_empty() {
            match send(&self.socket, &self.unsent, SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn is_writable(socket: &OwnedFd) -> bool {
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&now)).is_ok_and(|ready| ready > 0)
}
