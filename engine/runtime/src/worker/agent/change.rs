//! What a new assignment means for a worker that runs by an older one.
//!
//! Pure, but for what it learns. An assignment that is not one for the topology is refused before (see `Blueprint::new`).

use std::collections::BTreeMap;

use ringstorm_types::assignment::{AssignedWorker, Assignment};
use ringstorm_types::generations::Generations;

/// What a worker does about an assignment that is not older than its own.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It ends: another process does what it did, or nobody does.
    Leave(&'static str),
    /// It goes on.
    Stay(Stay),
}

/// What changes around a worker that goes on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stay {
    /// Tasks live elsewhere than before.
    pub(crate) is_rewired: bool,
    /// Other workers whose processes are others now, and the lowest incarnation of these.
    pub(crate) renewed: BTreeMap<u64, u64>,
    /// Workers that run nothing any more.
    pub(crate) gone: Vec<u64>,
    /// Where spouts are switched on or off.
    pub(crate) active: Option<bool>,
}

/// Compares the assignment that worker `own` runs with a new one. `incarnation` is its own; `known` learns whose process
/// is of the past now.
pub(crate) fn change(
    old: &Assignment,
    new: &Assignment,
    own: u64,
    incarnation: u64,
    known: &mut Generations,
) -> Change {
    let by_number = |assignment: &Assignment| -> BTreeMap<u64, AssignedWorker> {
        assignment.workers.iter().map(|worker| (worker.number, worker.clone())).collect()
    };
    let (before, after) = (by_number(old), by_number(new));
    let Some(mine) = after.get(&own) else {
        return Change::Leave("the assignment has nothing for this worker any more");
    };
    if mine.incarnation > incarnation {
        return Change::Leave("a newer process has taken the place of this one");
    }
    let is_same_program = new.topology_id == old.topology_id
        && new.secret == old.secret
        && new.acker_executors == old.acker_executors
        && before.get(&own).is_some_and(|before| runs_the_same(before, mine));
    if !is_same_program {
        return Change::Leave(
            "the assignment gives this worker something else to run, or another secret, topology or number of ackers, which a new process has to do",
        );
    }
    let mut stay = Stay { active: (new.active != old.active).then_some(new.active), ..Stay::default() };
    for (number, worker) in after.iter().filter(|(number, _)| **number != own) {
        let Some(before) = before.get(number) else {
            stay.is_rewired = true;
            continue;
        };
        let other_tasks = !runs_the_same(before, worker);
        stay.is_rewired |= other_tasks;
        if other_tasks || worker.incarnation > before.incarnation {
            let lowest = if other_tasks { known.succeed(*number, old.version) } else { 0 };
            stay.renewed.insert(*number, worker.incarnation.max(lowest));
        }
    }
    stay.gone = before.keys().copied().filter(|number| !after.contains_key(number)).collect();
    for worker in &stay.gone {
        // If it comes back, it is by another process.
        known.succeed(*worker, old.version);
    }
    stay.is_rewired |= !stay.gone.is_empty();
    Change::Stay(stay)
}

/// Whether two assignments give the same work to the same workers. Those of one version must: its number is how workers
/// know that they speak of one plan. Where a worker is reached, its incarnation and whether spouts are active may differ.
pub(crate) fn is_same_plan(one: &Assignment, other: &Assignment) -> bool {
    let has_same = |worker: &AssignedWorker| {
        other.position_of(worker.number).is_some_and(|position| runs_the_same(worker, &other.workers[position]))
    };
    one.topology_id == other.topology_id
        && one.secret == other.secret
        && one.acker_executors == other.acker_executors
        && one.workers.len() == other.workers.len()
        && one.workers.iter().all(has_same)
}

fn runs_the_same(one: &AssignedWorker, other: &AssignedWorker) -> bool {
    let sorted = |worker: &AssignedWorker| {
        let mut executors = worker.executors.clone();
        executors.sort_unstable();
        executors
    };
    one.cores == other.cores && sorted(one) == sorted(other)
}

#[cfg(test)]
mod tests {
    //! Each way in which an assignment can change.

    use std::num::NonZeroUsize;

    use ringstorm_types::assignment::WorkerSecret;
    use ringstorm_types::{ExecutorId, TaskId};

