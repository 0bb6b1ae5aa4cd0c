//! The order of a round's writes: after each of them no slot belongs to two topologies.
//!
//! A topology that gets a slot is written after the one that gives it up. Where that goes round in a circle, one of them
//! is first written with what it keeps, and once more when the others have let go.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ringstorm_scheduler::{Assignment as Slots, WorkerSlot};

/// What a topology has, and what it is to have.
pub(crate) struct Move<'a> {
    pub(crate) before: &'a Slots,
    pub(crate) after: &'a Slots,
}

impl Move<'_> {
    /// The executors that stay where they are.
    pub(crate) fn kept(&self) -> Slots {
        let stays = |(executor, slot): &(_, &WorkerSlot)| self.before.get(*executor) == Some(slot);
        self.after.iter().filter(stays).map(|(executor, slot)| (*executor, slot.clone())).collect()
    }
}

/// What is written of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// What stays only.
    Release(usize),
    /// What is to be.
    Write(usize),
}

/// Every move is written, those of lower index first where it makes no difference.
pub(crate) fn steps(moves: &[Move<'_>]) -> Vec<Step> {
    let mut givers: HashMap<&WorkerSlot, Vec<usize>> = HashMap::new();
    for (giver, of) in moves.iter().enumerate() {
        let after: BTreeSet<&WorkerSlot> = of.after.values().collect();
        let given: BTreeSet<&WorkerSlot> = of.before.values().filter(|slot| !after.contains(slot)).collect();
        given.into_iter().for_each(|slot| givers.entry(slot).or_default().push(giver));
    }
    // Whom each waits for, and who waits for each.
    let mut waits: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut waiting: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (taker, of) in moves.iter().enumerate() {
        let others = of.after.values().filter_map(|slot| givers.get(slot)).flatten().filter(|giver| **giver != taker);
        let others: BTreeSet<usize> = others.copied().collect();
        for giver in &others {
            waiting.entry(*giver).or_default().insert(taker);
        }
        waits.insert(taker, others);
    }
    let mut ready: BTreeSet<usize> =
        waits.iter().filter(|(_, others)| others.is_empty()).map(|(taker, _)| *taker).collect();
    let mut steps = Vec::new();
    loop {
        let step = match ready.pop_first() {
            Some(next) => {
                waits.remove(&next);
                Step::Write(next)
            }
            // All that are left wait for each other, so that each of them that is waited for has something to give.
            None => match waits.keys().find(|index| waiting.contains_key(index)) {
                Some(next) => Step::Release(*next),
                None => return steps,
            },
        };
        let (Step::Write(done) | Step::Release(done)) = step;
        for taker in waiting.remove(&done).unwrap_or_default() {
            if let Some(others) = waits.get_mut(&taker) {
                others.remove(&done);
                if others.is_empty() {
                    ready.insert(taker);
                }
            }
        }
        steps.push(step);
    }
}

#[cfg(test)]
mod tests {
    use ringstorm_types::{ExecutorId, TaskId};

    use super::*;

    /// An executor in each of these slots.
    fn slots(ports: &[u16]) -> Slots {
        let executor = |port: u16| ExecutorId { first: TaskId(i32::from(port)), last: TaskId(i32::from(port)) };
        ports.iter().map(|port| (executor(*port), WorkerSlot { node_id: "n".into(), port: *port })).collect()
    }

    fn steps_of(moves: &[(&[u16], &[u16])]) -> Vec<Step> {
        let moves: Vec<(Slots, Slots)> = moves.iter().map(|(before, after)| (slots(before), slots(after))).collect();
        steps(&moves.iter().map(|(before, after)| Move { before, after }).collect::<Vec<_>>())
    }

    #[test]
    fn who_takes_comes_after_who_gives() {
        use Step::{Release, Write};
        assert_eq!(steps_of(&[(&[1], &[1]), (&[2], &[3])]), [Write(0), Write(1)]);
        assert_eq!(steps_of(&[(&[1], &[2]), (&[2], &[3]), (&[3], &[])]), [Write(2), Write(1), Write(0)]);
        assert_eq!(steps_of(&[(&[1, 5], &[2, 5]), (&[2], &[1])]), [Release(0), Write(1), Write(0)]);
        assert_eq!(
            steps_of(&[(&[1], &[2]), (&[2], &[3]), (&[3], &[1]), (&[], &[4])]),
            [Write(3), Release(0), Write(2), Write(1), Write(0)]
        );
        // Two of them claim a slot that a third gets.
        assert_eq!(steps_of(&[(&[], &[1]), (&[1], &[]), (&[1], &[])]), [Write(1), Write(2), Write(0)]);
    }
}
