//! Runs the tasks of one spout executor: asks for tuples, tells of acks and fails, times out what is pending.
//!
//! Invariants: `next_tuple` is called only while the topology is active, the task's pending count is below its limit
//! and no target holds the executor; user code runs only inside `catch_unwind`; each message id hears of its fate once.
//!
//! Threading: belongs to one core. The time-out buckets rotate once per executor and period, whatever its task count.

use std::collections::BTreeSet;
use std::sync::Arc;

use ringstorm_acking::{FailReason, Outcome};
use ringstorm_types::{ComponentId, ExecutorId, MessageId};

use crate::api::spout::Spout;
use crate::core::failure::{TaskFailure, caught, drop_safely, error_text};
use crate::core::gate::Gate;
use crate::core::paced_fails::PacedFails;
use crate::core::spout_rebuild::Gone;
use crate::core::spout_task::{SpoutStats, SpoutTask, Wait, WhyIdle, deliver};
use crate::core::transfer::Transfer;

/// Makes a spout on its core.
pub(crate) type SpoutFactory = Arc<dyn Fn() -> Box<dyn Spout> + Send + Sync>;

/// Rounds over the tasks in one slice.
const SLICE_CALLS: u32 = 256;
/// The same where targets may wait: how fast they are is known only when a call has ended, and all of a slice may go to one
/// of them.
const SLICE_CALLS_TO_WAITING: u32 = 32;
const SLICE_NS: u64 = 20_000;
/// Calls between two clock readings; adapts as for bolts.
const CHUNK_CALLS_MIN: u32 = 16;
const CHUNK_CALLS_MAX: u32 = 64;
/// Time-outs handled in one turn.
const EXPIRED_PER_TURN: usize = 1024;

pub(crate) struct SpoutExecutor {
    pub(crate) id: ExecutorId,
    pub(crate) component: ComponentId,
    pub(crate) component_number: u32,
    pub(crate) first_task: u32,
    pub(crate) tasks: Vec<SpoutTask>,
    pub(crate) gate: Gate,
    pub(crate) stats: SpoutStats,
    pub(crate) why_idle: WhyIdle,
    pub(super) factory: SpoutFactory,
    max_pending: usize,
    /// `None` when message time-outs are off.
    timeout_ns: Option<u64>,
    next_rotation_ns: u64,
    expiring: bool,
    outcomes: Vec<(u32, Outcome)>,
    paced_fails: PacedFails,
    finished_now: bool,
    pub(super) active: bool,
    /// Its code may wait: what one call has emitted leaves before the next call.
    may_wait: bool,
    /// Whose turn it is, where each slice is one call.
    next_task: usize,
    chunk_calls: u32,
    /// Emits of the next slice at most. A spout that has little is asked for one tuple, which leaves before it is asked
    /// again; the slice grows while it has more.
    slice_calls: u32,
    slice_calls_max: u32,
    pub(crate) failed: Vec<TaskFailure>,
    pub(super) failure_limit: u32,
    /// The numbers of the workers where its trees may have something.
    pub(super) touches: BTreeSet<u64>,
}

/// Settings of a spout executor.
#[derive(Debug, Clone)]
pub(crate) struct SpoutSettings {
    /// Per task.
    pub(crate) max_pending: usize,
    pub(crate) timeout_ns: Option<u64>,
    pub(crate) failure_limit: u32,
    /// It has a thread of its own, since its code may wait.
    pub(crate) may_wait: bool,
    /// Some of its targets have threads of their own, since their code may wait.
    pub(crate) feeds_waiting: bool,
    /// By worker: something of its trees may be there.
    pub(crate) touches: BTreeSet<u64>,
}

