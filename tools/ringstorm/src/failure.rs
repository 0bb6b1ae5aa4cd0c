//! Why a command did not do what it was asked, and what its exit code says.
//!
//! Threading: plain data. Errors: it is one, for whoever typed the command.

use std::process::ExitCode;

use ringstorm_client::ClientError;
use ringstorm_conf::ConfError;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It was done.
    Done,
    /// It was not done, which was said.
    Failed,
    /// The command line is wrong, which was said.
    Usage,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Failed => Self::from(1),
            Status::Usage => Self::from(2),
        }
    }
}

/// What went wrong, in one line or a few, with what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) text: String,
    /// Whether nobody knows if it was done.
    pub(crate) is_in_doubt: bool,
}

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_in_doubt: false }
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(if self.is_in_doubt { 3 } else { 1 })
    }
}

impl From<ConfError> for Failure {
    fn from(error: ConfError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self { text: error.to_string(), is_in_doubt: matches!(error, ClientError::InDoubt(_)) }
    }
}
