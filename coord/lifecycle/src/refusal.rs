//! Why nimbus does not do what it was asked. For the client, who recovers by asking for something else.

mod reasons;

use ringstorm_records::nimbus::NimbusException;
use ringstorm_records::records::{AlreadyAliveException, InvalidTopologyException, NotAliveException, TopologyStatus};

pub(crate) use reasons::Reasons;

/// What is said of a topology whose code every nimbus that lives is known to lack.
pub const CODE_IS_LOST: &str =
    "no nimbus that lives holds its code; bring back one that does, or kill it and submit it again";

/// A refusal, one variant for each of Storm's exceptions. The displayed text is the message of the exception.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// `NotAliveException`.
    #[error("{0}")]
    NotAlive(String),
    /// `AlreadyAliveException`.
    #[error("{0}")]
    AlreadyAlive(String),
    /// `InvalidTopologyException`, with every reason; at least one. Storm stops at the first.
    #[error("{}", .0.join("\n"))]
    Invalid(Vec<String>),
    /// What the tree says of the topology cannot be read; of none of Storm's exceptions. Storm's nimbus ends.
    #[error(
        "topology {topology} is there, and its node {path} cannot be read: {why}; put back what it held, or kill the \
         topology and submit it again"
    )]
    Unreadable {
        /// The id of the topology.
        topology: String,
        /// The node.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A `RuntimeException` in Storm, which its clients see as an internal error of the server: the topology is in no
    /// state for that. Text as in Storm.
    #[error("No transition for event: {action}, status: {status} storm-id: {topology}")]
    NoTransition {
        /// Storm's name of the action.
        action: &'static str,
        /// What the topology is doing.
        status: TopologyStatus,
        /// The id of the topology.
        topology: String,
    },
}

impl Refusal {
    /// One reason against a topology.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid(vec![reason.into()])
    }

    /// The exception that goes to the client; `None` for one that no method declares, which goes as an internal error.
    pub fn exception(&self) -> Option<NimbusException> {
        let msg = self.to_string();
        match self {
            Self::NotAlive(_) => Some(NotAliveException { msg }.into()),
            Self::AlreadyAlive(_) => Some(AlreadyAliveException { msg }.into()),
            Self::Invalid(_) => Some(InvalidTopologyException { msg }.into()),
            Self::NoTransition { .. } | Self::Unreadable { .. } => None,
        }
    }
}
