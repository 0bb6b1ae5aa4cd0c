//! Only declared nodes are written, each by who may write it.

use ringstorm_records::znode::Node;

use super::{Seen, Violation};
use crate::actor::Role;

const LAW: &str = "only declared nodes are written, by who may";

/// Looks at one change.
///
/// # Errors
/// The node is none of the tree, or the writer has no business there.
pub fn check(seen: Seen<'_>) -> Result<(), Violation> {
    let Some(node) = seen.node else {
        // What people put below a node goes with it.
        if seen.after.is_none() {
            return Ok(());
        }
        return Err(Violation::new(LAW, format!("{} wrote {}, which no declared node is", seen.who, seen.path)));
    };
    // Folders are made by whoever comes first, and removed by nobody but a leader.
    let is_made = seen.before.is_none() && seen.after.is_some();
    let may = match seen.role {
        Role::Nimbus => !matches!(node, Node::WorkerBeat { .. } | Node::Supervisor { .. }) || seen.after.is_none(),
        Role::Supervisor => match node {
            Node::Supervisor { .. } | Node::ProfilerConfig { .. } => true,
            Node::WorkerBeat { .. } => seen.after.is_none(),
            node => is_made && is_folder(node),
        },
        Role::Worker => match node {
            Node::WorkerBeat { .. } | Node::LastError { .. } | Node::Error { .. } => true,
            node => is_made && (is_folder(node) || is_folder_of_topology(node)),
        },
        Role::Client => false,
    };
    if may {
        return Ok(());
    }
    Err(Violation::new(LAW, format!("{}, a {:?}, changed {}", seen.who, seen.role, seen.path)))
}

/// Whether the node is one that every daemon makes at its start.
fn is_folder(node: &Node) -> bool {
    matches!(node, Node::Root {}) || ringstorm_store::cluster::FOLDERS.contains(node)
}

fn is_folder_of_topology(node: &Node) -> bool {
    matches!(node, Node::TopologyWorkerBeats { .. } | Node::TopologyErrors { .. } | Node::ComponentErrors { .. })
}
