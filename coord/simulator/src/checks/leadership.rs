//! What only a leader may write is written by who leads at that transaction.
//!
//! Who leads is who has the lowest candidate's node, whatever anybody believes.
//! And nobody is sent in circles to find it.

use ringstorm_nimbus::interface::{Refusal, Reply};
use ringstorm_records::znode::Node;

use super::{Seen, Violation};
use crate::actor::Role;

/// Looks at one change.
///
/// # Errors
/// It was a leader's, and whoever made it does not lead.
pub fn check(seen: Seen<'_>) -> Result<(), Violation> {
    let is_leaders = match seen.node {
        Some(
            Node::LeaderInfo {}
            | Node::Storm { .. }
            | Node::Assignment { .. }
            | Node::Credentials { .. }
            | Node::LogConfig { .. },
        ) => true,
        // What workers wrote is removed by a leader; folders for them are set up by one.
        Some(
            Node::WorkerBeat { .. }
            | Node::TopologyWorkerBeats { .. }
            | Node::TopologyErrors { .. }
            | Node::ComponentErrors { .. }
            | Node::Error { .. }
            | Node::LastError { .. }
            | Node::TopologyBackpressure { .. }
            | Node::WorkerBackpressure { .. },
        ) => seen.role == Role::Nimbus,
        Some(Node::Blob { .. } | Node::BlobSequence { .. }) => seen.role == Role::Nimbus && seen.after.is_none(),
        _ => false,
    };
    if !is_leaders || seen.is_leader {
        return Ok(());
    }
    let message = format!("{} changed {} and does not lead", seen.who, seen.path);
    Err(Violation::new("only the leader's writes are done", message))
}

/// Looks at an answer of a nimbus.
///
/// # Errors
/// It sends whoever asked to another nimbus that leads, and means itself.
pub fn check_answer(who: &str, address: Option<&str>, answer: &Result<Reply, Refusal>) -> Result<(), Violation> {
    let Err(Refusal::NotLeader { leader: Some(leader) }) = answer else { return Ok(()) };
    if address != Some(leader.to_string().as_str()) {
        return Ok(());
    }
    Err(Violation::new("nobody takes itself for another that leads", format!("{who} names {leader}")))
}
