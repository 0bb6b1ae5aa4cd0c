//! The connections of one core, one for each core of another worker that it talks to.
//!
//! A peer is such a core; its [`Session`] outlives connections. Each connection has at most one receive and one send under
//! way. What is received lands behind what was received before and is read there; a send gathers the units as they lie.
//!
//! Invariants: memory that an operation names is neither moved nor freed before its completion, also when its connection
//! is given up; units go out in the order of their numbers, and confirmations between whole units only.
//!
//! Threading: belongs to one core. Errors: end one connection, see [`Lost`]; its session goes on with the next one.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ringstorm_protocol::Session;
use ringstorm_protocol::unit::Header;

use crate::operations::{Completion, Operation, Operations};
use connection::Connection;
use counts::Ages;

mod connection;
mod counts;
mod lost;
mod settings;

pub use counts::PeerCounts;
pub use lost::Lost;
pub use settings::SocketsSettings;

/// How long an orderly end tries to tell it to its peers.
const CLOSE_TIME: Duration = Duration::from_millis(200);

struct Peer {
    session: Session,
    /// The session of the incarnation before, while the kernel may yet read its units.
    former: Option<Session>,
    connection: Option<Box<Connection>>,
    /// To be taken over when all operations of the connection before are over, with the bytes that came on it.
    next: Option<(OwnedFd, Vec<u8>)>,
    connected_before: bool,
    counts: PeerCounts,
    ages: Ages,
    /// Something waits to be sent.
    is_dirty: bool,
    /// It is in the list of those that are polled.
    is_polled: bool,
}

/// The connections of one core.
pub struct Sockets {
    settings: SocketsSettings,
    peers: Vec<Peer>,
    assignment_version: i64,
    /// Units of newer assignments wait.
    accepted_version: i64,
    /// Peers whose next unit waits, and the newest version among those that nobody has heard of.
    held: Vec<usize>,
    ahead: Option<i64>,
    now_ns: u64,
    dirty: Vec<u32>,
    /// Peers that are polled.
    hot: Vec<u32>,
    /// Peers whose connection came with bytes behind its handshake.
    unread: Vec<usize>,
    lost: Vec<(usize, Lost)>,
    ready: Vec<usize>,
    /// Bytes that all peers together have not confirmed.
    unconfirmed_bytes: u64,
}

impl std::fmt::Debug for Sockets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sockets").field("peers", &self.peers.len()).finish_non_exhaustive()
    }
}

impl Sockets {
    /// Peers without connections; `assignment_version` is what their units are stamped with.
    pub fn new(peers: usize, assignment_version: i64, settings: SocketsSettings) -> Self {
        let mut sockets = Self {
            settings,
            peers: Vec::new(),
            assignment_version,
            accepted_version: assignment_version,
            held: Vec::new(),
            ahead: None,
            now_ns: 0,
            dirty: Vec::new(),
            hot: Vec::new(),
            unread: Vec::new(),
            lost: Vec::new(),
            ready: Vec::new(),
            unconfirmed_bytes: 0,
        };
        for _ in 0..peers {
            sockets.add_peer();
        }
        sockets
    }

    /// One more peer; returns its index, which is the next.
    pub fn add_peer(&mut self) -> usize {
        self.peers.push(Peer {
            session: Session::new(self.assignment_version),
            former: None,
            connection: None,
            next: None,
            connected_before: false,
            counts: PeerCounts::default(),
            ages: Ages::default(),
            is_dirty: false,
            is_polled: false,
        });
        self.peers.len() - 1
    }

    /// From now on units are stamped with this version, and those of peers that are stamped with it are taken.
    pub fn set_assignment_version(&mut self, version: i64) {
        self.assignment_version = version;
        self.peers.iter_mut().for_each(|peer| peer.session.set_assignment_version(version));
        self.accept_version(version);
    }

    /// Takes units that are stamped with this version too, though this side does not run by it.
    pub fn accept_version(&mut self, version: i64) {
        self.accepted_version = self.accepted_version.max(version);
        self.unread.append(&mut self.held);
    }

    /// The version of a unit that came and waits, since it is newer than what is accepted; once for each.
    pub fn take_ahead(&mut self) -> Option<i64> {
        self.ahead.take()
    }

    /// Takes over a connection whose handshake is done, and the bytes that came behind it. A connection that the peer had
    /// is given up: it has made this one because it knew that the other was gone.
    pub fn attach(&mut self, peer: usize, socket: OwnedFd, received: &[u8]) {
        self.peers[peer].next = Some((socket, received.to_vec()));
        self.give_up(peer);
    }

