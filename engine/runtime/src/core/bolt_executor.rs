//! Runs the tasks of one bolt executor: reads runs in place or from the inbox, calls user code, settles failures.
//!
//! Invariants: tuples of one (source task, target task, stream) are executed in the order in which they were emitted;
//! user code runs only inside `catch_unwind`; a tuple whose call failed is failed, and its task rebuilt, before the next.
//!
//! Threading: belongs to one core.

use std::marker::PhantomData;
use std::sync::Arc;

use ringstorm_frame::{FrameReader, Run, RunCursor};
use ringstorm_types::{ComponentId, ExecutorId};

use crate::api::bolt::{CoreBolt, Step};
use crate::api::collector::BoltCollector;
use crate::api::context::TopologyContext;
use crate::api::input::{Input, Source, TreeState, TupleRef};
use crate::core::bolt_failure::{ChunkFailure, Gone, call};
use crate::core::failure::{Failures, TaskFailure, caught, drop_safely, error_text};
use crate::core::gate::Gate;
use crate::core::output::TaskOutput;
use crate::core::stats::{InboxStats, InputStats};
use crate::core::transfer::Transfer;

/// Makes a bolt on its core.
pub(crate) type BoltFactory = Arc<dyn Fn() -> Box<dyn CoreBolt> + Send + Sync>;

/// Tuples of one slice.
const SLICE_TUPLES: u32 = 256;
/// Time of one slice.
const SLICE_NS: u64 = 20_000;
/// Tuples between two clock readings at least and at most; the stride adapts to how long tuples take.
const CHUNK_TUPLES_MIN: u32 = 16;
const CHUNK_TUPLES_MAX: u32 = 128;

/// Stands for an input that the bolt does not subscribe to, which only foreign bytes could name. Nothing else has this index
/// but the ticks of a bolt that subscribes to as many streams as it may.
const UNKNOWN_INPUT: u16 = u16::MAX;

/// One task of a bolt.
pub(crate) struct BoltTask {
    pub(crate) bolt: Box<dyn CoreBolt>,
    pub(crate) output: TaskOutput,
    pub(crate) context: TopologyContext,
    pub(super) failures: Failures,
}

impl BoltTask {
    pub(crate) fn new(bolt: Box<dyn CoreBolt>, output: TaskOutput, context: TopologyContext) -> Self {
        Self { bolt, output, context, failures: Failures::default() }
    }
}

/// Where execution of the frame in hand stands.
struct Current {
    frame: Vec<u8>,
    /// Where the run in hand starts.
    run_offset: usize,
    cursor: RunCursor,
}

/// A bolt executor.
pub(crate) struct BoltExecutor {
    pub(crate) id: ExecutorId,
    pub(crate) component: ComponentId,
    pub(crate) component_number: u32,
    pub(crate) first_task: u32,
    pub(crate) tasks: Vec<BoltTask>,
    pub(crate) gate: Gate,
    pub(crate) inputs: Vec<InputStats>,
    /// (source component number, stream number) of each entry of `inputs`.
    pub(crate) input_keys: Vec<(u32, u16)>,
    pub(crate) inbox: InboxStats,
    current: Option<Current>,
    pub(super) factory: BoltFactory,
    wants_copies: bool,
    /// It has a thread of its own, since its code may wait.
    may_wait: bool,
    chunk_tuples: u32,
    /// Recent time per tuple, for estimates of waiting work.
    pub(crate) tuple_ns: u64,
    /// Tuples taken from frames so far.
    pub(crate) taken: u64,
    /// Ready and so in the core's list.
    pub(crate) listed: bool,
    pub(crate) tick: Option<Tick>,
    /// Ticks that wait to be executed.
    pub(crate) ticks_waiting: u64,
    pub(crate) failed: Vec<TaskFailure>,
    pub(crate) failure_limit: u32,
    /// A task has failed for good: no user code of this executor runs any more, and the run is ending.
    pub(super) has_given_up: bool,
}

/// Tick tuples of an executor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tick {
    pub(crate) period_ns: u64,
    pub(crate) next_ns: u64,
}

/// Why a run of tuples ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All tuples of the run were executed.
    EndOfRun,
    /// The slice is used up.
    Slice,
    /// A target has no room, or the bolt can take no further input now.
    Held,
}

/// What is left of a slice.
pub(crate) struct Budget {
    tuples: u32,
    until_ns: u64,
}

