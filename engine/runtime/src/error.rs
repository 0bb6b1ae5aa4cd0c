//! The error of user code, and what can stop a topology from being built.
//!
//! User code returns any error as a [`BoxError`]; the runtime never looks inside it. Building a topology collects every
//! violation before it gives up. Both are for whoever wrote the topology to mend.

use ringstorm_types::validate::Violations;

/// Any error that user code may return.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What spouts and bolts return.
pub type Result<T = (), E = BoxError> = std::result::Result<T, E>;

/// Why a topology cannot run. The author of the topology or its configuration mends it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The structure breaks rules; all of them are named.
    #[error("{0}")]
    Invalid(#[from] Violations),
    /// A setting that cannot be used.
    #[error("{0}")]
    Config(#[from] ringstorm_types::config::ConfigError),
    /// The topology cannot be numbered.
    #[error("{0}")]
    Numbering(#[from] ringstorm_types::numbering::NumberingError),
    /// The assignment is not one for this topology.
    #[error("{0}")]
    Assignment(#[from] ringstorm_types::assignment::AssignmentError),
    /// A name that no component or stream may have, or one that is taken.
    #[error("{0}")]
    Declaration(String),
}

impl BuildError {
    /// Whether all that is wrong was typed on the command line: the topology itself is sound.
    #[must_use]
    pub fn is_of_command_line(&self) -> bool {
        match self {
            Self::Invalid(violations) => violations.are_of_command_line(),
            Self::Config(error) => error.is_of_command_line(),
            Self::Numbering(_) | Self::Assignment(_) | Self::Declaration(_) => false,
        }
    }
}

/// Why a worker could not start. Whoever runs it mends it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The topology or its configuration.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A worker has nothing to run, or cannot go on.
    #[error("{0}")]
    Worker(String),
    /// The way that sockets are to go cannot be gone here.
    #[error("ringstorm.worker.sockets is \"io_uring\", but {0}; allow it, or set \"auto\"")]
    Sockets(#[from] ringstorm_net::WayRefused),
    /// The directory of temporary files does not take the socket by which workers are led.
    #[error(
        "a socket for the workers cannot be made in {path:?}: {source}; set TMPDIR to a directory that has room, may be \
         written to, and whose path is short"
    )]
    TemporaryDirectory {
        /// The directory.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system refused something that a core needs.
    #[error("{what} failed: {source}; raise the limit that it names and start again")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}
