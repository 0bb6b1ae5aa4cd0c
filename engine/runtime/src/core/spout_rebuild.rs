//! When a spout's code fails: its task is rebuilt from its factory, or gives up.
//!
//! Threading: belongs to one core.

use ringstorm_acking::Pending;

use crate::api::collector::SpoutCollector;
use crate::api::spout::{Next, Spout};
use crate::core::failure::{caught, drop_safely, rebuild_failed, too_often};
use crate::core::spout_executor::SpoutExecutor;
use crate::core::spout_task::{BACK_OFF_FIRST_NS, Wait};
use crate::core::transfer::Transfer;

impl SpoutExecutor {
    /// The task's memory is in doubt: what it waits for is forgotten and a new one starts. `untold`: messages that are not
    /// pending any more, and of whose fate it was not told.
    #[cold]
    pub(super) fn rebuild(&mut self, index: usize, text: String, untold: usize, transfer: &mut Transfer) {
        let task = &mut self.tasks[index];
        task.output.refused = None;
        task.tracker.settled.clear();
        let mut forgotten = 0;
        task.tracker.pending.drain_where(
            |_| true,
            |root, _| {
                transfer.folder.forget(root);
                forgotten += 1;
            },
        );
        // User code may have unwound in the middle of a range of acks, which leaves the table's own count wrong.
        task.tracker.pending = Pending::new();
        self.stats.failed += forgotten;
        let left = forgotten + untold as u64;
        let mut fatal = task.failures.add(transfer.now_ns) >= self.failure_limit;
        let mut text = if fatal {
            format!("{text}; {}", too_often(self.failure_limit))
        } else {
            format!(
                "{text}; the task was rebuilt, what it held in memory is lost, and {left} messages that were \
                 pending are left to its source"
            )
        };
        let (active, factory) = (self.active, &self.factory);
        let (context, spout) = (&task.context, &mut task.spout);
        // The old one goes first: it may hold what the new one needs, such as a file or a port.
        let dropped = drop_safely(std::mem::replace(spout, Box::new(Gone)));
        if let Some(dropped) = dropped {
            text = format!("{text}; dropping the old one {dropped}");
        }
        let rebuilt = caught(|| {
            if fatal {
                return Ok(());
            }
            *spout = factory();
            spout.open(context)?;
            if active {
                spout.activate();
            }
            Ok::<(), crate::BoxError>(())
        });
        fatal |= rebuild_failed(&mut text, "opening it again", rebuilt);
        // A source that fails at once must not keep its core from everything else.
        task.wait = if fatal { Wait::Finished } else { Wait::Until(transfer.now_ns + BACK_OFF_FIRST_NS) };
        self.report(index, text, fatal);
    }
}

/// Stands where a spout was, when its factory failed; the run is ending then.
pub(super) struct Gone;

impl Spout for Gone {
    fn declare(&self, _: &mut crate::api::declare::Declarer) {}
    fn next_tuple(&mut self, _: &mut SpoutCollector<'_>) -> crate::Result<Next> {
        Ok(Next::Finished)
    }
}
