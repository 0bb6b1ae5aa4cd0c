//! Spouts that await their next tuple.
//!
//! Invariants: acks and fails that come while the future has the spout are told as soon as it gives it back, and counted in
//! the report where it never does.
//!
//! Threading: the future stays on the core of its task; only its waker travels.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use ringstorm_acking::FailReason;
use ringstorm_types::MessageId;

use crate::api::async_emitter::{AsyncEmitter, Late, OwnedEmission};
use crate::api::collector::SpoutCollector;
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::emittable::Serialized;
use crate::api::spout::{Next, Spout};
use crate::core::failure::error_text;
use crate::core::output::Untracked;
use crate::error::Result;

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

    /// As [`Spout::close`]. Where the run ends while [`AsyncSpout::next_tuple`] still awaits, its future is dropped with the
    /// spout in it and this is not called; acks and fails that it was not told of are counted in the report.
    fn close(&mut self) {}
}

/// The running `next_tuple` of an asynchronous spout.
type NextFuture<S> = Pin<Box<dyn Future<Output = (S, Result<Next>)>>>;

/// An [`AsyncSpout`] as an ordinary one: it says `Waiting` while its future is pending.
pub(crate) struct AsynchronousSpout<S> {
    /// Absent while the future has it.
    spout: Option<S>,
    next: Option<(NextFuture<S>, AsyncEmitter)>,
    context: Option<TopologyContext>,
    /// Acks and fails that came while the future had the spout.
    untold: Vec<(MessageId, Option<FailReason>)>,
    /// What was emitted for futures that had ended.
    late: Late,
}

impl<S: AsyncSpout> AsynchronousSpout<S> {
    pub(crate) fn new(spout: S) -> Self {
        Self { spout: Some(spout), next: None, context: None, untold: Vec::new(), late: Late::default() }
    }

    fn tell(&mut self, id: MessageId, failed: Option<FailReason>) {
        match (&mut self.spout, failed) {
            (Some(spout), None) => spout.ack(id),
            (Some(spout), Some(reason)) => spout.fail(id, reason),
            (None, _) => self.untold.push((id, failed)),
        }
    }

    /// Polls the future. When it has ended the spout is back, and has been told of everything; then this gives what it
    /// emitted and what it said.
    fn poll_next(&mut self) -> Option<(Vec<OwnedEmission>, Result<Next>)> {
        let waker = self.context.as_ref()?.waker();
        let (future, emitter) = self.next.as_mut()?;
        let Poll::Ready((spout, result)) = future.as_mut().poll(&mut Context::from_waker(&waker)) else { return None };
        let emissions = emitter.close();
        self.spout = Some(spout);
        self.next = None;
        for (id, failed) in std::mem::take(&mut self.untold) {
            self.tell(id, failed);
        }
        Some((emissions, result))
    }

    /// Has the spout back for its end, if its future is ready to give it back. What that has emitted comes too late.
    fn take_back(&mut self, context: &TopologyContext) {
        let Some((emissions, result)) = self.poll_next() else { return };
        let task = u32::try_from(context.task().0).unwrap_or(0);
        if !emissions.is_empty() {
            context.report_errors([format!(
                "{} of its emits came after the end of the run and were refused",
                emissions.len()
            )]);
        }
        for id in emissions.into_iter().filter_map(|emission| emission.id) {
            self.tell(id, Some(FailReason::FailedBy { task }));
        }
        context.report_errors(result.err().map(error_text));
    }
}

impl<S: AsyncSpout> Spout for AsynchronousSpout<S> {
    fn declare(&self, declarer: &mut Declarer) {
        if let Some(spout) = &self.spout {
            spout.declare(declarer);
        }
    }

    fn open(&mut self, context: &TopologyContext) -> Result {
        self.context = Some(context.clone());
        self.spout.as_mut().map_or(Ok(()), |spout| spout.open(context))
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.next.is_none() {
            let Some(spout) = self.spout.take() else { return Ok(Next::Finished) };
            let emitter = AsyncEmitter::new(&self.late);
            self.next = Some((Box::pin(spout.next_tuple(emitter.clone())), emitter));
        }
        let polled = self.poll_next();
        if let Some((text, ids)) = self.late.take() {
            collector.report_error(text);
            ids.into_iter().for_each(|id| collector.refuse(Some(id)));
        }
        let Some((emissions, result)) = polled else { return Ok(Next::Waiting) };
        emissions.into_iter().for_each(|emission| emit(emission, collector));
        result
    }

    fn ack(&mut self, id: MessageId) {
        self.tell(id, None);
    }

    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.tell(id, Some(reason));
    }

    fn close(&mut self) {
        let Some(context) = self.context.clone() else { return };
        self.take_back(&context);
        match &mut self.spout {
            Some(spout) => spout.close(),
            // It waits for a source that has nothing: the usual end of a run that is stopped.
            None if self.untold.is_empty() => {}
            None => {
                let fails = self.untold.iter().filter(|(_, failed)| failed.is_some()).count();
                let acks = self.untold.len() - fails;
                context.report_errors([format!(
                    "its next_tuple still awaits at the end of the run: close was not called, and {acks} acks and {fails} \
                     fails were not told"
                )]);
            }
        }
        context.report_errors(self.late.take().map(|(text, _)| text));
    }
}

fn emit(OwnedEmission { stream, id, tuple }: OwnedEmission, collector: &mut SpoutCollector<'_>) {
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
