//! Bolts that await: bounded jobs on their core, woken from anywhere.
//!
//! A job is a future that owns what it works on. It may await anything that is woken from another thread (channels,
//! the [side runtime](crate::side_runtime) for tokio's futures) and [`sleep`](crate::side_runtime::sleep). Its emits wait
//! in the job and leave, anchored to its tuple, when it is done.
//!
//! Invariants: a task has at most `concurrency` jobs; a job's tuple is acked when it ends with `Ok` and failed when it
//! ends with an error or panics. What is emitted through the emitter of a job that has ended is refused and counted.
//!
//! Threading: jobs stay on their core; only their wakers travel.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::api::async_emitter::{AsyncEmitter, Late, OwnedEmission};
use crate::api::bolt::{CoreBolt, Step};
use crate::api::collector::BoltCollector;
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::emittable::Serialized;
use crate::api::input::{AckHandle, Input, TupleCopy};
use crate::core::failure::{caught, drop_each, drop_safely, error_text};
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
    /// What was emitted for jobs that had ended.
    late: Late,
}

impl<B: AsyncBolt> Asynchronous<B> {
    pub(crate) fn new(bolt: B, concurrency: usize) -> Self {
        Self {
            bolt,
            jobs: Vec::new(),
            concurrency: concurrency.max(1),
            task_waker: None,
            woken: None,
            late: Late::default(),
        }
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
        self.report_late(collector);
    }

    fn report_late(&self, collector: &mut BoltCollector<'_>) {
        if let Some((text, _)) = self.late.take() {
            collector.report_error(text);
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
    for OwnedEmission { stream, tuple, .. } in emitter.close() {
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
        let emitter = AsyncEmitter::new(&self.late);
        let handle = input.defer();
        let future = Box::pin(self.bolt.execute(input.copy(), emitter.clone()));
        let waker = Arc::new(JobWaker { woken: AtomicBool::new(true), task });
        self.jobs.push(Job { future, waker, handle, emitter });
        self.poll_jobs(collector);
        Ok(Step::Done)
    }

    fn finish(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        self.report_late(collector);
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
