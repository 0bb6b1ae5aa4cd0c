//! What is the case.

use std::collections::BTreeMap;

use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_records::records::{Assignment, StormBase};
use ringstorm_records::znode::NodeName;

use super::Stage;
use crate::world::process::{HostId, ProcessId};

/// A worker that runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// Which process: another one has another number.
    pub process: ProcessId,
    /// On which host.
    pub host: HostId,
    /// In which slot of it.
    pub port: u16,
    /// The id of its topology.
    pub topology: String,
}

impl Stage {
    /// The nimbuses, in the order of their addresses.
    pub fn nimbuses(&self) -> &[ProcessId] {
        &self.nimbuses
    }

    /// The supervisors, in the order of their hosts.
    pub fn supervisors(&self) -> &[ProcessId] {
        &self.supervisors
    }

    /// The host of a process.
    pub fn host_of(&self, process: ProcessId) -> HostId {
        self.world.processes[process.0].host
    }

    /// How often a process was started.
    pub fn starts(&self, process: ProcessId) -> u64 {
        self.world.processes[process.0].life.div_ceil(2)
    }

    /// Whether a process runs.
    pub fn is_up(&self, process: ProcessId) -> bool {
        self.world.processes[process.0].is_up()
    }

    /// Who leads, if who has the first place in the queue runs.
    pub fn leader(&self) -> Option<ProcessId> {
        let session = self.world.leading_session()?;
        let process = self.world.zookeeper.process_of(session)?;
        (self.world.processes[process.0].link.session() == Some(session)).then_some(process)
    }

    /// What the tree says of each topology.
    pub fn bases(&self) -> &BTreeMap<NodeName, StormBase> {
        &self.world.mirror.bases
    }

    /// The id of the topology of a name.
    pub fn id_of(&self, name: &str) -> Option<&NodeName> {
        self.world.mirror.bases.iter().find(|(_, base)| base.name == name).map(|(id, _)| id)
    }

    /// Where each topology runs.
    pub fn assignments(&self) -> &BTreeMap<NodeName, Assignment> {
        &self.world.mirror.assignments
    }

    /// What every process wrote for operators.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.world.notes.iter().flatten().map(String::as_str)
    }

    /// The version of each assignment.
    pub fn versions(&self) -> BTreeMap<String, Option<i64>> {
        self.assignments().iter().map(|(id, assignment)| (id.to_string(), assignment.version)).collect()
    }

    /// The worker processes that live, in the order of their starts.
    pub fn running(&self) -> Vec<Running> {
        let alive = self.world.workers.iter().filter(|(_, worker)| worker.is_alive);
        let running = alive.map(|(process, worker)| Running {
            process: *process,
            host: self.host_of(*process),
            port: worker.port,
            topology: worker.topology.clone(),
        });
        running.collect()
    }

    /// Those of them that belong to the topology of a name.
    pub fn workers_of(&self, name: &str) -> Vec<Running> {
        let id = self.id_of(name).map(NodeName::as_str);
        self.running().into_iter().filter(|worker| Some(worker.topology.as_str()) == id).collect()
    }

    /// The first topology that does not run as it should, or worker that should not; `None` when all do.
    pub fn not_running(&self) -> Option<String> {
        crate::liveness::not_running(&self.world)
    }

    /// Whether tuples go to and from a worker: it runs, is connected to all of its peers, and its spouts are asked.
    pub fn is_processing(&self, worker: &Running) -> bool {
        let found = self.world.workers.get(&worker.process);
        found.is_some_and(|worker| worker.is_alive && worker.path.is_ready && worker.path.is_active)
    }

    /// Whether a nimbus has all of the code of the topology of a name on its disk.
    pub fn has_code(&self, nimbus: ProcessId, name: &str) -> bool {
        let Some(id) = self.id_of(name) else { return false };
        let blobs = &self.world.processes[nimbus.0].disk.blobs;
        let has = |blob: &TopologyBlob| NodeName::new(&blob.key(id.as_str())).is_ok_and(|key| blobs.contains_key(&key));
        TopologyBlob::ALL.iter().all(has)
    }
}
