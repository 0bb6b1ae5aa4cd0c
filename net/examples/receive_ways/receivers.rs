//! Ways to receive units so that each is read from contiguous memory.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use io_uring::{EnterFlags, IoUring, cqueue, opcode, types};
use ringstorm_protocol::ReceiveBuffer;
use ringstorm_protocol::unit::{HEADER_BYTES, read_header, verify};
use rustix::net::RecvFlags;

use crate::group::Group;

/// As in `Sockets`.
const HOT_POLLS: u32 = 100;
const RECEIVE_BYTES: usize = 256 << 10;
const FRAME_BYTES_MAX: u32 = 1 << 20;

/// How completions are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RingKind {
    /// When they are asked for, and a flag tells that there is something to ask for.
    Deferred,
    /// By interrupting this thread, which alone submits.
    SingleIssuer,
    /// When this thread enters the kernel, and a flag tells.
    Cooperative,
    /// By interrupting this thread.
    Interrupting,
}

impl RingKind {
    pub(crate) fn make(self) -> IoUring {
        let mut builder = IoUring::builder();
        match self {
            Self::Deferred => builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag(),
            Self::SingleIssuer => builder.setup_single_issuer(),
            Self::Cooperative => builder.setup_coop_taskrun().setup_taskrun_flag(),
            Self::Interrupting => &mut builder,
        };
        builder.build(64).expect("an io_uring with these flags (Linux 6.1)")
    }
}

/// Submits what is queued and has the kernel post what is done, if there is either: else two loads.
pub(crate) fn post(ring: &mut IoUring) {
    let submission = ring.submission();
    let (queued, posts) = (submission.len(), submission.taskrun() || submission.cq_overflow());
    drop(submission);
    if queued > 0 || posts {
        // SAFETY: no arguments are passed; who pushed answers for what was pushed.
        let entered = unsafe { ring.submitter().enter::<()>(queued as u32, 0, EnterFlags::GETEVENTS.bits(), None) };
        entered.expect("the kernel takes what was queued");
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ReceiveWay {
    /// One receive at a time, behind what came before.
    Single { ring: RingKind, is_polled: bool },
    /// One receive for ever, into provided buffers; a unit that lies in two is copied.
    Multishot { count: u16, bytes: usize, incremental: bool, bundles: bool },
}

impl ReceiveWay {
    pub(crate) fn usual() -> Self {
        Self::Single { ring: RingKind::Deferred, is_polled: true }
    }
}

/// The receiving end of a connection.
pub(crate) enum Receiver<'a> {
    Single(Single<'a>),
    Multishot(Multishot),
}

impl<'a> Receiver<'a> {
    pub(crate) fn new(way: ReceiveWay, stream: &'a TcpStream) -> Self {
        match way {
            ReceiveWay::Single { ring, is_polled } => Self::Single(Single {
                ring: ring.make(),
                socket: stream.as_fd(),
                buffer: Box::new(ReceiveBuffer::new(RECEIVE_BYTES, FRAME_BYTES_MAX)),
                is_polled,
                hot_polls: 0,
                is_receiving: false,
            }),
            ReceiveWay::Multishot { count, bytes, incremental, bundles } => {
                Self::Multishot(Multishot::new(stream, (count, bytes), incremental, bundles))
            }
        }
    }

    /// Hands out the units that have come, without waiting.
    pub(crate) fn poll(&mut self, read: impl FnMut(&[u8])) {
        match self {
            Self::Single(single) => single.poll(read),
            Self::Multishot(multishot) => multishot.poll(read),
        }
    }
}

pub(crate) struct Single<'a> {
    /// Dropped first: nothing is under way then.
    ring: IoUring,
    socket: BorrowedFd<'a>,
    buffer: Box<ReceiveBuffer>,
    is_polled: bool,
    hot_polls: u32,
    is_receiving: bool,
}

impl Single<'_> {
    fn poll(&mut self, mut read: impl FnMut(&[u8])) {
        if self.hot_polls > 0 {
            match rustix::net::recv(self.socket, self.buffer.space(), RecvFlags::DONTWAIT) {
                Ok((_, count)) => self.came(count, &mut read),
                Err(_) => self.hot_polls -= 1,
            }
            return;
        }
        if !self.is_receiving {
            let space = self.buffer.space();
            let (socket, length) = (types::Fd(self.socket.as_raw_fd()), space.len() as u32);
            let entry = opcode::Recv::new(socket, space.as_mut_ptr(), length).build();
            // SAFETY: the buffer is boxed, and left alone until the completion; the io_uring goes before it.
            unsafe { self.ring.submission().push(&entry) }.expect("there is room for one");
            self.is_receiving = true;
        }
        post(&mut self.ring);
        let completion = self.ring.completion().next();
        if let Some(completion) = completion {
            self.is_receiving = false;
            self.came(usize::try_from(completion.result()).unwrap_or(0), &mut read);
        }
    }

    fn came(&mut self, count: usize, read: &mut impl FnMut(&[u8])) {
        self.hot_polls = if self.is_polled { HOT_POLLS } else { 0 };
        self.buffer.filled(count);
        while let Some((_, unit)) = self.buffer.next_unit().expect("units are whole") {
            read(unit);
        }
    }
}

