//! The newest errors of components.
//!
//! As in Storm: a numbered node for each, of which the newest ten stay, and one for the last error of all. Unlike in
//! Storm, where the numbered ones go with the worker's session, they are persistent: what a worker said before it died is
//! what its operators want to read.

use ringstorm_records::payload;
use ringstorm_records::records::ErrorInfo;
use ringstorm_records::znode::{ComponentName, ErrorNumber, LastError, Node, NodeName};

use super::{Listing, Reading, Tree, Trouble};
use crate::operation::{CreateMode, Write};
use crate::outcome::Condition;
use crate::path::ZnodePath;

/// How many errors of a component are kept, besides its last one.
pub const ERRORS_KEPT: usize = 10;

impl Tree {
    /// Writes an error of a component, and removes the oldest beyond [`ERRORS_KEPT`].
    ///
    /// # Errors
    /// [`Trouble`]. Called again after one, the error may be there twice.
    pub async fn report_error(
        &self,
        topology: &NodeName,
        component: &ComponentName,
        error: &ErrorInfo,
    ) -> Result<(), Trouble> {
        let folder = component_errors(topology, component);
        let numbered = ZnodePath::numbered(&self.root, &self.error(topology, component, ErrorNumber(0)));
        let data = payload::encode(error);
        let acl = self.acls.topology_write.clone();
        let mode = CreateMode::PersistentSequential;
        let create = Write::Create { path: numbered, data: data.clone(), mode, acl: acl.clone() };
        match self.write(None, create.clone()).await {
            Err(Trouble::Failed { condition: Condition::NoNode, .. }) => {
                self.make_folder(None, &self.path(&folder), &acl).await?;
                self.write(None, create).await?;
            }
            done => {
                done?;
            }
        }
        let last = Node::LastError { topology: topology.clone(), last_error: LastError(component.clone()) };
        self.set_data(None, &self.path(&last), &data, &acl).await?;
        let mut numbers = self.error_numbers(&folder).await?.found;
        numbers.sort();
        for number in numbers.iter().take(numbers.len().saturating_sub(ERRORS_KEPT)) {
            self.remove(None, &self.path(&self.error(topology, component, *number))).await?;
        }
        Ok(())
    }

    /// The components of a topology of which errors were written.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn components_with_errors(&self, topology: &NodeName) -> Result<Listing<ComponentName>, Trouble> {
        let nodes = self.nodes(&Node::TopologyErrors { topology: topology.clone() }, false).await?;
        let mut components: Vec<_> = nodes.found.into_iter().filter_map(component_of).collect();
        components.sort();
        components.dedup();
        Ok(Listing { found: components, skipped: nodes.skipped })
    }

    /// The errors of a component that were kept, newest first.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn errors(&self, topology: &NodeName, component: &ComponentName) -> Result<Listing<ErrorInfo>, Trouble> {
        let records = self.records::<ErrorInfo>(&component_errors(topology, component), false).await?;
        let mut errors = records.map(|(node, error, _)| (node, error));
        // Numbers break ties, since many errors may come within a second.
        errors
            .found
            .sort_by(|(left, one), (right, other)| (other.error_time_secs, right).cmp(&(one.error_time_secs, left)));
        Ok(errors.map(|(_, error)| error))
    }

    /// The last error of a component.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn last_error(
        &self,
        topology: &NodeName,
        component: &ComponentName,
    ) -> Result<Reading<ErrorInfo>, Trouble> {
        let last_error = LastError(component.clone());
        self.read(&Node::LastError { topology: topology.clone(), last_error }, false).await
    }

    async fn error_numbers(&self, folder: &Node) -> Result<Listing<ErrorNumber>, Trouble> {
        let nodes = self.nodes(folder, false).await?;
        let found = nodes.found.into_iter().filter_map(|node| match node {
            Node::Error { number, .. } => Some(number),
            _ => None,
        });
        Ok(Listing { found: found.collect(), skipped: nodes.skipped })
    }

    fn error(&self, topology: &NodeName, component: &ComponentName, number: ErrorNumber) -> Node {
        Node::Error { topology: topology.clone(), component: component.clone(), number }
    }
}

fn component_errors(topology: &NodeName, component: &ComponentName) -> Node {
    Node::ComponentErrors { topology: topology.clone(), component: component.clone() }
}

fn component_of(node: Node) -> Option<ComponentName> {
    match node {
        Node::ComponentErrors { component, .. } => Some(component),
        Node::LastError { last_error: LastError(component), .. } => Some(component),
        _ => None,
    }
}