    /// Gives up a peer's connection, if it has one.
    pub fn detach(&mut self, peer: usize) {
        self.peers[peer].next = None;
        self.give_up(peer);
    }

    fn give_up(&mut self, peer: usize) {
        if let Some(connection) = &mut self.peers[peer].connection {
            connection.shut_down();
        }
        self.change_over(peer);
    }

    /// Lets go of a connection that was given up once the kernel is done with it, and takes over the next one.
    fn change_over(&mut self, peer: usize) {
        let state = &mut self.peers[peer];
        if state.connection.as_ref().is_some_and(|connection| !connection.is_over()) {
            return;
        }
        if state.connection.take().is_some() && state.former.take().is_none() {
            state.session.disconnected();
        }
        let Some((socket, received)) = state.next.take() else { return };
        let mut connection = Box::new(Connection::new(socket, &self.settings, &received));
        connection.urgent.extend_from_slice(&state.session.connected());
        state.counts.reconnects += u64::from(std::mem::replace(&mut state.connected_before, true));
        state.connection = Some(connection);
        if !received.is_empty() {
            self.unread.push(peer);
        }
        self.mark(peer);
    }

    /// Whether a peer takes units now: it is not far behind.
    #[inline]
    pub fn has_room(&self, peer: usize) -> bool {
        let session = &self.peers[peer].session;
        session.kept_bytes() < self.settings.kept_bytes_max && session.unsent_bytes() < self.settings.unsent_bytes_max
    }

    /// Takes a whole frame or control unit for a peer, whether or not there is room or a connection.
    pub fn push(&mut self, peer: usize, unit: Vec<u8>) {
        let state = &mut self.peers[peer];
        state.counts.count_sent(&unit);
        self.unconfirmed_bytes += unit.len() as u64;
        state.session.push(unit);
        self.mark(peer);
    }

    /// Bytes that a peer has not confirmed.
    pub fn kept_bytes(&self, peer: usize) -> usize {
        self.peers[peer].session.kept_bytes()
    }

    /// Units that a peer has not confirmed; each holds a buffer.
    pub fn kept_units(&self, peer: usize) -> u64 {
        self.peers[peer].session.kept_units()
    }

    /// Bytes that all peers together have not confirmed.
    pub fn unconfirmed_bytes(&self) -> u64 {
        self.unconfirmed_bytes
    }

    /// Whether both sides of a peer's connection are ready for units.
    pub fn is_connected(&self, peer: usize) -> bool {
        self.peers[peer].session.is_resumed()
    }

    /// What happened with a peer so far, and how it is now.
    pub fn counts(&self, peer: usize) -> PeerCounts {
        let Peer { session, connection, counts, ages, .. } = &self.peers[peer];
        PeerCounts {
            duplicates: session.duplicates(),
            skipped: session.skipped(),
            unconfirmed_bytes: session.kept_bytes(),
            oldest_unconfirmed_ns: ages.oldest(session.confirmed(), self.now_ns),
            receive_buffer_bytes: connection.as_ref().map_or(0, |connection| connection.memory_bytes()),
            kernel_bytes: connection.as_ref().map_or(0, |connection| connection.kernel_bytes()),
            ..*counts
        }
    }

    /// The time by which the age of what is not confirmed is told, in nanoseconds of any clock that does not go back.
    /// Without it everything is of no age.
    pub fn set_now(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// A peer has another incarnation, which never heard of what its session holds: gives up its connection and starts a
    /// new session. Each unit that was not confirmed is shown to `lost`.
    pub fn start_over(&mut self, peer: usize, lost: impl FnMut(&[u8])) {
        let fresh = Session::new(self.assignment_version);
        self.replace_session(peer, fresh, lost);
    }

    /// A peer is away for too long: gives up what its session holds, which is shown to `lost`, and its connection, if it
    /// has one. What comes after goes on when it is back.
    pub fn give_up_units(&mut self, peer: usize, lost: impl FnMut(&[u8])) {
        let next = self.peers[peer].session.without_units();
        self.replace_session(peer, next, lost);
    }

    fn replace_session(&mut self, peer: usize, next: Session, lost: impl FnMut(&[u8])) {
        self.detach(peer);
        let state = &mut self.peers[peer];
        state.session.unconfirmed().for_each(lost);
        self.unconfirmed_bytes -= state.session.kept_bytes() as u64;
        let former = std::mem::replace(&mut state.session, next);
        if state.connection.is_some() {
            state.former.get_or_insert(former);
        }
    }

    /// Peers whose connection became ready for units, from both sides, since the last call.
    pub fn take_ready(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.ready)
    }

