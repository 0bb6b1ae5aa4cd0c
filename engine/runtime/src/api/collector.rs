//! What user code emits, acks and fails with: Storm's collectors.
//!
//! A collector is lent for one call and cannot leave its thread: it holds references and is not `Send`. Code on other
//! threads hands tuples to a spout through a [`channel`](crate::library::channel).
//!
//! ```compile_fail,E0277
//! fn elsewhere(mut collector: ringstorm_runtime::BoltCollector<'static>) {
//!     std::thread::spawn(move || collector.report_error("from another thread"));
//! }
//! ```
//!
//! ```compile_fail,E0277
//! fn elsewhere(mut collector: ringstorm_runtime::SpoutCollector<'static>) {
//!     std::thread::spawn(move || collector.report_error("from another thread"));
//! }
//! ```
//!
//! Emits never block. One that is refused (an undeclared stream, a tuple of another layout, a value that cannot be
//! encoded, a tuple above `topology.tuple.max.bytes`) fails the call it was made in, with an error that names component
//! and stream.

use std::marker::PhantomData;

use ringstorm_acking::RootId;
use ringstorm_frame::Anchors;
use ringstorm_tuple::Tuple;
use ringstorm_types::{MessageId, TaskId};

use crate::api::anchor::Anchoring;
use crate::api::emittable::Emittable;
use crate::api::input::{AckHandle, Input};
use crate::core::failure::{drop_safely, error_text};
use crate::core::gate::Gate;
use crate::core::output::{BoltCopies, TaskOutput};
use crate::core::stats::InputStats;
use crate::core::transfer::Transfer;
use crate::error::BoxError;

/// What a bolt emits, acks and fails with.
pub struct BoltCollector<'a> {
    pub(crate) transfer: &'a mut Transfer,
    pub(crate) output: &'a mut TaskOutput,
    pub(crate) inputs: &'a mut [InputStats],
    pub(crate) gate: &'a mut Gate,
    pub(crate) not_send: PhantomData<*mut ()>,
}

