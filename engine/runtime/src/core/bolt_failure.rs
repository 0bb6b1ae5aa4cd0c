//! When a bolt's code fails: its tuple fails, and its task is rebuilt from its factory or gives up.
//!
//! Threading: belongs to one core.

use std::marker::PhantomData;

use crate::api::bolt::{CoreBolt, Step};
use crate::api::collector::BoltCollector;
use crate::api::context::TopologyContext;
use crate::api::input::Input;
use crate::core::bolt_executor::BoltExecutor;
use crate::core::failure::{TaskFailure, caught, drop_safely, error_text, rebuild_failed, too_often};
use crate::core::transfer::Transfer;
use crate::error::BoxError;

impl BoltExecutor {
    /// Reports a failure and, where the task's memory is in doubt, rebuilds it.
    #[cold]
    pub(super) fn settle_failure(&mut self, failure: ChunkFailure, transfer: &mut Transfer) {
        let ChunkFailure { task: index, mut text, rebuild } = failure;
        let task = &mut self.tasks[index];
        if !rebuild {
            task.output.reported.push(|| text);
            return;
        }
        let mut fatal = task.failures.add(transfer.now_ns) >= self.failure_limit;
        text = if fatal {
            format!("{text}; {}", too_often(self.failure_limit))
        } else {
            format!("{text}; the task was rebuilt and what it held in memory is lost")
        };
        let (inputs, gate) = (&mut self.inputs[..], &mut self.gate);
        let mut collector = BoltCollector { transfer, output: &mut task.output, inputs, gate, not_send: PhantomData };
        task.bolt.give_up(&mut collector);
        // The old one goes first: it may hold what the new one needs, such as a file or a port.
        if let Some(dropped) = drop_safely(std::mem::replace(&mut task.bolt, Box::new(Gone))) {
            text = format!("{text}; dropping the old one {dropped}");
        }
        let (context, bolt, factory) = (&task.context, &mut task.bolt, &self.factory);
        let rebuilt = caught(|| {
            if fatal {
                return Ok(());
            }
            *bolt = factory();
            bolt.prepare(context)
        });
        fatal |= rebuild_failed(&mut text, "rebuilding it", rebuilt);
        self.has_given_up |= fatal;
        let task = task.context.task;
        self.failed.push(TaskFailure { component: self.component.clone(), task, text, fatal });
    }
}

/// Stands where a bolt was, when its factory failed; the run is ending then.
pub(super) struct Gone;

impl CoreBolt for Gone {
    fn prepare(&mut self, _: &TopologyContext) -> crate::Result {
        Ok(())
    }
    fn execute(&mut self, _: &Input<'_>, _: &mut BoltCollector<'_>) -> crate::Result<Step> {
        Err("the task could not be rebuilt".into())
    }
    fn finish(&mut self, _: &mut BoltCollector<'_>) -> crate::Result {
        Ok(())
    }
    fn cleanup(&mut self) {}
}

/// A call of user code that failed.
pub(super) struct ChunkFailure {
    pub(super) task: usize,
    pub(super) text: String,
    /// The task's memory is in doubt.
    pub(super) rebuild: bool,
}

/// One call of user code, settled: a refused emit or an error fails the tuple.
#[inline]
pub(super) fn call(
    bolt: &mut dyn CoreBolt,
    task: usize,
    input: &Input<'_>,
    collector: &mut BoltCollector<'_>,
) -> Result<Step, ChunkFailure> {
    match bolt.execute(input, collector) {
        Ok(step) if collector.output.refused.is_none() => Ok(step),
        Ok(_) => Err(refused(task, input, collector)),
        Err(error) => Err(failed(task, input, collector, error)),
    }
}

#[cold]
fn refused(task: usize, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> ChunkFailure {
    collector.fail(input);
    let text = collector.output.refused.take().unwrap_or_default();
    ChunkFailure { task, text, rebuild: false }
}

#[cold]
fn failed(task: usize, input: &Input<'_>, collector: &mut BoltCollector<'_>, error: BoxError) -> ChunkFailure {
    collector.fail(input);
    collector.output.refused = None;
    ChunkFailure { task, text: error_text(error), rebuild: true }
}
