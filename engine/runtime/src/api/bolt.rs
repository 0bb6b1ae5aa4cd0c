//! Components that execute tuples, and the one form in which a core drives all of them.

use std::cell::OnceCell;

use crate::api::collector::{BoltCollector, Emitter};
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::input::Input;
use crate::core::failure::caught;
use crate::error::Result;

/// Executes tuples, with full control over anchoring and acking. One instance runs each task; it is made on its core
/// by the component's factory and never leaves its thread.
///
/// A tuple that is neither acked, failed nor [deferred](Input::defer) times out.
pub trait Bolt: 'static {
    /// Declares the streams that are emitted and what is read. Called on a throw-away instance when the topology is
    /// built.
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

    /// Executes one tuple. Ticks come here too; see [`TupleRef::is_tick`](crate::TupleRef::is_tick).
    ///
    /// # Errors
    /// An error (as a panic) fails this tuple, is reported, and the task is rebuilt from its factory: what it held in
    /// memory is lost.
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result;

    /// Whether executed tuples wait for [`Bolt::flush`].
    fn wants_flush(&self) -> bool {
        false
    }

    /// Works off what `execute` has gathered, for bolts that do better with many tuples at once: writes a buffer, sends
    /// a request, acks the tuples that were [deferred](Input::defer). Called soon after an `execute` when
    /// [`Bolt::wants_flush`] says so: at once when nothing more is queued, after some hundred tuples under load. So batches
    /// come from what is queued and never from waiting.
    ///
    /// # Errors
    /// An error (as a panic) is reported and the task is rebuilt; deferred tuples whose handles are lost time out.
    fn flush(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        let _ = collector;
        Ok(())
    }

    /// The input has ended and every tuple upstream is done: emit what is left.
    ///
    /// # Errors
    /// An error is reported.
    fn finish(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        let _ = collector;
        Ok(())
    }

    /// Called once at the end of an orderly stop.
    fn cleanup(&mut self) {}
}

/// Executes tuples; returning `Ok` acks, an error fails, and every emit is anchored by itself.
///
/// A bolt for which ticks were asked ([`tick_every`](crate::BoltDeclarer::tick_every), or
/// `topology.tick.tuple.freq.secs`) gets them in `execute`, once per period and task, among its other tuples: ask
/// [`is_tick`](crate::TupleRef::is_tick) before anything else, since a tick cannot be read as data. What is emitted for one
/// is anchored to nothing.
///
/// ```
/// # use ringstorm_runtime::{Emitter, Input, Result, SimpleBolt};
/// # use ringstorm_tuple::Tuple;
/// # #[derive(Tuple)]
/// # #[tuple(crate = ringstorm_tuple)]
/// # struct Number { value: u64 }
/// #[derive(Default)]
/// struct Sum { sum: u64 }
///
/// impl SimpleBolt for Sum {
///     fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
///         if input.is_tick() {
///             println!("{}", self.sum);
///         } else {
///             self.sum += input.view::<Number>()?.value();
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait SimpleBolt: 'static {
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

    /// Executes one tuple, or a tick.
    ///
    /// # Errors
    /// An error fails the tuple and is reported; the task goes on as it is. (A panic rebuilds it.)
    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result;

    /// The input has ended and every tuple upstream is done: emit what is left.
    ///
    /// # Errors
    /// An error is reported.
    fn finish(&mut self, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        let _ = emitter;
        Ok(())
    }

    /// Called once at the end of an orderly stop.
    fn cleanup(&mut self) {}
}

/// What became of an execute call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The call did what there was to do; the frame of the input may go.
    Done,
    /// The input is still being worked on and its bytes must stay; drive it with `advance`.
    Suspended,
}

/// The form in which a core drives every kind of bolt.
pub(crate) trait CoreBolt {
    fn prepare(&mut self, context: &TopologyContext) -> Result;
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result<Step>;
    fn finish(&mut self, collector: &mut BoltCollector<'_>) -> Result;
    fn cleanup(&mut self);

    /// Whether another input may be given.
    fn is_ready(&self) -> bool {
        true
    }
    /// Whether work may come up without an input, through a waker.
    fn is_woken_from_outside(&self) -> bool {
        false
    }
    /// Whether `advance` has something to do now.
    fn has_work(&self) -> bool {
        false
    }
    /// Goes on with what is suspended, a slice's worth at most; `Suspended` when an input's bytes must still stay.
    fn advance(&mut self, collector: &mut BoltCollector<'_>) -> Result<Step> {
        let _ = collector;
        Ok(Step::Done)
    }
    /// Inputs taken and not done.
    fn in_progress(&self) -> usize {
        0
    }
    /// Fails the inputs that are taken and not done: what works on them is about to be dropped.
    fn give_up(&mut self, collector: &mut BoltCollector<'_>) {
        let _ = collector;
    }
    /// Inputs must be copied to the inbox first, since they outlive the call.
    fn wants_copies(&self) -> bool {
        false
    }
}

/// A [`Bolt`] as a core drives it.
pub(crate) struct Plain<B> {
    bolt: B,
    /// What [`Bolt::wants_flush`] said when it panicked: the next `advance` fails with it.
    flush_panic: OnceCell<String>,
}

impl<B> Plain<B> {
    pub(crate) fn new(bolt: B) -> Self {
        Self { bolt, flush_panic: OnceCell::new() }
    }
}

impl<B: Bolt> CoreBolt for Plain<B> {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.bolt.prepare(context)
    }
    #[inline]
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result<Step> {
        self.bolt.execute(input, collector)?;
        Ok(Step::Done)
    }
    fn finish(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        self.bolt.finish(collector)
    }
    fn cleanup(&mut self) {
        self.bolt.cleanup();
    }
    #[inline]
    fn has_work(&self) -> bool {
        self.flush_panic.get().is_some()
            || caught(|| self.bolt.wants_flush()).unwrap_or_else(|text| self.flush_panic.set(text).is_ok())
    }
    fn advance(&mut self, collector: &mut BoltCollector<'_>) -> Result<Step> {
        if let Some(text) = self.flush_panic.take() {
            return Err(format!("wants_flush panicked: {text}").into());
        }
        self.bolt.flush(collector)?;
        Ok(Step::Done)
    }
}

/// A [`SimpleBolt`] as a core drives it.
pub(crate) struct Simple<B>(pub(crate) B);

impl<B: SimpleBolt> CoreBolt for Simple<B> {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.0.prepare(context)
    }
    #[inline]
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result<Step> {
        match self.0.execute(input, &mut Emitter { collector, input: Some(input) }) {
            Ok(()) if collector.output.refused.is_none() => collector.ack(input),
            Ok(()) => {}
            Err(error) => {
                collector.fail(input);
                collector.report_failure(error);
            }
        }
        Ok(Step::Done)
    }
    fn finish(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        self.0.finish(&mut Emitter { collector, input: None })
    }
    fn cleanup(&mut self) {
        self.0.cleanup();
    }
}
