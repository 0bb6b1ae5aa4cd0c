//! When user code fails: what is reported, and when a task has failed too often.

use std::any::Any;
use std::collections::VecDeque;

use ringstorm_types::{ComponentId, TaskId};

/// A failure of user code, for the log, the metrics and, when fatal, the end of the run.
#[derive(Debug, Clone)]
pub(crate) struct TaskFailure {
    pub(crate) component: ComponentId,
    pub(crate) task: TaskId,
    pub(crate) text: String,
    /// The run cannot go on.
    pub(crate) fatal: bool,
}

/// Failures older than this no longer count.
const FAILURE_WINDOW_NS: u64 = 60_000_000_000;

/// Recent failures of one task.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    times_ns: VecDeque<u64>,
}

impl Failures {
    /// Notes a failure and says how many there were within the last minute.
    pub(crate) fn add(&mut self, now_ns: u64) -> u32 {
        while self.times_ns.front().is_some_and(|time_ns| now_ns.saturating_sub(*time_ns) > FAILURE_WINDOW_NS) {
            self.times_ns.pop_front();
        }
        self.times_ns.push_back(now_ns);
        u32::try_from(self.times_ns.len()).unwrap_or(u32::MAX)
    }
}

/// Why a task is not rebuilt any more.
pub(crate) fn too_often(limit: u32) -> String {
    format!("it has failed {limit} times within a minute, which is ringstorm.task.failure.limit, so the run ends")
}

/// Drops what users made. Says so if that panicked.
pub(crate) fn drop_safely(value: impl Sized) -> Option<String> {
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(value)));
    dropped.err().map(|panic| format!("panicked: {}", panic_text(&*panic)))
}

/// What came of rebuilding a task: adds to `text` what went wrong in `doing` it, and returns whether something did.
pub(crate) fn rebuild_failed(text: &mut String, doing: &str, rebuilt: std::thread::Result<crate::Result>) -> bool {
    let why = match rebuilt {
        Ok(Ok(())) => return false,
        Ok(Err(error)) => format!("failed: {error}"),
        Err(panic) => format!("panicked: {}", panic_text(&*panic)),
    };
    text.push_str(&format!("; {doing} {why}"));
    true
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