    use super::*;

    fn worker(number: u64, tasks: &[i32]) -> AssignedWorker {
        let executors = tasks.iter().map(|task| ExecutorId { first: TaskId(*task), last: TaskId(*task) }).collect();
        AssignedWorker { number, incarnation: 10, address: String::new(), cores: NonZeroUsize::MIN, executors }
    }

    fn assignment(workers: Vec<AssignedWorker>) -> Assignment {
        let secret = WorkerSecret("0".repeat(32));
        Assignment { topology_id: "t".into(), version: 5, secret, acker_executors: 1, active: true, workers }
    }

    fn after(edit: impl FnOnce(&mut Assignment)) -> Change {
        let old = assignment(vec![worker(1, &[1, 2]), worker(2, &[3]), worker(3, &[4])]);
        let mut new = old.clone();
        edit(&mut new);
        let mut known = Generations::default();
        for worker in &old.workers {
            known.hear_of_process(worker.number, worker.incarnation);
        }
        change(&old, &new, 1, 10, &mut known)
    }

    #[test]
    fn nothing_changes_when_nothing_changed() {
        assert_eq!(after(|_| {}), Change::Stay(Stay::default()));
        assert_eq!(after(|it| it.version = 9), Change::Stay(Stay::default()));
        assert_eq!(after(|it| it.workers[0].executors.reverse()), Change::Stay(Stay::default()));
    }

    #[test]
    fn who_has_other_work_or_none_or_a_successor_leaves() {
        let leaves = |edit: fn(&mut Assignment)| assert!(matches!(after(edit), Change::Leave(_)));
        leaves(|it| drop(it.workers.remove(0)));
        leaves(|it| it.workers[0].executors.truncate(1));
        leaves(|it| it.workers[0].incarnation = 11);
        leaves(|it| it.acker_executors = 2);
    }

    #[test]
    fn others_that_are_new_processes_are_named() {
        let renewed = |pairs: &[(u64, u64)]| pairs.iter().copied().collect::<BTreeMap<_, _>>();
        let stay = Stay { renewed: renewed(&[(2, 12)]), ..Stay::default() };
        assert_eq!(after(|it| it.workers[1].incarnation = 12), Change::Stay(stay));
        let stay = Stay { renewed: renewed(&[(2, 11)]), gone: vec![3], is_rewired: true, ..Stay::default() };
        let move_all = |it: &mut Assignment| {
            let moved = it.workers.remove(2).executors;
            it.workers[1].executors.extend(moved);
        };
        assert_eq!(after(move_all), Change::Stay(stay));
        let stay = Stay { gone: vec![3], is_rewired: true, ..Stay::default() };
        assert_eq!(after(|it| it.workers[2].number = 4), Change::Stay(stay));
    }

    #[test]
    fn a_plan_is_who_runs_what() {
        let old = assignment(vec![worker(1, &[1, 2]), worker(2, &[3])]);
        let is_same = |edit: fn(&mut Assignment)| {
            let mut new = old.clone();
            edit(&mut new);
            is_same_plan(&old, &new)
        };
        assert!(is_same(|_| {}) && is_same(|it| it.active = false) && is_same(|it| it.workers.reverse()));
        assert!(is_same(|it| it.workers[0].incarnation += 1) && is_same(|it| it.workers[0].address = "host:1".into()));
        assert!(!is_same(|it| it.workers[1].number = 3) && !is_same(|it| drop(it.workers.pop())));
        assert!(!is_same(|it| it.workers[0].executors.truncate(1)) && !is_same(|it| it.acker_executors = 2));
        assert!(!is_same(|it| it.topology_id = "u".into()) && !is_same(|it| it.secret.0.push('1')));
        let more = NonZeroUsize::new(2).unwrap();
        assert!(!is_same_plan(
            &old,
            &Assignment {
                workers: vec![AssignedWorker { cores: more, ..worker(1, &[1, 2]) }, worker(2, &[3])],
                ..old.clone()
            }
        ));
    }

    #[test]
    fn a_switch_of_spouts_is_that_alone() {
        let stay = Stay { active: Some(false), ..Stay::default() };
        assert_eq!(after(|it| it.active = false), Change::Stay(stay));
    }
}
