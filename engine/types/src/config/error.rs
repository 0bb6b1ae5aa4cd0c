//! What can be wrong with a configuration. Every error is for the person who wrote the setting; nothing recovers from
//! them but a changed configuration.

use std::fmt;

use serde_json::Value;

use super::{Origin, shown};

/// The longest value that a message shows, in characters.
const SHOWN_CHARACTERS: usize = 80;

/// One thing that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A value has the wrong type or lies outside its range.
    #[error("{key} is {value} (set by {origin}), which is not {wanted}; set it to {wanted}, or leave it out")]
    BadValue {
        /// The key.
        key: String,
        /// The value as JSON, shortened; a note instead when it is a secret.
        value: String,
        /// Who set it.
        origin: Origin,
        /// The type and range that the key takes, in words.
        wanted: String,
    },
    /// A key that differs from a known one only by a slip.
    #[error(
        "{key:?} (set by {origin}) is not a key; did you mean {known:?}? If it is a key of your own, give it a name \
         that is less like {known:?}"
    )]
    Misspelled {
        /// The key as given.
        key: String,
        /// Who set it.
        origin: Origin,
        /// The known key.
        known: &'static str,
    },
    /// A key that starts with `ringstorm.` and does not exist.
    #[error("{key:?} (set by {origin}) is not a key of Ringstorm; remove it. {hint}")]
    Unknown {
        /// The key as given.
        key: String,
        /// Who set it.
        origin: Origin,
        /// Which keys there are.
        hint: String,
    },
    /// A text that should be JSON is not.
    #[error("the configuration in {origin} is not JSON: {reason}; correct the text there")]
    NotJson {
        /// Where the text came from.
        origin: Origin,
        /// What the parser says, with line and column.
        reason: String,
    },
    /// A JSON value that should be an object is something else.
    #[error(
        "the configuration in {origin} is {found}; write an object of keys and values, such as {{\"topology.workers\": 1}}"
    )]
    NotAnObject {
        /// Where the value came from.
        origin: Origin,
        /// What it is, in words.
        found: &'static str,
    },
    /// A text that should be `key=value` is not.
    #[error("{text:?} is not a setting, because {problem}; write key=value, such as topology.workers=1")]
    NotASetting {
        /// The text as given, shortened.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl ConfigError {
    /// Whether it was typed on the command line.
    pub fn is_of_command_line(&self) -> bool {
        match self {
            Self::BadValue { origin, .. }
            | Self::Misspelled { origin, .. }
            | Self::Unknown { origin, .. }
            | Self::NotJson { origin, .. }
            | Self::NotAnObject { origin, .. } => origin.is_of_command_line(),
            Self::NotASetting { .. } => true,
        }
    }

    /// A value that a key does not take; `wanted` says in words what it takes. A secret is not shown.
    pub fn bad_value(key: &str, value: &Value, origin: &Origin, wanted: impl Into<String>) -> Self {
        let value = shorten(&shown(key, value).to_string());
        Self::BadValue { key: key.to_owned(), value, origin: origin.clone(), wanted: wanted.into() }
    }
}

/// Everything that is wrong with a configuration; at least one thing. Displayed one a line.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// A text cut to a length that fits a message.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a JSON value is, in words, for messages.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
