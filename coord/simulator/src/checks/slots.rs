//! No slot is given to two topologies.

use std::collections::BTreeMap;

use super::{Mirror, Violation};

/// Looks at all stored assignments.
///
/// # Errors
/// Two of them have a slot in common.
pub fn check(mirror: &Mirror, who: &str) -> Result<(), Violation> {
    let mut taken = BTreeMap::new();
    for (topology, assignment) in &mirror.assignments {
        for slot in assignment.executor_node_port.values() {
            for port in &slot.port {
                let other = taken.insert((slot.node.as_str(), *port), topology);
                if let Some(other) = other.filter(|other| *other != topology) {
                    let message = format!("{who} gave {}:{port} to {topology}; {other} has it", slot.node);
                    return Err(Violation::new("no slot is given to two topologies", message));
                }
            }
        }
    }
    Ok(())
}
