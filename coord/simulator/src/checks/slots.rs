//! No slot is given to two topologies.

use std::collections::BTreeSet;

use ringstorm_records::records::Assignment;
use ringstorm_records::znode::NodeName;

use super::{Mirror, Violation};

/// Looks at the stored assignment of a topology, which was written. What was put there by hand, over others that had come
/// meanwhile, is no fault of whoever writes something else.
///
/// # Errors
/// It has a slot in common with another one.
pub fn check(mirror: &Mirror, topology: &NodeName, who: &str) -> Result<(), Violation> {
    let Some(written) = mirror.assignments.get(topology) else { return Ok(()) };
    let given = slots(written);
    for (other, assignment) in mirror.assignments.iter().filter(|(other, _)| *other != topology) {
        if let Some((node, port)) = given.intersection(&slots(assignment)).next() {
            let message = format!("{who} gave {node}:{port} to {topology}; {other} has it");
            return Err(Violation::new("no slot is given to two topologies", message));
        }
    }
    Ok(())
}

fn slots(assignment: &Assignment) -> BTreeSet<(&str, i64)> {
    let nodes = assignment.executor_node_port.values();
    nodes.flat_map(|slot| slot.port.iter().map(|port| (slot.node.as_str(), *port))).collect()
}
