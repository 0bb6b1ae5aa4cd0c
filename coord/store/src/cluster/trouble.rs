//! How a conversation with the tree ends when it does not succeed.

use crate::operation::Answer;
use crate::outcome::{Condition, Doubt, Failure, Outcome, Part};
use crate::path::ZnodePath;

/// Why a conversation did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Whoever writes does not lead, or leads no longer. Nothing was written.
    #[error("this nimbus does not lead any more; what it wanted to write was refused")]
    Deposed,
    /// An operation failed. What came before it in the conversation was done.
    #[error("{path}: {condition}")]
    Failed {
        /// The node.
        path: ZnodePath,
        /// Why.
        condition: Condition,
    },
    /// Nobody knows how an operation ended. Look, or do it all again.
    #[error("{path}: whether it was done is not known: {doubt}")]
    Unknown {
        /// The node.
        path: ZnodePath,
        /// Why.
        doubt: Doubt,
    },
}

impl Trouble {
    pub(super) fn failed(path: &ZnodePath, condition: Condition) -> Self {
        Self::Failed { path: path.clone(), condition }
    }

    /// An answer of another kind than was asked for, which no store gives.
    pub(super) fn odd(path: &ZnodePath, answer: &Answer) -> Self {
        let doubt = Doubt::Unreadable(format!("an answer of another kind came: {answer:?}"));
        Self::Unknown { path: path.clone(), doubt }
    }

    /// The condition on which an operation failed, if one did.
    pub fn condition(&self) -> Option<&Condition> {
        match self {
            Self::Failed { condition, .. } => Some(condition),
            Self::Deposed | Self::Unknown { .. } => None,
        }
    }
}

/// The answer, if there is one. A check is that of the leader.
pub(super) fn answer(path: &ZnodePath, outcome: Outcome) -> Result<Answer, Trouble> {
    match outcome {
        Outcome::Done(answer) => Ok(answer),
        Outcome::Failed(Failure { condition: Condition::NoNode, part: Part::Check(_) }) => Err(Trouble::Deposed),
        Outcome::Failed(Failure { condition, .. }) => Err(Trouble::Failed { path: path.clone(), condition }),
        Outcome::Unknown(doubt) => Err(Trouble::Unknown { path: path.clone(), doubt }),
    }
}
