//! What a slot is to run: its share of a topology, as an assignment gives it.
//!
//! Two shares are equal when Storm calls the assignments of a slot equivalent: the same topology, executors and
//! resources, whatever their order. When it started is no part of it. Threading: plain data. Errors: an assignment whose
//! entries for this supervisor cannot be read is reported as a whole.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{Assignment, NodeInfo, WorkerResources};
use serde::{Deserialize, Serialize};

/// Storm's executor id: its first and last task.
pub type ExecutorId = (i64, i64);

/// More cores than a slot of any host has.
const CORES_MAX: u32 = 4096;

/// What a slot is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The topology's id.
    pub topology: String,
    /// Its executors in this slot; at least one.
    pub executors: BTreeSet<ExecutorId>,
    /// What its worker may use: thousandths of a resource's unit, by normalised name. What it shares with other workers
    /// has `shared.` in front.
    pub resources: BTreeMap<String, i64>,
}

/// The shares of one supervisor in an assignment, by port.
///
/// # Errors
/// An entry for this supervisor makes no sense; the text says which.
pub fn shares(topology: &str, assignment: &Assignment, supervisor: &str) -> Result<BTreeMap<u16, Share>, String> {
    let mut shares = BTreeMap::new();
    for (executor, node) in assignment.executor_node_port.iter().filter(|(_, node)| node.node == supervisor) {
        let [first, last] = executor[..] else {
            return Err(format!("executor {executor:?} is not a first and a last task"));
        };
        if first > last {
            return Err(format!("the last task of executor {executor:?} lies before the first"));
        }
        let port = port_of(node)?;
        let share = shares.entry(port).or_insert_with(|| Share {
            topology: topology.to_owned(),
            executors: BTreeSet::new(),
            resources: BTreeMap::new(),
        });
        share.executors.insert((first, last));
    }
    for (node, worker) in assignment.worker_resources.iter().filter(|(node, _)| node.node == supervisor) {
        if let Some(share) = shares.get_mut(&port_of(node)?) {
            share.resources = resources(worker);
        }
    }
    Ok(shares)
}

/// How many cores each slot of a supervisor has. One that is not listed has one.
///
/// # Errors
/// No worker could have so many.
pub fn cores(assignment: &Assignment, supervisor: &str) -> Result<u32, String> {
    let listed = assignment.slot_cores.as_ref().and_then(|slots| slots.get(supervisor)).copied().unwrap_or(1);
    let cores = u32::try_from(listed).ok().filter(|cores| (1..=CORES_MAX).contains(cores));
    cores.ok_or_else(|| format!("a slot cannot have {listed} cores"))
}

fn port_of(node: &NodeInfo) -> Result<u16, String> {
    let mut ports = node.port.iter();
    let (Some(port), None) = (ports.next(), ports.next()) else {
        return Err(format!("a slot has one port, and not {:?}", node.port));
    };
    u16::try_from(*port).ok().filter(|port| *port > 0).ok_or_else(|| format!("there is no port {port}"))
}

fn resources(worker: &WorkerResources) -> BTreeMap<String, i64> {
    let named = [
        ("onheap.memory.mb", worker.mem_on_heap),
        ("offheap.memory.mb", worker.mem_off_heap),
        ("cpu.pcore.percent", worker.cpu),
        ("shared.onheap.memory.mb", worker.shared_mem_on_heap),
        ("shared.offheap.memory.mb", worker.shared_mem_off_heap),
    ];
    let named = named.into_iter().filter_map(|(name, amount)| Some((name.to_owned(), amount?)));
    let own = worker.resources.iter().flatten().map(|(name, amount)| (name.clone(), *amount));
    let shared = worker.shared_resources.iter().flatten().map(|(name, amount)| (format!("shared.{name}"), *amount));
    named.chain(own).chain(shared).map(|(name, amount)| (name, thousandths(amount))).collect()
}

/// Whole numbers, so that what was saved compares equal with what is read.
fn thousandths(amount: f64) -> i64 {
    // A cast of a float saturates, and makes zero of what is no number.
    (amount * 1000.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(node: &str, ports: &[i64]) -> NodeInfo {
        NodeInfo { node: node.to_owned(), port: ports.iter().copied().collect() }
    }

    fn assignment(entries: &[(&[i64], NodeInfo)]) -> Assignment {
        let executor_node_port = entries.iter().map(|(executor, node)| (executor.to_vec(), node.clone())).collect();
        Assignment { executor_node_port, ..Assignment::default() }
    }

    #[test]
    fn a_supervisor_has_the_executors_of_its_own_slots() {
        let mut it = assignment(&[
            (&[1, 1], slot("a", &[6700])),
            (&[2, 3], slot("a", &[6701])),
            (&[4, 4], slot("b", &[6700])),
            (&[5, 5], slot("a", &[6700])),
        ]);
        let cpu = WorkerResources { cpu: Some(40.0), mem_on_heap: Some(f64::NAN), ..WorkerResources::default() };
        it.worker_resources.insert(slot("a", &[6700]), cpu);
        let shares = shares("words-1-1", &it, "a").unwrap();
        assert_eq!(shares.keys().collect::<Vec<_>>(), [&6700, &6701]);
        assert_eq!(shares[&6700].executors, [(1, 1), (5, 5)].into());
        assert_eq!(shares[&6700].resources["cpu.pcore.percent"], 40_000);
        assert_eq!(shares[&6700].resources["onheap.memory.mb"], 0);
        assert_eq!(shares[&6701].executors, [(2, 3)].into());
    }

    #[test]
    fn a_slot_has_the_cores_that_all_workers_believe_it_has() {
        let cores = |listed: Option<i64>| {
            let slot_cores = listed.map(|cores| [("a".to_owned(), cores)].into());
            cores(&Assignment { slot_cores, ..Assignment::default() }, "a")
        };
        assert_eq!([None, Some(1), Some(64)].map(cores), [Ok(1), Ok(1), Ok(64)]);
        assert!([0, -1, 5000, i64::MAX].into_iter().all(|bad| cores(Some(bad)).is_err()));
    }

    #[test]
    fn entries_that_make_no_sense_are_named_if_they_are_of_this_supervisor() {
        let bad: &[(&[i64], &[i64], &str)] = &[
            (&[1], &[6700], "executor [1]"),
            (&[3, 2], &[6700], "lies before"),
            (&[1, 1], &[], "one port"),
            (&[1, 1], &[6700, 6701], "one port"),
            (&[1, 1], &[0], "no port 0"),
            (&[1, 1], &[65_536], "no port 65536"),
        ];
        for (executor, ports, words) in bad {
            let it = assignment(&[(executor, slot("a", ports))]);
            let why = shares("words-1-1", &it, "a").unwrap_err();
            assert!(why.contains(words), "{why}");
            assert_eq!(shares("words-1-1", &it, "b"), Ok(BTreeMap::new()));
        }
    }
}
