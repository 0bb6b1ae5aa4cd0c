//! What lies between a client and members, and can break.
//!
//! Invariants: while a link is open it changes no byte, but for an address that it was told to replace. Threading: a thread for each member accepts, two carry each
//! connection; they end with the link or the connection. Errors: those of either side end a connection.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A link to one member, or to several, which then break together.
#[derive(Debug)]
pub struct Link {
    addresses: Vec<SocketAddr>,
    line: Arc<Line>,
    acceptors: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Line {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_cut: bool,
    /// Nothing passes from clients to members.
    holds_requests: bool,
    /// Nothing passes from members to clients.
    holds_answers: bool,
    is_over: bool,
    /// An address in the first bytes of a client, and what a member is told instead; of the same length.
    replaced: Option<(String, String)>,
    /// How many connections have something that may not pass to members.
    held_requests: usize,
    /// Both ends of every connection, to shut them down.
    sockets: Vec<TcpStream>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Requests,
    Answers,
}

impl Link {
    /// A link to members, open.
    pub fn to(members: &[SocketAddr]) -> Self {
        let line = Arc::new(Line::default());
        let mut link = Self { addresses: Vec::new(), line, acceptors: Vec::new() };
        for &member in members {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there are free ports");
            link.addresses.push(listener.local_addr().expect("it is bound"));
            let line = Arc::clone(&link.line);
            link.acceptors.push(std::thread::spawn(move || accept(&listener, member, &line)));
        }
        link
    }

    /// Where clients connect instead of to the members, in their order.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// From now on replaces an address where a client names it in the first bytes of a connection.
    pub(crate) fn replace(&self, address: SocketAddr, by: SocketAddr) {
        let (address, by) = (address.to_string(), by.to_string());
        assert_eq!(address.len(), by.len(), "{by} is to take the place of {address} in a message of fixed length");
        self.line.change(|state| state.replaced = Some((address, by)));
    }

    /// Breaks all connections, and every new one at once, until [`Self::heal`].
    pub fn cut(&self) {
        self.line.change(|state| {
            state.is_cut = true;
            shut(state);
        });
    }

    /// Carries nothing until [`Self::heal`]; connections stay. What was sent meanwhile arrives then.
    pub fn silence(&self) {
        self.line.change(|state| {
            state.holds_requests = true;
            state.holds_answers = true;
        });
    }

    /// As [`Self::silence`], for the way from members to clients only: what clients ask for is done.
    pub fn silence_answers(&self) {
        self.line.change(|state| state.holds_answers = true);
    }

    /// Whether it carries nothing either way.
    pub(crate) fn is_silent(&self) -> bool {
        let state = self.line.lock();
        state.holds_requests && state.holds_answers
    }

    /// Waits until a client has sent something that is held; false when it has not within the limit.
    pub fn wait_until_holding(&self, limit: Duration) -> bool {
        let state = self.line.lock();
        let nothing = |state: &mut State| state.held_requests == 0;
        let waited = self.line.changed.wait_timeout_while(state, limit, nothing);
        waited.unwrap_or_else(PoisonError::into_inner).0.held_requests > 0
    }

    /// Opens the link again.
    pub fn heal(&self) {
        self.line.change(|state| {
            state.is_cut = false;
            state.holds_requests = false;
            state.holds_answers = false;
        });
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.heal();
        self.line.change(|state| {
            state.is_over = true;
            shut(state);
        });
        for (address, acceptor) in self.addresses.iter().zip(self.acceptors.drain(..)) {
            // Lets the acceptor look.
            drop(TcpStream::connect(address));
            let _ = acceptor.join();
        }
    }
}

impl Line {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits while nothing may pass.
    fn pass(&self, way: Way) {
        let holds = |state: &mut State| match way {
            Way::Requests => state.holds_requests,
            Way::Answers => state.holds_answers,
        };
        let mut state = self.lock();
        if holds(&mut state) {
            let held = usize::from(way == Way::Requests);
            state.held_requests += held;
            self.changed.notify_all();
            state = self.changed.wait_while(state, holds).unwrap_or_else(PoisonError::into_inner);
            state.held_requests -= held;
        }
    }
}

fn shut(state: &mut State) {
    for socket in state.sockets.drain(..) {
        let _ = socket.shutdown(Shutdown::Both);
    }
}

fn accept(listener: &TcpListener, member: SocketAddr, line: &Arc<Line>) {
    for near in listener.incoming().flatten() {
        let is_cut = {
            let state = line.lock();
            if state.is_over {
                return;
            }
            state.is_cut
        };
        if is_cut {
            continue;
        }
        let Ok(far) = TcpStream::connect(member) else { continue };
        let (Ok(near_copy), Ok(far_copy)) = (near.try_clone(), far.try_clone()) else { continue };
        line.change(|state| {
            for socket in [&near, &far] {
                let _ = socket.set_nodelay(true);
                state.sockets.extend(socket.try_clone());
            }
            // It may have been cut meanwhile.
            if state.is_cut || state.is_over {
                shut(state);
            }
        });
        let (there, back) = (Arc::clone(line), Arc::clone(line));
        std::thread::spawn(move || carry(near, far_copy, &there, Way::Requests));
        std::thread::spawn(move || carry(far, near_copy, &back, Way::Answers));
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, line: &Line, way: Way) {
    let mut buffer = vec![0; 64 << 10];
    let mut replaced = line.lock().replaced.clone().filter(|_| way == Way::Requests);
    loop {
        let count = from.read(&mut buffer).unwrap_or(0);
        if count > 0 {
            line.pass(way);
        }
        if let Some((address, by)) = replaced.take() {
            let named = buffer[..count].windows(address.len()).position(|bytes| bytes == address.as_bytes());
            if let Some(at) = named {
                buffer[at..at + by.len()].copy_from_slice(by.as_bytes());
            }
        }
        if count == 0 || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
