//! One round: what was read becomes what is written, and what operators want to know.
//!
//! As in Storm (`Nimbus.mkAssignments` of 2.8.2): dead slots are given up and not used again in the same round, topologies
//! of every status are placed, one that is to be placed from scratch leaves its slots to all, and what has not changed is
//! not written. Otherwise than in Storm:
//!
//! - A killed topology is left as it is until it is removed. So is one of which something cannot be read; what it has
//!   stays occupied, and of an assignment that cannot be read at least the slots in which its workers beat.
//! - What lives on a slot whose supervisor is gone stays there, whatever the scheduler would like: nobody could stop it.
//! - Topologies are placed in the order of their launch, so that older ones come first where slots are short.
//!
//! The steps are functions of their own: `plan` sorts out what lives, the scheduler places, `record` makes records,
//! `order` puts the writes in an order in which no slot ever belongs to two topologies.

pub(crate) mod order;
pub(crate) mod placement;
pub(crate) mod plan;
pub(crate) mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use ringstorm_control::time::Now;
use ringstorm_records::records::{Assignment, StormBase};
use ringstorm_records::znode::NodeName;
use ringstorm_scheduler::{Cluster, Scheduler, TopologyIndex, WorkerSlot};
use ringstorm_types::{ComponentId, ExecutorId};

use crate::beats::{Beats, Dead};
use crate::resources::Resources;
use crate::supervisors::Supervisors;
use order::{Move, Step};
use plan::{Plan, Scheduled};

/// What a round is made of.
#[derive(Clone, Debug)]
pub struct Round<'a> {
    /// When. Only the time of day counts, for start times.
    pub now: Now,
    /// The supervisors, as read for this round.
    pub supervisors: &'a Supervisors,
    /// What beats say.
    pub beats: &'a Beats,
    /// Every topology that has a base or an assignment.
    pub topologies: &'a BTreeMap<NodeName, TopologyInRound<'a>>,
    /// No assignment gets a lower version. The second of the time of day is a good one: after an older snapshot was restored
    /// somebody may know of a version that nobody is left to tell, and it lies below, as long as assignments change less
    /// than once a second. It does no harm where clocks are wrong, since versions grow all the same.
    pub lowest_version: i64,
    /// This nimbus's `storm.local.dir`, which Storm writes into each assignment.
    pub master_code_dir: &'a str,
}

/// Something that was read from the tree.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Stored<T> {
    /// It is not there.
    #[default]
    Absent,
    /// It is there and cannot be read, for this reason.
    Unreadable(String),
    /// It is there.
    Found(T),
}

/// What is known of a topology.
#[derive(Clone, Debug)]
pub struct TopologyInRound<'a> {
    /// Its base.
    pub base: Stored<&'a StormBase>,
    /// Its executors by base, code and conf; or why they are not known, or cannot be placed.
    pub executors: Result<&'a Executors, String>,
    /// Its assignment.
    pub assignment: Stored<&'a Assignment>,
    /// `topology.worker.timeout.secs` of its conf.
    pub worker_timeout: Option<Duration>,
    /// A version that its next assignment must exceed, besides those that are read: of what this nimbus wrote before, or
    /// was told. 0 if there is none.
    pub version_floor: i64,
    /// Whether it is to be placed from scratch, as after a rebalance.
    pub is_from_scratch: bool,
}

/// The executors of a topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Executors {
    /// Each with the component that it belongs to.
    pub components: BTreeMap<ExecutorId, ComponentId>,
    /// What each executor of a component may use; components that are not here have Storm's defaults.
    pub resources: BTreeMap<ComponentId, Resources>,
}

/// Why a topology's assignment is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftAlone {
    /// It was killed and waits for its removal.
    Killed,
    /// There is an assignment and no base: what is left of a topology.
    NoBase,
    /// Its base cannot be read.
    Base(String),
    /// Its executors are not known, since its code or conf cannot be read, or they cannot be placed.
    Executors(String),
    /// Its assignment cannot be read. Removed by hand, it is made anew.
    Assignment(String),
    /// A version was read that leaves no higher ones.
    VersionsUsedUp(i64),
}

impl LeftAlone {
    /// Whether a later round may place it: somebody mends what cannot be read.
    pub fn may_pass(&self) -> bool {
        !matches!(self, Self::Killed | Self::NoBase)
    }
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => formatter.write_str("it was killed"),
            Self::NoBase => formatter.write_str(
                "it has an assignment and no storm base; if that stays so for \
                 nimbus.topology.blobstore.deletion.delay.ms, its workers are ended",
            ),
            Self::Base(why) => write!(formatter, "its storm base cannot be read: {why}"),
            Self::Executors(why) => write!(formatter, "its executors cannot be placed: {why}"),
            Self::Assignment(why) => {
                write!(formatter, "its assignment cannot be read: {why}; when it is removed, a new one is made")
            }
            Self::VersionsUsedUp(version) => write!(
                formatter,
                "its assignment, or a heartbeat of its workers, has version {version}, above which there are none; kill \
                 it and submit it again"
            ),
        }
    }
}

