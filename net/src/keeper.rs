//! A thread beside the cores that makes connections: it dials and accepts, shakes hands, hands what was agreed to the
//! owner, dials again what was lost, and gives up connections whose peer's machine is silent.
//!
//! Invariants: a stranger costs a descriptor for `HANDSHAKE_TIME` at most, and at most `GUESTS_MAX` of them at once;
//! each failed handshake is told once; tries to reach a peer are told when their reason changes.
//!
//! Threading: one thread, which only waits in `poll` (names are resolved on threads of their own). Errors: told by
//! [`KeeperEvent`]; the thread itself ends only when its [`Keeper`] is dropped.

mod contact;
mod dialing;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringstorm_protocol::handshake::{Claims, CorePair, HandshakeError, Nonce, Secret};
use ringstorm_protocol::{Liveness, Verdict};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::system;
use contact::{Contact, Step};
use dialing::Dialing;

/// A handshake that takes longer is closed.
pub(crate) const HANDSHAKE_TIME: Duration = Duration::from_secs(5);
/// Accepted connections whose handshake is not done; beyond it the oldest is closed.
const GUESTS_MAX: usize = 256;
/// No connection is accepted for so long after one for which there was no descriptor.
const NO_DESCRIPTOR_PAUSE: Duration = Duration::from_millis(250);
/// Between two looks at what the kernel says of the connections.
const LOOK_PERIOD: Duration = Duration::from_millis(250);

/// A connection to be kept: two cores, one here and one at another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// The other worker.
    pub worker: u64,
    /// The core here, by its number in its worker.
    pub own_core: u32,
    /// The core there.
    pub their_core: u32,
}

/// What the keeper tells.
#[derive(Debug)]
pub enum KeeperEvent {
    /// A connection is ready for the route's core; these bytes came behind its handshake.
    Connected {
        /// Between which cores.
        route: Route,
        /// Its socket, in non-blocking mode.
        socket: OwnedFd,
        /// The first bytes of the session.
        received: Vec<u8>,
        /// What the peer says of itself.
        claims: Box<Claims>,
    },
    /// A peer could not be reached, or refused us; told again when the reason changes. The keeper goes on trying.
    Unreachable {
        /// Between which cores.
        route: Route,
        /// Why.
        why: String,
        /// It refused this process since it knows of a newer one of this worker: the lowest incarnation that is current
        /// there.
        newest: Option<u64>,
    },
    /// Somebody who connected was refused.
    Refused {
        /// From where.
        from: Option<SocketAddr>,
        /// Why.
        why: String,
    },
    /// The machine of a peer is silent: its connection was shut down.
    Silent {
        /// Between which cores.
        route: Route,
    },
}

/// Judges the claims of peers: whether they run the same thing, and whether their incarnation is the newest known. Gives
/// this worker's claims towards that peer.
pub trait Admission: Send + 'static {
    /// The claims to dial with.
    fn claims(&self, route: Route) -> Claims;

    /// Judges what a peer claims; `dialed` is the route if it was dialed from here.
    ///
    /// # Errors
    /// Why it is refused.
    fn admit(&mut self, theirs: &Claims, dialed: Option<Route>) -> Result<Claims, HandshakeError>;
}

enum Order {
    /// Dial this route at this address (`host:port`), now and whenever it is lost, until told otherwise.
    Dial(Route, String),
    /// The route's connection is gone.
    Lost(Route),
    /// What was dialed at a worker is dialed no more.
    Forget(u64),
    /// Connections to lower incarnations of a worker are lost.
    Renew(u64, u64),
    Stop,
}

/// The keeper's thread. Dropping it ends the thread; connections that were handed over stay.
#[derive(Debug)]
pub struct Keeper {
    orders: Sender<Order>,
    wake: std::sync::Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread. `random` gives nonces and jitter; `tell` is called on the thread.
    ///
    /// # Errors
    /// The operating system's.
    pub fn start(
        listener: TcpListener,
        secret: Secret,
        admission: impl Admission,
        random: impl FnMut() -> Nonce + Send + 'static,
        tell: impl FnMut(KeeperEvent) + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        system::allow_descriptors();
        let wake = std::sync::Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (orders, inbox) = channel();
        let rounds = Rounds {
            listener,
            secret,
            admission: Box::new(admission),
            random: Box::new(random),
            tell: Box::new(tell),
            orders: inbox,
            wake: std::sync::Arc::clone(&wake),
            guests: Vec::new(),
            dialing: BTreeMap::new(),
            watched: BTreeMap::new(),
            next_look: Instant::now(),
            accept_from: None,
            started: Instant::now(),
        };
        let thread = std::thread::Builder::new().name("ringstorm-keeper".into()).spawn(move || rounds.run())?;
        Ok(Self { orders, wake, thread: Some(thread) })
    }