impl SpoutExecutor {
    #[expect(clippy::too_many_arguments, reason = "every part is given once, when the core is built")]
    pub(crate) fn new(
        id: ExecutorId,
        component: ComponentId,
        component_number: u32,
        first_task: u32,
        tasks: Vec<SpoutTask>,
        gate: Gate,
        factory: SpoutFactory,
        settings: SpoutSettings,
        now_ns: u64,
    ) -> Self {
        Self {
            id,
            component,
            component_number,
            first_task,
            tasks,
            gate,
            stats: SpoutStats::default(),
            why_idle: WhyIdle::Inactive,
            factory,
            max_pending: settings.max_pending,
            timeout_ns: settings.timeout_ns,
            next_rotation_ns: settings.timeout_ns.map_or(u64::MAX, |timeout_ns| now_ns.saturating_add(timeout_ns)),
            expiring: false,
            outcomes: Vec::new(),
            paced_fails: PacedFails::default(),
            finished_now: false,
            active: false,
            may_wait: settings.may_wait,
            next_task: 0,
            chunk_calls: 1,
            slice_calls: 1,
            slice_calls_max: if settings.feeds_waiting { SLICE_CALLS_TO_WAITING } else { SLICE_CALLS },
            failed: Vec::new(),
            failure_limit: settings.failure_limit,
            touches: settings.touches,
        }
    }

    pub(crate) fn push_outcome(&mut self, task: u32, outcome: Outcome) {
        self.outcomes.push((task, outcome));
    }

    /// Messages that are neither acked nor failed.
    pub(crate) fn pending_count(&self) -> usize {
        self.tasks.iter().map(|task| task.tracker.pending_count()).sum()
    }

