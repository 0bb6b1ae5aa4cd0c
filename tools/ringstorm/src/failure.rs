//! Why a command did not do what it was asked, and what its exit code says.
//!
//! Threading: plain data. Errors: it is one, for whoever typed the command.

use std::process::ExitCode;

use ringstorm_client::ClientError;
use ringstorm_conf::ConfError;
use serde_json::{Value, json};

use crate::output;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It was done.
    Done,
    /// It was not done, which was said.
    Failed,
    /// The command line is wrong, which was said.
    Usage,
    /// Nobody knows whether it was done, which was said.
    InDoubt,
}

impl Status {
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::InDoubt => 3,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.code())
    }
}

/// What went wrong, in one line or a few, with what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) text: String,
    /// Never [`Status::Done`].
    pub(crate) status: Status,
}

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: Status::Failed }
    }

    /// What was typed is wrong, whatever the cluster is like.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: Status::Usage }
    }

    /// Writes it to standard error, for people or for programs.
    pub(crate) fn say(&self, json: bool) {
        if json {
            output::say_json(&self.json());
        } else {
            output::say(&format!("error: {}", self.text));
        }
    }

    fn json(&self) -> Value {
        json!({ "error": self.text, "exitCode": self.status.code() })
    }
}

impl From<ConfError> for Failure {
    fn from(error: ConfError) -> Self {
        let status = if error.is_of_command_line() { Status::Usage } else { Status::Failed };
        Self { text: error.to_string(), status }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let status = if matches!(error, ClientError::InDoubt(_)) { Status::InDoubt } else { Status::Failed };
        Self { text: error.to_string(), status }
    }
}
