//! Nothing that lives is cleaned up.

use ringstorm_records::records::TopologyStatus;
use ringstorm_records::znode::{Node, NodeName};

use super::{Mirror, Seen, Violation};
use crate::actor::Role;

const LAW: &str = "nothing that lives is cleaned up";

/// Looks at one change.
///
/// # Errors
/// Something of a topology that lives was removed.
pub fn check(mirror: &Mirror, seen: Seen<'_>) -> Result<(), Violation> {
    if seen.after.is_some() || seen.before.is_none() || seen.role != Role::Nimbus {
        return Ok(());
    }
    let Some(node) = seen.node else { return Ok(()) };
    let Some(topology) = topology_of(node) else { return Ok(()) };
    let Some(base) = mirror.bases.get(&topology) else { return Ok(()) };
    // A topology that is killed loses what its leader wrote for it; what its workers write goes when it is gone.
    let is_leaders = matches!(
        node,
        Node::Storm { .. }
            | Node::Assignment { .. }
            | Node::Credentials { .. }
            | Node::LogConfig { .. }
            | Node::ProfilerConfig { .. }
            | Node::TopologyProfilerConfigs { .. }
    );
    if is_leaders && base.status == TopologyStatus::Killed {
        return Ok(());
    }
    // Of the errors of a component the newest stay; the oldest may go.
    let message = format!("{} removed {}, and {topology} is {:?}", seen.who, seen.path, base.status);
    Err(Violation::new(LAW, message))
}

/// Looks at a blob that a nimbus is about to remove from its disk.
///
/// # Errors
/// Its topology lives.
pub fn check_blob(mirror: &Mirror, who: &str, key: &NodeName) -> Result<(), Violation> {
    let topology = topology_of_blob(key);
    let Some(base) = topology.and_then(|topology| mirror.bases.get(&topology)) else { return Ok(()) };
    Err(Violation::new(LAW, format!("{who} removes {key} from its disk, and {} is {:?}", base.name, base.status)))
}

/// To which topology something belongs that must not be removed while that lives.
fn topology_of(node: &Node) -> Option<NodeName> {
    match node {
        Node::Storm { topology }
        | Node::Assignment { topology }
        | Node::TopologyWorkerBeats { topology }
        | Node::WorkerBeat { topology, .. }
        | Node::TopologyErrors { topology }
        | Node::LastError { topology, .. }
        | Node::ComponentErrors { topology, .. }
        | Node::Error { topology, .. }
        | Node::Credentials { topology }
        | Node::LogConfig { topology } => Some(topology.clone()),
        Node::Blob { key } | Node::BlobSequence { key } => topology_of_blob(key),
        _ => None,
    }
}

/// The topology of which a blob is the code, the configuration or the topology itself.
pub fn topology_of_blob(key: &NodeName) -> Option<NodeName> {
    let endings = ["-stormcode.ser", "-stormconf.ser", "-stormjar.jar"];
    let id = endings.iter().find_map(|ending| key.as_str().strip_suffix(ending))?;
    NodeName::new(id).ok()
}