impl Budget {
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { tuples: SLICE_TUPLES, until_ns: now_ns + SLICE_NS }
    }

    /// For code that may wait: what came of one tuple leaves before the next one is executed.
    fn of_one(now_ns: u64) -> Self {
        Self { tuples: 1, ..Self::new(now_ns) }
    }
}

/// What executing needs to know of the whole worker.
pub(crate) struct Surroundings<'a> {
    /// By task id and stream number: where a run comes from. Index 0 is the system.
    pub(crate) sources: &'a [Vec<Arc<Source>>],
    /// By task id: the number of its component.
    pub(crate) component_numbers: &'a [u32],
}

impl BoltExecutor {
    #[expect(clippy::too_many_arguments, reason = "every part is given once, when the core is built")]
    pub(crate) fn new(
        id: ExecutorId,
        component: ComponentId,
        component_number: u32,
        first_task: u32,
        tasks: Vec<BoltTask>,
        gate: Gate,
        input_keys: Vec<(u32, u16)>,
        factory: BoltFactory,
        tick: Option<Tick>,
        failure_limit: u32,
        may_wait: bool,
    ) -> Self {
        // Where the code may wait, nothing is executed in place: that would be one more tuple in each turn.
        let wants_copies = may_wait || tasks.iter().any(|task| task.bolt.wants_copies());
        Self {
            id,
            component,
            component_number,
            first_task,
            tasks,
            gate,
            inputs: vec![InputStats::default(); input_keys.len()],
            input_keys,
            inbox: InboxStats::default(),
            current: None,
            factory,
            wants_copies,
            may_wait,
            chunk_tuples: 1,
            tuple_ns: 0,
            taken: 0,
            listed: false,
            tick,
            ticks_waiting: 0,
            failed: Vec::new(),
            failure_limit,
            has_given_up: false,
        }
    }

    /// Whether runs may be executed where they lie instead of being copied to the inbox.
    #[inline]
    pub(crate) fn runs_in_place(&mut self, transfer: &Transfer) -> bool {
        !self.wants_copies && !self.has_given_up && self.current.is_none() && self.gate.is_open(transfer)
    }

    /// Whether its tasks have work that comes from elsewhere than their inbox.
    pub(crate) fn is_woken_from_outside(&self) -> bool {
        self.tasks.iter().any(|task| task.bolt.is_woken_from_outside())
    }

    pub(crate) fn in_progress(&self) -> usize {
        self.tasks.iter().map(|task| task.bolt.in_progress()).sum()
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.has_given_up && self.tasks.iter().any(|task| task.bolt.has_work())
    }

    /// Whether the executor has anything to do once it may run.
    pub(crate) fn is_ready(&self, transfer: &Transfer, outlet: u32) -> bool {
        let has_input = self.current.is_some() || !transfer.outlets[outlet as usize].is_empty();
        !self.has_given_up && has_input || self.has_work()
    }

    /// One slice. Returns whether anything was done.
    pub(crate) fn run(&mut self, outlet: u32, transfer: &mut Transfer, around: &Surroundings<'_>) -> bool {
        let mut budget = if self.may_wait { Budget::of_one } else { Budget::new }(transfer.now_ns);
        let mut progress = false;
        if self.has_work() && self.gate.is_open(transfer) {
            progress |= self.advance(transfer);
            if self.may_wait {
                return progress;
            }
        }
        while self.gate.is_open(transfer) && self.takes_input() {
            if self.current.is_none() {
                let Some(frame) = transfer.outlets[outlet as usize].pop() else { break };
                let first = FrameReader::new(&frame).offset();
                self.current = Some(Current { frame, run_offset: first, cursor: RunCursor::default() });
            }
            let before = self.taken;
            let stop = self.run_current(&mut budget, transfer, around);
            progress |= self.taken != before;
            if stop != Stop::EndOfRun {
                break;
            }
        }
        progress
    }

    fn takes_input(&self) -> bool {
        !self.has_given_up && (!self.wants_copies || self.tasks.iter().all(|task| task.bolt.is_ready()))
    }

    /// Goes on with the frame in hand until it ends, the slice ends, or something holds.
    fn run_current(&mut self, budget: &mut Budget, transfer: &mut Transfer, around: &Surroundings<'_>) -> Stop {
        let Some(mut current) = self.current.take() else { return Stop::EndOfRun };
        let mut reader = FrameReader::resume(&current.frame, current.run_offset);
        while let Some(run) = reader.next() {
            let stop = self.execute(&run, &mut current.cursor, budget, transfer, around);
            if stop != Stop::EndOfRun || !self.takes_input() {
                self.current = Some(current);
                return if stop == Stop::EndOfRun { Stop::Held } else { stop };
            }
            current.run_offset = reader.offset();
            current.cursor = RunCursor::default();
        }
        transfer.pool.put(current.frame);
        Stop::EndOfRun
    }