/// Why a topology has less than it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// No supervisor is there, or none that can be read.
    NoSupervisor,
    /// All slots are in use.
    NoFreeSlot,
    /// Slots were given up in this round, and may be used in the next.
    NextRound,
}

impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoSupervisor => "no supervisor is there; start one",
            Self::NoFreeSlot => {
                "all slots are in use; add supervisors or slots (supervisor.slots.ports), or ask for less"
            }
            Self::NextRound => "slots were just given up; the next round may use them",
        })
    }
}

/// What is to be told of a topology after a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Why its assignment is left as it is, if it is. Then the rest but `malformed` says nothing.
    pub left_alone: Option<LeftAlone>,
    /// As many workers as it can use: what it asks for, but not more than it has executors.
    pub wanted_worker_count: usize,
    /// As many as it has.
    pub worker_count: usize,
    /// The executors that have no slot.
    pub unassigned: Vec<ExecutorId>,
    /// Why it has fewer workers than it can use, or executors without a slot.
    pub shortage: Option<Shortage>,
    /// The slots that it lost in this round, and why.
    pub dead: BTreeMap<WorkerSlot, Dead>,
    /// Slots that its stored assignment claims and another's too, which keeps them.
    pub contested: BTreeSet<WorkerSlot>,
    /// What in its stored assignment could not be understood.
    pub malformed: Vec<String>,
    /// The version of its assignment after the round.
    pub version: Option<i64>,
}

/// A write of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Whose assignment.
    pub topology: NodeName,
    /// What becomes of it.
    pub assignment: Assignment,
}

/// What comes of a round.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// To be done in this order, each only when the ones before have succeeded. A topology may be written twice, when slots
    /// change hands in a circle.
    pub writes: Vec<Write>,
    /// For every topology.
    pub reports: BTreeMap<NodeName, Report>,
    /// The cluster after the writes; ids of topologies as in the tree.
    pub cluster: Cluster,
}

/// Makes a round.
pub fn round(input: &Round<'_>, scheduler: &mut dyn Scheduler) -> Outcome {
    let plan = Plan::new(input);
    let mut cluster = plan.cluster();
    scheduler.schedule(&mut cluster);

    let after: Vec<_> = plan
        .scheduled
        .iter()
        .zip(cluster.topologies())
        .map(|(scheduled, index)| {
            let mut slots = cluster.assignment(index).clone();
            slots.extend(scheduled.pinned.iter().map(|(executor, slot)| (*executor, slot.clone())));
            slots
        })
        .collect();

    let changed: Vec<usize> =
        (0..after.len()).filter(|index| record::is_changed(input, &plan.scheduled[*index], &after[*index])).collect();
    let moves: Vec<Move<'_>> =
        changed.iter().map(|index| Move { before: plan.scheduled[*index].before(), after: &after[*index] }).collect();
    let mut versions: Vec<i64> = plan.scheduled.iter().map(|scheduled| scheduled.version_read).collect();
    let mut writes = Vec::new();
    for step in order::steps(&moves) {
        let (at, slots) = match step {
            Step::Release(at) => (at, moves[at].kept()),
            Step::Write(at) => (at, moves[at].after.clone()),
        };
        let scheduled = &plan.scheduled[changed[at]];
        let version = &mut versions[changed[at]];
        *version = (*version + 1).max(input.lowest_version);
        let assignment = Assignment { version: Some(*version), ..record::record(input, scheduled, &slots) };
        writes.push(Write { topology: scheduled.id.clone(), assignment });
    }

    let cluster = plan.cluster_after(cluster, &after);
    let gave_up = plan.dead_slots().any(|slot| input.supervisors.offer(&slot.node_id).is_some());
    let mut reports = plan.left_alone_reports();
    let indices = cluster.topologies().skip(plan.left_alone.len());
    for ((scheduled, index), slots) in plan.scheduled.iter().zip(indices).zip(&after) {
        let is_written = writes.iter().rev().find(|write| write.topology == *scheduled.id);
        let version = match is_written {
            Some(write) => write.assignment.version,
            None => scheduled.stored.as_ref().and_then(|(assignment, _)| assignment.version),
        };
        let report = Report { version, ..report(scheduled, &cluster, index, slots.len(), gave_up) };
        reports.insert(scheduled.id.clone(), report);
    }
    Outcome { writes, reports, cluster }
}

fn report(of: &Scheduled<'_>, cluster: &Cluster, index: TopologyIndex, assigned: usize, gave_up: bool) -> Report {
    let wanted_worker_count = of.executors.components.len().min(of.worker_count as usize);
    let worker_count = cluster.slots(index).len();
    let is_short = worker_count < wanted_worker_count || assigned < of.executors.components.len();
    let shortage = || match cluster.available_slot_count() {
        _ if cluster.supervisors().is_empty() => Shortage::NoSupervisor,
        0 if !gave_up => Shortage::NoFreeSlot,
        _ => Shortage::NextRound,
    };
    Report {
        left_alone: None,
        wanted_worker_count,
        worker_count,
        unassigned: cluster.unassigned_executors(index).collect(),
        shortage: is_short.then(shortage),
        dead: of.dead.clone(),
        contested: of.contested.clone(),
        malformed: of.malformed().to_vec(),
        version: None,
    }
}
