//! Configuration: dotted keys with JSON values, each of which remembers where it came from.
//!
//! A [`Config`] holds what was given, whatever that is; the typed getters (`workers`, `message_timeout_secs` and so
//! on) check a value when it is asked for and fill in the default. A key whose value is `null` counts as unset, as in
//! Storm. Settings of a component go before those of its topology: lay one over the other with
//! [`Config::merged_with`] and ask the result.
//!
//! Errors name the key, the value, where it was set and what would be right. Values of keys that hold secrets are
//! never shown.

mod error;
pub mod keys;
mod known;
mod settings;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::id::ComponentId;

pub use error::{ConfigError, ConfigErrors, kind_of};
pub use known::{KeyClass, KnownKey, Note, check_keys, known_key, known_keys};
pub use settings::{CorePlacement, SocketsSetting};

/// Where a setting came from, in words for messages: `the command line`, `component "count"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(Cow<'static, str>);

impl Origin {
    /// A value that nobody set.
    pub const DEFAULT: Self = Self(Cow::Borrowed("the defaults"));
    /// `-c key=value`.
    pub const COMMAND_LINE: Self = Self(Cow::Borrowed("the command line"));
    /// The program that builds the topology.
    pub const TOPOLOGY: Self = Self(Cow::Borrowed("the topology's own configuration"));

    /// A file, named as the user named it.
    pub fn file(path: &str) -> Self {
        Self(Cow::Owned(format!("file {path:?}")))
    }

    /// The configuration of one component.
    pub fn component(id: &ComponentId) -> Self {
        Self(Cow::Owned(format!("component {id:?}")))
    }

    /// Any other place, in words that fit behind "set by".
    pub fn other(words: impl Into<Cow<'static, str>>) -> Self {
        Self(words.into())
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it was typed: as `-c key=value`, or as an option of its own, whose words are its name.
    pub fn is_of_command_line(&self) -> bool {
        *self == Self::COMMAND_LINE || self.0.starts_with("--")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq)]
struct Setting {
    value: Value,
    origin: Origin,
}

/// Settings by key, in the order of their keys.
///
/// ```
/// use ringstorm_types::config::{Config, Origin};
///
/// let mut config = Config::from_json_text(r#"{"topology.workers": 2}"#, &Origin::file("storm.json"))?;
/// config.set_from_text("topology.max.spout.pending=1000", Origin::COMMAND_LINE)?;
/// assert_eq!(config.workers()?, 2);
/// assert_eq!(config.max_spout_pending()?, Some(1000));
/// assert_eq!(config.message_timeout_secs()?, 30);
/// # Ok::<(), ringstorm_types::config::ConfigError>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Config {
    settings: BTreeMap<String, Setting>,
}

impl Config {
    /// A configuration in which nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The members of a JSON object.
    ///
    /// # Errors
    /// [`ConfigError::NotAnObject`] when the value is anything else.
    pub fn from_json(value: Value, origin: &Origin) -> Result<Self, ConfigError> {
        let Value::Object(members) = value else {
            return Err(ConfigError::NotAnObject { origin: origin.clone(), found: kind_of(&value) });
        };
        let settings =
            members.into_iter().map(|(key, value)| (key, Setting { value, origin: origin.clone() })).collect();
        Ok(Self { settings })
    }

    /// The members of a JSON object given as text.
    ///
    /// # Errors
    /// [`ConfigError::NotJson`] or [`ConfigError::NotAnObject`].
    pub fn from_json_text(text: &str, origin: &Origin) -> Result<Self, ConfigError> {
        let value = serde_json::from_str(text)
            .map_err(|error| ConfigError::NotJson { origin: origin.clone(), reason: error.to_string() })?;
        Self::from_json(value, origin)
    }

    /// Splits `key=value` at the first `=`. The value is JSON if it can be read as JSON, else the text as it stands:
    /// `2` is a number, `"2"` and `two words` are texts.
    ///
    /// # Errors
    /// [`ConfigError::NotASetting`] when there is no `=` or nothing before it.
    pub fn parse_setting(text: &str) -> Result<(String, Value), ConfigError> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(ConfigError::NotASetting { text: error::shorten(text), problem: "it holds no '='" });
        };
        let key = key.trim();
        if key.is_empty() {
            return Err(ConfigError::NotASetting {
                text: error::shorten(text),
                problem: "there is no key before the '='",
            });
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok((key.to_owned(), value))
    }

    /// Sets what `key=value` says; see [`parse_setting`](Self::parse_setting).
    ///
    /// # Errors
    /// Those of [`parse_setting`](Self::parse_setting).
    pub fn set_from_text(&mut self, text: &str, origin: Origin) -> Result<(), ConfigError> {
        let (key, value) = Self::parse_setting(text)?;
        self.set(key, value, origin);
        Ok(())
    }

    /// Sets a key, in place of what it was set to before.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>, origin: Origin) {
        self.settings.insert(key.into(), Setting { value: value.into(), origin });
    }

    /// Lays another configuration over this one: where both set a key, the other's value and origin remain.
    pub fn merge(&mut self, over: &Self) {
        self.settings.extend(over.settings.iter().map(|(key, setting)| (key.clone(), setting.clone())));
    }

    /// This configuration with another laid over it.
    #[must_use]
    pub fn merged_with(&self, over: &Self) -> Self {
        let mut merged = self.clone();
        merged.merge(over);
        merged
    }

    /// The value of a key as it was given, `null` included.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.settings.get(key).map(|setting| &setting.value)
    }

    /// Where the value of a key came from.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.settings.get(key).map(|setting| &setting.origin)
    }

    /// Every key with its value and origin, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.settings.iter().map(|(key, setting)| (key.as_str(), &setting.value, &setting.origin))
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.settings.len()
    }

    /// Whether no key is set.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }
}

/// Whether the value of a key is a secret that messages, logs and descriptions must not show.
pub fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["password", "secret", "keytab", "auth.payload", "token", "credentials"].iter().any(|mark| key.contains(mark))
}

/// The value to show for a key: its own, or a note that it is hidden.
pub(crate) fn shown<'a>(key: &str, value: &'a Value) -> Cow<'a, Value> {
    if is_secret(key) && !value.is_null() {
        Cow::Owned(Value::String("(hidden)".to_owned()))
    } else {
        Cow::Borrowed(value)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter().map(|(key, value, _)| (key, shown(key, value)))).finish()
    }
}

impl Serialize for Config {
    /// A map from keys to values as they are, secrets included: what is stored. What is shown goes through
    /// [`Plan`](crate::describe::Plan).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, value, _)| (key, value)))
    }
}

#[cfg(test)]
mod tests;
