//! Why a topology does not have all that it wants, in words: `sched_status`.
//!
//! Storm's default schedulers say nothing there; only its resource-aware one does. Here it is said of each topology that
//! lacks something, and of no other. Threading: plain data. Errors: none; of a topology whose code is elsewhere nothing is
//! known.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{Assignment, SupervisorInfo, TopologyStatus};
use ringstorm_records::znode::NodeName;

use crate::definition::Definition;
use crate::executors::placed;
use crate::gather::Topology;
use crate::topologies::Extent;

/// What a topology lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Its assignment is there and cannot be read. With the reason.
    Assignment(String),
    /// No nimbus holds its code.
    Code,
    /// Tasks without a slot.
    Tasks {
        /// Those that have one.
        placed: usize,
        /// All of them.
        wanted: usize,
    },
    /// Workers: the others do their work.
    Workers {
        /// Those that there are.
        there: usize,
        /// Those that it asks for and has executors for.
        wanted: usize,
    },
}

/// What a topology lacks, if anything is known to be missing. One that was killed wants nothing.
pub fn lack(topology: &Topology, definition: Option<&Definition>) -> Option<Lack> {
    if topology.base.status == TopologyStatus::Killed {
        return None;
    }
    if let Some(why) = &topology.assignment_fault {
        return Some(Lack::Assignment(why.clone()));
    }
    if topology.code_holders == 0 {
        return Some(Lack::Code);
    }
    let wanted = definition?.tasks().count();
    let size = |count: i32| usize::try_from(count).unwrap_or(0);
    let extent = Extent::of(topology.assignment.as_ref());
    if size(extent.tasks) < wanted {
        return Some(Lack::Tasks { placed: size(extent.tasks), wanted });
    }
    let workers = size(topology.base.num_workers.min(extent.executors));
    (size(extent.workers) < workers).then_some(Lack::Workers { there: size(extent.workers), wanted: workers })
}

/// What there is to place topologies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    supervisors: usize,
    free_slots: usize,
}

impl Room {
    /// By what supervisors offer, and what assignments or workers use: one that runs for an assignment that cannot be read
    /// has its slot all the same.
    pub fn of<'a>(
        supervisors: &BTreeMap<NodeName, SupervisorInfo>,
        assignments: impl IntoIterator<Item = &'a Assignment>,
    ) -> Self {
        let mut used = BTreeSet::new();
        for assignment in assignments {
            used.extend(placed(Some(assignment)).map(|executor| (executor.node.to_owned(), i64::from(executor.port))));
        }
        let offered = supervisors
            .iter()
            .flat_map(|(id, info)| info.meta.iter().flatten().map(move |port| (id.as_str().to_owned(), *port)));
        for (id, info) in supervisors {
            used.extend(info.used_ports.iter().flatten().map(|port| (id.as_str().to_owned(), *port)));
        }
        let free_slots = offered.filter(|slot| !used.contains(slot)).count();
        Self { supervisors: supervisors.len(), free_slots }
    }

    fn why(self) -> &'static str {
        match self {
            Self { supervisors: 0, .. } => "there is no supervisor; start one with `ringstorm supervisor`",
            Self { free_slots: 0, .. } => {
                "no slot is free; add a supervisor or slots (supervisor.slots.ports), or kill a topology"
            }
            _ => "nimbus has not placed the rest yet; its log says why if that lasts",
        }
    }
}

/// In words.
pub fn words(lack: &Lack, room: Room) -> String {
    match lack {
        Lack::Assignment(why) => format!(
            "its assignment cannot be read: {why}; what runs of it goes on, and nothing of it is \
             moved or started; restore that node, or kill the topology and submit it again"
        ),
        Lack::Code => {
            "no nimbus that lives holds its code; bring back one that does, or kill it and submit it again".to_owned()
        }
        Lack::Tasks { placed, wanted } => format!("{placed} of {wanted} tasks are placed: {}", room.why()),
        Lack::Workers { there, wanted } => format!("it has {there} of {wanted} workers: {}", room.why()),
    }
}