    /// From now on this route is dialed at this address, now and whenever it is lost.
    pub fn dial(&self, route: Route, address: &str) {
        self.order(Order::Dial(route, address.to_owned()));
    }

    /// The connections to lower incarnations of a worker are lost; what was dialed there is dialed again.
    pub fn renew(&self, worker: u64, incarnation: u64) {
        self.order(Order::Renew(worker, incarnation));
    }

    /// The routes of a worker are not dialed, nor its connections watched, until [`Keeper::dial`] is called again or it
    /// connects by itself.
    pub fn forget(&self, worker: u64) {
        self.order(Order::Forget(worker));
    }

    /// The route's connection is gone.
    pub fn lost(&self, route: Route) {
        self.order(Order::Lost(route));
    }

    fn order(&self, order: Order) {
        // Without the thread there is nobody to tell.
        let _ = self.orders.send(order);
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection that was handed over, as the kernel sees it.
struct Watched {
    socket: OwnedFd,
    liveness: Liveness,
    /// That of its peer.
    incarnation: u64,
}

/// What the thread works on.
struct Rounds {
    listener: TcpListener,
    secret: Secret,
    admission: Box<dyn Admission>,
    random: Box<dyn FnMut() -> Nonce + Send>,
    tell: Box<dyn FnMut(KeeperEvent) + Send>,
    orders: Receiver<Order>,
    wake: std::sync::Arc<OwnedFd>,
    guests: Vec<Contact>,
    dialing: BTreeMap<Route, Dialing>,
    watched: BTreeMap<Route, Watched>,
    next_look: Instant,
    /// When to accept again, while there are no descriptors for it.
    accept_from: Option<Instant>,
    started: Instant,
}

impl Rounds {
    fn run(mut self) {
        loop {
            self.wait();
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.wake, &mut count);
            while let Ok(order) = self.orders.try_recv() {
                match order {
                    Order::Stop => return,
                    Order::Dial(route, address) => {
                        let known = self.dialing.get(&route).is_some_and(|dialing| dialing.address() == address);
                        if !known {
                            self.dialing.insert(route, Dialing::new(address));
                        }
                    }
                    Order::Forget(worker) => {
                        self.dialing.retain(|route, _| route.worker != worker);
                        self.watched.retain(|route, _| route.worker != worker);
                    }
                    Order::Renew(worker, incarnation) => {
                        let is_stale = |(route, watched): &(&Route, &Watched)| {
                            route.worker == worker && watched.incarnation < incarnation
                        };
                        let stale: Vec<Route> = self.watched.iter().filter(is_stale).map(|(route, _)| *route).collect();
                        stale.into_iter().for_each(|route| self.lose(route));
                    }
                    Order::Lost(route) => self.lose(route),
                }
            }
            self.accept();
            self.advance_guests();
            self.advance_dialing();
            self.look();
        }
    }

    fn lose(&mut self, route: Route) {
        self.watched.remove(&route);
        if let Some(dialing) = self.dialing.get_mut(&route) {
            dialing.lost();
        }
    }

    /// Until something happens or is due.
    fn wait(&self) {
        let now = Instant::now();
        let mut due = self.guests.iter().map(Contact::deadline).min();
        let mut sooner = |at: Option<Instant>| due = due.into_iter().chain(at).min();
        sooner(self.dialing.values().filter_map(Dialing::deadline).min());
        sooner((!self.watched.is_empty()).then_some(self.next_look));
        sooner(self.accept_from);
        let timeout = due.map(|at| at.saturating_duration_since(now));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // A connection that cannot be accepted would end each wait at once.
        let of_listener = if self.accept_from.is_none() { PollFlags::IN } else { PollFlags::empty() };
        let mut waits =
            vec![PollFd::new(&self.listener, of_listener), PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN)];
        let contacts = self.guests.iter().chain(self.dialing.values().filter_map(Dialing::contact));
        waits.extend(contacts.map(Contact::poll));
        // An interruption or a wrong descriptor is a round too early.
        let _ = poll(&mut waits, timeout.as_ref());
    }

