//! Assignments that fit into their nodes.
//!
//! What is too large for ZooKeeper is refused however often it is written, and the writes behind it never come. So a
//! topology whose next assignment is too large is left as it is, and the round is made without it. Threading: plain data.

use std::collections::BTreeMap;

use ringstorm_records::payload::{self, INFLATED_BYTES_MAX};
use ringstorm_records::records::Assignment;
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::NodeName;
use ringstorm_round::{Outcome, TopologyInRound};
use ringstorm_store::operation::OPERATION_BYTES_MAX;

/// What an operation takes besides the record.
const REST_BYTES: usize = 10_000;

/// Makes a round in which everything that is written can be. Each time that something is too large one topology more is
/// left out, so that this ends.
pub(super) fn round_that_fits<'a>(
    topologies: &mut BTreeMap<NodeName, TopologyInRound<'a>>,
    mut round: impl FnMut(&BTreeMap<NodeName, TopologyInRound<'a>>) -> Outcome,
) -> Outcome {
    loop {
        let outcome = round(topologies);
        let too_large = outcome.writes.iter().find(|write| is_too_large(&write.assignment, OPERATION_BYTES_MAX));
        match too_large.and_then(|write| Some((topologies.get_mut(&write.topology)?, &write.assignment))) {
            None => return outcome,
            Some((topology, assignment)) => topology.executors = Err(words(assignment)),
        }
    }
}

/// Whether an assignment cannot be written in an operation of at most so many bytes, or could not be read again.
fn is_too_large(assignment: &Assignment, operation_bytes_max: usize) -> bool {
    let limit = operation_bytes_max - REST_BYTES;
    let bare = assignment.to_bytes().len();
    // What is small before it is packed is so afterwards.
    bare > INFLATED_BYTES_MAX || (bare > limit && payload::encode(assignment).len() > limit)
}

/// The same for every round that comes to the same numbers, so that it is told once.
fn words(assignment: &Assignment) -> String {
    let executors = assignment.executor_node_port.len();
    let hosts = assignment.node_host.len();
    format!(
        "the record of where they run, {executors} executors on {hosts} supervisors, is larger than the \
         {OPERATION_BYTES_MAX} bytes that ZooKeeper takes; ask for fewer executors or workers"
    )
}

#[cfg(test)]
mod tests {
    use ringstorm_records::records::NodeInfo;

    use super::*;

    fn assignment(executors: i64) -> Assignment {
        let slot = |port: i64| NodeInfo { node: "node".to_owned(), port: [6700 + port % 9].into() };
        Assignment {
            executor_node_port: (1..=executors).map(|task| (vec![task, task], slot(task))).collect(),
            ..Assignment::default()
        }
    }

    #[test]
    fn what_shrinks_enough_is_not_too_large() {
        let large = assignment(10_000);
        let (bare, packed) = (large.to_bytes().len(), payload::encode(&large).len());
        assert!(packed < bare / 4);
        for (limit, expected) in [(packed - 1, true), (packed, false), (bare, false)] {
            assert_eq!(is_too_large(&large, limit + REST_BYTES), expected, "{limit}");
        }
    }

    #[test]
    fn what_could_not_be_read_again_is_too_large_however_it_shrinks() {
        let huge = assignment(800_000);
        assert!(huge.to_bytes().len() > INFLATED_BYTES_MAX);
        assert!(is_too_large(&huge, usize::MAX));
    }
}
