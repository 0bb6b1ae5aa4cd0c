//! How an operation ended: done, failed, or unknown.
//!
//! The difference between the last two is what recovery hangs on. A *failed* operation had no effect and will have
//! none. One whose outcome is *unknown* had its effect, or not, or will have it yet while its session lasts: whoever
//! asked must look, or ask for something that may be done twice. Threading: plain data.

use std::fmt;

use crate::operation::Answer;

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an operation that failed, or whose outcome is unknown, is for its caller to mend"]
pub enum Outcome {
    /// It was done.
    Done(Answer),
    /// It was not done and will not be.
    Failed(Failure),
    /// It was done, or not, or will be yet while its session lasts.
    Unknown(Doubt),
}

/// Why an operation was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The condition that it met.
    pub condition: Condition,
    /// Which part of it.
    pub part: Part,
}

/// A part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it, or it has no parts.
    Whole,
    /// The check of a [`Operation::Multi`](crate::operation::Operation::Multi) at this index.
    Check(usize),
    /// The write of a [`Operation::Multi`](crate::operation::Operation::Multi) at this index.
    Write(usize),
}

/// What an operation met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Condition {
    /// There is no such node; when it should be made, there is none above it.
    #[error("there is no such node")]
    NoNode,
    /// The node is there already.
    #[error("the node is there already")]
    NodeExists,
    /// The node has another version.
    #[error("the node has another version")]
    BadVersion,
    /// The node has children.
    #[error("the node has children")]
    NotEmpty,
    /// The node above goes with a session and can have no children.
    #[error("the node above is ephemeral and can have no children")]
    EphemeralParent,
    /// The session may not do it.
    #[error("the session may not do that; look at storm.zookeeper.auth and at the node's list of rights")]
    NoAuth,
    /// The list of rights is empty, or names the creator while the session never said who it is.
    #[error("the list of rights is empty, or names the creator, of which nothing is known; set storm.zookeeper.auth")]
    InvalidAcl,
    /// The operation is larger than ZooKeeper takes.
    #[error("{bytes} bytes are more than ZooKeeper takes in one operation")]
    TooLarge {
        /// About how large it is.
        bytes: usize,
    },
    /// There is no connection to ZooKeeper at present. The operation was not sent.
    #[error("there is no connection to ZooKeeper at present")]
    NotConnected,
    /// The session for which it was asked is over. The operation was not done.
    #[error("the session is over")]
    SessionOver,
    /// Too many operations are under way. The operation was not sent.
    #[error("too many operations are under way")]
    Overloaded,
    /// The server refused for another reason.
    #[error("ZooKeeper refused: {0}")]
    Refused(String),
}

impl Condition {
    /// Whether it says something of the connection or session and nothing of the tree.
    pub fn is_of_the_connection(&self) -> bool {
        matches!(self, Self::NotConnected | Self::SessionOver | Self::Overloaded)
    }
}

/// Why nobody knows how an operation ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// The connection was lost after the operation may have been sent.
    #[error("the connection to ZooKeeper was lost")]
    ConnectionLost,
    /// No answer came in time.
    #[error("ZooKeeper did not answer in time")]
    TimedOut,
    /// An answer came that cannot be read.
    #[error("ZooKeeper's answer cannot be read: {0}")]
    Unreadable(String),
}

impl Outcome {
    /// A failure of the whole.
    pub fn failed(condition: Condition) -> Self {
        Self::Failed(Failure { condition, part: Part::Whole })
    }

    /// The condition on which the whole failed, if it did.
    pub fn condition(&self) -> Option<&Condition> {
        match self {
            Self::Failed(Failure { condition, .. }) => Some(condition),
            Self::Done(_) | Self::Unknown(_) => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Whole => write!(formatter, "{}", self.condition),
            Part::Check(index) => write!(formatter, "check {index}: {}", self.condition),
            Part::Write(index) => write!(formatter, "write {index}: {}", self.condition),
        }
    }
}
