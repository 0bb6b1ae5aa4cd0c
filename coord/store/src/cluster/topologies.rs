//! What nimbus keeps of topologies besides their assignments: bases, credentials, levels of loggers.

use ringstorm_records::payload;
use ringstorm_records::records::{Credentials, LogConfig, StormBase};
use ringstorm_records::znode::{Node, NodeName};

use super::reading::TRIES_MAX;
use super::{Leadership, Listing, Reading, Tree, Trouble};
use crate::operation::{Answer, Write};
use crate::outcome::Condition;

impl Tree {
    /// The ids of all topologies.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn topologies(&self, watch: bool) -> Result<Listing<NodeName>, Trouble> {
        self.topologies_below(&Node::Storms {}, watch).await
    }

    /// What nimbus knows of a topology.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn storm_base(&self, topology: &NodeName, watch: bool) -> Result<Reading<StormBase>, Trouble> {
        self.read(&storm(topology), watch).await
    }

    /// Writes what nimbus knows of a new topology. A base that is there already stays as it is: since an id is given once,
    /// an earlier try has made it, and somebody may have changed it since.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn create_storm_base(
        &self,
        leader: &Leadership,
        topology: &NodeName,
        base: &StormBase,
    ) -> Result<(), Trouble> {
        self.make_record(Some(leader), &storm(topology), base, &self.acls.topology_read).await
    }

    /// Reads what nimbus knows of a topology, changes it, and writes it back if nobody else has meanwhile; otherwise
    /// once more. What was written, or why there was nothing to change. `None` from `change` leaves it as it is.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn change_storm_base(
        &self,
        leader: &Leadership,
        topology: &NodeName,
        change: impl Fn(&StormBase) -> Option<StormBase> + Send,
    ) -> Result<Reading<StormBase>, Trouble> {
        let path = self.path(&storm(topology));
        for _ in 0..TRIES_MAX {
            let reading = self.read_fresh::<StormBase>(&storm(topology)).await?;
            let Reading::Found { value, stat } = &reading else { return Ok(reading) };
            let Some(changed) = change(value) else { return Ok(reading) };
            let (data, version) = (payload::encode(&changed), Some(stat.version));
            match self.write(Some(leader), Write::Set { path: path.clone(), data, version }).await {
                Ok(Answer::Set { stat }) => return Ok(Reading::Found { value: changed, stat }),
                Ok(other) => return Err(Trouble::odd(&path, &other)),
                Err(Trouble::Failed { condition: Condition::BadVersion | Condition::NoNode, .. }) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(Trouble::failed(&path, Condition::BadVersion))
    }

    /// Writes what nimbus knows of a topology over something that was read with this version and is no base.
    ///
    /// # Errors
    /// [`Trouble`]; with [`Condition::BadVersion`] when it has changed since.
    pub async fn replace_storm_base(
        &self,
        leader: &Leadership,
        topology: &NodeName,
        base: &StormBase,
        version: i32,
    ) -> Result<(), Trouble> {
        let path = self.path(&storm(topology));
        let set = Write::Set { path, data: payload::encode(base), version: Some(version) };
        self.write(Some(leader), set).await.map(drop)
    }

    /// Removes a topology as Storm's `removeStorm` does: its assignment, credentials, levels of loggers, requests to
    /// profile, and last of all its base, by which it exists. What its workers wrote is left to the clean-up.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn remove_topology(&self, leader: &Leadership, topology: &NodeName) -> Result<(), Trouble> {
        let topology = topology.clone();
        for node in [
            Node::Assignment { topology: topology.clone() },
            Node::Credentials { topology: topology.clone() },
            Node::LogConfig { topology: topology.clone() },
            Node::TopologyProfilerConfigs { topology: topology.clone() },
            Node::Storm { topology },
        ] {
            self.remove(Some(leader), &self.path(&node)).await?;
        }
        Ok(())
    }

    /// The secrets of a topology.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn credentials(&self, topology: &NodeName, watch: bool) -> Result<Reading<Credentials>, Trouble> {
        self.read(&Node::Credentials { topology: topology.clone() }, watch).await
    }

    /// Writes the secrets of a topology.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn set_credentials(
        &self,
        leader: &Leadership,
        topology: &NodeName,
        credentials: &Credentials,
    ) -> Result<(), Trouble> {
        let node = Node::Credentials { topology: topology.clone() };
        self.set_record(Some(leader), &node, credentials, &self.acls.topology_read).await
    }

    /// The levels of a topology's loggers.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn log_config(&self, topology: &NodeName, watch: bool) -> Result<Reading<LogConfig>, Trouble> {
        self.read(&Node::LogConfig { topology: topology.clone() }, watch).await
    }

    /// Writes the levels of a topology's loggers.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn set_log_config(
        &self,
        leader: &Leadership,
        topology: &NodeName,
        levels: &LogConfig,
    ) -> Result<(), Trouble> {
        let node = Node::LogConfig { topology: topology.clone() };
        self.set_record(Some(leader), &node, levels, &self.acls.topology_read).await
    }

    /// The ids of topologies that have a node below one.
    pub(super) async fn topologies_below(&self, folder: &Node, watch: bool) -> Result<Listing<NodeName>, Trouble> {
        let nodes = self.nodes(folder, watch).await?;
        let id = |node| match node {
            Node::Storm { topology }
            | Node::Assignment { topology }
            | Node::TopologyWorkerBeats { topology }
            | Node::TopologyErrors { topology }
            | Node::Credentials { topology }
            | Node::LogConfig { topology }
            | Node::TopologyProfilerConfigs { topology }
            | Node::TopologyBackpressure { topology } => Some(topology),
            _ => None,
        };
        Ok(Listing { found: nodes.found.into_iter().filter_map(id).collect(), skipped: nodes.skipped })
    }
}

fn storm(topology: &NodeName) -> Node {
    Node::Storm { topology: topology.clone() }
}
