//! Choosing target tasks: Storm's groupings over the tasks of one subscription.
//!
//! Where a rule of Storm fixes the choice (fields, partial key, global, plain shuffle) the choice is Storm's, task for
//! task. Load-aware shuffle is plain round robin while the targets' waiting work differs little, else the emptier ones.
//!
//! Threading: each emitting task has its own grouper. Errors: none; validation has settled that fields exist.

use ringstorm_tuple::hash;

use crate::api::emittable::Emittable;
use crate::api::grouping::{CustomGrouping, GroupedTuple};
use crate::core::shuffle::Shuffle;
use crate::core::small_random::SmallRandom;
use crate::core::transfer::Transfer;

/// How one emitting task chooses among the tasks of one subscriber.
pub(crate) enum Grouper {
    /// There is only one task to choose, whatever the grouping: its outlet is known.
    One {
        task: u32,
        outlet: u32,
    },
    Shuffle(Shuffle),
    Fields {
        indices: Box<[usize]>,
        tasks: Box<[u32]>,
    },
    PartialKey {
        /// None where the grouping has no fields: the text of the first value is the key.
        indices: Box<[usize]>,
        tasks: Box<[u32]>,
        sent: Box<[u64]>,
    },
    All {
        tasks: Box<[u32]>,
    },
    None {
        tasks: Box<[u32]>,
        random: SmallRandom,
    },
    /// Only direct emits reach it.
    Direct {
        tasks: Box<[u32]>,
    },
    Custom {
        grouping: Box<dyn CustomGrouping>,
        tasks: Box<[u32]>,
        chosen: Vec<usize>,
    },
}

impl Grouper {
    /// Calls `send` for each chosen task.
    #[inline]
    pub(crate) fn choose<E: Emittable, R>(
        &mut self,
        tuple: &E,
        transfer: &mut Transfer,
        mut send: impl FnMut(&mut Transfer, u32, u32) -> Result<(), R>,
    ) -> Result<(), R> {
        let task = match self {
            Self::One { task, outlet } => return send(transfer, *outlet, *task),
            Self::Shuffle(shuffle) => shuffle.next(transfer),
            Self::Fields { indices, tasks } => {
                let hash = hash::fields_hash(indices.iter().map(|index| tuple.field(*index)));
                tasks[hash::fields_task_index(hash, tasks.len())]
            }
            Self::PartialKey { indices, tasks, sent } => {
                let (first, second) = if indices.is_empty() {
                    hash::partial_key_choices_of_first(tuple.field(0), tasks.len())
                } else {
                    hash::partial_key_choices(indices.iter().map(|index| tuple.field(*index)), tasks.len())
                };
                let index = if sent[second] < sent[first] { second } else { first };
                sent[index] += 1;
                tasks[index]
            }
            Self::All { tasks } => {
                for task in &*tasks {
                    let outlet = outlet(transfer, *task);
                    send(transfer, outlet, *task)?;
                }
                return Ok(());
            }
            Self::None { tasks, random } => tasks[random.below(tasks.len())],
            Self::Direct { .. } => return Ok(()),
            Self::Custom { grouping, tasks, chosen } => {
                chosen.clear();
                grouping.choose(&GroupedTuple(tuple), chosen);
                for index in &*chosen {
                    if let Some(task) = tasks.get(*index) {
                        let outlet = outlet(transfer, *task);
                        send(transfer, outlet, *task)?;
                    }
                }
                return Ok(());
            }
        };
        let outlet = outlet(transfer, task);
        send(transfer, outlet, task)
    }

    /// Whether `task` may be named in a direct emit.
    pub(crate) fn allows_direct(&self, task: u32) -> bool {
        match self {
            Self::Direct { tasks } => tasks.contains(&task),
            _ => false,
        }
    }
}

#[inline]
fn outlet(transfer: &Transfer, task: u32) -> u32 {
    transfer.outlet_of(task).expect("subscribers' tasks are tasks of the topology")
}