impl BoltCollector<'_> {
    /// Emits to the default stream, anchored to `anchors`: an input, a handle, several, or
    /// [`Unanchored`](crate::api::anchor::Unanchored).
    #[inline]
    pub fn emit<T: Tuple>(&mut self, anchors: impl Anchoring, tuple: &T) {
        self.emit_indexed(0, anchors, tuple);
    }

    /// Emits to a named stream.
    pub fn emit_to<T: Tuple>(&mut self, stream: &str, anchors: impl Anchoring, tuple: &T) {
        if let Some(index) = self.output.stream_index(stream) {
            self.emit_indexed(index, anchors, tuple);
        }
    }

    /// Emits to one task that subscribes to a direct stream.
    pub fn emit_direct<T: Tuple>(&mut self, target: TaskId, stream: &str, anchors: impl Anchoring, tuple: &T) {
        if let Some(index) = self.output.stream_index(stream) {
            self.output.emit_direct(self.transfer, target, index, tuple, &mut BoltCopies::new(anchors));
        }
    }

    /// Emits a received tuple again, to the default stream, without serialising it. The stream must have been declared
    /// with the same layout.
    pub fn forward(&mut self, input: &Input<'_>) {
        self.emit_indexed(0, input, &input.serialized());
    }

    /// Emits a received tuple again to a named stream, without serialising it.
    pub fn forward_to(&mut self, stream: &str, input: &Input<'_>) {
        if let Some(index) = self.output.stream_index(stream) {
            self.emit_indexed(index, input, &input.serialized());
        }
    }

    /// The tuple is done. Acking twice, or after failing, does nothing. After an emit of the same call was refused the
    /// tuple fails instead: what should have come of it is not complete.
    #[inline]
    pub fn ack(&mut self, input: &Input<'_>) {
        if self.output.refused.is_some() {
            return self.fail(input);
        }
        let fate = input.tree.fate();
        if !fate.settle() {
            return;
        }
        if let Some(stats) = self.inputs.get_mut(usize::from(input.input_index)) {
            stats.acked += 1;
            stats.acked_in_place += 1;
        }
        self.ack_tree(input.tree.anchors, fate.children.get());
    }

    /// Fails every tree of the tuple, so that their spouts hear of it at once. Failing twice does nothing.
    pub fn fail(&mut self, input: &Input<'_>) {
        if !input.tree.fate().settle() {
            return;
        }
        if let Some(stats) = self.inputs.get_mut(usize::from(input.input_index)) {
            stats.failed += 1;
        }
        self.fail_tree(input.tree.anchors);
    }

    /// The deferred tuple is done; as for [`BoltCollector::ack`], it fails after a refused emit of the same call. After the
    /// tuple was acked or failed, by its input or by another handle, this does nothing.
    pub fn ack_deferred(&mut self, handle: AckHandle) {
        if self.output.refused.is_some() {
            return self.fail_deferred(handle);
        }
        let tree = &handle.tree;
        if !tree.fate.settle() {
            return;
        }
        if let Some(stats) = self.inputs.get_mut(usize::from(tree.input_index)) {
            stats.acked += 1;
            stats.record_process(self.transfer.now_ns.saturating_sub(tree.received_ns), 1);
        }
        self.ack_tree(tree.anchors(), tree.fate.children.get());
    }

    /// Fails every tree of the deferred tuple, unless it was acked or failed before.
    pub fn fail_deferred(&mut self, handle: AckHandle) {
        let tree = &handle.tree;
        if !tree.fate.settle() {
            return;
        }
        if let Some(stats) = self.inputs.get_mut(usize::from(tree.input_index)) {
            stats.failed += 1;
        }
        self.fail_tree(tree.anchors());
    }

    /// Starts the message time-out of the tuple's trees anew.
    pub fn reset_timeout(&mut self, anchor: &impl crate::api::anchor::Anchor) {
        match anchor.tree().anchors {
            Anchors::None => {}
            Anchors::Derived { root, .. } | Anchors::Pair { root, .. } => {
                self.transfer.reset_timeout(RootId(root));
            }
            Anchors::Many(many) => many.iter().for_each(|(root, _)| self.transfer.reset_timeout(RootId(root))),
        }
    }

    /// Reports an error with this component and task; nothing fails.
    pub fn report_error(&mut self, error: impl std::fmt::Display) {
        self.output.reported.push(|| error.to_string());
    }

    /// As [`BoltCollector::report_error`], with an error that its maker has let go of.
    #[cold]
    pub(crate) fn report_failure(&mut self, error: BoxError) {
        let mut error = Some(error);
        self.output.reported.push(|| error.take().map(error_text).unwrap_or_default());
        drop_safely(error);
    }

    /// Whether the subscribers have room. Emitting more than a call's worth without it costs memory, nothing else.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        self.gate.is_open(self.transfer)
    }

    #[inline]
    pub(crate) fn emit_indexed<E: Emittable>(&mut self, stream_index: usize, anchors: impl Anchoring, tuple: &E) {
        self.output.emit(self.transfer, stream_index, tuple, &mut BoltCopies::new(anchors));
    }

    #[inline]
    pub(crate) fn ack_tree(&mut self, anchors: Anchors<'_>, children: u64) {
        let key = self.transfer.edge_key;
        match anchors {
            Anchors::None => {}
            Anchors::Derived { root, position } if children == 0 => self.transfer.ack_derived(RootId(root), position),
            Anchors::Derived { root, position } => {
                self.transfer.folder.ack(RootId(root), key.edge(RootId(root), position) ^ children);
            }
            Anchors::Pair { root, edge } => self.transfer.folder.ack(RootId(root), edge ^ children),
            Anchors::Many(many) => {
                many.iter().for_each(|(root, edge)| self.transfer.folder.ack(RootId(root), edge ^ children));
            }
        }
    }

    pub(crate) fn fail_tree(&mut self, anchors: Anchors<'_>) {
        let task = self.output.task;
        match anchors {
            Anchors::None => {}
            Anchors::Derived { root, .. } | Anchors::Pair { root, .. } => self.transfer.fail(RootId(root), task),
            Anchors::Many(many) => many.iter().for_each(|(root, _)| self.transfer.fail(RootId(root), task)),
        }
    }
}

