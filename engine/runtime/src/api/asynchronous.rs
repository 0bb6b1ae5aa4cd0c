//! Components that await: bounded jobs on their core, woken from anywhere.
//!
//! A job is a future that owns what it works on. It may await anything that is woken from another thread (channels,
//! the [side runtime](crate::side_runtime) for tokio's futures) and [`sleep`](crate::side_runtime::sleep). Its emits wait
//! in the job and leave, anchored to its tuple, when it is done.
//!
//! Invariants: a task has at most `concurrency` jobs; a job's tuple is acked when it ends with `Ok` and failed when it
//! ends with an error or panics.
//!
//! Threading: jobs stay on their core; only their wakers travel.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use ringstorm_acking::FailReason;
use ringstorm_tuple::{Schema, Tuple};
use ringstorm_types::{DEFAULT_STREAM, MessageId};

use crate::api::bolt::{CoreBolt, Step};
use crate::api::collector::{BoltCollector, SpoutCollector};
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::emittable::Serialized;
use crate::api::input::{AckHandle, Input, TupleCopy};
use crate::api::spout::{Next, Spout};
use crate::core::failure::{caught, drop_each, drop_safely, error_text};
use crate::core::output::Untracked;
use crate::core::reports::encode_text;
use crate::error::Result;

/// A bolt whose work awaits. `Ok` acks, an error fails, emits are anchored by themselves.
pub trait AsyncBolt: 'static {
    /// Declares the streams that are emitted and what is read.
    fn declare(&self, declarer: &mut Declarer) {
        let _ = declarer;
    }

    /// Called once before the first tuple.
    ///
    /// # Errors
    /// An error ends the run.
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        let _ = context;
        Ok(())
    }

    /// Starts the work on one tuple. What the future needs of the bolt it shares (`Rc`) or copies.
    fn execute(&mut self, input: TupleCopy, emitter: AsyncEmitter) -> impl Future<Output = Result> + 'static;

    /// Called once at the end of an orderly stop.
    fn cleanup(&mut self) {}
}

/// A spout that awaits its next tuple.
pub trait AsyncSpout: 'static {
    /// Declares the streams that are emitted.
    fn declare(&self, declarer: &mut Declarer);

    /// Called once before the first tuple.
    ///
    /// # Errors
    /// An error ends the run.
    fn open(&mut self, context: &TopologyContext) -> Result {
        let _ = context;
        Ok(())
    }

    /// Awaits what there is to emit. The future owns the spout and gives it back, so that nothing is shared while it
    /// waits; acks and fails that come meanwhile are told afterwards.
    fn next_tuple(self, emitter: AsyncEmitter) -> impl Future<Output = (Self, Result<Next>)> + 'static
    where
        Self: Sized;

    /// As [`Spout::ack`].
    fn ack(&mut self, id: MessageId) {
        let _ = id;
    }

    /// As [`Spout::fail`].
    fn fail(&mut self, id: MessageId, reason: FailReason) {
        let _ = (id, reason);
    }

    /// As [`Spout::close`].
    fn close(&mut self) {}
}

/// One emit that waits for its job to end.
struct OwnedEmission {
    stream: String,
    id: Option<MessageId>,
    /// The serialised tuple with its schema, or why it could not be serialised.
    tuple: Result<(Schema, Vec<u8>), String>,
}

/// What a job emits with.
#[derive(Clone, Default)]
pub struct AsyncEmitter {
    emissions: Rc<RefCell<Vec<OwnedEmission>>>,
}

impl std::fmt::Debug for AsyncEmitter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AsyncEmitter").field("waiting", &self.emissions.borrow().len()).finish()
    }
}

impl AsyncEmitter {
    /// Emits to the default stream.
    pub fn emit<T: Tuple>(&self, tuple: &T) {
        self.push(DEFAULT_STREAM, None, tuple);
    }

    /// Emits to a named stream.
    pub fn emit_to<T: Tuple>(&self, stream: &str, tuple: &T) {
        self.push(stream, None, tuple);
    }

    /// Emits to the default stream with a message id. Only spouts have them; a bolt's is ignored.
    pub fn emit_with_id<T: Tuple>(&self, id: impl Into<MessageId>, tuple: &T) {
        self.push(DEFAULT_STREAM, Some(id.into()), tuple);
    }

