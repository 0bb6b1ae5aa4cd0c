//! What can be wrong with a configuration.

use std::path::PathBuf;

use ringstorm_types::config::{ConfigError, ConfigErrors, Origin};
use ringstorm_zookeeper::SettingsError;

use crate::yaml::YamlError;

/// Why there is no configuration. Displayed in one line for each thing that is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfError {
    /// A file cannot be read.
    #[error("the configuration file {path} cannot be read: {reason}; {hint}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
        /// Who named it, and what to do.
        hint: String,
        /// Whether the command line names a file that is not there, or that is none.
        is_typed: bool,
    },
    /// A file is no YAML that can be used.
    #[error("{path}, {error}")]
    Yaml {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        error: YamlError,
    },
    /// A map stands where a key with dots was meant.
    #[error("{key:?} (set by {origin}) is a map, and Storm's keys are not nested; write \"{key}.{inner}: ...\"")]
    Nested {
        /// The key.
        key: String,
        /// Who set it.
        origin: String,
        /// A key inside, by which a known key is made.
        inner: String,
    },
    /// Keys that nearly are known ones, or values that keys do not take.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// Something about ZooKeeper.
    #[error(transparent)]
    ZooKeeper(#[from] SettingsError),
}

impl ConfError {
    /// Whether all that is wrong was typed with the command: nothing that lies on this host is. A file that is named and not
    /// there was typed wrongly; what a file holds was not typed.
    pub fn is_of_command_line(&self) -> bool {
        match self {
            Self::Config(errors) => errors.0.iter().all(ConfigError::is_of_command_line),
            Self::Nested { origin, .. } => *origin == Origin::COMMAND_LINE.as_str(),
            Self::ZooKeeper(error) => error.is_of_command_line(),
            Self::Unreadable { is_typed, .. } => *is_typed,
            Self::Yaml { .. } => false,
        }
    }
}

impl From<ConfigError> for ConfError {
    fn from(error: ConfigError) -> Self {
        Self::Config(ConfigErrors(vec![error]))
    }
}
