//! An answer, or why there is none.

use ringstorm_lifecycle::{CODE_IS_LOST, Refusal};
use ringstorm_records::nimbus::NimbusException;
use ringstorm_records::records::{KeyNotFoundException, NotAliveException};
use ringstorm_store::cluster::{Skipped, Trouble};

/// An answer, and what had to be passed over for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// Nodes that are there and cannot be read. For the log of operators.
    pub skipped: Vec<Skipped>,
}

impl<T> Answer<T> {
    /// An answer for which nothing was passed over.
    pub fn whole(value: T) -> Self {
        Self { value, skipped: Vec::new() }
    }

    /// The same with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        Answer { value: change(self.value), skipped: self.skipped }
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoAnswer {
    /// `NotAliveException`, with Storm's message: the name or id, with or without words behind it, by method.
    #[error("{0}")]
    NotAlive(String),
    /// `KeyNotFoundException`: there is no such blob.
    #[error("there is no blob {0}")]
    KeyNotFound(String),
    /// An argument that has to be there is not.
    #[error("{method} needs its argument {argument}")]
    Missing {
        /// The method.
        method: &'static str,
        /// The argument.
        argument: &'static str,
    },
    /// The topology has no such component.
    #[error("topology {topology} has no component {component:?}; it has {there}")]
    NoComponent {
        /// The id of the topology.
        topology: String,
        /// What was asked for.
        component: String,
        /// What there is.
        there: String,
    },
    /// The topology lives, and this nimbus does not hold its code or configuration.
    #[error("this nimbus does not hold the code of topology {0}; it fetches it from one that does, if there is one")]
    NoCode(String),
    /// The topology lives, and no nimbus that does holds its code or configuration, as is known.
    #[error("topology {0}: {CODE_IS_LOST}")]
    CodeIsLost(String),
    /// The code or configuration of a topology cannot be used.
    #[error("the code or configuration of topology {topology} cannot be used: {why}")]
    BadCode {
        /// The id of the topology.
        topology: String,
        /// What is wrong.
        why: String,
    },
    /// A node that the answer depends on cannot be read.
    #[error("{} cannot be read: {}", .0.path, .0.why)]
    Unreadable(Skipped),
    /// As [`Self::Unreadable`], of a node without which the topology is nothing: its base or its assignment.
    #[error("{}", damaged(.0))]
    Damaged(Skipped),
    /// Nobody leads at present.
    #[error("no nimbus leads at present; ask again in a moment")]
    NobodyLeads,
    /// The tree could not be asked.
    #[error("ZooKeeper gave no answer: {0}; ask again")]
    Tree(#[from] Trouble),
}

/// In the words of whoever refuses to change such a topology.
fn damaged(node: &Skipped) -> Refusal {
    let (topology, path) = (node.path.name().to_owned(), node.path.to_string());
    Refusal::Unreadable { topology, path, why: node.why.clone() }
}

impl NoAnswer {
    /// The exception that goes to the client; `None` for one that goes as an internal error, with the displayed text.
    pub fn exception(&self) -> Option<NimbusException> {
        let msg = self.to_string();
        match self {
            Self::NotAlive(_) => Some(NotAliveException { msg }.into()),
            Self::KeyNotFound(_) => Some(KeyNotFoundException { msg }.into()),
            _ => None,
        }
    }
}
