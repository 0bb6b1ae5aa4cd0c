//! A host of clients in the words of the world: one machine for each wish of its users.

use std::collections::BTreeMap;
use std::rc::Rc;

use ringstorm_client::interface::FoundState;
use ringstorm_client::{CallId, CallOutcome, Client, ClientEffect, ClientError, ClientInput, ClientSettings, Success};
use ringstorm_control::machine::Machine;
use ringstorm_control::time::{Moment, Now};
use ringstorm_nimbus::interface::{Refusal, Upload};

use crate::actor::{Actor, CallEnd, Effect, Errand, Factory, Input, News, Verdict};

struct Clients {
    settings: ClientSettings,
    machines: BTreeMap<u64, Client>,
    next: u64,
    /// Calls under way, with the wish and the machine's own number.
    calls: BTreeMap<u64, (u64, CallId)>,
}

/// Clients with these settings.
pub fn clients(settings: ClientSettings) -> Factory {
    Rc::new(move |_| {
        let settings = settings.clone();
        Some(Box::new(Clients { settings, machines: BTreeMap::new(), next: 0, calls: BTreeMap::new() }))
    })
}

impl Clients {
    fn turned(&mut self, wish: u64, effects: Vec<ClientEffect>) -> Vec<Effect> {
        let mut turned = Vec::new();
        for effect in effects {
            let errand = match effect {
                ClientEffect::Call { call, address, request } => {
                    Errand::Call { call: self.number(wish, call), to: address, request }
                }
                ClientEffect::Upload { call, address } => Errand::Upload { call: self.number(wish, call), to: address },
                ClientEffect::Done(result) => {
                    self.machines.remove(&wish);
                    Errand::Tell { wish, verdict: verdict(result) }
                }
                ClientEffect::Note(line) => {
                    turned.push(Effect::Note(line));
                    continue;
                }
            };
            turned.push(Effect::Client(Box::new(errand)));
        }
        turned
    }

    fn number(&mut self, wish: u64, call: CallId) -> u64 {
        let number = self.next;
        self.next += 1;
        self.calls.insert(number, (wish, call));
        number
    }

    fn woken(&mut self, now: Now, wish: u64) -> Vec<Effect> {
        let Some(machine) = self.machines.get_mut(&wish) else { return Vec::new() };
        let effects = machine.wake(now);
        self.turned(wish, effects)
    }
}

impl Actor for Clients {
    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect> {
        let Input::Client(news) = input else { return Vec::new() };
        let (wish, input) = match *news {
            News::Wanted { wish, request } => {
                let machine = Client::new(now, request, self.settings.clone(), &format!("token-of-wish-{wish}"));
                self.machines.insert(wish, machine);
                return self.woken(now, wish);
            }
            News::Ended { call, end } => {
                let Some((wish, call)) = self.calls.remove(&call) else { return Vec::new() };
                let outcome = match end {
                    CallEnd::NotConnected => CallOutcome::NotSent("nobody was reached".to_owned()),
                    CallEnd::Answered(answer) => CallOutcome::Answered(answer),
                    CallEnd::Lost => CallOutcome::Unknown("the connection was lost".to_owned()),
                };
                (wish, ClientInput::Called { call, outcome })
            }
            News::Uploaded { call, name } => {
                let Some((wish, call)) = self.calls.remove(&call) else { return Vec::new() };
                let upload = name.map(|name| Upload { name, checksum: String::new() });
                let outcome = upload.ok_or_else(|| "the connection was lost".to_owned());
                (wish, ClientInput::Uploaded { call, outcome })
            }
        };
        let Some(machine) = self.machines.get_mut(&wish) else { return Vec::new() };
        let effects = machine.handle(now, input);
        self.turned(wish, effects)
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        let wishes: Vec<u64> = self.machines.keys().copied().collect();
        wishes.into_iter().flat_map(|wish| self.woken(now, wish)).collect()
    }

    fn wake_at(&self) -> Option<Moment> {
        self.machines.values().filter_map(Machine::wake_at).min()
    }
}

fn verdict(result: Result<Success, ClientError>) -> Verdict {
    match result {
        Ok(Success::Answered(reply)) => Verdict::Done(reply),
        Ok(Success::Found(finding)) => match finding.state {
            FoundState::WasKilled | FoundState::IsKilled => Verdict::FoundKilled,
            FoundState::IsRebalancing => Verdict::FoundRebalancing,
            FoundState::IsActive => Verdict::FoundActive,
            FoundState::IsInactive => Verdict::FoundInactive,
        },
        Err(ClientError::Refused(Refusal::NotAlive(_))) => Verdict::NotAlive,
        Err(ClientError::Refused(Refusal::Unknown(why)) | ClientError::InDoubt(why)) => Verdict::Unknown(why),
        Err(error) => Verdict::NotDone(error.to_string()),
    }
}