    fn push<T: Tuple>(&self, stream: &str, id: Option<MessageId>, tuple: &T) {
        let schema = schema_of::<T>(tuple);
        let mut payload = Vec::with_capacity(Tuple::size_hint(tuple));
        let tuple = match Tuple::serialize(tuple, &mut payload) {
            Ok(()) => Ok((schema, payload)),
            Err(error) => Err(format!("an emit to stream {stream}: {}", encode_text(&error, tuple, schema.fields()))),
        };
        self.emissions.borrow_mut().push(OwnedEmission { stream: stream.to_owned(), id, tuple });
    }
}

/// The schema of a tuple's type; for dynamic tuples one with as many fields as there are values.
fn schema_of<T: Tuple>(tuple: &T) -> Schema {
    if T::LAYOUT.is_dynamic() {
        Schema::dynamic((0..tuple.count()).map(|index| index.to_string()))
    } else {
        Schema::typed::<T>()
    }
}

/// Marks a job as woken and wakes its core through the task's waker.
struct JobWaker {
    woken: AtomicBool,
    task: Waker,
}

impl Wake for JobWaker {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

struct Job {
    future: Pin<Box<dyn Future<Output = Result>>>,
    waker: Arc<JobWaker>,
    handle: AckHandle,
    emitter: AsyncEmitter,
}

impl Job {
    /// Polls the future if it was woken. `Some` when it has ended.
    fn poll(&mut self) -> Option<Result> {
        if !self.waker.woken.swap(false, Ordering::AcqRel) {
            return None;
        }
        let waker = Waker::from(Arc::clone(&self.waker));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}

/// An [`AsyncBolt`] as a core drives it.
pub(crate) struct Asynchronous<B> {
    bolt: B,
    jobs: Vec<Job>,
    concurrency: usize,
    task_waker: Option<Waker>,
    woken: Option<Arc<crate::api::context::TaskWaker>>,
}

impl<B: AsyncBolt> Asynchronous<B> {
    pub(crate) fn new(bolt: B, concurrency: usize) -> Self {
        Self { bolt, jobs: Vec::new(), concurrency: concurrency.max(1), task_waker: None, woken: None }
    }

    /// Settles the jobs that have ended.
    fn poll_jobs(&mut self, collector: &mut BoltCollector<'_>) {
        let mut index = 0;
        while index < self.jobs.len() {
            let job = &mut self.jobs[index];
            let ended =
                caught(|| job.poll()).unwrap_or_else(|text| Some(Err(format!("a job panicked: {text}").into())));
            match ended {
                None => index += 1,
                Some(result) => {
                    let job = self.jobs.swap_remove(index);
                    settle(job, result, collector);
                }
            }
        }
    }
}

impl<B> Drop for Asynchronous<B> {
    fn drop(&mut self) {
        drop_each(self.jobs.drain(..).map(|job| job.future));
    }
}

fn settle(job: Job, result: Result, collector: &mut BoltCollector<'_>) {
    let Job { handle, emitter, future, .. } = job;
    let result = match drop_safely(future) {
        Some(text) => result.and_then(|()| Err(format!("the drop of a job {text}").into())),
        None => result,
    };
    for OwnedEmission { stream, tuple, .. } in emitter.emissions.take() {
        match tuple {
            Ok((schema, payload)) => {
                if let Some(index) = collector.output.stream_index(&stream) {
                    let tuple = Serialized { schema: &schema, payload: &payload };
                    collector.emit_indexed(index, &handle, &tuple);
                }
            }
            Err(text) => collector.output.refuse(text),
        }
    }
    // Taken in any case: what is left would be laid to the next tuple.
    let refused = collector.output.refused.take();
    match result.err().map(error_text).or(refused) {
        None => collector.ack_deferred(handle),
        Some(text) => {
            collector.fail_deferred(handle);
            collector.report_error(text);
        }
    }
}

impl<B: AsyncBolt> CoreBolt for Asynchronous<B> {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.task_waker = Some(context.waker());
        self.woken = Some(Arc::clone(&context.wake));
        self.bolt.prepare(context)
    }

    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result<Step> {
        let Some(task) = self.task_waker.clone() else { return Err("the bolt was not prepared".into()) };
        let emitter = AsyncEmitter::default();
        let handle = input.defer();
        let future = Box::pin(self.bolt.execute(input.copy(), emitter.clone()));
        let waker = Arc::new(JobWaker { woken: AtomicBool::new(true), task });
        self.jobs.push(Job { future, waker, handle, emitter });
        self.poll_jobs(collector);
        Ok(Step::Done)
    }

    fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
        Ok(())
    }

    fn cleanup(&mut self) {
        self.bolt.cleanup();
    }

    fn is_ready(&self) -> bool {
        self.jobs.len() < self.concurrency
    }

    fn is_woken_from_outside(&self) -> bool {
        true
    }

    fn has_work(&self) -> bool {
        !self.jobs.is_empty() && self.woken.as_ref().is_some_and(|woken| woken.is_woken())
    }

    fn advance(&mut self, collector: &mut BoltCollector<'_>) -> Result<Step> {
        if let Some(woken) = &self.woken {
            woken.take();
        }
        self.poll_jobs(collector);
        Ok(Step::Done)
    }

    fn in_progress(&self) -> usize {
        self.jobs.len()
    }

    fn give_up(&mut self, collector: &mut BoltCollector<'_>) {
        for Job { handle, future, .. } in self.jobs.drain(..) {
            collector.fail_deferred(handle);
            // What its drop says is of no use any more: the task has failed already.
            let _ = drop_safely(future);
        }
    }

    fn wants_copies(&self) -> bool {
        true
    }
}

/// The running `next_tuple` of an asynchronous spout.
type NextFuture<S> = Pin<Box<dyn Future<Output = (S, Result<Next>)>>>;

/// An [`AsyncSpout`] as an ordinary one: it says `Waiting` while its future is pending.
pub(crate) struct AsynchronousSpout<S> {
    /// Absent while the future has it.
    spout: Option<S>,
    next: Option<(NextFuture<S>, AsyncEmitter)>,
    waker: Option<Waker>,
    /// Acks and fails that came while the future had the spout.
    untold: Vec<(MessageId, Option<FailReason>)>,
}

impl<S: AsyncSpout> AsynchronousSpout<S> {
    pub(crate) fn new(spout: S) -> Self {
        Self { spout: Some(spout), next: None, waker: None, untold: Vec::new() }
    }

    fn tell(&mut self, id: MessageId, failed: Option<FailReason>) {
        match (&mut self.spout, failed) {
            (Some(spout), None) => spout.ack(id),
            (Some(spout), Some(reason)) => spout.fail(id, reason),
            (None, _) => self.untold.push((id, failed)),
        }
    }
}

impl<S: AsyncSpout> Spout for AsynchronousSpout<S> {
    fn declare(&self, declarer: &mut Declarer) {
        if let Some(spout) = &self.spout {
            spout.declare(declarer);
        }
    }

    fn open(&mut self, context: &TopologyContext) -> Result {
        self.waker = Some(context.waker());
        self.spout.as_mut().map_or(Ok(()), |spout| spout.open(context))
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let Some(waker) = self.waker.clone() else { return Ok(Next::Idle) };
        if self.next.is_none() {
            let Some(spout) = self.spout.take() else { return Ok(Next::Finished) };
            let emitter = AsyncEmitter::default();
            self.next = Some((Box::pin(spout.next_tuple(emitter.clone())), emitter));
        }
        let Some((future, emitter)) = &mut self.next else { return Ok(Next::Idle) };
        let Poll::Ready((spout, result)) = future.as_mut().poll(&mut Context::from_waker(&waker)) else {
            return Ok(Next::Waiting);
        };
        let emitter = emitter.clone();
        self.next = None;
        self.spout = Some(spout);
        for (id, failed) in std::mem::take(&mut self.untold) {
            self.tell(id, failed);
        }
        for OwnedEmission { stream, id, tuple } in emitter.emissions.take() {
            let SpoutCollector { transfer, output, tracker, .. } = &mut *collector;
            match (tuple, output.stream_index(&stream)) {
                (Ok((schema, payload)), Some(index)) => {
                    let tuple = Serialized { schema: &schema, payload: &payload };
                    match id {
                        Some(id) => tracker.emit(output, transfer, index, id, &tuple),
                        None => output.emit(transfer, index, &tuple, &mut Untracked),
                    }
                }
                (Ok(_), None) => collector.refuse(id),
                (Err(text), _) => {
                    output.refuse(text);
                    collector.refuse(id);
                }
            }
        }
        result
    }

    fn ack(&mut self, id: MessageId) {
        self.tell(id, None);
    }

    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.tell(id, Some(reason));
    }

    fn close(&mut self) {
        if let Some(spout) = &mut self.spout {
            spout.close();
        }
    }
}
