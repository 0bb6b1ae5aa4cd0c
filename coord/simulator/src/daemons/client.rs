//! A client in the words of the world: it finds the leader, tries again, and tells its user the truth.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ringstorm_control::time::{Moment, Now};
use ringstorm_nimbus::interface::{Refusal, Request};
use ringstorm_records::payload::NimbusAddress;

use crate::actor::{Actor, CallEnd, ClientEffect, ClientInput, Effect, Factory, Input, Verdict};

const PAUSE: Duration = Duration::from_millis(500);

struct Client {
    nimbuses: Vec<NimbusAddress>,
    next: usize,
    next_call: u64,
    /// Wishes, by the call that is under way for them.
    calls: BTreeMap<u64, Open>,
    /// Wishes that wait to be tried again.
    waiting: Vec<(Moment, Open)>,
}

struct Open {
    wish: u64,
    request: Request,
    tries: u32,
    is_in_doubt: bool,
}

/// A client that knows these nimbuses.
pub fn client(nimbuses: Vec<NimbusAddress>) -> Factory {
    Rc::new(move |_| {
        Some(Box::new(Client {
            nimbuses: nimbuses.clone(),
            next: 0,
            next_call: 0,
            calls: BTreeMap::new(),
            waiting: Vec::new(),
        }))
    })
}

impl Client {
    fn call(&mut self, open: Open) -> Vec<Effect> {
        let to = self.nimbuses[self.next % self.nimbuses.len()].clone();
        let call = self.next_call;
        self.next_call += 1;
        let request = Box::new(open.request.clone());
        self.calls.insert(call, open);
        vec![Effect::Client(Box::new(ClientEffect::Call { call, to, request }))]
    }

    fn tell(wish: u64, verdict: Verdict) -> Vec<Effect> {
        vec![Effect::Client(Box::new(ClientEffect::Tell { wish, verdict }))]
    }

    fn again(&mut self, now: Now, mut open: Open, leader: Option<NimbusAddress>) -> Vec<Effect> {
        open.tries += 1;
        let known = leader.and_then(|leader| self.nimbuses.iter().position(|nimbus| *nimbus == leader));
        self.next = known.unwrap_or(self.next + 1);
        self.waiting.push((now.moment + PAUSE, open));
        Vec::new()
    }
}

impl Actor for Client {
    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect> {
        let Input::Client(input) = input else { return Vec::new() };
        match *input {
            ClientInput::Wanted { wish, request } => {
                self.call(Open { wish, request, tries: 0, is_in_doubt: false })
            }
            ClientInput::Ended { call, end } => {
                let Some(mut open) = self.calls.remove(&call) else { return Vec::new() };
                match end {
                    CallEnd::Answered(Ok(reply)) => Self::tell(open.wish, Verdict::Done(reply)),
                    CallEnd::Answered(Err(Refusal::NotLeader { leader })) => self.again(now, open, leader),
                    CallEnd::Answered(Err(Refusal::TryAgain(_) | Refusal::NoUpload(_))) | CallEnd::NotConnected => {
                        self.again(now, open, None)
                    }
                    CallEnd::Answered(Err(Refusal::Unknown(_))) | CallEnd::Lost => {
                        open.is_in_doubt = true;
                        self.again(now, open, None)
                    }
                    CallEnd::Answered(Err(refusal)) => {
                        // After a doubt a submission's token tells; of everything else it may have been the first try.
                        let is_told = !open.is_in_doubt || matches!(open.request, Request::Submit(_));
                        let why = refusal.to_string();
                        let verdict = if is_told { Verdict::NotDone(why) } else { Verdict::Unknown(why) };
                        Self::tell(open.wish, verdict)
                    }
                }
            }
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        let (due, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(|(at, _)| *at <= now.moment);
        self.waiting = waiting;
        let due: Vec<(Moment, Open)> = due;
        due.into_iter().flat_map(|(_, open)| self.call(open)).collect()
    }

    fn wake_at(&self) -> Option<Moment> {
        self.waiting.iter().map(|(at, _)| *at).min()
    }
}