pub(crate) struct Multishot {
    /// Dropped first: the buffers are the kernel's until then.
    ring: IoUring,
    group: Group,
    buffers: Vec<u8>,
    buffer_bytes: usize,
    /// Buffers in the order in which the kernel fills them, and how far the first is filled and read.
    order: VecDeque<u16>,
    filled: usize,
    read: usize,
    incremental: bool,
    bundles: bool,
    socket: types::Fd,
    is_armed: bool,
    /// The part of a unit that was in buffers that are given back.
    rest: Vec<u8>,
}

impl Multishot {
    fn new(stream: &TcpStream, (count, buffer_bytes): (u16, usize), incremental: bool, bundles: bool) -> Self {
        let ring = RingKind::Deferred.make();
        // SAFETY: fields are dropped in their order.
        let group = unsafe { Group::new(&ring, count, incremental) };
        let buffers = vec![0; usize::from(count) * buffer_bytes];
        let (order, rest) = (VecDeque::new(), Vec::new());
        let socket = types::Fd(stream.as_raw_fd());
        let (filled, read, is_armed) = (0, 0, false);
        let mut own = Self {
            ring,
            group,
            buffers,
            buffer_bytes,
            order,
            filled,
            read,
            incremental,
            bundles,
            socket,
            is_armed,
            rest,
        };
        (0..count).for_each(|number| own.give(number));
        own
    }

    fn give(&mut self, number: u16) {
        let buffer = &self.buffers[usize::from(number) * self.buffer_bytes..][..self.buffer_bytes];
        // SAFETY: the vector never grows, and goes after the io_uring.
        unsafe { self.group.give(number, buffer.as_ptr(), buffer.len()) };
        self.order.push_back(number);
    }

    fn poll(&mut self, mut read: impl FnMut(&[u8])) {
        if !self.is_armed {
            let entry = match self.bundles {
                true => opcode::RecvMultiBundle::new(self.socket, 0).build(),
                false => opcode::RecvMulti::new(self.socket, 0).build(),
            };
            // SAFETY: it names no memory but the group's.
            unsafe { self.ring.submission().push(&entry) }.expect("there is room for one");
            self.is_armed = true;
        }
        post(&mut self.ring);
        loop {
            let Some(completion) = self.ring.completion().next() else { return };
            self.is_armed = cqueue::more(completion.flags());
            // No buffer is left, or the connection has ended: the one is armed again, the other ends the run.
            let Ok(mut count) = usize::try_from(completion.result()) else { continue };
            while count > 0 {
                let here = count.min(self.buffer_bytes - self.filled);
                self.filled += here;
                count -= here;
                let goes_on = self.incremental && cqueue::buffer_more(completion.flags());
                self.take(!goes_on, &mut read);
            }
        }
    }

    /// Reads what is new in the first buffer, and gives it back if the kernel `is_done` with it.
    fn take(&mut self, is_done: bool, read: &mut impl FnMut(&[u8])) {
        let number = self.order[0];
        let from = usize::from(number) * self.buffer_bytes;
        let mut bytes = &self.buffers[from + self.read..from + self.filled];
        while !self.rest.is_empty() && !bytes.is_empty() {
            let header = read_header(&self.rest, FRAME_BYTES_MAX).expect("a header is whole");
            let wanted = header.as_ref().map_or(HEADER_BYTES, |header| header.length as usize) - self.rest.len();
            let (more, left) = bytes.split_at(wanted.min(bytes.len()));
            self.rest.extend_from_slice(more);
            bytes = left;
            if let Some(header) = header.filter(|header| header.length as usize == self.rest.len()) {
                verify(&self.rest, &header).expect("units are whole");
                read(&self.rest);
                self.rest.clear();
            }
        }
        while let Some(header) = read_header(bytes, FRAME_BYTES_MAX).expect("a header is whole") {
            let Some((unit, left)) = bytes.split_at_checked(header.length as usize) else { break };
            verify(unit, &header).expect("units are whole");
            read(unit);
            bytes = left;
        }
        if is_done {
            self.rest.extend_from_slice(bytes);
            self.order.pop_front();
            (self.filled, self.read) = (0, 0);
            self.give(number);
        } else {
            self.read = self.filled - bytes.len();
        }
    }
}
