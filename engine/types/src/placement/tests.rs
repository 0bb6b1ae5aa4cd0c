//! The laws of placement, and the cases that the laws do not pin down.

use proptest::prelude::*;

use super::*;
use crate::config::{Origin, keys};
use crate::numbering::number;
use crate::testing::{graph, id, topologies, word_count};

fn cores(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn placed(topology: &Topology, core_count: usize) -> (Numbering, Placement) {
    let config = Config::new();
    let ackers = local_acker_count(topology, &config, cores(core_count)).unwrap();
    let numbering = number(topology, &config, ackers).unwrap();
    let placement = place(&numbering, topology, cores(core_count));
    (numbering, placement)
}

/// The core of the first executor of a component.
fn core_of(numbering: &Numbering, placement: &Placement, component: &str) -> Home {
    placement.home_of(numbering.executors_of(component)[0].id).unwrap()
}

#[test]
fn a_chain_alternates_between_two_cores() {
    let (numbering, placement) = placed(&graph(&[("spout", "b1"), ("b1", "b2"), ("b2", "b3")]), 2);
    for (component, core) in [("spout", 0), ("b1", 1), ("b2", 0), ("b3", 1), ("__acker", 0)] {
        assert_eq!(core_of(&numbering, &placement, component), Home::Core(CoreIndex(core)), "{component}");
    }
}

#[test]
fn every_core_that_hosts_a_spout_gets_an_acker() {
    let mut topology = word_count();
    topology.components.get_mut("words").unwrap().parallelism_hint = Some(3);
    let (numbering, placement) = placed(&topology, 8);
    assert_eq!(numbering.ackers().len(), 3);
    for core in 0..3 {
        assert_eq!(placement.home_of_task(TaskId(core + 1)), Some(Home::Core(CoreIndex(core as usize))));
    }
}

#[test]
fn more_ackers_than_spout_cores_go_round() {
    let mut config = Config::new();
    config.set(keys::TOPOLOGY_ACKER_EXECUTORS, 3, Origin::COMMAND_LINE);
    let numbering = number(&word_count(), &config, 1).unwrap();
    let placement = place(&numbering, &word_count(), cores(2));
    assert_eq!(placement.executors_on(CoreIndex(0)).iter().filter(|executor| executor.first.0 <= 3).count(), 3);
}

#[test]
fn blocking_spouts_have_their_own_threads_and_still_one_acker() {
    let mut topology = word_count();
    topology.components.get_mut("words").unwrap().execution = Execution::Blocking;
    let (numbering, placement) = placed(&topology, 2);
    assert_eq!(core_of(&numbering, &placement, "words"), Home::OwnThread);
    assert_eq!(placement.on_own_threads().count(), 1);
    assert_eq!(core_of(&numbering, &placement, "__acker"), Home::Core(CoreIndex(0)));
    assert_eq!(core_of(&numbering, &placement, "split"), Home::Core(CoreIndex(0)));
}

#[test]
fn unknown_tasks_and_cores_have_no_home() {
    let (numbering, placement) = placed(&word_count(), 2);
    assert_eq!(placement.home_of_task(TaskId::SYSTEM), None);
    assert_eq!(placement.home_of_task(TaskId(numbering.task_count() as i32 + 1)), None);
    assert!(placement.executors_on(CoreIndex(2)).is_empty());
    assert!(numbering.executors_of(&id("ghost")).is_empty());
}

proptest! {
    #[test]
    fn every_executor_is_placed_once_and_evenly(topology in topologies(), core_count in 1_usize..9) {
        let (numbering, placement) = placed(&topology, core_count);
        let on_cores: Vec<ExecutorId> = placement.cores().flat_map(|(_, executors)| executors.to_vec()).collect();
        let mut all: Vec<ExecutorId> = on_cores.iter().copied().chain(placement.on_own_threads()).collect();
        all.sort();
        prop_assert_eq!(all, numbering.executors().iter().map(|executor| executor.id).collect::<Vec<_>>());
        for executor in numbering.executors() {
            for task in executor.id.tasks() {
                prop_assert_eq!(placement.home_of_task(task), placement.home_of(executor.id));
            }
            let blocking = topology.components.get(&executor.component)
                .is_some_and(|component| component.execution == Execution::Blocking);
            prop_assert_eq!(placement.home_of(executor.id) == Some(Home::OwnThread), blocking);
        }
        let ackers = numbering.ackers();
        let dealt = |core: CoreIndex| {
            let on_core = placement.executors_on(core).iter();
            on_core.filter(|executor| !ackers.contains(&executor.first)).count()
        };
        let counts: Vec<usize> = (0..core_count).map(|core| dealt(CoreIndex(core))).collect();
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
        prop_assert_eq!(&placed(&topology, core_count).1, &placement);
    }

    #[test]
    fn ackers_live_where_spouts_live(topology in topologies(), core_count in 1_usize..9) {
        let (numbering, placement) = placed(&topology, core_count);
        let homes = |wanted: &dyn Fn(&str) -> bool| {
            let executors = numbering.executors().iter().filter(|executor| wanted(&executor.component));
            let mut homes: Vec<Home> = executors.map(|executor| placement.home_of(executor.id).unwrap()).collect();
            homes.retain(|home| *home != Home::OwnThread);
            homes.sort();
            homes
        };
        let mut spouts = homes(&|component| {
            topology.components.get(component).is_some_and(|component| component.kind == ComponentKind::Spout)
        });
        spouts.dedup();
        let ackers = homes(&|component| component == ACKER_COMPONENT);
        prop_assert_eq!(ackers, if spouts.is_empty() { vec![Home::Core(CoreIndex(0))] } else { spouts });
    }
}
