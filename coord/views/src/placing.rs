//! Why a topology does not have all that it wants, in words: `sched_status`.
//!
//! Storm's default schedulers say nothing there; only its resource-aware one does. Here it is said of each topology that
//! lacks something, and of no other. Threading: plain data. Errors: none; of a topology whose code is elsewhere nothing is
//! known.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_lifecycle::CODE_IS_LOST;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{Assignment, SupervisorInfo, TopologyStatus};
use ringstorm_records::znode::NodeName;

use crate::definition::Definition;
use crate::executors::placed;
use crate::gather::{Nimbuses, Topology};
use crate::topologies::Extent;

/// What a topology lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Its assignment is there and cannot be read. With the reason.
    Assignment(String),
    /// No nimbus says that it holds its code, and this one does not.
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
    // This one may have come back just now, and says to the tree what it holds next.
    if topology.code_holders == 0 && definition.is_none() {
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

/// How long a nimbus that has come, or come back, may take to say what it holds.
const SETTLED_AFTER_SECS: i64 = 60;

/// Whether what nimbuses say of the code that they hold is all that there is to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holding {
    /// All that live have said what they hold.
    Known,
    /// One has come, or come back, so many seconds ago, and may not have said yet what it holds.
    NotYet(i64),
    /// This one waits for the code before it leads.
    WaitedFor(String),
    /// Nobody leads before the session of a process of this one, which has ended, is over.
    NobodyLeads(String),
}

impl Holding {
    /// By who leads or does not yet, and since when the newest of the nimbuses has been there, in milliseconds since 1970. Clocks may differ: one that is to come in the future has just come.
    pub fn of(nimbuses: &Nimbuses, newest_ms: Option<i64>, now_ms: i64) -> Self {
        let age_secs = newest_ms.map_or(SETTLED_AFTER_SECS, |newest| now_ms.saturating_sub(newest).max(0) / 1000);
        let shown = |nimbus: &NimbusAddress| format!("{}:{}", nimbus.host(), nimbus.port());
        match (&nimbuses.gaining, &nimbuses.ended) {
            (Some(nimbus), _) => Self::WaitedFor(shown(nimbus)),
            (None, Some(nimbus)) => Self::NobodyLeads(shown(nimbus)),
            (None, None) if age_secs < SETTLED_AFTER_SECS => Self::NotYet(age_secs),
            (None, None) => Self::Known,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Known => CODE_IS_LOST.to_owned(),
            Self::NotYet(secs) => format!(
                "no nimbus has said yet that it holds its code; one came, or came back, {secs} s ago, so that this may \
                 change: look again in a minute before you do anything about it"
            ),
            Self::WaitedFor(nimbus) => format!(
                "no nimbus has said yet that it holds its code; nimbus {nimbus} waits for one that does before it leads, for \
                 a minute or so, and then leads without: bring back one that does"
            ),
            Self::NobodyLeads(nimbus) => format!(
                "no nimbus has said yet that it holds its code; a process of nimbus {nimbus} that has ended is first in the \
                 queue until its session with ZooKeeper ends (storm.zookeeper.session.timeout), and nobody leads before: look \
                 again in a minute before you do anything about it"
            ),
        }
    }
}

/// In words.
pub fn words(lack: &Lack, room: Room, holding: &Holding) -> String {
    match lack {
        Lack::Assignment(why) => format!(
            "its assignment cannot be read: {why}; what runs of it goes on, and nothing of it is \
             moved or started; restore that node, or kill the topology and submit it again"
        ),
        Lack::Code => holding.words(),
        Lack::Tasks { placed, wanted } => format!("{placed} of {wanted} tasks are placed: {}", room.why()),
        Lack::Workers { there, wanted } => format!("it has {there} of {wanted} workers: {}", room.why()),
    }
}
