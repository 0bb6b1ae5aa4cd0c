//! Sorts out before a round: which topologies are placed, what of them lives, what stays whatever the scheduler does.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ringstorm_records::records::{Assignment, StormBase, TopologyStatus};
use ringstorm_records::znode::NodeName;
use ringstorm_scheduler::{Assignment as Slots, Cluster, NodeId, Supervisor, Topology, WorkerSlot, split_living};
use ringstorm_types::id::SYSTEM_COMPONENT;
use ringstorm_types::{ComponentId, ExecutorId, TaskId};

use super::placement::Placement;
use super::{Executors, LeftAlone, Report, Round, Stored, TopologyInRound};
use crate::beats::{Dead, Verdict};

/// Versions above this leave no room for a round: it may write an assignment twice.
const VERSION_MAX: i64 = i64::MAX - 2;

/// What is to be done with each topology.
pub(crate) struct Plan<'a> {
    input: &'a Round<'a>,
    /// In the order of their ids.
    pub(crate) left_alone: Vec<Untouched<'a>>,
    /// In the order in which they are placed.
    pub(crate) scheduled: Vec<Scheduled<'a>>,
}

/// A topology that is left as it is.
pub(crate) struct Untouched<'a> {
    id: &'a NodeName,
    why: LeftAlone,
    /// What it occupies.
    slots: Slots,
    /// Whether that is a guess, as its assignment cannot be read.
    is_guess: bool,
    malformed: Vec<String>,
    version: Option<i64>,
}

