//! Which executor runs where.

use ringstorm_records::records::Assignment;
use ringstorm_records::znode::{Node, NodeName};

use super::{Leadership, Listing, Reading, Tree, Trouble};

impl Tree {
    /// The ids of all topologies that have an assignment.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn assigned_topologies(&self, watch: bool) -> Result<Listing<NodeName>, Trouble> {
        self.topologies_below(&Node::Assignments {}, watch).await
    }

    /// A topology's assignment.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn assignment(&self, topology: &NodeName, watch: bool) -> Result<Reading<Assignment>, Trouble> {
        self.read(&Node::Assignment { topology: topology.clone() }, watch).await
    }

    /// All assignments, by topology id.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn assignments(&self, watch: bool) -> Result<Listing<(NodeName, Assignment)>, Trouble> {
        let records = self.records::<Assignment>(&Node::Assignments {}, watch).await?;
        let found = records.found.into_iter().filter_map(|(node, assignment, _)| match node {
            Node::Assignment { topology } => Some((topology, assignment)),
            _ => None,
        });
        Ok(Listing { found: found.collect(), skipped: records.skipped })
    }

    /// Writes a topology's assignment in place, whatever was there.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn set_assignment(
        &self,
        leader: &Leadership,
        topology: &NodeName,
        assignment: &Assignment,
    ) -> Result<(), Trouble> {
        let node = Node::Assignment { topology: topology.clone() };
        self.set_record(Some(leader), &node, assignment, &self.acls.topology_read).await
    }

    /// Removes a topology's assignment.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn remove_assignment(&self, leader: &Leadership, topology: &NodeName) -> Result<(), Trouble> {
        self.remove(Some(leader), &self.path(&Node::Assignment { topology: topology.clone() })).await
    }
}
