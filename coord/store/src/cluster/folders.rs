//! What nimbus sets up for a topology's workers, and cleans up after them.

use ringstorm_records::znode::{Node, NodeName};

use super::{Leadership, Listing, Tree, Trouble};

impl Tree {
    /// Makes the folders that a topology's workers write into, as a submission does before the topology exists.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn set_up_workers(&self, leader: &Leadership, topology: &NodeName) -> Result<(), Trouble> {
        for node in worker_folders(topology) {
            self.make_folder(Some(leader), &self.path(&node), &self.acls.topology_write).await?;
        }
        Ok(())
    }

    /// The topologies of which heartbeats, errors or marks of backpressure are there, whether they exist or not. What
    /// could not be read is named; nothing may be cleaned up on account of it.
    ///
    /// # Errors
    /// [`Trouble`]: then nothing is known, and nothing may be cleaned up at all.
    pub async fn topologies_with_remains(&self) -> Result<Listing<NodeName>, Trouble> {
        let mut all = Listing::default();
        for folder in [Node::WorkerBeats {}, Node::Errors {}, Node::Backpressure {}] {
            let listing = self.topologies_below(&folder, false).await?;
            all.found.extend(listing.found);
            all.skipped.extend(listing.skipped);
        }
        all.found.sort();
        all.found.dedup();
        Ok(all)
    }

    /// Removes the heartbeats, errors and marks of backpressure of a topology that is no more.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn remove_remains(&self, leader: &Leadership, topology: &NodeName) -> Result<(), Trouble> {
        let backpressure = Node::TopologyBackpressure { topology: topology.clone() };
        for node in worker_folders(topology).into_iter().chain([backpressure]) {
            self.remove(Some(leader), &self.path(&node)).await?;
        }
        Ok(())
    }
}

fn worker_folders(topology: &NodeName) -> [Node; 2] {
    [Node::TopologyWorkerBeats { topology: topology.clone() }, Node::TopologyErrors { topology: topology.clone() }]
}