    /// Executes tuples of a run from the cursor on.
    pub(crate) fn execute(
        &mut self,
        run: &Run<'_>,
        cursor: &mut RunCursor,
        budget: &mut Budget,
        transfer: &mut Transfer,
        around: &Surroundings<'_>,
    ) -> Stop {
        let source_task = run.source();
        let Some(source) =
            around.sources.get(source_task as usize).and_then(|streams| streams.get(usize::from(run.stream())))
        else {
            // Only foreign bytes could name such a source, and they were checked; count the tuples as taken.
            self.taken += u64::from(run.count() - cursor.index());
            return Stop::EndOfRun;
        };
        let key = (around.component_numbers[source_task as usize], run.stream());
        let input_index = self.input_keys.iter().position(|known| *known == key).map_or(UNKNOWN_INPUT, |index| {
            u16::try_from(index).expect("validation refuses bolts with more inputs than 16 bits can number")
        });
        loop {
            if cursor.index() >= run.count() {
                return Stop::EndOfRun;
            }
            if budget.tuples == 0 || transfer.now_ns >= budget.until_ns {
                return Stop::Slice;
            }
            if !self.gate.is_open(transfer) || !self.takes_input() {
                return Stop::Held;
            }
            let first = cursor.index();
            let chunk = self.chunk_tuples.min(budget.tuples);
            let outcome = self.execute_chunk(run, cursor, chunk, source, input_index, transfer);
            let done = u64::from(cursor.index() - first);
            self.taken += done;
            if source_task == 0 {
                self.ticks_waiting = self.ticks_waiting.saturating_sub(done);
            }
            budget.tuples -= (done as u32).min(budget.tuples);
            self.end_chunk(input_index, done, transfer);
            if let Err(failure) = outcome {
                self.settle_failure(failure, transfer);
            }
        }
    }

    /// Executes up to `chunk` tuples within one `catch_unwind`.
    fn execute_chunk(
        &mut self,
        run: &Run<'_>,
        cursor: &mut RunCursor,
        chunk: u32,
        source: &Source,
        input_index: u16,
        transfer: &mut Transfer,
    ) -> Result<(), ChunkFailure> {
        let Self { tasks, inputs, gate, first_task, .. } = self;
        let (first_task, wants_copies) = (*first_task, self.wants_copies);
        let gate_version = transfer.gate_version;
        let mut input = Input {
            tuple: TupleRef { payload: &[], source, source_task: run.source() },
            tree: TreeState::new(),
            input_index,
            received_ns: transfer.now_ns,
            not_send: PhantomData,
        };
        // Where the tuple lies whose call is running: read after a panic, which may have unwound anywhere in it.
        let mut open = *cursor;
        let result = caught(|| {
            // An only task and tuples of one size: nothing but the call itself between two calls.
            if let ([task], Some(size)) = (&mut tasks[..], run.plain_size()) {
                let mut collector =
                    BoltCollector { transfer, output: &mut task.output, inputs, gate, not_send: PhantomData };
                for _ in 0..chunk {
                    open = *cursor;
                    let Some((payload, anchors)) = run.next_plain(cursor, size) else { break };
                    input.renew(payload, anchors);
                    let step = call(&mut *task.bolt, 0, &input, &mut collector)?;
                    if step == Step::Suspended || wants_copies || collector.transfer.gate_version != gate_version {
                        break;
                    }
                }
                return Ok(());
            }
            for _ in 0..chunk {
                open = *cursor;
                let Some(tuple) = run.next(cursor) else { break };
                let index = (tuple.target - first_task) as usize;
                let Some(task) = tasks.get_mut(index) else { continue };
                input.renew(tuple.payload, tuple.anchors);
                let mut collector =
                    BoltCollector { transfer, output: &mut task.output, inputs, gate, not_send: PhantomData };
                let step = call(&mut *task.bolt, index, &input, &mut collector)?;
                if step == Step::Suspended || wants_copies || collector.transfer.gate_version != gate_version {
                    break;
                }
            }
            Ok(())
        });
        result.unwrap_or_else(|panic| {
            let text = format!("panicked: {panic}");
            // The same tuple again: what the call did to `input` may be half done.
            let tuple = run.next(&mut open);
            let task = tuple.map_or(0, |tuple| (tuple.target - first_task) as usize);
            if let (Some(tuple), Some(task)) = (tuple, tasks.get_mut(task)) {
                // A handle that outlives the call has no say in it any more.
                let _ = input.tree.fate().settle();
                task.output.refused = None;
                let mut collector =
                    BoltCollector { transfer, output: &mut task.output, inputs, gate, not_send: PhantomData };
                collector.fail_tree(tuple.anchors);
                if let Some(stats) = collector.inputs.get_mut(usize::from(input_index)) {
                    stats.failed += 1;
                }
            }
            Err(ChunkFailure { task, text, rebuild: true })
        })
    }