    /// Whether every task says that its input has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.outcomes.is_empty() && self.tasks.iter().all(|task| task.wait == Wait::Finished)
    }

    /// Whether a waker was woken that a task waits for. One that may not be asked now is not waited for either.
    pub(crate) fn is_woken(&mut self, transfer: &Transfer) -> bool {
        let is_waiting = |task: &SpoutTask| matches!(task.wait, Wait::Woken | Wait::Until(_));
        self.active
            && self.gate.is_open(transfer)
            && self.askable().any(|task| is_waiting(task) && task.context.wake.is_woken())
    }

    /// Tasks with fewer messages pending than their limit, which may be asked by what they have to replay.
    fn askable(&self) -> impl Iterator<Item = &SpoutTask> {
        let may_be = |task: &&SpoutTask| task.replays != Some(0);
        self.tasks.iter().filter(may_be).filter(|task| task.tracker.pending_count() < self.max_pending)
    }

    pub(crate) fn open(&mut self) {
        for index in 0..self.tasks.len() {
            let task = &mut self.tasks[index];
            let (spout, context) = (&mut task.spout, &task.context);
            let text = match caught(|| spout.open(context)) {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error_text(error),
                Err(panic) => format!("open panicked: {panic}"),
            };
            self.report(index, text, true);
        }
    }

    pub(crate) fn close(&mut self) {
        self.call_each("close", Spout::close);
    }

    /// Drops the code of each task, at the end.
    pub(crate) fn drop_tasks(&mut self) {
        for index in 0..self.tasks.len() {
            let task = &mut self.tasks[index];
            let dropped = drop_safely(std::mem::replace(&mut task.spout, Box::new(Gone)));
            let of_groupings = task.output.drop_groupings();
            for text in dropped.map(|text| format!("its drop {text}")).into_iter().chain(of_groupings) {
                self.report(index, text, false);
            }
        }
    }

    /// From now on tasks that are active are asked for one tuple for each message that fails, and for nothing else, until
    /// they are made active or inactive.
    pub(crate) fn ask_for_replays(&mut self) {
        self.tasks.iter_mut().filter(|task| task.replays.is_none()).for_each(|task| task.replays = Some(0));
    }

    pub(crate) fn set_active(&mut self, active: bool) {
        self.tasks.iter_mut().for_each(|task| task.replays = None);
        if self.active == active {
            return;
        }
        self.active = active;
        if active {
            self.call_each("activate", Spout::activate);
        } else {
            self.call_each("deactivate", Spout::deactivate);
        }
    }

    fn call_each(&mut self, what: &str, mut call: impl FnMut(&mut (dyn Spout + 'static))) {
        for index in 0..self.tasks.len() {
            let spout = &mut *self.tasks[index].spout;
            if let Err(panic) = caught(|| call(spout)) {
                self.report(index, format!("{what} panicked: {panic}"), false);
            }
        }
    }

    /// The next instant at which something is to be done without being woken.
    pub(crate) fn next_deadline_ns(&mut self, transfer: &Transfer) -> Option<u64> {
        // What holds a task, its limit or its targets, wakes the core when it ends: no instant needs to.
        let may_ask = self.active && self.gate.is_open(transfer);
        let waits = self.askable().filter_map(|task| match task.wait {
            Wait::Until(at_ns) if may_ask => Some(at_ns),
            _ => None,
        });
        let rotation = self.timeout_ns.map(|_| self.next_rotation_ns);
        waits.chain(rotation).chain(self.paced_fails.deadline_ns()).min()
    }

    /// One slice. Returns whether anything was done.
    #[inline]
    pub(crate) fn run(&mut self, transfer: &mut Transfer) -> bool {
        let progress = self.run_slice(transfer);
        // The end of an input is news for the coordinator, although nothing was emitted.
        progress | std::mem::take(&mut self.finished_now)
    }

    #[inline]
    fn run_slice(&mut self, transfer: &mut Transfer) -> bool {
        let mut progress = false;
        if !self.outcomes.is_empty() || self.paced_fails.is_due(transfer.some_are_away, transfer.now_ns) {
            self.deliver_outcomes(transfer);
            progress = true;
        }
        if transfer.now_ns >= self.next_rotation_ns || self.expiring {
            self.expire(transfer);
            progress = true;
        }
        if !self.active {
            self.why_idle = WhyIdle::Inactive;
            return progress;
        }
        if !self.gate.is_open(transfer) {
            self.why_idle = WhyIdle::HeldBy(self.gate.held_by().unwrap_or(0));
            return progress;
        }
        let until_ns = transfer.now_ns + SLICE_NS;
        let slice_calls = if self.may_wait { 1 } else { self.slice_calls };
        let mut calls = 0;
        while calls < slice_calls && transfer.now_ns < until_ns {
            let (called, go_on) = self.call_chunk(self.chunk_calls.min(slice_calls - calls), transfer);
            calls += called;
            progress |= called > 0;
            if !go_on {
                // A spout that is held has more than it may emit.
                if self.gate.is_open(transfer) {
                    self.slice_calls = calls.clamp(1, self.slice_calls_max);
                }
                return progress;
            }
            let before_ns = transfer.now_ns;
            transfer.now_ns = crate::clock::now_ns();
            self.chunk_calls = match transfer.now_ns - before_ns {
                0..800 => (2 * self.chunk_calls).min(CHUNK_CALLS_MAX),
                // Slow calls go one by one: what each has emitted is not to wait for the others.
                elapsed_ns @ 3_000.. => {
                    (3_000 * u64::from(called) / elapsed_ns).clamp(1, CHUNK_CALLS_MIN.into()) as u32
                }
                _ => self.chunk_calls,
            };
        }
        if calls >= slice_calls {
            self.slice_calls = (2 * slice_calls).min(self.slice_calls_max);
        }
        progress
    }

    /// Asks the tasks in turn for up to a chunk of tuples. Returns how often something was emitted and whether to go on.
    fn call_chunk(&mut self, chunk: u32, transfer: &mut Transfer) -> (u32, bool) {
        let mut emitted = 0;
        let mut running = 0;
        // Tasks take turns; an only task has all of them.
        let calls_in_a_row = if self.tasks.len() == 1 { chunk } else { 1 };
        let now_ns = transfer.now_ns;
        let gate_version = transfer.gate_version;
        let Self { tasks, max_pending, why_idle, stats, next_task, may_wait, .. } = self;
        let max_pending = *max_pending;
        let result = caught(|| {
            while emitted < chunk {
                let (before, first) = (emitted, std::mem::take(next_task));
                for (index, task) in tasks.iter_mut().enumerate().skip(first) {
                    running = index;
                    let Some(why) = task.why_not_asked(now_ns, max_pending) else {
                        task.ask(transfer, calls_in_a_row, max_pending, stats, &mut emitted)?;
                        if *may_wait && emitted > before {
                            *next_task = index + 1;
                            break;
                        }
                        continue;
                    };
                    *why_idle = why;
                }
                if emitted == before {
                    if first > 0 {
                        // Those before it had no turn yet.
                        continue;
                    }
                    return Ok(false);
                }
                *why_idle = WhyIdle::Running;
                if transfer.gate_version != gate_version {
                    break;
                }
            }
            Ok(true)
        });
        for task in &mut self.tasks {
            task.tracker.flush(transfer);
            self.finished_now |= std::mem::take(&mut task.finished_now);
        }
        let failed = match result {
            Ok(Ok(go_on)) => return (emitted, go_on && self.gate.is_open(transfer)),
            Ok(Err(text)) => text,
            Err(panic) => format!("panicked: {panic}"),
        };
        self.rebuild(running, failed, 0, transfer);
        (emitted + 1, false)
    }

    fn deliver_outcomes(&mut self, transfer: &mut Transfer) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        self.paced_fails.pace(&mut outcomes, transfer.some_are_away, transfer.now_ns);
        for (task, outcome) in &outcomes {
            let index = (task - self.first_task) as usize;
            let stats = &mut self.stats;
            let Some(task) = self.tasks.get_mut(index) else { continue };
            if let Err(panic) = caught(|| deliver(task, stats, *outcome, transfer.now_ns)) {
                self.rebuild(index, format!("panicked in ack or fail: {panic}"), 0, transfer);
            }
        }
        self.outcomes = outcomes;
        self.outcomes.clear();
    }

    /// Fails what has been pending for too long, a bounded number each turn.
    fn expire(&mut self, transfer: &mut Transfer) {
        if transfer.now_ns >= self.next_rotation_ns {
            let timeout_ns = self.timeout_ns.unwrap_or(u64::MAX);
            self.next_rotation_ns = transfer.now_ns.saturating_add(timeout_ns);
            for task in &mut self.tasks {
                task.tracker.pending.rotate();
            }
            self.expiring = true;
        }
        let mut more = false;
        for index in 0..self.tasks.len() {
            let task = &mut self.tasks[index];
            let mut expired = Vec::new();
            more |= task.tracker.pending.expire_slice(EXPIRED_PER_TURN, |root, id| {
                transfer.folder.forget(root);
                expired.push(MessageId(id));
            });
            self.stats.timed_out += expired.len() as u64;
            self.tell_failed(index, &expired, FailReason::TimedOut, transfer);
        }
        self.expiring = more;
    }

    /// A worker is gone: fails all that is pending, if any of it may have been there.
    pub(super) fn lose_pending(&mut self, worker: u64, transfer: &mut Transfer) {
        if !self.touches.contains(&worker) {
            return;
        }
        for index in 0..self.tasks.len() {
            let task = &mut self.tasks[index];
            task.tracker.flush(transfer);
            let mut lost = Vec::new();
            task.tracker.pending.drain_where(
                |_| true,
                |root, id| {
                    transfer.folder.forget(root);
                    lost.push(MessageId(id));
                },
            );
            self.tell_failed(index, &lost, FailReason::Lost { worker }, transfer);
        }
    }

    /// Tells a task of messages that are not pending any more. Those that a task which fails over it has not heard of are
    /// left to its source: they mean nothing to the one in its place.
    fn tell_failed(&mut self, index: usize, ids: &[MessageId], reason: FailReason, transfer: &mut Transfer) {
        self.stats.failed += ids.len() as u64;
        for (told, id) in ids.iter().enumerate() {
            let task = &mut self.tasks[index];
            task.count_failed(1);
            if let Err(panic) = caught(|| task.spout.fail(*id, reason)) {
                return self.rebuild(index, format!("panicked in fail: {panic}"), ids.len() - told - 1, transfer);
            }
        }
    }

    pub(super) fn report(&mut self, index: usize, text: String, fatal: bool) {
        let task = self.tasks[index].context.task;
        self.failed.push(TaskFailure { component: self.component.clone(), task, text, fatal });
    }
}