    /// Connections that were lost since the last call, with their peers.
    pub fn take_lost(&mut self) -> Vec<(usize, Lost)> {
        std::mem::take(&mut self.lost)
    }

    /// Handles what has happened: received units go to `deliver` (peer, header, unit), which may refuse one; buffers that
    /// were sent and confirmed go to `free`. Returns whether anything happened.
    pub fn receive(
        &mut self,
        operations: &mut impl Operations,
        mut deliver: impl FnMut(usize, &Header, &[u8]) -> Result<(), String>,
        mut free: impl FnMut(Vec<u8>),
    ) -> bool {
        let mut progress = false;
        operations.collect();
        while let Some(completion) = operations.completion() {
            progress = true;
            self.complete(completion, &mut deliver, &mut free);
        }
        // Some may have become this by a completion.
        while let Some(peer) = self.unread.pop() {
            progress = true;
            self.read(peer, &mut deliver, &mut free);
        }
        if !self.hot.is_empty() {
            progress |= self.poll(&mut deliver, &mut free);
        }
        progress
    }

    /// Whether some peers are polled by [`Sockets::receive`], so that it is to be called although nothing is done.
    #[inline]
    pub fn has_hot(&self) -> bool {
        !self.hot.is_empty()
    }

    /// Asks the kernel directly where something came a moment ago: more may come any moment, and a receive that is left to
    /// the kernel costs two microseconds more.
    fn poll(
        &mut self,
        deliver: &mut impl FnMut(usize, &Header, &[u8]) -> Result<(), String>,
        free: &mut impl FnMut(Vec<u8>),
    ) -> bool {
        let mut progress = false;
        let mut hot = std::mem::take(&mut self.hot);
        hot.retain(|peer| {
            let index = *peer as usize;
            let state = &mut self.peers[index];
            state.is_polled = false;
            let Some(connection) = state.connection.as_deref_mut().filter(|connection| connection.is_hot()) else {
                return false;
            };
            match connection.poll(&mut state.counts) {
                Ok(came) if came || connection.is_hot() => {
                    state.is_polled = true;
                    if came {
                        progress = true;
                        self.read(index, deliver, free);
                    }
                }
                Ok(_) => self.mark(index),
                Err(lost) => {
                    progress = true;
                    self.lose(index, lost);
                }
            }
            self.peers[index].is_polled
        });
        // Nothing becomes hot by being read.
        self.hot = hot;
        progress
    }

    /// Tells every peer that this is the end in order, gives up every connection, and waits for the kernel to be done with
    /// them. A peer that does not take it within 200 ms is left to notice.
    pub fn close(&mut self, operations: &mut impl Operations) {
        for peer in 0..self.peers.len() {
            let state = &mut self.peers[peer];
            if let Some(connection) = state.connection.as_mut().filter(|connection| !connection.is_given_up()) {
                connection.urgent.extend_from_slice(&state.session.close());
                self.mark(peer);
            }
        }
        let until = Instant::now() + CLOSE_TIME;
        let is_unsent = |peer: &Peer| {
            let connection = peer.connection.as_ref();
            connection.is_some_and(|connection| !connection.is_given_up() && connection.has_urgent())
        };
        while self.peers.iter().any(is_unsent) && Instant::now() < until {
            self.flush(operations, false, drop);
            self.receive(operations, |_, _, _| Ok(()), drop);
        }
        (0..self.peers.len()).for_each(|peer| self.detach(peer));
        while !self.is_quiet() {
            operations.submit();
            self.receive(operations, |_, _, _| Ok(()), drop);
        }
    }

