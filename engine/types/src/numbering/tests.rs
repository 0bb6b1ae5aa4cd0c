//! Numbering against the rules as Storm documents them, and its laws.

use proptest::prelude::*;

use super::*;
use crate::config::Origin;
use crate::testing::{emitting, id, topologies, word_count};

fn set(key: &str, value: u32) -> Config {
    let mut config = Config::new();
    config.set(key, value, Origin::COMMAND_LINE);
    config
}

fn tasks(numbering: &Numbering, component: &str) -> Vec<i32> {
    numbering.tasks_of(component).iter().map(|task| task.0).collect()
}

fn executors(numbering: &Numbering, component: &str) -> Vec<String> {
    numbering.executors_of(component).iter().map(|executor| executor.id.to_string()).collect()
}

#[test]
fn components_are_numbered_in_string_order_behind_the_ackers() {
    let numbering = number(&word_count(), &Config::new(), 2).unwrap();
    assert_eq!(tasks(&numbering, "__acker"), [1, 2]);
    assert_eq!(tasks(&numbering, "count"), [3, 4]);
    assert_eq!(tasks(&numbering, "split"), [5, 6]);
    assert_eq!(tasks(&numbering, "words"), [7]);
    assert_eq!(numbering.component_of(TaskId(6)).unwrap(), "split");
    assert_eq!(numbering.component_of(TaskId(8)), None);
    assert_eq!(numbering.component_of(TaskId::SYSTEM), None);
    assert_eq!(numbering.task_count(), 7);
}

#[test]
fn upper_case_and_dollar_come_before_the_acker_and_lower_case_after() {
    let mut topology = Topology::default();
    // The last two are in a different order by bytes and by UTF-16 units.
    for name in ["a", "Z", "$checkpoint", "\u{FF5E}", "\u{1F300}"] {
        topology.components.insert(id(name), emitting(Component::spout(), 1, &["x"]));
    }
    let numbering = number(&topology, &Config::new(), 1).unwrap();
    let order: Vec<&str> = numbering.executors().iter().map(|executor| executor.component.as_str()).collect();
    assert_eq!(order, ["$checkpoint", "Z", "__acker", "a", "\u{1F300}", "\u{FF5E}"]);
}

#[test]
fn larger_executors_come_first() {
    let tasks: Vec<TaskId> = (1..=10).map(TaskId).collect();
    let shown = |count| split_into_executors(&tasks, count).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(shown(4), ["[1,3]", "[4,6]", "[7,8]", "[9,10]"]);
    assert_eq!(shown(1), ["[1,10]"]);
    assert_eq!(shown(0), ["[1,10]"]);
    assert_eq!(shown(u32::MAX).len(), 10);
    assert!(split_into_executors(&[], 3).is_empty());
}

#[test]
fn tasks_come_from_the_component_then_its_configuration_then_its_parallelism() {
    let mut topology = word_count();
    let count = topology.components.get_mut("count").unwrap();
    count.config = set(keys::TOPOLOGY_TASKS, 5);
    assert_eq!(executors(&number(&topology, &Config::new(), 0).unwrap(), "count"), ["[1,3]", "[4,5]"]);
    topology.components.get_mut("count").unwrap().task_count = Some(3);
    assert_eq!(executors(&number(&topology, &Config::new(), 0).unwrap(), "count"), ["[1,2]", "[3,3]"]);
    topology.components.get_mut("words").unwrap().parallelism_hint = None;
    assert_eq!(executors(&number(&topology, &Config::new(), 0).unwrap(), "words"), ["[6,6]"]);
    // A number of tasks for the whole topology is not the number of tasks of each component.
    assert_eq!(number(&topology, &set(keys::TOPOLOGY_TASKS, 9), 0).unwrap().task_count(), 6);
}

#[test]
fn the_limit_of_a_component_goes_before_that_of_the_topology() {
    let mut topology = word_count();
    topology.components.get_mut("count").unwrap().task_count = Some(8);
    topology.components.get_mut("split").unwrap().task_count = Some(8);
    topology.components.get_mut("split").unwrap().config = set(keys::TOPOLOGY_MAX_TASK_PARALLELISM, 6);
    let numbering = number(&topology, &set(keys::TOPOLOGY_MAX_TASK_PARALLELISM, 1), 3).unwrap();
    assert_eq!(numbering.tasks_of("count").len(), 1);
    assert_eq!(executors(&numbering, "count"), ["[4,4]"]);
    assert_eq!(numbering.tasks_of("split").len(), 6);
    // Ackers are added after the limit has been applied.
    assert_eq!(numbering.ackers().len(), 3);
}

#[test]
fn ackers_are_as_many_as_the_setting_says() {
    let numbering = number(&word_count(), &set(keys::TOPOLOGY_ACKER_EXECUTORS, 0), 4).unwrap();
    assert!(numbering.ackers().is_empty());
    assert_eq!(tasks(&numbering, "count"), [1, 2]);
    assert!(numbering.components().any(|(component, tasks)| component == "__acker" && tasks.is_empty()));
    let numbering = number(&word_count(), &set(keys::TOPOLOGY_ACKER_EXECUTORS, 3), 4).unwrap();
    assert_eq!(executors(&numbering, "__acker"), ["[1,1]", "[2,2]", "[3,3]"]);
}

#[test]
fn an_absurd_parallelism_is_an_error_and_not_an_empty_memory() {
    let mut topology = word_count();
    topology.components.get_mut("count").unwrap().parallelism_hint = Some(u32::MAX);
    let error = number(&topology, &Config::new(), 1).unwrap_err();
    assert_eq!(error, NumberingError::TooManyTasks { tasks: u64::from(u32::MAX) + 4 });
}

proptest! {
    #[test]
    fn tasks_and_executors_are_gapless_and_even(topology in topologies(), ackers in 0_u32..4) {
        let numbering = number(&topology, &Config::new(), ackers).unwrap();
        let mut expected = 1;
        for executor in numbering.executors() {
            prop_assert_eq!(executor.id.first, TaskId(expected));
            for task in executor.id.tasks() {
                prop_assert_eq!(numbering.executor_of(task), Some(executor));
                prop_assert!(numbering.tasks_of(&executor.component).contains(&task));
            }
            expected = executor.id.last.0 + 1;
        }
        prop_assert_eq!(expected as usize, numbering.task_count() + 1);
        for (id, component) in &topology.components {
            let sizes: Vec<usize> =
                numbering.executors_of(id).iter().map(|executor| executor.id.task_count()).collect();
            prop_assert_eq!(sizes.len(), component.parallelism_hint.unwrap() as usize);
            prop_assert!(sizes.is_sorted_by(|left, right| left >= right));
            prop_assert!(sizes[0] - sizes[sizes.len() - 1] <= 1);
        }
        prop_assert_eq!(number(&topology, &Config::new(), ackers).unwrap(), numbering);
    }
}

#[test]
fn after_a_rebalance_fewer_executors_share_the_ackers() {
    let mut topology = Topology::default();
    topology.components.insert(ComponentId::new("words").unwrap(), Component::spout());
    let mut config = Config::new();
    config.set_ackers(5, 2, &Origin::DEFAULT);
    let numbering = number(&topology, &config, 9).unwrap();
    let ids: Vec<(i32, i32)> = numbering.executors().iter().map(|it| (it.id.first.0, it.id.last.0)).collect();
    assert_eq!(ids, [(1, 3), (4, 5), (6, 6)]);
    config.set_ackers(2, 7, &Origin::DEFAULT);
    assert_eq!(number(&topology, &config, 9).unwrap().executors_of(ACKER_COMPONENT).len(), 2);
}
