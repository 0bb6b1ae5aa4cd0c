//! Asking whoever can answer: the leader, or else the seeds, with pauses as Storm's clients make them.
//!
//! A round asks one seed after another who leads, then the leader, then the other seeds. Between rounds there is a pause
//! that grows. A seed that was not reached is not asked again in the same round.
//!
//! Invariant: bounded by [`ClientSettings::retry_times`], counted from the last progress. Threading: one caller, who waits.

use std::thread;

use ringstorm_client::ClientSettings;
use ringstorm_records::nimbus::GetLeader;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::NimbusSummary;

use crate::connection::{Connection, shown};

/// What came of asking one nimbus.
#[derive(Debug)]
pub(crate) enum Tried<T> {
    /// There is a result.
    Done(T),
    /// There is none. With the reason.
    Trouble(String),
    /// As [`Self::Trouble`], but a part was done; the count of tries begins anew.
    Progress(String),
}

/// Why nobody could be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// There are no seeds.
    NoSeeds,
    /// Nobody gave a result, however often it was tried. With the last reason.
    GivenUp(String),
}

/// Whether whoever is asked leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// A seed said so.
    Leader,
    /// It is one of the seeds.
    Seed,
}

/// Asks until there is a result, or it makes no sense any more. Before each pause it tells what went wrong and what follows.
pub(crate) fn ask_any<T>(
    settings: &ClientSettings,
    tell: &mut dyn FnMut(String),
    mut ask: impl FnMut(&mut Connection, Rank) -> Tried<T>,
) -> Result<T, NoAnswer> {
    if settings.seeds.is_empty() {
        return Err(NoAnswer::NoSeeds);
    }
    let mut pauses = 0;
    loop {
        let mut round = Round::default();
        if let Some(found) = round.run(settings, &mut ask) {
            return Ok(found);
        }
        if round.has_progress {
            pauses = 0;
        }
        if pauses >= settings.retry_times {
            return Err(NoAnswer::GivenUp(round.trouble));
        }
        let pause = settings.pause(pauses);
        pauses += 1;
        tell(format!(
            "{}; trying again in {} s, for the {} of {} times",
            round.trouble,
            pause.as_secs_f64(),
            ordinal(pauses),
            settings.retry_times
        ));
        thread::sleep(pause);
    }
}

/// One try with everybody.
#[derive(Debug, Default)]
struct Round {
    unreached: Vec<NimbusAddress>,
    trouble: String,
    has_progress: bool,
}

impl Round {
    fn run<T>(
        &mut self,
        settings: &ClientSettings,
        ask: &mut impl FnMut(&mut Connection, Rank) -> Tried<T>,
    ) -> Option<T> {
        let leader = self.leader(settings);
        let mut asked = None;
        if let Some((leader, connection)) = leader {
            let connection = connection.or_else(|| self.open(&leader, settings));
            asked = Some(leader);
            if let Some(found) = connection.and_then(|mut connection| self.take(ask(&mut connection, Rank::Leader))) {
                return Some(found);
            }
        }
        for seed in &settings.seeds {
            let is_asked = asked.as_ref().is_some_and(|leader| is_same(leader, seed));
            if is_asked || self.unreached.contains(seed) {
                continue;
            }
            let connection = self.open(seed, settings);
            if let Some(found) = connection.and_then(|mut connection| self.take(ask(&mut connection, Rank::Seed))) {
                return Some(found);
            }
        }
        None
    }

    /// Who leads, with a connection if it is the seed that said so.
    fn leader(&mut self, settings: &ClientSettings) -> Option<(NimbusAddress, Option<Connection>)> {
        for seed in &settings.seeds {
            let Some(mut connection) = self.open(seed, settings) else { continue };
            let said = connection.call(&GetLeader {}).map_err(|failure| failure.to_string());
            match said.and_then(|summary| address_of(&summary)) {
                Ok(leader) if is_same(&leader, seed) => return Some((leader, Some(connection))),
                Ok(leader) => return Some((leader, None)),
                Err(why) => {
                    self.trouble = format!("nimbus {} does not say who leads: {why}", shown(seed));
                    if connection.is_broken() {
                        // It would be waited for once more, as long.
                        self.unreached.push(seed.clone());
                    }
                }
            }
        }
        None
    }

    fn open(&mut self, address: &NimbusAddress, settings: &ClientSettings) -> Option<Connection> {
        match Connection::open(address, settings.timeouts) {
            Ok(connection) => Some(connection),
            Err(failure) => {
                self.unreached.push(address.clone());
                self.trouble = failure.to_string();
                None
            }
        }
    }

    fn take<T>(&mut self, tried: Tried<T>) -> Option<T> {
        match tried {
            Tried::Done(found) => return Some(found),
            Tried::Trouble(why) => self.trouble = why,
            Tried::Progress(why) => {
                self.trouble = why;
                self.has_progress = true;
            }
        }
        None
    }
}

/// A number that counts.
fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn is_same(one: &NimbusAddress, other: &NimbusAddress) -> bool {
    (one.host(), one.port()) == (other.host(), other.port())
}

fn address_of(summary: &NimbusSummary) -> Result<NimbusAddress, String> {
    let port = u16::try_from(summary.port).map_err(|_| format!("{} is no port", summary.port))?;
    NimbusAddress::new(&summary.host, port, 0).map_err(|error| error.to_string())
}
