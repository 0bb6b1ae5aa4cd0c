//! What a process has on its disk. It outlives the process.
//!
//! Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringstorm_nimbus::interface::{Conf, HeldBlob};
use ringstorm_records::records::StormTopology;
use ringstorm_records::znode::NodeName;
use ringstorm_supervisor::LocalState;
use ringstorm_supervisor::events::WorkerTimeouts;

/// A disk.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// The blobs of a nimbus.
    pub blobs: BTreeMap<NodeName, HeldBlob>,
    /// Files that clients have uploaded to a nimbus.
    pub uploads: BTreeSet<String>,
    /// What a supervisor remembers.
    pub local_state: LocalState,
    /// The code of topologies that a supervisor has.
    pub code: BTreeMap<String, Code>,
}

/// The code of a topology, with a supervisor.
#[derive(Clone, Debug)]
pub struct Code {
    /// What it says of its workers.
    pub timeouts: WorkerTimeouts,
    /// What the topology is.
    pub topology: Arc<StormTopology>,
    /// Its configuration.
    pub conf: Arc<Conf>,
}
