//! What clients ask for, and what they are answered.

use std::fmt;

use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{
    Credentials, KillOptions, LogConfig, NimbusSummary, RebalanceOptions, StormTopology, SubmitOptions,
    SupervisorWorkerHeartbeat, SupervisorWorkerHeartbeats, TopologySummary,
};
use ringstorm_records::znode::NodeName;

/// The key of a topology's configuration that makes a submission one: a client that asks again after an unknown outcome
/// sends the same text, and two submissions never have the same one.
pub const SUBMISSION_TOKEN: &str = "ringstorm.submission.token";

/// By which a reply is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// What a client asks for. Names are those of topologies.
#[derive(Clone, Debug)]
pub enum Request {
    /// A new topology.
    Submit(Box<Submission>),
    /// A topology's end.
    Kill {
        /// Of which one.
        name: String,
        /// How.
        options: KillOptions,
    },
    /// Its spouts emit again.
    Activate {
        /// Whose.
        name: String,
    },
    /// Its spouts emit no more.
    Deactivate {
        /// Whose.
        name: String,
    },
    /// It is placed anew, with other numbers perhaps.
    Rebalance {
        /// Which one.
        name: String,
        /// How.
        options: RebalanceOptions,
    },
    /// Levels of loggers, set on top of those of before.
    SetLogConfig {
        /// The id of the topology, unlike elsewhere.
        topology: String,
        /// The levels, each with what becomes of it.
        levels: LogConfig,
    },
    /// The levels of loggers that were set, none of them is an empty answer. Any nimbus answers.
    LogConfig {
        /// The id of the topology.
        topology: String,
    },
    /// Other credentials, in the place of those that were there.
    SetCredentials {
        /// Whose.
        name: String,
        /// They. An owner in them must be the topology's.
        credentials: Credentials,
    },
    /// Whether a topology may be submitted under this name. Any nimbus answers.
    IsTopologyNameAllowed {
        /// It.
        name: String,
    },
    /// All topologies. Any nimbus answers.
    Topologies,
    /// Who leads. Any nimbus answers.
    Leader,
    /// A worker says that it lives, as Storm's do. Accepted, and nothing depends on it: workers are known by their beats in
    /// the tree.
    WorkerHeartbeat(SupervisorWorkerHeartbeat),
    /// A supervisor says that its workers live. As for [`Self::WorkerHeartbeat`].
    WorkerHeartbeats(SupervisorWorkerHeartbeats),
}

/// A new topology.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Its name.
    pub name: String,
    /// What it is.
    pub topology: StormTopology,
    /// Its configuration, as JSON text, with [`SUBMISSION_TOKEN`] if the client may ask again.
    pub conf: String,
    /// How it begins, and its secrets.
    pub options: SubmitOptions,
    /// Its file, which lies with this nimbus.
    pub upload: Upload,
    /// A random text that becomes the secret of its workers. Made by whoever runs the machine; not sent by the client.
    pub worker_secret: String,
}

/// A file that a client has uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// Its name, as the upload gave it.
    pub name: String,
    /// What it holds, by its checksum, as the client gave it; empty if it gave none.
    pub checksum: String,
}

/// What is answered to whoever asked for something that was done.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// It was done.
    Done,
    /// The topology lives.
    Submitted {
        /// Its id.
        topology: NodeName,
    },
    /// Whether the name is allowed.
    Allowed(bool),
    /// All topologies that can be read.
    Topologies(Vec<TopologySummary>),
    /// Who leads.
    Leader(NimbusSummary),
    /// Levels of loggers.
    LogConfig(LogConfig),
}

/// Why something was not done, or may not have been. The variants that have a counterpart in Storm name its exception.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `AlreadyAliveException`. Nothing was done.
    #[error("{0}")]
    AlreadyAlive(String),
    /// `NotAliveException`. Nothing was done.
    #[error("{0}")]
    NotAlive(String),
    /// `InvalidTopologyException`. Nothing was done, and nothing will be however often it is asked for.
    #[error("{0}")]
    InvalidTopology(String),
    /// The topology is in no state for that; Storm answers an internal error. Nothing was done.
    #[error("{0}")]
    IllegalState(String),
    /// The file of a submission is not here, or is another one. Nothing was done: upload it again, and submit again.
    #[error("{0}; upload the file again, to the leader, and submit again")]
    NoUpload(String),
    /// Another nimbus leads. Nothing was done.
    #[error("not a leader, current leader is {}", Shown(.leader))]
    NotLeader {
        /// Who does, if it is known.
        leader: Option<NimbusAddress>,
    },
    /// Not now. Nothing was done: ask again.
    #[error("{0}; nothing was done, try again")]
    TryAgain(String),
    /// Nobody knows whether it was done. Look, or ask again: to do the same twice does no harm, a submission with the same
    /// [`SUBMISSION_TOKEN`].
    #[error("{0}; whether it was done is not known: look, or ask for the same again")]
    Unknown(String),
}

struct Shown<'a>(&'a Option<NimbusAddress>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(formatter),
            None => formatter.write_str("not known"),
        }
    }
}