    /// Whether bytes that came behind a handshake wait for [`Sockets::receive`].
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Starts to send what waits, to receive where nothing is under way, and hands all of it to the kernel at once.
    /// `tell_all`: peers are told of everything that came, as the core is about to rest.
    pub fn flush(&mut self, operations: &mut impl Operations, tell_all: bool, mut free: impl FnMut(Vec<u8>)) {
        if tell_all {
            for peer in 0..self.peers.len() {
                if self.peers[peer].session.has_untold() {
                    self.mark(peer);
                }
            }
            while let Some(peer) = self.hot.pop() {
                self.peers[peer as usize].is_polled = false;
                self.mark(peer as usize);
            }
        }
        // One send by itself goes sooner by a call; several go by one call with an io_uring.
        let sends_now = self.dirty.len() == 1;
        let mut dirty = std::mem::take(&mut self.dirty);
        for peer in dirty.drain(..) {
            let index = peer as usize;
            let state = &mut self.peers[index];
            state.is_dirty = false;
            state.ages.note(state.session.next(), state.session.confirmed(), self.now_ns);
            let Some(connection) = state.connection.as_mut().filter(|connection| !connection.is_given_up()) else {
                continue;
            };
            let session = &mut state.session;
            let untold = session.untold_bytes() >= self.settings.confirm_bytes
                || session.untold_units() >= self.settings.confirm_units
                || tell_all && session.has_untold();
            if session.is_resumed() && untold && session.unsent_bytes() == 0 && connection.urgent.is_empty() {
                let unit = session.confirmation();
                connection.urgent.extend_from_slice(&unit);
            }
            if tell_all {
                // Whoever rests is not there to poll.
                connection.cool();
            }
            if connection.is_hot() && !std::mem::replace(&mut state.is_polled, true) {
                self.hot.push(peer);
            }
            connection.receive(operations, index);
            match sends_now.then(|| connection.send_now(session, &mut state.counts, &mut free)) {
                Some(Ok(false)) => {}
                // What ends a send ends the receive too, which is told once.
                Some(Ok(true) | Err(_)) | None => connection.send(operations, index, session, &mut state.counts),
            }
        }
        self.dirty = dirty;
        operations.submit();
    }

    /// Whether nothing of the kernel's is under way any more, after every connection was given up.
    pub fn is_quiet(&self) -> bool {
        self.peers.iter().all(|peer| peer.connection.is_none())
    }

    fn mark(&mut self, peer: usize) {
        let state = &mut self.peers[peer];
        if !std::mem::replace(&mut state.is_dirty, true) {
            self.dirty.push(peer as u32);
        }
    }

    fn complete(
        &mut self,
        completion: Completion,
        deliver: &mut impl FnMut(usize, &Header, &[u8]) -> Result<(), String>,
        free: &mut impl FnMut(Vec<u8>),
    ) {
        let Completion { operation, peer, result } = completion;
        let state = &mut self.peers[peer];
        let Some(connection) = state.connection.as_deref_mut() else { return };
        let session = state.former.as_mut().unwrap_or(&mut state.session);
        let result = match operation {
            Operation::Send => connection.sent(result, session, &mut state.counts, &mut *free),
            Operation::Receive => connection.received(result, &mut state.counts),
        };
        if connection.is_given_up() {
            self.change_over(peer);
            return;
        }
        match result {
            Ok(()) => self.read(peer, deliver, free),
            Err(lost) => self.lose(peer, lost),
        }
    }

    fn read(
        &mut self,
        peer: usize,
        deliver: &mut impl FnMut(usize, &Header, &[u8]) -> Result<(), String>,
        free: &mut impl FnMut(Vec<u8>),
    ) {
        let state = &mut self.peers[peer];
        let Some(connection) = state.connection.as_deref_mut() else { return };
        let deliver = |header: &Header, unit: &[u8]| deliver(peer, header, unit);
        let was_ready = state.session.is_resumed();
        let before = state.session.kept_bytes();
        let newest = self.accepted_version;
        let result = connection.read(newest, &mut state.session, &mut state.counts, deliver, free);
        // Reading confirms.
        self.unconfirmed_bytes -= (before - state.session.kept_bytes()) as u64;
        if !was_ready && state.session.is_resumed() {
            self.ready.push(peer);
        }
        self.mark(peer);
        match result {
            Ok(None) => {}
            Ok(Some(version)) => {
                self.held.push(peer);
                self.ahead = self.ahead.max(Some(version));
            }
            Err(lost) => self.lose(peer, lost),
        }
    }

    fn lose(&mut self, peer: usize, lost: Lost) {
        self.give_up(peer);
        self.lost.push((peer, lost));
    }
}

impl Drop for Sockets {
    /// Without a [`Sockets::close`] the kernel may yet read and write what it was given: it stays allocated.
    fn drop(&mut self) {
        for peer in &mut self.peers {
            if let Some(connection) = peer.connection.take().filter(|connection| connection.is_busy()) {
                let session = std::mem::replace(&mut peer.session, Session::new(0));
                Box::leak(Box::new((connection, session, peer.former.take())));
            }
        }
    }
}
