//! Calls of clients to nimbuses: on their way, answered, or lost.
//!
//! Invariants: what is refused at the door was not asked for; of what is lost nobody knows whether it was done.

use ringstorm_nimbus::interface::{Refusal, Reply, Request, RequestId};
use std::time::Duration;

use ringstorm_nimbus::NimbusInput;
use ringstorm_records::payload::NimbusAddress;

use super::process::ProcessId;
use super::truth::token_in;
use super::{Event, World};
use crate::actor::{At, CallEnd, Input, News};
use crate::checks::{Violation, leadership};

/// A call that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    client: ProcessId,
    client_life: u64,
    nimbus: ProcessId,
    nimbus_life: u64,
    /// By which the client knows it.
    call: u64,
    /// The client waits no longer.
    is_given_up: bool,
    /// When it was made.
    asked_at: At,
    /// The token of a submission.
    token: Option<String>,
}

/// The longest that a client waits for an answer, at least and at most.
const PATIENCE_MS: (u64, u64) = (15_000, 90_000);

impl World {
    /// A client calls a nimbus.
    pub(crate) fn call(&mut self, id: ProcessId, call: u64, to: &NimbusAddress, request: Request) {
        let client_life = self.processes[id.0].life;
        let nimbus = self.addresses.get(&to.to_string()).copied();
        let Some(nimbus) = nimbus.filter(|nimbus| self.processes[nimbus.0].is_up() && self.carries(id, *nimbus)) else {
            self.coverage.hit("call refused at the door");
            let delay = self.random.millis(1, 3_000);
            return self.end_call(id, client_life, call, CallEnd::NotConnected, delay);
        };
        let number = self.next_call;
        self.next_call += 1;
        let nimbus_life = self.processes[nimbus.0].life;
        let asked_at = self.now;
        let token = match &request {
            Request::Submit(submission) => token_in(&submission.conf),
            _ => None,
        };
        self.calls.insert(
            number,
            Call { client: id, client_life, nimbus, nimbus_life, call, is_given_up: false, token, asked_at },
        );
        let patience = self.random.millis(PATIENCE_MS.0, PATIENCE_MS.1);
        self.queue.push(self.now + patience, Event::Impatient { number });
        let delay = self.delay();
        self.queue.push(self.now + delay, Event::Called { number, request: Box::new(request) });
    }

    /// Whether a nimbus has a call under way that submits with a token.
    pub(crate) fn is_submitting(&self, nimbus: ProcessId, token: &str) -> bool {
        self.calls.values().any(|call| call.nimbus == nimbus && call.token.as_deref() == Some(token))
    }

    fn carries(&self, id: ProcessId, other: ProcessId) -> bool {
        let (here, there) = (self.processes[id.0].host, self.processes[other.0].host);
        self.network.carries(here, there) && self.network.carries(there, here)
    }

    /// A call arrives at its nimbus.
    pub(crate) fn called(&mut self, number: u64, request: Request) -> Result<(), Violation> {
        let Some(call) = self.calls.get(&number).cloned() else { return Ok(()) };
        let (here, there) = (self.processes[call.client.0].host, self.processes[call.nimbus.0].host);
        if self.processes[call.nimbus.0].life != call.nimbus_life || !self.network.carries(here, there) {
            self.lose_call(number);
            return Ok(());
        }
        let request = NimbusInput::Request { id: RequestId(number), request };
        self.give(call.nimbus, Input::Nimbus(Box::new(request)))
    }

    /// A nimbus answers a call.
    pub(crate) fn answer(&mut self, number: u64, answer: Result<Reply, Refusal>) -> Result<(), Violation> {
        let Some(call) = self.calls.remove(&number) else {
            return Err(Violation::new("each request gets one reply", format!("request {number} got another one")));
        };
        let name = &self.processes[call.nimbus.0].name;
        let own = self.addresses.iter().find(|(_, nimbus)| **nimbus == call.nimbus);
        leadership::check_answer(name, own.map(|(address, _)| address.as_str()), &answer)?;
        match (&call.token, &answer) {
            (Some(token), Ok(Reply::Submitted { .. })) => self.note_submitted(token, call.nimbus),
            (Some(token), Err(Refusal::Unknown(_))) => self.note_in_doubt(token, call.nimbus),
            (Some(token), Err(refusal)) => self.note_refused(token, call.nimbus, call.asked_at, refusal)?,
            _ => {}
        }
        if call.is_given_up {
            return Ok(());
        }
        let (here, there) = (self.processes[call.nimbus.0].host, self.processes[call.client.0].host);
        let is_lost = !self.network.carries(here, there) || self.random.chance(self.weather.lost_answers_per_mille);
        if is_lost {
            self.coverage.hit("answer lost");
            let delay = self.random.millis(10, 10_000);
            self.end_call(call.client, call.client_life, call.call, CallEnd::Lost, delay);
        } else {
            let delay = self.delay();
            self.end_call(call.client, call.client_life, call.call, CallEnd::Answered(answer), delay);
        }
        Ok(())
    }

    /// A client waits no longer.
    pub(crate) fn give_up(&mut self, number: u64) {
        let Some(call) = self.calls.get_mut(&number).filter(|call| !call.is_given_up) else { return };
        call.is_given_up = true;
        let call = call.clone();
        self.coverage.hit("call given up");
        self.end_call(call.client, call.client_life, call.call, CallEnd::Lost, Duration::ZERO);
    }

    /// A client sends the file of a topology to a nimbus.
    pub(crate) fn upload(&mut self, id: ProcessId, call: u64, to: &NimbusAddress) {
        let nimbus = self.addresses.get(&to.to_string()).copied().filter(|nimbus| self.reaches(id, *nimbus));
        let name = nimbus.filter(|_| !self.random.chance(self.weather.lost_answers_per_mille)).map(|nimbus| {
            let name = format!("upload-{}-{call}", self.processes[id.0].name);
            self.processes[nimbus.0].disk.uploads.insert(name.clone());
            name
        });
        let delay = self.random.millis(2, 500);
        let life = self.processes[id.0].life;
        let input = Box::new(Input::Client(Box::new(News::Uploaded { call, name })));
        self.queue.push(self.now + delay, Event::Give { process: id, life, input });
    }

    /// All calls to a nimbus that died are lost.
    pub(crate) fn lose_calls(&mut self, nimbus: ProcessId) {
        let lost: Vec<u64> =
            self.calls.iter().filter(|(_, call)| call.nimbus == nimbus).map(|(number, _)| *number).collect();
        for number in lost {
            self.lose_call(number);
        }
    }

    fn lose_call(&mut self, number: u64) {
        let Some(call) = self.calls.remove(&number).filter(|call| !call.is_given_up) else { return };
        self.coverage.hit("call lost");
        let delay = self.random.millis(1, 8_000);
        self.end_call(call.client, call.client_life, call.call, CallEnd::Lost, delay);
    }

    fn end_call(&mut self, client: ProcessId, life: u64, call: u64, end: CallEnd, delay: Duration) {
        let input = Box::new(Input::Client(Box::new(News::Ended { call, end })));
        self.queue.push(self.now + delay, Event::Give { process: client, life, input });
    }
}
