//! Requests to profile workers.

use ringstorm_records::records::ProfileRequest;
use ringstorm_records::znode::{Node, NodeName, ProfileTarget};

use super::{Leadership, Listing, Tree, Trouble};

impl Tree {
    /// Writes a request; one of the same worker and action is overwritten.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn set_profile_request(
        &self,
        leader: &Leadership,
        topology: &NodeName,
        target: &ProfileTarget,
        request: &ProfileRequest,
    ) -> Result<(), Trouble> {
        let node = Node::ProfilerConfig { topology: topology.clone(), target: target.clone() };
        self.set_record(Some(leader), &node, request, &self.acls.daemons).await
    }

    /// The requests for a topology's workers.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn profile_requests(
        &self,
        topology: &NodeName,
    ) -> Result<Listing<(ProfileTarget, ProfileRequest)>, Trouble> {
        let folder = Node::TopologyProfilerConfigs { topology: topology.clone() };
        let records = self.records::<ProfileRequest>(&folder, false).await?;
        let found = records.found.into_iter().filter_map(|(node, request, _)| match node {
            Node::ProfilerConfig { target, .. } => Some((target, request)),
            _ => None,
        });
        Ok(Listing { found: found.collect(), skipped: records.skipped })
    }

    /// Removes a request that was handled, as the supervisor does.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn remove_profile_request(&self, topology: &NodeName, target: &ProfileTarget) -> Result<(), Trouble> {
        let node = Node::ProfilerConfig { topology: topology.clone(), target: target.clone() };
        self.remove(None, &self.path(&node)).await
    }
}
