//! Configurations as nimbus handles them: JSON objects whose keys it mostly does not know, kept as they came.
//!
//! Three of them meet at a submission: the one of this nimbus (the daemon's), the one that the client sent (the
//! topology's), and those of single components, which stand as JSON text in the `StormTopology`. What is stored is the
//! daemon's with the topology's on top, after [`normalize_conf`]; [`submission`](crate::submission) has the order.
//!
//! A key whose value is null counts as not set when it is read, and is kept when it is stored, as in Storm. One key is
//! Ringstorm's: [`WORKER_SECRET`], by which workers of a topology know each other. Who reads a configuration from nimbus
//! is shown it without secrets ([`redacted`]).
//!
//! Errors: a [`Refusal`] that says which configuration, which key and what is wrong; values of keys that hold secrets are
//! not shown.

mod normalize;
mod read;

use ringstorm_records::payload::{self, PayloadError};
use ringstorm_records::records::ComponentCommon;
use ringstorm_types::config::kind_of;
use serde_json::{Map, Value};

use crate::Refusal;

pub(crate) use normalize::check_component;
pub use normalize::{component_tasks, normalize_conf, normalize_topology};
pub use read::{flag, int, list, text};

/// A configuration. Two with the same members are equal, whatever their order.
pub type Conf = Map<String, Value>;

/// The secret of a topology's workers. Nimbus makes it; what a client sends under this key is not used.
pub const WORKER_SECRET: &str = "ringstorm.worker.secret";

/// What stands in the place of a secret.
const HIDDEN: &str = "(hidden)";

/// The longest text of a value in a message, in characters.
const SHOWN_CHARACTERS: usize = 80;

/// Why the stored configuration of a topology cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoredConfError {
    /// The blob is damaged.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// What is in it is no configuration.
    #[error("the stored configuration is no JSON object: {0}; kill the topology and submit it again")]
    NotAConf(String),
}

/// Reads a configuration from JSON text. `what` says whose it is, in words that begin a sentence. An empty text is an
/// empty configuration, and so is `null`.
///
/// # Errors
/// [`Refusal::Invalid`]: not JSON, or not an object. Storm's parser guesses what is meant; here it is one clear error.
pub fn parse(json: &str, what: &str) -> Result<Conf, Refusal> {
    if json.trim().is_empty() {
        return Ok(Conf::new());
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(conf)) => Ok(conf),
        Ok(Value::Null) => Ok(Conf::new()),
        Ok(other) => {
            Err(Refusal::invalid(format!("{what} is {}, not a JSON object of keys and values", kind_of(&other))))
        }
        Err(error) => Err(Refusal::invalid(format!("{what} is not JSON: {error}"))),
    }
}

/// The configuration as JSON text.
pub fn to_json(conf: &Conf) -> String {
    // Keys are texts and values are JSON, so that there is nothing that could fail; see `serde_json::to_string`.
    serde_json::to_string(conf).expect("a JSON object has a text")
}

/// The content of the blob `stormconf.ser`: gzip over JSON text, as in Storm.
pub fn encode(conf: &Conf) -> Vec<u8> {
    payload::gzip(to_json(conf).as_bytes())
}

/// Reads the blob `stormconf.ser`.
///
/// # Errors
/// [`StoredConfError`].
pub fn decode(blob: &[u8]) -> Result<Conf, StoredConfError> {
    let json = payload::bare(blob)?;
    serde_json::from_slice(&json).map_err(|error| StoredConfError::NotAConf(error.to_string()))
}

/// One configuration with another on top: where both have a key, the upper one's value counts, also if it is null.
#[must_use]
pub fn merged(under: &Conf, over: &Conf) -> Conf {
    let mut conf = under.clone();
    conf.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    conf
}

/// The configuration of a component.
///
/// # Errors
/// [`Refusal::Invalid`]: its text is no JSON object.
pub fn of_component(id: &str, common: &ComponentCommon) -> Result<Conf, Refusal> {
    parse(common.json_conf.as_deref().unwrap_or_default(), &format!("The configuration of component [{id}]"))
}

/// Keys whose names look like those of secrets and which hold none: Storm's clients make use of them.
const NOT_SECRET: [&str; 3] =
    ["topology.auto-credentials", "task.credentials.poll.secs", "storm.worker.token.life.time.hours"];

/// The configuration as it is shown to whoever asks nimbus: without secrets, also where they stand in maps. Everything else
/// is shown as in Storm, whose clients make use of it; so is a secret that is not set or empty.
#[must_use]
pub fn redacted(conf: &Conf) -> Conf {
    conf.iter().map(|(key, value)| (key.clone(), redacted_value(key, value))).collect()
}

fn redacted_value(key: &str, value: &Value) -> Value {
    let is_secret = ringstorm_types::config::is_secret(key) && !NOT_SECRET.contains(&key);
    match value {
        _ if is_secret && *value != Value::Null && *value != "" => HIDDEN.into(),
        Value::Object(map) => Value::Object(redacted(map)),
        Value::Array(list) => list.iter().map(|value| redacted_value("", value)).collect(),
        other => other.clone(),
    }
}

/// A value as messages show it: short, and not at all if its key holds a secret.
pub(crate) fn shown(key: &str, value: &Value) -> String {
    if ringstorm_types::config::is_secret(key) {
        return HIDDEN.to_owned();
    }
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
