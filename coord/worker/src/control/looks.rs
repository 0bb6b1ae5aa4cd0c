//! When the tree is looked at, and what such a look is.
//!
//! A look reads all that concerns the worker, and arms the watches. What comes of it may be stale, unless it is a fresh
//! one, which sees everything that was written before.
//!
//! Invariants: one look at a time; a look that was asked for while another was under way follows it. Threading: plain
//! data. Errors: a look that ended in trouble is begun again after a pause that grows.

use ringstorm_control::time::{Moment, Now};
use ringstorm_records::records::{Assignment, LogConfig, StormBase};
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::{Reading, Tree, Trouble};

use crate::settings::WorkerSettings;

/// What a look has seen.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) assignment: Reading<Assignment>,
    /// At least as new as the assignment.
    pub(super) base: Reading<StormBase>,
    pub(super) log_levels: Reading<LogConfig>,
}

/// Looks at the tree.
pub(super) async fn look(tree: Tree, topology: NodeName, is_fresh: bool) -> Result<Seen, Trouble> {
    if is_fresh {
        // What is read after it in this session is as fresh, and arms the watches besides.
        tree.read_fresh::<Assignment>(&Node::Assignment { topology: topology.clone() }).await?;
    }
    // In this order, as nimbus writes the numbers of executors before the assignment that is made of them.
    let assignment = tree.assignment(&topology, true).await?;
    let base = tree.storm_base(&topology, true).await?;
    let log_levels = tree.log_config(&topology, true).await?;
    Ok(Seen { assignment, base, log_levels })
}

/// When the tree is looked at.
#[derive(Debug, Default)]
pub(super) struct Looks {
    due: Moment,
    /// Whether the next one has to be fresh.
    is_fresh: bool,
    /// Of the one that is under way: whether it is fresh.
    under_way: Option<bool>,
    last_began: Moment,
    troubles: u32,
}

impl Looks {
    /// One is wanted not later than then.
    pub(super) fn ask(&mut self, at: Moment, is_fresh: bool) {
        self.due = self.due.min(at);
        self.is_fresh |= is_fresh;
    }

    /// One is wanted, but not soon after another one.
    pub(super) fn ask_sparingly(&mut self, now: Now, settings: &WorkerSettings) {
        self.ask(now.moment.max(self.last_began + settings.confirmation_pause), false);
    }

    /// When the next one is due, unless one is under way.
    pub(super) fn due(&self) -> Option<Moment> {
        self.under_way.is_none().then_some(self.due)
    }

    /// Whether one begins now; then whether it is a fresh one.
    pub(super) fn begin(&mut self, now: Now, settings: &WorkerSettings) -> Option<bool> {
        if self.due().is_none_or(|due| due > now.moment) {
            return None;
        }
        let is_fresh = std::mem::take(&mut self.is_fresh);
        self.under_way = Some(is_fresh);
        self.last_began = now.moment;
        self.due = now.moment + settings.look_period;
        Some(is_fresh)
    }

    /// It ended in trouble. Returns whether it is the first trouble in a row.
    pub(super) fn failed(&mut self, now: Now, settings: &WorkerSettings) -> bool {
        let was_fresh = self.under_way.take().unwrap_or_default();
        self.troubles = self.troubles.saturating_add(1);
        self.is_fresh |= was_fresh;
        // A pause also where it was asked for at once meanwhile.
        self.due = now.moment + settings.pause(self.troubles);
        self.troubles == 1
    }

    /// It ended well. Returns whether there was trouble before.
    pub(super) fn ended(&mut self) -> bool {
        self.under_way = None;
        std::mem::take(&mut self.troubles) > 0
    }
}
