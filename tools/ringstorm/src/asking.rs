//! Questions to a nimbus, and requests.
//!
//! Threading: whoever asks waits. Errors: [`Failure`]s that say what to do next.

use std::fmt::Display;

use ringstorm_caller::{Progress, ReadError, Success, perform, read};
use ringstorm_conf::Conf;
use ringstorm_nimbus::interface::{Refusal, Request};
use ringstorm_records::nimbus::{GetTopologySummaries, Method, NimbusException};
use ringstorm_records::records::TopologySummary;

use crate::failure::Failure;
use crate::output;

/// Asks what changes nothing.
pub(crate) fn ask<M: Method>(conf: &Conf, method: &M) -> Result<M::Success, Failure> {
    read(&conf.client_settings(), method).map_err(|error| match error {
        ReadError::Refused(NimbusException::NotAlive(exception)) => not_alive(&exception.msg),
        error => Failure::new(error.to_string()),
    })
}

/// Asks for a change, and says what it tries meanwhile.
pub(crate) fn request(conf: &Conf, request: Request) -> Result<Success, Failure> {
    let mut tell = |progress| {
        if let Progress::Note(text) = progress {
            output::say(&format!("note: {text}"));
        }
    };
    perform(&conf.client_settings(), request, None, &mut tell).map_err(|error| match error {
        ringstorm_client::ClientError::Refused(Refusal::NotAlive(text)) => not_alive(&text),
        error => error.into(),
    })
}

/// The topology of a name, if it lives.
pub(crate) fn topology(conf: &Conf, name: &str) -> Result<TopologySummary, Failure> {
    let topologies = ask(conf, &GetTopologySummaries {})?;
    let found = topologies.into_iter().find(|topology| topology.name == name);
    found.ok_or_else(|| not_alive(&format!("{name} is not alive")))
}

fn not_alive(text: &impl Display) -> Failure {
    Failure::new(format!("{text}; `ringstorm list` shows the topologies that there are"))
}
