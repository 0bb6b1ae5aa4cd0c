//! A route that is dialed from here: waits, tries, and tries again.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use ringstorm_protocol::Backoff;
use ringstorm_protocol::handshake::{Claims, Judge, Nonce, Secret};

use super::contact::{Contact, Step};
use crate::system;

/// The shortest and the longest wait between two tries, as in Storm but shorter at first.
const WAIT_LEAST: Duration = Duration::from_millis(10);
const WAIT_MOST: Duration = Duration::from_secs(1);
/// How often a name that is being resolved is asked for.
const RESOLVE_LOOK: Duration = Duration::from_millis(5);

enum State {
    /// Until the next try.
    Resting {
        until: Instant,
    },
    /// A thread asks for the addresses of a name.
    Resolving(Receiver<io::Result<Vec<SocketAddr>>>),
    Trying(Box<Contact>),
    /// It was handed over.
    Connected,
}

pub(super) struct Dialing {
    address: String,
    state: State,
    backoff: Backoff,
    /// Why the last try failed.
    told: String,
    /// Which address of a name is next.
    turn: usize,
}

impl Dialing {
    pub(super) fn new(address: String) -> Self {
        let backoff = Backoff::new(WAIT_LEAST, WAIT_MOST);
        Self { address, state: State::Resting { until: Instant::now() }, backoff, told: String::new(), turn: 0 }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn contact(&self) -> Option<&Contact> {
        match &self.state {
            State::Trying(contact) => Some(contact),
            _ => None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Resting { until } => Some(*until),
            State::Resolving(_) => Some(Instant::now() + RESOLVE_LOOK),
            State::Trying(contact) => Some(contact.deadline()),
            State::Connected => None,
        }
    }

    /// The connection that was handed over is gone. One that was lost soon after it was made rests longer.
    pub(super) fn lost(&mut self) {
        if matches!(self.state, State::Connected) {
            self.state = State::Resting { until: Instant::now() };
        }
    }

    /// Whether [`Dialing::advance`] may begin a try, for which it needs claims.
    pub(super) fn may_try(&self) -> bool {
        match &self.state {
            State::Resting { until } => Instant::now() >= *until,
            State::Resolving(_) => true,
            State::Trying(_) | State::Connected => false,
        }
    }

    /// A try failed. Returns whether that is news.
    pub(super) fn failed(&mut self, why: &str, random: u64) -> bool {
        self.state = State::Resting { until: Instant::now() + self.backoff.wait(random) };
        let is_news = self.told != why;
        why.clone_into(&mut self.told);
        is_news
    }

    /// Goes as far as it goes without waiting.
    pub(super) fn advance(
        &mut self,
        secret: &Secret,
        random: &mut dyn FnMut() -> Nonce,
        claims: Option<&Claims>,
        judge: &mut dyn Judge,
    ) -> Step {
        let Some(claims) = claims else {
            return match &mut self.state {
                State::Trying(_) => self.go_on(judge),
                _ => Step::Waiting,
            };
        };
        loop {
            match &mut self.state {
                State::Connected => return Step::Waiting,
                State::Resting { until } if Instant::now() < *until => return Step::Waiting,
                State::Resting { .. } => match self.address.parse() {
                    Ok(address) => match self.try_at(address, secret, random, claims) {
                        Ok(()) => {}
                        Err(error) => return Step::Gone(self.about(&error)),
                    },
                    Err(_) => match resolve(&self.address) {
                        Ok(answer) => self.state = State::Resolving(answer),
                        Err(error) => return Step::Gone(self.about(&error)),
                    },
                },
                State::Resolving(answer) => {
                    let addresses = match answer.try_recv() {
                        Err(TryRecvError::Empty) => return Step::Waiting,
                        Err(TryRecvError::Disconnected) => Err(io::Error::other("the resolver's thread is gone")),
                        Ok(addresses) => addresses,
                    };
                    let address = addresses.and_then(|addresses| {
                        let count = addresses.len();
                        let at = addresses.into_iter().nth(self.turn % count.max(1));
                        at.ok_or_else(|| io::Error::other("the name has no address"))
                    });
                    self.turn += 1;
                    let tried = address.and_then(|address| self.try_at(address, secret, random, claims));
                    if let Err(error) = tried {
                        return Step::Gone(self.about(&error));
                    }
                }
                State::Trying(_) => return self.go_on(judge),
            }
        }
    }

    fn go_on(&mut self, judge: &mut dyn Judge) -> Step {
        let State::Trying(contact) = &mut self.state else { return Step::Waiting };
        let step = contact.advance(judge);
        match step {
            Step::Agreed { .. } => {
                self.state = State::Connected;
                self.backoff.reset();
                self.told.clear();
                step
            }
            Step::Gone(why) => Step::Gone(format!("{}: {why}", self.address)),
            Step::Waiting | Step::Failed(_) => step,
        }
    }

    fn try_at(
        &mut self,
        address: SocketAddr,
        secret: &Secret,
        random: &mut dyn FnMut() -> Nonce,
        claims: &Claims,
    ) -> io::Result<()> {
        let socket = system::begin_connect(address)?;
        let contact = Contact::dialed(socket, secret.clone(), random(), claims.clone());
        self.state = State::Trying(Box::new(contact));
        Ok(())
    }

    fn about(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.address)
    }
}

/// Asks for the addresses of a name on a thread of its own: that may take seconds.
fn resolve(address: &str) -> io::Result<Receiver<io::Result<Vec<SocketAddr>>>> {
    let (answer, answers) = channel();
    let address = address.to_owned();
    std::thread::Builder::new().name("ringstorm-resolve".into()).spawn(move || {
        let _ = answer.send(address.to_socket_addrs().map(Iterator::collect));
    })?;
    Ok(answers)
}
