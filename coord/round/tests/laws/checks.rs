//! What holds after each round.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use ringstorm_records::records::{Assignment, TopologyStatus};
use ringstorm_records::znode::NodeName;
use ringstorm_round::{Beats, Dead, Health, Outcome, Shortage};
use ringstorm_scheduler::WorkerSlot;

use super::world::{Submitted, World};

type Law = Result<(), TestCaseError>;

/// Each executor's slot, where it is one.
pub(crate) fn slots(assignment: Option<&Assignment>) -> BTreeMap<Vec<i64>, WorkerSlot> {
    let slot = |(tasks, info): (&Vec<i64>, &ringstorm_records::records::NodeInfo)| {
        let port = u16::try_from(*info.port.first()?).ok()?;
        Some((tasks.clone(), WorkerSlot { node_id: info.node.as_str().into(), port }))
    };
    assignment.into_iter().flat_map(|of| &of.executor_node_port).filter_map(slot).collect()
}

/// Before its writes are done.
pub(crate) fn round(world: &World, outcome: &Outcome) -> Law {
    let mut after: BTreeMap<&NodeName, &Assignment> = BTreeMap::new();
    for write in &outcome.writes {
        after.insert(&write.topology, &write.assignment);
    }
    let dead: BTreeSet<&WorkerSlot> = outcome.reports.values().flat_map(|report| report.dead.keys()).collect();
    for (id, of) in &world.topologies {
        let report = &outcome.reports[id];
        let written = after.get(id).copied();
        if report.left_alone.is_some() {
            prop_assert!(written.is_none(), "{id} is left alone and written");
            continue;
        }
        prop_assert!(of.base.status != TopologyStatus::Killed);
        let before = slots(of.assignment.as_ref());
        let now = written.map_or_else(|| before.clone(), |written| slots(Some(written)));
        for (executor, slot) in &now {
            if before.get(executor) != Some(slot) || of.is_from_scratch {
                let host = world.hosts.iter().find(|host| host.name.as_str() == slot.node_id.as_str()).unwrap();
                prop_assert!(host.has_supervisor && host.ports.contains(&slot.port), "{id} {executor:?} on {slot}");
                prop_assert!(!dead.contains(slot), "{id} {executor:?} on {slot}, which is dead");
            }
        }
        for (executor, slot) in &before {
            let is_alive = world.beats.health(id, slot) == Health::Alive;
            let supervisor_is_gone = !world.supervisors.is_there(&slot.node_id);
            if is_alive && supervisor_is_gone && !of.is_from_scratch {
                prop_assert_eq!(now.get(executor), Some(slot), "{} {:?} beats and was moved", id, executor);
            }
        }
        for (slot, why) in &report.dead {
            prop_assert!(!now.values().any(|now| now == slot), "{id} keeps {slot}");
            let keeper_is_there = world.supervisors.is_there(&slot.node_id);
            prop_assert_eq!(*why == Dead::Lost, !keeper_is_there && *why != Dead::NeverBeat);
        }
        let unassigned: BTreeSet<Vec<i64>> =
            report.unassigned.iter().map(|of| vec![i64::from(of.first.0), i64::from(of.last.0)]).collect();
        let all: BTreeSet<Vec<i64>> =
            of.executors.components.keys().map(|of| vec![i64::from(of.first.0), i64::from(of.last.0)]).collect();
        let placed: BTreeSet<Vec<i64>> = now.keys().cloned().collect();
        prop_assert!(placed.is_disjoint(&unassigned));
        prop_assert_eq!(&placed | &unassigned, all);
        prop_assert!(unassigned.is_empty() || report.shortage.is_some());
        prop_assert_eq!(report.shortage == Some(Shortage::NoSupervisor), {
            report.shortage.is_some() && world.supervisors.offers().next().is_none()
        });
        prop_assert_eq!(report.version, written.or(of.assignment.as_ref()).and_then(|of| of.version));
        prop_assert_eq!(report.worker_count, now.values().collect::<BTreeSet<_>>().len());
    }
    Ok(())
}

/// One write, before it is done.
pub(crate) fn write(beats: &Beats, id: &NodeName, of: &Submitted, written: &Assignment) -> Law {
    let version = written.version.unwrap();
    let stored = of.assignment.as_ref().and_then(|stored| stored.version);
    prop_assert!(Some(version) > stored && Some(version) > beats.version_max(id));
    let tasks: Vec<_> = written.executor_node_port.keys().collect();
    prop_assert_eq!(written.executor_start_time_secs.keys().collect::<Vec<_>>(), tasks);
    let used: BTreeSet<_> = written.executor_node_port.values().collect();
    prop_assert_eq!(written.worker_resources.keys().collect::<BTreeSet<_>>(), used);
    let nodes: BTreeSet<&String> = written.executor_node_port.values().map(|info| &info.node).collect();
    prop_assert_eq!(written.node_host.keys().collect::<BTreeSet<_>>(), nodes.clone());
    prop_assert_eq!(written.slot_cores.as_ref().unwrap().keys().collect::<BTreeSet<_>>(), nodes);
    // What stays was started when it was.
    let (before, after) = (slots(of.assignment.as_ref()), slots(Some(written)));
    for (tasks, slot) in after.iter().filter(|_| !of.is_from_scratch) {
        let in_slot = |of: &BTreeMap<Vec<i64>, WorkerSlot>| -> Vec<Vec<i64>> {
            of.iter().filter(|(_, other)| *other == slot).map(|(tasks, _)| tasks.clone()).collect()
        };
        if in_slot(&before) == in_slot(&after) {
            let stored = of.assignment.as_ref().unwrap();
            prop_assert_eq!(written.executor_start_time_secs[tasks], stored.executor_start_time_secs[tasks]);
            prop_assert_eq!(
                &written.slot_cores.as_ref().unwrap()[slot.node_id.as_str()],
                &stored.slot_cores.as_ref().unwrap()[slot.node_id.as_str()]
            );
        }
    }
    Ok(())
}

/// In what is stored and can be read.
pub(crate) fn no_slot_is_given_twice(world: &World) -> Law {
    let mut owner: BTreeMap<WorkerSlot, &NodeName> = BTreeMap::new();
    for (id, of) in world.topologies.iter().filter(|(_, of)| !of.is_assignment_damaged) {
        for slot in slots(of.assignment.as_ref()).into_values() {
            let first = *owner.entry(slot.clone()).or_insert(id);
            prop_assert_eq!(first, id, "{} is given twice", slot);
        }
    }
    Ok(())
}

/// After a round in which nothing is wrong any more.
pub(crate) fn all_that_fits_is_placed(outcome: &Outcome) -> Law {
    for (id, report) in &outcome.reports {
        let is_whole = report.unassigned.is_empty() || outcome.cluster.available_slot_count() == 0;
        prop_assert!(is_whole || report.left_alone.is_some(), "{id}: {report:?}");
        prop_assert!(report.shortage.is_none_or(|why| why == Shortage::NoFreeSlot), "{id}: {report:?}");
    }
    Ok(())
}