/// A topology that is placed.
pub(crate) struct Scheduled<'a> {
    pub(crate) id: &'a NodeName,
    pub(crate) given: &'a TopologyInRound<'a>,
    pub(crate) base: &'a StormBase,
    pub(crate) executors: &'a Executors,
    pub(crate) worker_count: u32,
    /// Its assignment, if it has one, and what it says.
    pub(crate) stored: Option<(&'a Assignment, Placement)>,
    /// The highest version that was read or told.
    pub(crate) version_read: i64,
    /// What lives where the scheduler may act.
    living: Slots,
    /// What lives where it may not.
    pub(crate) pinned: Slots,
    pub(crate) dead: BTreeMap<WorkerSlot, Dead>,
    pub(crate) contested: BTreeSet<WorkerSlot>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(input: &'a Round<'a>) -> Self {
        let mut plan = Self { input, left_alone: Vec::new(), scheduled: Vec::new() };
        for (id, given) in input.topologies {
            plan.sort(id, given);
        }
        let launched = |of: &Scheduled<'_>| of.base.launch_time_secs.unwrap_or(0);
        plan.scheduled.sort_by(|left, right| (launched(left), left.id).cmp(&(launched(right), right.id)));
        // Whoever comes first keeps a slot that several claim, and nobody takes it from one that is left alone. A guess
        // is no claim: it may stem from a worker that was there before.
        let mut claimed: HashMap<WorkerSlot, &NodeName> = HashMap::new();
        for of in plan.left_alone.iter().filter(|of| !of.is_guess) {
            for slot in of.slots.values() {
                claimed.entry(slot.clone()).or_insert(of.id);
            }
        }
        for of in &mut plan.scheduled {
            of.find_living(input, &mut claimed);
        }
        for of in plan.left_alone.iter_mut().filter(|of| of.is_guess) {
            of.slots.retain(|_, slot| *claimed.entry(slot.clone()).or_insert(of.id) == of.id);
        }
        plan
    }

    fn sort(&mut self, id: &'a NodeName, given: &'a TopologyInRound<'a>) {
        let version_seen = self.input.beats.version_max(id).unwrap_or(0).max(given.version_floor);
        let (stored, version_read) = match &given.assignment {
            Stored::Found(assignment) => {
                (Some((*assignment, Placement::of(assignment))), version_seen.max(assignment.version.unwrap_or(0)))
            }
            Stored::Absent | Stored::Unreadable(_) => (None, version_seen),
        };
        match why_not(given, version_read) {
            Ok((base, executors)) => self.scheduled.push(Scheduled {
                id,
                given,
                base,
                executors,
                worker_count: u32::try_from(base.num_workers).unwrap_or(0),
                stored,
                version_read,
                living: Slots::new(),
                pinned: Slots::new(),
                dead: BTreeMap::new(),
                contested: BTreeSet::new(),
            }),
            Err(why) => {
                let version = stored.as_ref().and_then(|(assignment, _)| assignment.version);
                let is_guess = matches!(given.assignment, Stored::Unreadable(_));
                let placement = match stored {
                    Some((_, placement)) => placement,
                    None if is_guess => guess(self.input.beats.occupied(id)),
                    None => Placement::default(),
                };
                let Placement { slots, malformed, .. } = placement;
                self.left_alone.push(Untouched { id, why, slots, is_guess, malformed, version });
            }
        }
    }

    /// The cluster that the scheduler works on: what it may place, in order. What others occupy it must not even see.
    pub(crate) fn cluster(&self) -> Cluster {
        let unpinned = |of: &Scheduled<'a>| {
            let mut components = of.executors.components.clone();
            of.pinned.keys().for_each(|executor| drop(components.remove(executor)));
            let pinned: BTreeSet<&WorkerSlot> = of.pinned.values().collect();
            let least = u32::from(of.worker_count > 0 && !components.is_empty());
            let worker_count = of.worker_count.saturating_sub(pinned.len() as u32).max(least);
            Topology { worker_count, executors: components, assignment: of.living.clone(), ..of.topology() }
        };
        let occupied = self.left_alone.iter().flat_map(|of| of.slots.values());
        self.cluster_of(occupied.chain(self.dead_slots()), self.scheduled.iter().map(unpinned).collect())
    }

    /// The cluster with everything in it, after a round: first those that are left alone, then the others in their order.
    pub(crate) fn cluster_after(&self, scheduled: Cluster, after: &[Slots]) -> Cluster {
        if self.left_alone.is_empty() && self.scheduled.iter().all(|of| of.pinned.is_empty()) {
            return scheduled;
        }
        let whole = self.scheduled.iter().zip(after).map(|(of, after)| Topology {
            executors: of.executors.components.clone(),
            assignment: after.clone(),
            ..of.topology()
        });
        self.cluster_of(self.dead_slots(), self.left_alone.iter().map(Untouched::topology).chain(whole).collect())
    }

    fn cluster_of<'s>(&self, unusable: impl Iterator<Item = &'s WorkerSlot>, topologies: Vec<Topology>) -> Cluster {
        let mut dead_ports: HashMap<&NodeId, BTreeSet<u16>> = HashMap::new();
        for slot in unusable {
            dead_ports.entry(&slot.node_id).or_default().insert(slot.port);
        }
        let supervisors = self.input.supervisors.offers().map(|(id, offer)| Supervisor {
            id: id.clone(),
            host: offer.host.clone(),
            ports: offer.ports.clone(),
            dead_ports: dead_ports.remove(id).unwrap_or_default(),
        });
        let supervisors = supervisors.collect();
        Cluster::new(supervisors, topologies, &BTreeSet::new())
            .expect("ids are keys of maps, so that none is there twice")
    }

    /// The slots that are not used in this round.
    pub(crate) fn dead_slots(&self) -> impl Iterator<Item = &WorkerSlot> {
        self.scheduled.iter().flat_map(|of| of.dead.keys())
    }

    pub(crate) fn left_alone_reports(&self) -> BTreeMap<NodeName, Report> {
        let report = |of: &Untouched<'a>| Report {
            left_alone: Some(of.why.clone()),
            malformed: of.malformed.clone(),
            version: of.version,
            ..Report::default()
        };
        self.left_alone.iter().map(|of| (of.id.clone(), report(of))).collect()
    }
}