    #[inline]
    fn end_chunk(&mut self, input_index: u16, done: u64, transfer: &mut Transfer) {
        let now_ns = crate::clock::now_ns();
        let elapsed_ns = now_ns - transfer.now_ns;
        transfer.now_ns = now_ns;
        if done == 0 {
            return;
        }
        let each_ns = elapsed_ns / done;
        self.tuple_ns = if self.tuple_ns == 0 { each_ns.max(1) } else { (7 * self.tuple_ns + each_ns) / 8 };
        // Read the clock about every two microseconds, within the bounds.
        self.chunk_tuples = match elapsed_ns {
            0..1_000 => (2 * self.chunk_tuples).min(CHUNK_TUPLES_MAX),
            // Slow tuples go one by one: what comes of each is not to wait for the others.
            4_000.. => (4_000 / each_ns.max(1)).clamp(1, CHUNK_TUPLES_MIN.into()) as u32,
            _ => self.chunk_tuples,
        };
        if let Some(stats) = self.inputs.get_mut(usize::from(input_index)) {
            stats.end_chunk(done, elapsed_ns);
        }
    }

    /// Goes on with suspended and asynchronous work.
    fn advance(&mut self, transfer: &mut Transfer) -> bool {
        for index in 0..self.tasks.len() {
            if !self.tasks[index].bolt.has_work() {
                continue;
            }
            let Self { tasks, inputs, gate, .. } = self;
            let task = &mut tasks[index];
            let result = caught(|| {
                let mut collector =
                    BoltCollector { transfer, output: &mut task.output, inputs, gate, not_send: PhantomData };
                task.bolt.advance(&mut collector)
            });
            let refused = task.output.refused.take();
            let failure = match result {
                Ok(Ok(_)) => refused.map(|text| ChunkFailure { task: index, text, rebuild: false }),
                Ok(Err(error)) => Some(ChunkFailure { task: index, text: error_text(error), rebuild: true }),
                Err(panic) => Some(ChunkFailure { task: index, text: format!("panicked: {panic}"), rebuild: true }),
            };
            if let Some(failure) = failure {
                self.settle_failure(failure, transfer);
            }
            transfer.now_ns = crate::clock::now_ns();
        }
        true
    }

    /// Drops the code of each task, at the end.
    pub(crate) fn drop_tasks(&mut self) {
        let Self { tasks, failed, component, .. } = self;
        for task in tasks {
            let dropped = drop_safely(std::mem::replace(&mut task.bolt, Box::new(Gone)));
            let texts = dropped.map(|text| format!("its drop {text}")).into_iter().chain(task.output.drop_groupings());
            let (component, task) = (&*component, task.context.task);
            failed.extend(texts.map(|text| TaskFailure { component: component.clone(), task, text, fatal: false }));
        }
    }

    /// Runs a life-cycle call of each task, with failures reported.
    pub(crate) fn each_task(
        &mut self,
        transfer: &mut Transfer,
        what: &str,
        mut call: impl FnMut(&mut dyn CoreBolt, &TopologyContext, &mut BoltCollector<'_>) -> crate::Result,
        fatal: bool,
    ) {
        let Self { tasks, inputs, gate, failed, component, .. } = self;
        for task in tasks {
            let (bolt, output, context) = (&mut task.bolt, &mut task.output, &task.context);
            let result = caught(|| {
                let mut collector = BoltCollector { transfer, output, inputs, gate, not_send: PhantomData };
                call(&mut **bolt, context, &mut collector)
            });
            let text = match result {
                Ok(Ok(())) => task.output.refused.take().map(|text| format!("{what}: {text}")),
                Ok(Err(error)) => Some(format!("{what} failed: {}", error_text(error))),
                Err(panic) => Some(format!("{what} panicked: {panic}")),
            };
            if let Some(text) = text {
                failed.push(TaskFailure { component: component.clone(), task: context.task, text, fatal });
            }
        }
    }
}
