//! One-to-many work as an iterator, which the core pulls while the subscribers have room.
//!
//! A line of 50 MB becomes eight million words without eight million words ever waiting: the iterator rests, half
//! pulled, until its subscribers have caught up.
//!
//! Invariants: an iterator borrows the bolt and the bytes of its input; both stay where they are until it is dropped.
//! The bolt lives in a box, the input's frame stays with the executor while `Step::Suspended` is the last answer, and
//! the iterator is dropped before either goes.

use ringstorm_tuple::Tuple;

use crate::api::bolt::{CoreBolt, Step};
use crate::api::collector::BoltCollector;
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::input::{AckHandle, Input, TupleRef};
use crate::core::failure::drop_safely;
use crate::error::Result;

/// A bolt that turns each tuple into any number of tuples on its default stream. Emits are anchored by themselves; the
/// input is acked when the iterator ends, and failed when `flat_map` returns an error or something panics.
pub trait FlatMap: 'static {
    /// Declares the default stream and what is read.
    fn declare(&self, declarer: &mut Declarer);

    /// Called once before the first tuple.
    ///
    /// # Errors
    /// An error ends the run.
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        let _ = context;
        Ok(())
    }

    /// The tuples that come of one tuple.
    ///
    /// # Errors
    /// An error fails the tuple and is reported; the task goes on as it is.
    fn flat_map<'a>(&'a mut self, input: TupleRef<'a>) -> Result<impl Iterator<Item = impl Tuple + 'a> + 'a>;
}

/// Tuples pulled before the rest of the turn gets its share.
const PULLS_PER_SLICE: usize = 256;

/// Pulls tuples and emits them: the iterator without its item type.
trait Pull {
    /// Returns whether the iterator has ended.
    fn pull(&mut self, emit: Target<'_, '_>) -> bool;
}

/// Where pulled tuples go.
enum Target<'a, 'c> {
    Input(&'a mut BoltCollector<'c>, &'a Input<'a>),
    Handle(&'a mut BoltCollector<'c>, &'a AckHandle),
}

struct Puller<I>(I);

impl<T: Tuple, I: Iterator<Item = T>> Pull for Puller<I> {
    fn pull(&mut self, target: Target<'_, '_>) -> bool {
        match target {
            Target::Input(collector, input) => pull_some(&mut self.0, collector, input),
            Target::Handle(collector, handle) => pull_some(&mut self.0, collector, handle),
        }
    }
}

fn pull_some<T: Tuple, A: crate::api::anchor::Anchor>(
    iterator: &mut impl Iterator<Item = T>,
    collector: &mut BoltCollector<'_>,
    anchor: &A,
) -> bool {
    for _ in 0..PULLS_PER_SLICE {
        match iterator.next() {
            Some(tuple) => collector.emit(anchor, &tuple),
            None => return true,
        }
        if collector.output.refused.is_some() {
            return true;
        }
        if !collector.has_room() {
            return false;
        }
    }
    false
}

/// A half-pulled iterator and the input it works on.
struct Suspended {
    iterator: Box<dyn Pull>,
    handle: AckHandle,
}

/// A [`FlatMap`] as a core drives it.
pub(crate) struct FlatMapping<F> {
    /// Declared before `bolt`, so that the iterator goes first.
    suspended: Option<Suspended>,
    /// In a box of its own: the iterator points into it.
    bolt: *mut F,
}

impl<F: FlatMap> FlatMapping<F> {
    pub(crate) fn new(bolt: F) -> Self {
        Self { suspended: None, bolt: Box::into_raw(Box::new(bolt)) }
    }

    fn bolt(&mut self) -> &mut F {
        debug_assert!(self.suspended.is_none(), "the iterator holds the only reference while it rests");
        // SAFETY: the pointer comes from `Box::into_raw` in `new` and is freed only in `drop`. No other reference
        // exists: the only other one is held by a suspended iterator, and callers come here only when there is none.
        unsafe { &mut *self.bolt }
    }
}

impl<F> Drop for FlatMapping<F> {
    fn drop(&mut self) {
        let dropped = drop_safely(self.suspended.take());
        // SAFETY: the pointer comes from `Box::into_raw` in `new`; nothing points into it any more.
        drop(unsafe { Box::from_raw(self.bolt) });
        if let Some(text) = dropped
            && !std::thread::panicking()
        {
            panic!("the drop of its iterator {text}");
        }
    }
}

impl<F: FlatMap> CoreBolt for FlatMapping<F> {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.bolt().prepare(context)
    }

    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result<Step> {
        debug_assert!(self.suspended.is_none(), "no input is given before `is_ready`");
        // SAFETY: the pointer comes from `Box::into_raw` in `new`; no iterator holds a reference, as asserted. The
        // reference is not taken through `self.bolt()` because the iterator it goes into may outlive this call.
        let bolt = unsafe { &mut *self.bolt };
        let iterator = match bolt.flat_map(input.tuple) {
            Ok(iterator) => iterator,
            Err(error) => {
                collector.fail(input);
                collector.report_failure(error);
                return Ok(Step::Done);
            }
        };
        let mut puller = Puller(iterator);
        if puller.pull(Target::Input(collector, input)) {
            // Before the ack: a panic in its drop fails the tuple.
            drop(puller);
            if collector.output.refused.is_none() {
                collector.ack(input);
            }
            return Ok(Step::Done);
        }
        let boxed: Box<dyn Pull + '_> = Box::new(puller);
        // SAFETY: only the lifetime changes. What it stood for outlives the iterator: the bolt is freed after it in
        // `drop`, and the input's frame and source stay with the executor while this says `Suspended`. Attacked by the
        // flat-map tests with full inboxes, panics and rebuilds.
        let iterator = unsafe { std::mem::transmute::<Box<dyn Pull + '_>, Box<dyn Pull + 'static>>(boxed) };
        self.suspended = Some(Suspended { iterator, handle: input.defer() });
        Ok(Step::Suspended)
    }

    fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
        Ok(())
    }

    fn cleanup(&mut self) {}

    fn is_ready(&self) -> bool {
        self.suspended.is_none()
    }

    fn has_work(&self) -> bool {
        self.suspended.is_some()
    }

    fn advance(&mut self, collector: &mut BoltCollector<'_>) -> Result<Step> {
        let Some(suspended) = &mut self.suspended else { return Ok(Step::Done) };
        if !suspended.iterator.pull(Target::Handle(collector, &suspended.handle)) {
            return Ok(Step::Suspended);
        }
        let Some(Suspended { iterator, handle }) = self.suspended.take() else { return Ok(Step::Done) };
        let refused = collector.output.refused.take();
        if let Some(text) = drop_safely(iterator) {
            collector.fail_deferred(handle);
            return Err(format!("the drop of its iterator {text}").into());
        }
        match refused {
            None => collector.ack_deferred(handle),
            Some(text) => {
                collector.fail_deferred(handle);
                collector.report_error(text);
            }
        }
        Ok(Step::Done)
    }

    fn in_progress(&self) -> usize {
        usize::from(self.suspended.is_some())
    }

    fn give_up(&mut self, collector: &mut BoltCollector<'_>) {
        if let Some(Suspended { iterator, handle }) = self.suspended.take() {
            collector.fail_deferred(handle);
            // What its drop says is of no use any more: the task has failed already.
            let _ = drop_safely(iterator);
        }
    }

    fn wants_copies(&self) -> bool {
        true
    }
}
