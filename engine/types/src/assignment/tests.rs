//! What is an assignment and what is not.

use super::*;
use crate::config::Config;
use crate::numbering::number;
use crate::testing::word_count;

/// The executors of `word_count`, by turns for two workers.
fn assignment(numbering: &Numbering) -> Assignment {
    let worker = |number: u64, executors: Vec<ExecutorId>| AssignedWorker {
        number,
        incarnation: 1,
        address: format!("host:{}", 6700 + number),
        cores: NonZeroUsize::MIN,
        executors,
    };
    let (even, odd): (Vec<_>, Vec<_>) = numbering.executors().iter().enumerate().partition(|(index, _)| index % 2 == 0);
    let ids =
        |part: Vec<(usize, &crate::numbering::Executor)>| part.into_iter().map(|(_, executor)| executor.id).collect();
    Assignment {
        topology_id: "words-1-1795972824".into(),
        version: 7,
        secret: WorkerSecret("0123456789abcdef0123456789abcdef".into()),
        acker_executors: 1,
        active: true,
        workers: vec![worker(3, ids(even)), worker(9, ids(odd))],
    }
}

fn numbering() -> Numbering {
    number(&word_count(), &Config::new(), 1).unwrap()
}

#[test]
fn one_that_gives_every_executor_to_one_worker_is_taken() {
    let assignment = assignment(&numbering());
    assert_eq!(assignment.check(&numbering()), Ok(()));
    assert_eq!((assignment.position_of(9), assignment.position_of(4)), (Some(1), None));
}

#[test]
fn it_survives_json_and_shows_executors_as_storm_does() {
    let assignment = assignment(&numbering());
    let text = serde_json::to_string(&assignment).unwrap();
    assert!(text.contains("\"executors\":[[1,1],"), "{text}");
    assert_eq!(serde_json::from_str::<Assignment>(&text).unwrap(), assignment);
    assert!(!format!("{assignment:?}").contains("0123456789abcdef"), "a secret is not shown");
}

#[test]
fn each_broken_rule_is_named() {
    let numbering = numbering();
    let broken = |change: &dyn Fn(&mut Assignment)| {
        let mut assignment = assignment(&numbering);
        change(&mut assignment);
        assignment.check(&numbering).unwrap_err()
    };
    let executor = |task| ExecutorId { first: TaskId(task), last: TaskId(task) };
    assert_eq!(broken(&|it| it.workers[1].number = 3), AssignmentError::WorkerTwice(3));
    assert_eq!(broken(&|it| it.workers[0].executors.clear()), AssignmentError::NothingToRun(3));
    assert_eq!(broken(&|it| it.secret.0.truncate(31)), AssignmentError::Secret(31));
    let lost = assignment(&numbering).workers[0].executors[0];
    assert_eq!(broken(&|it| it.workers[0].executors.retain(|id| *id != lost)), AssignmentError::Unassigned(lost));
    assert_eq!(broken(&|it| it.workers[1].executors.push(lost)), AssignmentError::ExecutorTwice(lost));
    assert_eq!(
        broken(&|it| it.workers[1].executors.push(executor(99))),
        AssignmentError::UnknownExecutor(executor(99))
    );
    let many = NonZeroUsize::new(CORES_MAX + 1).unwrap();
    assert_eq!(broken(&|it| it.workers[1].cores = many), AssignmentError::Cores { worker: 9, cores: CORES_MAX + 1 });
}

/// What the README shows is an assignment of the topology that it is said to be one of.
#[test]
fn the_example_of_the_readme_is_one_for_word_count() {
    let readme = include_str!("../../../../README.md");
    let (_, behind) = readme.split_once("```json\n{\n  \"topology_id\"").expect("the README has an example");
    let (body, _) = behind.split_once("```").unwrap();
    let assignment: Assignment = serde_json::from_str(&format!("{{\n  \"topology_id\"{body}")).unwrap();
    assert_eq!(assignment.check(&readme_numbering(&assignment)), Ok(()));
    assert!(assignment.active && assignment.workers.iter().all(|worker| !worker.address.is_empty()));
}

/// The topology of the README has `lines`, and two executors of `split` and of `count`.
fn readme_numbering(assignment: &Assignment) -> Numbering {
    let mut topology = word_count();
    let words = topology.components.remove("words").unwrap();
    topology.components.insert(crate::testing::id("lines"), words);
    let hints: Vec<_> = topology.components.iter().map(|(id, it)| (id.as_str(), it.parallelism_hint)).collect();
    assert_eq!(hints, [("count", Some(2)), ("lines", Some(1)), ("split", Some(2))]);
    number(&topology, &Config::new(), assignment.acker_executors).unwrap()
}