/// What a simple bolt emits with: every emit is anchored to the tuple that is being executed.
pub struct Emitter<'a, 'c, 'i> {
    pub(crate) collector: &'a mut BoltCollector<'c>,
    /// `None` in `finish`, where there is nothing to anchor to.
    pub(crate) input: Option<&'a Input<'i>>,
}

impl Emitter<'_, '_, '_> {
    /// Emits to the default stream.
    #[inline]
    pub fn emit<T: Tuple>(&mut self, tuple: &T) {
        self.emit_indexed(0, tuple);
    }

    /// Emits to a named stream.
    pub fn emit_to<T: Tuple>(&mut self, stream: &str, tuple: &T) {
        if let Some(index) = self.collector.output.stream_index(stream) {
            self.emit_indexed(index, tuple);
        }
    }

    /// Emits to one task that subscribes to a direct stream.
    pub fn emit_direct<T: Tuple>(&mut self, target: TaskId, stream: &str, tuple: &T) {
        match self.input {
            Some(input) => self.collector.emit_direct(target, stream, input, tuple),
            None => self.collector.emit_direct(target, stream, crate::api::anchor::Unanchored, tuple),
        }
    }

    /// Emits the received tuple again without serialising it. Does nothing in `finish`.
    pub fn forward(&mut self) {
        if let Some(input) = self.input {
            self.collector.forward(input);
        }
    }

    /// Reports an error with this component and task; nothing fails.
    pub fn report_error(&mut self, error: impl std::fmt::Display) {
        self.collector.report_error(error);
    }

    #[inline]
    fn emit_indexed<T: Tuple>(&mut self, index: usize, tuple: &T) {
        match self.input {
            Some(input) => self.collector.emit_indexed(index, input, tuple),
            None => self.collector.emit_indexed(index, crate::api::anchor::Unanchored, tuple),
        }
    }
}

/// What a spout emits with.
pub struct SpoutCollector<'a> {
    pub(crate) transfer: &'a mut Transfer,
    pub(crate) output: &'a mut TaskOutput,
    pub(crate) tracker: &'a mut crate::core::tracker::Tracker,
    pub(crate) not_send: PhantomData<*mut ()>,
}

impl SpoutCollector<'_> {
    /// Emits to the default stream without a message id: nobody hears of its fate.
    #[inline]
    pub fn emit<T: Tuple>(&mut self, tuple: &T) {
        self.output.emit(self.transfer, 0, tuple, &mut crate::core::output::Untracked);
    }

    /// Emits to the default stream; the spout hears exactly one ack or fail for the message id.
    #[inline]
    pub fn emit_with_id<T: Tuple>(&mut self, id: impl Into<MessageId>, tuple: &T) {
        self.tracker.emit(self.output, self.transfer, 0, id.into(), tuple);
    }

    /// Emits to a named stream, with or without a message id.
    pub fn emit_to<T: Tuple>(&mut self, stream: &str, id: Option<MessageId>, tuple: &T) {
        let Some(index) = self.output.stream_index(stream) else { return self.refuse(id) };
        match id {
            Some(id) => self.tracker.emit(self.output, self.transfer, index, id, tuple),
            None => self.output.emit(self.transfer, index, tuple, &mut crate::core::output::Untracked),
        }
    }

    /// Emits to one task that subscribes to a direct stream, with or without a message id.
    pub fn emit_direct<T: Tuple>(&mut self, target: TaskId, stream: &str, id: Option<MessageId>, tuple: &T) {
        let Some(index) = self.output.stream_index(stream) else { return self.refuse(id) };
        match id {
            Some(id) => self.tracker.emit_direct(self.output, self.transfer, target, index, id, tuple),
            None => {
                self.output.emit_direct(self.transfer, target, index, tuple, &mut crate::core::output::Untracked);
            }
        }
    }

    /// A message that was emitted to no stream has failed.
    #[cold]
    pub(crate) fn refuse(&mut self, id: Option<MessageId>) {
        if let Some(id) = id {
            self.tracker.refuse(id, self.output.task);
        }
    }

    /// How many of this task's messages are neither acked nor failed.
    pub fn pending_count(&self) -> usize {
        self.tracker.pending_count()
    }

    /// Reports an error with this component and task; nothing fails.
    pub fn report_error(&mut self, error: impl std::fmt::Display) {
        self.output.reported.push(|| error.to_string());
    }
}
