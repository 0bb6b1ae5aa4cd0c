//! Questions to a nimbus, and requests.
//!
//! Threading: whoever asks waits. Errors: [`Failure`]s that say what to do next.

use std::fmt::Display;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use ringstorm_caller::{ClientSettings, Progress, ReadError, Success, perform, read_telling};
use ringstorm_conf::Conf;
use ringstorm_nimbus::interface::{Refusal, Request};
use ringstorm_records::nimbus::{GetTopologySummaryByName, Method, NimbusException};
use ringstorm_records::records::TopologySummary;

use crate::failure::Failure;
use crate::output;
use crate::table::one_line;

/// After so long without an answer it is said what is tried, and for how long that goes on.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many pauses at most differ: each is twice as long as the one before, up to a limit.
const GROWING_PAUSES: u32 = 64;

/// Asks what changes nothing, and says what it tries meanwhile.
pub(crate) fn ask<M: Method>(conf: &Conf, method: &M) -> Result<M::Success, Failure> {
    ask_as(&conf.client_settings(), method)
}

/// As [`ask`], once: for what is of little worth when it comes late.
pub(crate) fn ask_once<M: Method>(conf: &Conf, method: &M) -> Result<M::Success, Failure> {
    ask_as(&ClientSettings { retry_times: 0, ..conf.client_settings() }, method)
}

fn ask_as<M: Method>(settings: &ClientSettings, method: &M) -> Result<M::Success, Failure> {
    let tell = &mut |line: String| output::say(&format!("note: {line}"));
    patiently(tried(settings), || read_telling(settings, method, tell)).map_err(|error| match error {
        ReadError::Refused(NimbusException::NotAlive(exception)) => not_alive(&exception.msg),
        error => Failure::new(error.to_string()),
    })
}

/// Asks for a change, and says what it tries meanwhile.
pub(crate) fn request(conf: &Conf, request: Request) -> Result<Success, Failure> {
    let settings = conf.client_settings();
    let mut tell = |progress| {
        if let Progress::Note(text) = progress {
            output::say(&format!("note: {text}"));
        }
    };
    patiently(tried(&settings), || perform(&settings, request, None, &mut tell)).map_err(|error| match error {
        ringstorm_client::ClientError::Refused(Refusal::NotAlive(text)) => not_alive(&text),
        error => match &error {
            ringstorm_client::ClientError::Refused(Refusal::IllegalState(text)) => {
                no_transition(text).map(Failure::new)
            }
            _ => None,
        }
        .unwrap_or_else(|| error.into()),
    })
}

/// Does what may take long. If it does, it says so, once.
pub(crate) fn patiently<T>(tried: String, work: impl FnOnce() -> T) -> T {
    after(PATIENCE, format!("note: {tried}; Ctrl-C ends it"), work)
}

/// Does what may take long, and says something if it takes longer than this.
pub(crate) fn after<T>(patience: Duration, said: String, work: impl FnOnce() -> T) -> T {
    let (over, waits) = channel::<()>();
    let watch = move || {
        if waits.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            output::say(&said);
        }
    };
    // Without a thread it is silent.
    let watching = Builder::new().name("patience".into()).spawn(watch);
    let result = work();
    drop(over);
    drop(watching.map(JoinHandle::join));
    result
}

/// Who is asked, how often, and how long that may take, by the settings.
fn tried(settings: &ClientSettings) -> String {
    let seeds: Vec<String> = settings.seeds.iter().map(|seed| format!("{}:{}", seed.host(), seed.port())).collect();
    let pauses = all_pauses(settings);
    format!(
        "no result yet from nimbus {}; each try waits up to {} s for a connection and {} s for an answer \
         (storm.thrift.socket.timeout.ms), and {} more follow with pauses of {} s in all (storm.nimbus.retry.times)",
        seeds.join(", "),
        settings.timeouts.connect.as_secs_f64(),
        settings.timeouts.answer.as_secs_f64(),
        settings.retry_times,
        pauses.as_secs_f64(),
    )
}

/// How long all pauses take together. They do not grow any more after a few.
fn all_pauses(settings: &ClientSettings) -> Duration {
    let growing = settings.retry_times.min(GROWING_PAUSES);
    let grown = (0..growing).fold(Duration::ZERO, |sum, pause| sum.saturating_add(settings.pause(pause)));
    grown.saturating_add(settings.pause(growing).saturating_mul(settings.retry_times - growing))
}

/// The topology of a name, if it lives.
pub(crate) fn topology(conf: &Conf, name: &str) -> Result<TopologySummary, Failure> {
    ask(conf, &GetTopologySummaryByName { name: Some(name.to_owned()) })
}

fn not_alive(text: &impl Display) -> Failure {
    Failure::new(format!("{}; `ringstorm list` shows the topologies that there are", one_line(&text.to_string())))
}

/// What Storm's words mean that something cannot be done in the state that a topology is in, if these are such.
fn no_transition(text: &str) -> Option<String> {
    let (action, rest) = text.strip_prefix("No transition for event: ")?.split_once(", status: ")?;
    let (status, topology) = rest.split_once(" storm-id: ")?;
    let asked = match action {
        "ACTIVATE" => "activated",
        "INACTIVATE" => "deactivated",
        "REBALANCE" => "rebalanced",
        "KILL" => "killed",
        _ => return None,
    };
    let advice = match status {
        "REBALANCING" => {
            "it is rebalancing; ask again when that is done (`ringstorm list` shows its status), or kill it"
        }
        "KILLED" => "it was killed, and is removed after its wait; to have it again, submit it then",
        _ => return None,
    };
    Some(format!("{topology} cannot be {asked} now, and nothing was done: {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_topology_cannot_become_is_said_in_plain_words() {
        let said = |action, status| {
            no_transition(&format!("No transition for event: {action}, status: {status} storm-id: a-1-2"))
        };
        let words = said("REBALANCE", "REBALANCING").unwrap();
        assert!(
            words.starts_with("a-1-2 cannot be rebalanced now, and nothing was done: it is rebalancing;"),
            "{words}"
        );
        assert!(
            said("INACTIVATE", "KILLED")
                .unwrap()
                .contains("cannot be deactivated now, and nothing was done: it was killed")
        );
        assert_eq!((said("NOD", "KILLED"), no_transition("something else")), (None, None));
    }

    #[test]
    fn it_is_said_truly_how_long_it_goes_on() {
        let settings = ClientSettings::default();
        // 2, 4, 8, 16 and 32 s.
        assert_eq!(all_pauses(&settings), Duration::from_secs(62));
        let said = tried(&settings);
        assert!(said.contains("90 s for an answer") && said.contains("5 more follow with pauses of 62 s"), "{said}");
        let none = ClientSettings { retry_times: 0, ..settings.clone() };
        assert_eq!(all_pauses(&none), Duration::ZERO);
        let endless = ClientSettings { retry_times: u32::MAX, retry_interval_max: Duration::MAX, ..settings };
        assert_eq!(all_pauses(&endless), Duration::MAX);
    }
}