/// What a topology that is placed must have.
fn why_not<'a>(given: &'a TopologyInRound<'a>, version_read: i64) -> Result<(&'a StormBase, &'a Executors), LeftAlone> {
    let base = match &given.base {
        Stored::Found(base) => *base,
        Stored::Absent => return Err(LeftAlone::NoBase),
        Stored::Unreadable(why) => return Err(LeftAlone::Base(why.clone())),
    };
    match base.status {
        TopologyStatus::Active | TopologyStatus::Inactive | TopologyStatus::Rebalancing => {}
        TopologyStatus::Killed => return Err(LeftAlone::Killed),
        TopologyStatus::Unrecognized(number) => {
            return Err(LeftAlone::Base(format!("its status is {number}, which this version does not know")));
        }
    }
    let executors = given.executors.as_ref().map_err(|why| LeftAlone::Executors(why.clone()))?;
    if let Stored::Unreadable(why) = &given.assignment {
        return Err(LeftAlone::Assignment(why.clone()));
    }
    if version_read > VERSION_MAX {
        return Err(LeftAlone::VersionsUsedUp(version_read));
    }
    Ok((base, executors))
}

/// A placement for an assignment that cannot be read: somebody is in each of these slots.
fn guess(slots: Vec<WorkerSlot>) -> Placement {
    let executor = |task| ExecutorId { first: TaskId(task), last: TaskId(task) };
    Placement { slots: (1..).map(executor).zip(slots).collect(), ..Placement::default() }
}

impl Untouched<'_> {
    /// It has what it wants.
    fn topology(&self) -> Topology {
        let somebody = ComponentId::from_static(SYSTEM_COMPONENT);
        let slots: BTreeSet<&WorkerSlot> = self.slots.values().collect();
        Topology {
            id: self.id.as_str().to_owned(),
            name: self.id.as_str().to_owned(),
            worker_count: slots.len() as u32,
            executors: self.slots.keys().map(|executor| (*executor, somebody.clone())).collect(),
            assignment: self.slots.clone(),
        }
    }
}

impl<'a> Scheduled<'a> {
    fn find_living(&mut self, input: &'a Round<'a>, claimed: &mut HashMap<WorkerSlot, &'a NodeName>) {
        let Some((_, placement)) = self.stored.as_ref().filter(|_| !self.given.is_from_scratch) else { return };
        let mut slots = placement.slots.clone();
        let mut lives: HashMap<WorkerSlot, bool> = HashMap::new();
        for slot in placement.slots.values() {
            if lives.contains_key(slot) {
                continue;
            }
            if *claimed.entry(slot.clone()).or_insert(self.id) != self.id {
                self.contested.insert(slot.clone());
            } else if let Verdict::Dead(why) =
                input.beats.verdict(self.id, slot, input.supervisors, self.given.worker_timeout)
            {
                self.dead.insert(slot.clone(), why);
            }
            lives.insert(slot.clone(), !self.dead.contains_key(slot));
        }
        slots.retain(|_, slot| !self.contested.contains(slot));
        let living = split_living(slots, &self.executors.components, |executor| lives[&placement.slots[&executor]]);
        let is_offered = |slot: &WorkerSlot| {
            input.supervisors.offer(&slot.node_id).is_some_and(|offer| offer.ports.contains(&slot.port))
        };
        (self.living, self.pinned) = living.assignment.into_iter().partition(|(_, slot)| is_offered(slot));
    }

    /// What it has according to the tree.
    pub(crate) fn before(&self) -> &Slots {
        static NOTHING: Slots = Slots::new();
        self.stored.as_ref().map_or(&NOTHING, |(_, placement)| &placement.slots)
    }

    pub(crate) fn malformed(&self) -> &[String] {
        self.stored.as_ref().map_or(&[], |(_, placement)| &placement.malformed)
    }

    /// As the scheduler knows it, without executors.
    fn topology(&self) -> Topology {
        Topology {
            id: self.id.as_str().to_owned(),
            name: self.base.name.clone(),
            worker_count: self.worker_count,
            executors: BTreeMap::new(),
            assignment: Slots::new(),
        }
    }
}
