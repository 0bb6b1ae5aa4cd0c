//! Storm's default scheduler: the even one, after it has freed the slots that are in the way of an even distribution.
//!
//! Source: `org.apache.storm.scheduler.DefaultScheduler` of Storm 2.8.2, with these of its ways kept on purpose:
//!
//! - Each topology that needed scheduling when the round began has a turn. In it, its bad slots are freed, and then *all*
//!   topologies are dealt out evenly, also those whose turn is still to come.
//! - A slot whose living executors are as many as an even distribution wants keeps them, even if its supervisor is gone:
//!   who is dead was decided before.
//!
//! It follows that what another topology's turn deals out can be uneven, and stays so; and that where slots are short,
//! a topology can lose a slot that it freed to one before it, and gets its executors placed in a later round.
//!
//! Storm lets Java's hash order decide two things. In which order topologies have their turns: here it is the order in
//! which the [`Cluster`] was given them. Which of several slots with equally many executors keep them when not all can:
//! here those that could be assigned again come first, then the order of slots. [`schedule_preferring`] leaves the second
//! to the caller.

use std::collections::BTreeMap;

use crate::even_scheduler::schedule_evenly;
use crate::{Cluster, Scheduler, TopologyIndex, WorkerSlot};

/// Deals executors out evenly. Slots with a number of executors that an even distribution does not want are freed first,
/// if their topology can have more slots than it has or misses executors.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefaultScheduler;

impl Scheduler for DefaultScheduler {
    fn schedule(&mut self, cluster: &mut Cluster) {
        schedule_preferring(cluster, |cluster, _, slot| !cluster.is_assignable(slot));
    }
}

/// As [`DefaultScheduler`], where `rank` says which of several slots of a topology with equally many executors keep them
/// when not all can: those of lower rank; of equal rank, the first in the order of slots.
pub fn schedule_preferring<R: Ord>(
    cluster: &mut Cluster,
    mut rank: impl FnMut(&Cluster, TopologyIndex, &WorkerSlot) -> R,
) {
    let in_need: Vec<TopologyIndex> =
        cluster.topologies().filter(|topology| cluster.needs_scheduling(*topology)).collect();
    for topology in in_need {
        for slot in bad_slots(cluster, topology, &mut rank) {
            cluster.free_slot(&slot);
        }
        schedule_evenly(cluster);
    }
}

/// The slots that a topology has to give up for an even distribution.
fn bad_slots<R: Ord>(
    cluster: &Cluster,
    topology: TopologyIndex,
    rank: &mut impl FnMut(&Cluster, TopologyIndex, &WorkerSlot) -> R,
) -> Vec<WorkerSlot> {
    let alive = cluster.slots(topology);
    let reassignable = alive.keys().filter(|slot| cluster.is_assignable(slot)).count();
    let available = reassignable + cluster.available_slot_count();
    let total = (cluster.topology(topology).worker_count as usize).min(available);
    if total == 0 || (total <= alive.len() && cluster.is_fully_assigned(topology)) {
        return Vec::new();
    }
    let mut wanted = integer_divided(cluster.topology(topology).executors.len(), total);
    let mut slots: Vec<(&WorkerSlot, usize)> = alive.iter().map(|(slot, executors)| (slot, executors.len())).collect();
    slots.sort_by_cached_key(|(slot, _)| rank(cluster, topology, slot));
    let mut is_kept = |executors: usize| match wanted.get_mut(&executors) {
        Some(slots) if *slots > 0 => {
            *slots -= 1;
            true
        }
        _ => false,
    };
    slots.into_iter().filter(|(_, executors)| !is_kept(*executors)).map(|(slot, _)| slot.clone()).collect()
}

/// How many of `pieces` have which size when `sum` is divided into them as evenly as whole numbers can be.
fn integer_divided(sum: usize, pieces: usize) -> BTreeMap<usize, usize> {
    let (base, larger) = (sum / pieces, sum % pieces);
    BTreeMap::from([(base, pieces - larger), (base + 1, larger)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_divided_as_evenly_as_can_be() {
        assert_eq!(integer_divided(10, 4), BTreeMap::from([(2, 2), (3, 2)]));
        assert_eq!(integer_divided(3, 5), BTreeMap::from([(0, 2), (1, 3)]));
        assert_eq!(integer_divided(6, 3), BTreeMap::from([(2, 3), (3, 0)]));
    }
}
