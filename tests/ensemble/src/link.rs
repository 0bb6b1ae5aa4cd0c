//! What lies between a client and members, and can break.
//!
//! Invariants: while a link is open it changes no byte. Threading: a thread accepts, two carry each connection; they end
//! with the link or the connection. Errors: those of either side end a connection.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A link to one address. Its own address is where clients connect instead.
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    line: Arc<Line>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Line {
    target: SocketAddr,
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
    /// Both ends of every connection, to shut them down.
    sockets: Vec<TcpStream>,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Requests,
    Answers,
}

impl Link {
    /// A link to an address, open.
    pub fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there are free ports");
        let address = listener.local_addr().expect("it is bound");
        let line = Arc::new(Line { target, state: Mutex::default(), changed: Condvar::new() });
        let accepted = Arc::clone(&line);
        let acceptor = std::thread::spawn(move || accept(&listener, &accepted));
        Self { address, line, acceptor: Some(acceptor) }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks all connections, and every new one at once, until [`Self::heal`].
    pub fn cut(&self) {
        self.line.change(|state| {
            state.is_cut = true;
            shut(state);
        });
    }

    /// Breaks all connections; new ones are fine.
    pub fn break_connections(&self) {
        self.line.change(shut);
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
        self.line.change(|state| {
            state.is_over = true;
            state.holds_requests = false;
            state.holds_answers = false;
            shut(state);
        });
        // Lets the acceptor look.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
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
        let state = self.lock();
        let holds = |state: &mut State| match way {
            Way::Requests => state.holds_requests,
            Way::Answers => state.holds_answers,
        };
        drop(self.changed.wait_while(state, holds).unwrap_or_else(PoisonError::into_inner));
    }
}

fn shut(state: &mut State) {
    for socket in state.sockets.drain(..) {
        let _ = socket.shutdown(Shutdown::Both);
    }
}

fn accept(listener: &TcpListener, line: &Arc<Line>) {
    for near in listener.incoming().flatten() {
        // A silent link accepts and carries nothing, as the backlog of a host out of reach does.
        let mut state = line.lock();
        if state.is_over {
            return;
        }
        if state.is_cut {
            continue;
        }
        let Ok(far) = TcpStream::connect(line.target) else { continue };
        let (Ok(near_copy), Ok(far_copy)) = (near.try_clone(), far.try_clone()) else { continue };
        for socket in [&near, &far] {
            let _ = socket.set_nodelay(true);
            state.sockets.extend(socket.try_clone());
        }
        drop(state);
        let (there, back) = (Arc::clone(line), Arc::clone(line));
        std::thread::spawn(move || carry(near, far_copy, &there, Way::Requests));
        std::thread::spawn(move || carry(far, near_copy, &back, Way::Answers));
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, line: &Line, way: Way) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer).unwrap_or(0);
        line.pass(way);
        if count == 0 || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
