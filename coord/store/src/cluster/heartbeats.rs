//! Workers that live, by their heartbeats.

use ringstorm_records::records::ClusterWorkerHeartbeat;
use ringstorm_records::znode::{Node, NodeName, Slot};

use super::{Listing, Tree, Trouble};
use crate::operation::Stat;

impl Tree {
    /// Writes a worker's heartbeat. The version of its node is what others see grow.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn set_worker_beat(
        &self,
        topology: &NodeName,
        slot: &Slot,
        beat: &ClusterWorkerHeartbeat,
    ) -> Result<(), Trouble> {
        self.set_record(None, &worker_beat(topology, slot), beat, &self.acls.topology_write).await
    }

    /// Removes a worker's heartbeat, as an orderly end does.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn remove_worker_beat(&self, topology: &NodeName, slot: &Slot) -> Result<(), Trouble> {
        self.remove(None, &self.path(&worker_beat(topology, slot))).await
    }

    /// The heartbeats of a topology's workers, with their nodes.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn worker_beats(
        &self,
        topology: &NodeName,
    ) -> Result<Listing<(Slot, ClusterWorkerHeartbeat, Stat)>, Trouble> {
        let folder = Node::TopologyWorkerBeats { topology: topology.clone() };
        let records = self.records::<ClusterWorkerHeartbeat>(&folder, false).await?;
        let found = records.found.into_iter().filter_map(|(node, beat, stat)| match node {
            Node::WorkerBeat { slot, .. } => Some((slot, beat, stat)),
            _ => None,
        });
        Ok(Listing { found: found.collect(), skipped: records.skipped })
    }
}

fn worker_beat(topology: &NodeName, slot: &Slot) -> Node {
    Node::WorkerBeat { topology: topology.clone(), slot: slot.clone() }
}
