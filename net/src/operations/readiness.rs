//! Operations as calls that do not wait, where there is no io_uring for them.
//!
//! What the kernel cannot do at once waits for the epoll descriptor to say that it can. A socket is watched for what it
//! waits for and for nothing else: each report ends the watch (`EPOLLONESHOT`), so that a core that rests is not woken by
//! what nobody asked for, and one that polls its sockets costs the kernel no reports.
//!
//! Invariants and threading: see [`super`]. The kernel keeps no pointer: memory is touched within calls of these methods
//! only.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::{Completion, Message, Operation, Operations};

/// Reports that are taken by one call.
const REPORTS: usize = 64;
const IN: epoll::EventFlags = epoll::EventFlags::IN;
const OUT: epoll::EventFlags = epoll::EventFlags::OUT;

/// What a peer waits for.
#[derive(Debug, Default)]
struct Waiting {
    receive: Option<(RawFd, *mut [u8])>,
    send: Option<(RawFd, *const Message)>,
    /// Listed among those that are to be watched.
    is_listed: bool,
}

/// [`Operations`] by readiness. Its owner polls the descriptor and calls [`Operations::collect`] when that is readable.
#[derive(Debug)]
pub struct Readiness {
    epoll: std::os::fd::OwnedFd,
    /// By peer.
    waiting: Vec<Waiting>,
    /// Peers that are to be watched from the next submit on.
    unwatched: Vec<usize>,
    completions: VecDeque<Completion>,
}

impl Readiness {
    /// No operations yet.
    ///
    /// # Errors
    /// The operating system's, when there is no descriptor left.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, waiting: Vec::new(), unwatched: Vec::new(), completions: VecDeque::new() })
    }

    /// Whether [`Operations::completion`] has one without looking at the descriptor.
    #[inline]
    pub fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    fn end(&mut self, operation: Operation, peer: usize, result: i32) {
        let waiting = &mut self.waiting[peer];
        match operation {
            Operation::Receive => waiting.receive = None,
            Operation::Send => waiting.send = None,
        }
        self.completions.push_back(Completion { operation, peer, result });
    }

    /// What a peer waits for; peers may be added at any time.
    fn waiting_of(&mut self, peer: usize) -> &mut Waiting {
        if peer >= self.waiting.len() {
            self.waiting.resize_with(peer + 1, Waiting::default);
        }
        &mut self.waiting[peer]
    }

    fn list(&mut self, peer: usize) {
        if !std::mem::replace(&mut self.waiting[peer].is_listed, true) {
            self.unwatched.push(peer);
        }
    }

    fn try_receive(&mut self, peer: usize) {
        let Some((socket, space)) = self.waiting[peer].receive else { return };
        // SAFETY: `receive` was promised that both are there and nobody else's until the completion, which is below.
        // Attacked by `tests/sockets.rs`, in which connections are given up at any moment.
        let (socket, space) = unsafe { (BorrowedFd::borrow_raw(socket), &mut *space) };
        match rustix::net::recv(socket, space, RecvFlags::DONTWAIT) {
            Ok((_, count)) => self.end(Operation::Receive, peer, i32::try_from(count).unwrap_or(i32::MAX)),
            Err(Errno::AGAIN | Errno::INTR) => self.list(peer),
            Err(error) => self.end(Operation::Receive, peer, -error.raw_os_error()),
        }
    }

    fn try_send(&mut self, peer: usize) {
        let Some((socket, message)) = self.waiting[peer].send else { return };
        // SAFETY: `send` was promised that all of it is there and does not change until the completion, which is below.
        // Attacked like `try_receive`.
        let count = unsafe { libc::sendmsg(socket, message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) };
        match i32::try_from(count) {
            Ok(count) if count >= 0 => self.end(Operation::Send, peer, count),
            _ => match io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) {
                libc::EAGAIN | libc::EINTR => self.list(peer),
                error => self.end(Operation::Send, peer, -error),
            },
        }
    }

    /// Has the epoll descriptor report once what a peer waits for.
    fn watch(&mut self, peer: usize) {
        let waiting = &mut self.waiting[peer];
        waiting.is_listed = false;
        let (receive, send) = (waiting.receive.map(|(socket, _)| socket), waiting.send.map(|(socket, _)| socket));
        let Some(socket) = receive.or(send) else { return };
        let mut flags = epoll::EventFlags::ONESHOT;
        flags.set(IN, receive.is_some());
        flags.set(OUT, send.is_some());
        // SAFETY: it stays open as long as an operation of it waits.
        let socket = unsafe { BorrowedFd::borrow_raw(socket) };
        let data = epoll::EventData::new_u64(peer as u64);
        // A number that is another socket's by now is not known under it, although a duplicate keeps the old one open.
        let watched = match epoll::modify(&self.epoll, socket, data, flags) {
            Err(Errno::NOENT) => epoll::add(&self.epoll, socket, data, flags),
            watched => watched,
        };
        if let Err(error) = watched {
            let ends = [(Operation::Receive, receive), (Operation::Send, send)];
            for (operation, _) in ends.iter().filter(|(_, waits)| waits.is_some()) {
                self.end(*operation, peer, -error.raw_os_error());
            }
        }
    }
}

impl AsFd for Readiness {
    /// Readable when something that an operation waits for has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Operations for Readiness {
    unsafe fn receive(&mut self, peer: usize, socket: BorrowedFd<'_>, space: *mut [u8]) {
        // Not tried: it is asked for where nothing was a moment ago. Watching reports what is there already.
        self.waiting_of(peer).receive = Some((socket.as_raw_fd(), space));
        self.list(peer);
    }

    unsafe fn send(&mut self, peer: usize, socket: BorrowedFd<'_>, message: *const Message) {
        self.waiting_of(peer).send = Some((socket.as_raw_fd(), message));
        self.try_send(peer);
    }

    fn submit(&mut self) {
        while let Some(peer) = self.unwatched.pop() {
            self.watch(peer);
        }
    }

    fn collect(&mut self) {
        let now = rustix::event::Timespec::default();
        let nothing = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut reports = [nothing; REPORTS];
        loop {
            // Interrupted or not, what was reported is reported again.
            let count = epoll::wait(&self.epoll, &mut reports[..], Some(&now)).unwrap_or(0);
            for report in &reports[..count] {
                let (peer, flags) = (report.data.u64() as usize, report.flags);
                // An error or an end is for both.
                let is_over = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
                if is_over || flags.contains(IN) {
                    self.try_receive(peer);
                }
                if is_over || flags.contains(OUT) {
                    self.try_send(peer);
                }
                if self.waiting[peer].receive.is_some() || self.waiting[peer].send.is_some() {
                    // Its watch has ended.
                    self.list(peer);
                }
            }
            if count < REPORTS {
                break;
            }
        }
        self.submit();
    }

    fn completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }
}
