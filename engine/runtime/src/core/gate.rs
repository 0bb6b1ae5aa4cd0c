//! Whether an executor may run: it may not while a target that it may emit to is paused or unreachable.
//!
//! Shuffled streams are held only while *all* their targets are, since the others can take the tuples. Targets in the
//! same cycle never hold each other: such a cycle would wait for itself for ever.
//!
//! Invariants: the answer is recomputed only when [`Transfer::gate_version`] moved.

use crate::core::transfer::Transfer;

/// The targets of one subscription.
#[derive(Debug, Clone)]
pub(crate) struct GateRoute {
    pub(crate) tasks: Box<[u32]>,
    /// The grouping can avoid a paused task, so that one open target is enough.
    pub(crate) any_is_enough: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Gate {
    routes: Vec<GateRoute>,
    seen_version: Option<u64>,
    open: bool,
    /// The first task that holds this executor, for the report of why a spout waits.
    held_by: Option<u32>,
}

impl Gate {
    pub(crate) fn new(routes: Vec<GateRoute>) -> Self {
        Self { routes, seen_version: None, open: true, held_by: None }
    }

    #[inline]
    pub(crate) fn is_open(&mut self, transfer: &Transfer) -> bool {
        if self.seen_version != Some(transfer.gate_version) {
            self.recompute(transfer);
        }
        self.open
    }

    pub(crate) fn held_by(&self) -> Option<u32> {
        self.held_by
    }

    fn recompute(&mut self, transfer: &Transfer) {
        self.seen_version = Some(transfer.gate_version);
        self.held_by = self.routes.iter().find_map(|route| {
            let closed = route.tasks.iter().copied().find(|task| !transfer.may_emit(*task))?;
            let held = !route.any_is_enough || !route.tasks.iter().any(|task| transfer.may_emit(*task));
            held.then_some(closed)
        });
        self.open = self.held_by.is_none();
    }
}