    fn accept(&mut self) {
        if self.accept_from.is_some_and(|at| Instant::now() < at) {
            return;
        }
        loop {
            let (socket, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if system::lacks_descriptors(&error) => {
                    if self.accept_from.replace(Instant::now() + NO_DESCRIPTOR_PAUSE).is_none() {
                        let why = format!("there is no descriptor for it ({error}); raise the limit of open files");
                        (self.tell)(KeeperEvent::Refused { from: None, why });
                    }
                    return;
                }
                // Nobody is there, or it was interrupted: the next round tries again.
                Err(_) => break,
            };
            let nonce = (self.random)();
            if system::prepare(&socket).is_err() {
                continue;
            }
            if self.guests.len() >= GUESTS_MAX {
                self.guests.remove(0);
            }
            self.guests.push(Contact::accepted(socket.into(), from, self.secret.clone(), nonce));
        }
        self.accept_from = None;
    }

    fn advance_guests(&mut self) {
        for mut contact in std::mem::take(&mut self.guests) {
            let admission = &mut self.admission;
            let mut admitted = None;
            let step = contact.advance(&mut |theirs: &Claims| {
                let own = admission.admit(theirs, None)?;
                admitted = Some(own.cores);
                Ok(own)
            });
            match step {
                Step::Waiting => self.guests.push(contact),
                Step::Failed(why) => (self.tell)(KeeperEvent::Refused { from: contact.from(), why: why.to_string() }),
                // One that went away by itself is not worth a line.
                Step::Gone(why) if contact.is_late() => (self.tell)(KeeperEvent::Refused { from: contact.from(), why }),
                Step::Gone(_) => {}
                Step::Agreed { socket, received, claims } => {
                    let CorePair { dialer, acceptor } = claims.cores;
                    let route = Route { worker: claims.worker, own_core: acceptor, their_core: dialer };
                    self.hand_over(route, socket, received, claims);
                }
            }
        }
    }

    fn advance_dialing(&mut self) {
        for route in self.dialing.keys().copied().collect::<Vec<_>>() {
            let Some(mut dialing) = self.dialing.remove(&route) else { continue };
            let admission = &mut self.admission;
            let (secret, random) = (&self.secret, &mut self.random);
            let claims = dialing.may_try().then(|| admission.claims(route));
            let step = dialing
                .advance(secret, random, claims.as_ref(), &mut |theirs: &Claims| admission.admit(theirs, Some(route)));
            match step {
                Step::Waiting => {}
                Step::Failed(why) => {
                    self.unreachable(route, &mut dialing, why.to_string(), why.newest_known_to_peer());
                }
                Step::Gone(why) => self.unreachable(route, &mut dialing, why, None),
                Step::Agreed { socket, received, claims } => self.hand_over(route, socket, received, claims),
            }
            self.dialing.insert(route, dialing);
        }
    }

    fn unreachable(&mut self, route: Route, dialing: &mut Dialing, why: String, newest: Option<u64>) {
        let random = u64::from_ne_bytes(*(self.random)().first_chunk().unwrap_or(&[0; 8]));
        if dialing.failed(&why, random) {
            (self.tell)(KeeperEvent::Unreachable { route, why, newest });
        }
    }

    fn hand_over(&mut self, route: Route, socket: OwnedFd, received: Vec<u8>, claims: Box<Claims>) {
        match socket.try_clone() {
            Ok(clone) => {
                let incarnation = claims.incarnation;
                self.watched.insert(route, Watched { socket: clone, liveness: Liveness::default(), incarnation });
            }
            // Without a descriptor for it nobody watches this one; its peer's death in silence is noticed by keepalive.
            Err(_) => drop(self.watched.remove(&route)),
        }
        (self.tell)(KeeperEvent::Connected { route, socket, received, claims });
    }

    fn look(&mut self) {
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK_PERIOD;
        let since_start = now - self.started;
        let mut silent = Vec::new();
        for (route, watched) in &mut self.watched {
            let Ok(view) = system::kernel_view(&watched.socket) else { continue };
            if watched.liveness.look(since_start, view) == Verdict::Silent {
                // The core that has it hears of it, and tells.
                let _ = rustix::net::shutdown(&watched.socket, rustix::net::Shutdown::Both);
                silent.push(*route);
            }
        }
        for route in silent {
            self.watched.remove(&route);
            (self.tell)(KeeperEvent::Silent { route });
        }
    }
}
