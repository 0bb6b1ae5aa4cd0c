//! What a bolt receives: a tuple read in place, the handle that acks it later, and the copy that outlives the call.
//!
//! Invariants: an [`Input`] never outlives its `execute` call (the borrow checker sees to it). The input of a tuple and
//! all of its handles are one and the same member of its trees: whichever of them a child is anchored to, and whichever of
//! them is acked, what is acked stands for all children so far. A tuple is acked or failed once, by whichever comes first.
//! One that never is times out, as in Storm.
//!
//! Threading: none of these leaves its thread; they are not `Send`.

use std::cell::{Cell, OnceCell};
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;

use ringstorm_frame::{Anchors, ManyAnchors};
use ringstorm_tuple::{FieldRef, Fields, Schema, Tuple, ViewError};
use ringstorm_types::{ComponentId, StreamId, TaskId, nearest};

use crate::api::emittable::Serialized;

/// Where a stream comes from and how its tuples are laid out: one value for each (component, stream) of a topology.
#[derive(Debug, Clone)]
pub struct Source {
    /// The emitting component.
    pub component: ComponentId,
    /// The stream.
    pub stream: StreamId,
    /// Field names and layout.
    pub schema: Schema,
}

/// The trees a tuple belongs to, and what has become of it in them.
#[derive(Debug)]
pub(crate) struct TreeState<'a> {
    pub(crate) anchors: Anchors<'a>,
    fate: Fate,
    /// What the handles share, once there is one: from then on it stands for `fate`.
    shared: OnceCell<Rc<OwnedTree>>,
}

/// What has become of a tuple in its trees.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    /// The XOR of the edges that were anchored to it.
    pub(crate) children: Cell<u64>,
    /// Acked or failed.
    settled: Cell<bool>,
}

impl Fate {
    /// Notes that the tuple is acked or failed. Returns whether it was not before: whoever gets `false` does nothing.
    #[inline]
    #[must_use]
    pub(crate) fn settle(&self) -> bool {
        !self.settled.replace(true)
    }
}

impl<'a> TreeState<'a> {
    pub(crate) fn new() -> Self {
        Self { anchors: Anchors::None, fate: Fate::default(), shared: OnceCell::new() }
    }

    #[inline]
    fn renew(&mut self, anchors: Anchors<'a>) {
        self.anchors = anchors;
        self.fate.children.set(0);
        self.fate.settled.set(false);
        if self.shared.get().is_some() {
            self.shared = OnceCell::new();
        }
    }

    /// Where edges of children are folded in, and whether the tuple is settled.
    #[inline]
    pub(crate) fn fate(&self) -> &Fate {
        self.shared.get().map_or(&self.fate, |shared| &shared.fate)
    }
}

/// A tuple read in place: borrowed, cheap to copy around, gone when the call ends.
#[derive(Clone, Copy, Debug)]
pub struct TupleRef<'a> {
    pub(crate) payload: &'a [u8],
    pub(crate) source: &'a Source,
    pub(crate) source_task: u32,
}

impl<'a> TupleRef<'a> {
    /// The tuple as a struct with `#[derive(Tuple)]`: accessors return native values, nothing is copied.
    ///
    /// # Errors
    /// When the stream's tuples do not have these fields: the error says which differ. When the tuple is a tick
    /// ([`TupleRef::is_tick`]): [`ViewError::Tick`].
    #[inline]
    pub fn view<T: Tuple>(&self) -> Result<T::View<'a>, ViewError> {
        // SAFETY: the payload was written by a tuple of this schema (checked at emit) or validated against it where it
        // entered the process. Attacked by the tuple crate's mutation tests.
        unsafe { self.source.schema.view::<T>(self.payload) }.map_err(|error| self.explain(error))
    }

    /// Whoever reads a tick as data is helped by that word, not by what differs between the two.
    #[cold]
    fn explain(&self, error: ViewError) -> ViewError {
        if self.is_tick() { ViewError::Tick } else { error }
    }

    /// The value at an index.
    ///
    /// # Errors
    /// When the stream has no such field; the error says which there are.
    pub fn get(&self, index: usize) -> Result<FieldRef<'a>, UnknownField> {
        if index >= self.source.schema.fields().len() {
            return Err(UnknownField::at(self.source, index));
        }
        // SAFETY: as for `view`, and the index was checked.
        Ok(unsafe { self.source.schema.field(self.payload, index) })
    }

    /// The value of a named field.
    ///
    /// # Errors
    /// When the stream has no such field; the error lists those it has, and says which one may be meant.
    pub fn field(&self, name: &str) -> Result<FieldRef<'a>, UnknownField> {
        match self.source.schema.index_of(name) {
            // SAFETY: as for `view`; the schema itself gave the index.
            Some(index) => Ok(unsafe { self.source.schema.field(self.payload, index) }),
            None => Err(UnknownField::named(self.source, name)),
        }
    }

    /// The names of the stream's fields.
    pub fn fields(&self) -> &'a Fields {
        self.source.schema.fields()
    }

    /// The component that emitted the tuple.
    pub fn source_component(&self) -> &'a ComponentId {
        &self.source.component
    }

    /// The stream it came on.
    pub fn source_stream(&self) -> &'a StreamId {
        &self.source.stream
    }

    /// The task that emitted it; [`TaskId::SYSTEM`] for ticks.
    pub fn source_task(&self) -> TaskId {
        task_id(self.source_task)
    }

    /// Whether this is a tick of the system and not a tuple of a component. Ticks come to the tasks of bolts that asked for
    /// them ([`tick_every`](crate::BoltDeclarer::tick_every)); they carry the period as their one field, `rate_secs`.
    #[inline]
    pub fn is_tick(&self) -> bool {
        self.source_task == 0
    }

    /// Bytes of the serialised values.
    pub fn size_bytes(&self) -> usize {
        self.payload.len()
    }

    /// The values as a JSON object, field by field.
    pub fn to_json(&self) -> serde_json::Value {
        let fields = self.source.schema.fields();
        let object = fields.iter().enumerate().map(|(index, name)| {
            // SAFETY: as for `view`; indices come from the schema's own fields.
            let value = unsafe { self.source.schema.field(self.payload, index) };
            (name.to_string(), value.to_json())
        });
        serde_json::Value::Object(object.collect())
    }

    /// Copies the tuple so that it outlives the call.
    pub fn copy(&self) -> TupleCopy {
        TupleCopy { payload: self.payload.into(), source: self.source.clone(), source_task: self.source_task }
    }

    pub(crate) fn serialized(&self) -> Serialized<'a> {
        Serialized { schema: &self.source.schema, payload: self.payload }
    }
}

/// A tuple that a bolt executes: what [`TupleRef`] reads, and the duty to ack it.
#[derive(Debug)]
pub struct Input<'a> {
    pub(crate) tuple: TupleRef<'a>,
    pub(crate) tree: TreeState<'a>,
    /// Which of the executor's inputs this counts for.
    pub(crate) input_index: u16,
    pub(crate) received_ns: u64,
    pub(crate) not_send: PhantomData<*mut ()>,
}

impl<'a> Deref for Input<'a> {
    type Target = TupleRef<'a>;
    #[inline]
    fn deref(&self) -> &TupleRef<'a> {
        &self.tuple
    }
}

impl<'a> Input<'a> {
    /// Makes this the next tuple of the same run.
    #[inline]
    pub(crate) fn renew(&mut self, payload: &'a [u8], anchors: Anchors<'a>) {
        self.tuple.payload = payload;
        self.tree.renew(anchors);
    }

    /// A handle that acks or fails the tuple from a later call.
    ///
    /// The input and all handles of one tuple are the same: what is emitted anchored to one of them belongs to all, and
    /// the first ack or fail of any of them counts, whereas later ones do nothing.
    pub fn defer(&self) -> AckHandle {
        let shared = self.tree.shared.get_or_init(|| Rc::new(OwnedTree::new(self)));
        AckHandle { tree: Rc::clone(shared) }
    }

    /// Copies the tuple so that it outlives the call, together with the duty to ack it.
    pub fn keep(&self) -> OwnedTuple {
        OwnedTuple { copy: self.tuple.copy(), handle: self.defer() }
    }
}

/// Acks or fails a tuple after its `execute` call. When all handles are dropped unused, the tuple times out.
#[derive(Debug)]
pub struct AckHandle {
    pub(crate) tree: Rc<OwnedTree>,
}

/// A tuple copied out of its frame.
#[derive(Debug, Clone)]
pub struct TupleCopy {
    payload: Box<[u8]>,
    source: Source,
    source_task: u32,
}

impl TupleCopy {
    /// The tuple, to be read.
    #[inline]
    pub fn tuple(&self) -> TupleRef<'_> {
        TupleRef { payload: &self.payload, source: &self.source, source_task: self.source_task }
    }
}

/// A tuple copied out of its frame, with the duty to ack it.
#[derive(Debug)]
pub struct OwnedTuple {
    copy: TupleCopy,
    pub(crate) handle: AckHandle,
}

impl OwnedTuple {
    /// The tuple, to be read.
    #[inline]
    pub fn tuple(&self) -> TupleRef<'_> {
        self.copy.tuple()
    }

    /// Keeps only the duty to ack.
    pub fn into_handle(self) -> AckHandle {
        self.handle
    }
}

pub(crate) fn task_id(task: u32) -> TaskId {
    if task == 0 { TaskId::SYSTEM } else { TaskId(i32::try_from(task).unwrap_or(i32::MAX)) }
}

/// A field that the stream of a tuple does not have.
#[derive(Debug, Clone, thiserror::Error)]
#[error("there is no field {wanted} on stream {stream} of {component}; its fields are {fields}{hint}")]
pub struct UnknownField {
    wanted: String,
    component: ComponentId,
    stream: StreamId,
    fields: Fields,
    /// Which one may be meant, in words; empty where none is near.
    hint: String,
}

impl UnknownField {
    #[cold]
    fn at(source: &Source, index: usize) -> Self {
        Self::new(source, format!("at index {index}"), String::new())
    }

    #[cold]
    fn named(source: &Source, name: &str) -> Self {
        let near = nearest(name, source.schema.fields().iter());
        Self::new(source, format!("{name:?}"), near.map_or(String::new(), |near| format!("; did you mean {near:?}?")))
    }

    fn new(source: &Source, wanted: String, hint: String) -> Self {
        Self {
            wanted,
            hint,
            component: source.component.clone(),
            stream: source.stream.clone(),
            fields: source.schema.fields().clone(),
        }
    }
}

/// A tree state that outlives the frame it was read from: one for all handles of a tuple.
#[derive(Debug)]
pub(crate) struct OwnedTree {
    roots: OwnedRoots,
    pub(crate) fate: Fate,
    pub(crate) input_index: u16,
    pub(crate) received_ns: u64,
}

#[derive(Debug)]
enum OwnedRoots {
    None,
    Derived { root: u64, position: u16 },
    Pair { root: u64, edge: u64 },
    Many(Box<[u8]>),
}

impl OwnedTree {
    fn new(input: &Input<'_>) -> Self {
        let TreeState { anchors, fate, .. } = &input.tree;
        let roots = match *anchors {
            Anchors::None => OwnedRoots::None,
            Anchors::Derived { root, position } => OwnedRoots::Derived { root, position },
            Anchors::Pair { root, edge } => OwnedRoots::Pair { root, edge },
            Anchors::Many(many) => {
                let mut bytes = Vec::with_capacity(16 * many.len());
                for (root, edge) in many.iter() {
                    ManyAnchors::push_pair(&mut bytes, root, edge);
                }
                OwnedRoots::Many(bytes.into())
            }
        };
        let fate = Fate { children: fate.children.clone(), settled: fate.settled.clone() };
        Self { roots, fate, input_index: input.input_index, received_ns: input.received_ns }
    }

    pub(crate) fn anchors(&self) -> Anchors<'_> {
        match &self.roots {
            OwnedRoots::None => Anchors::None,
            OwnedRoots::Derived { root, position } => Anchors::Derived { root: *root, position: *position },
            OwnedRoots::Pair { root, edge } => Anchors::Pair { root: *root, edge: *edge },
            OwnedRoots::Many(bytes) => Anchors::Many(ManyAnchors::from_bytes(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_does_not_exist_is_answered_with_those_that_do() {
        let source = Source {
            component: ComponentId::from_static("numbers"),
            stream: StreamId::from_static("default"),
            schema: Schema::dynamic(["value", "unit"]),
        };
        let tuple = TupleRef { payload: &[], source: &source, source_task: 1 };
        let text = |error: Result<FieldRef<'_>, UnknownField>| error.unwrap_err().to_string();
        let start =
            |wanted| format!("there is no field {wanted} on stream default of numbers; its fields are [value, unit]");
        assert_eq!(text(tuple.field("valu")), format!("{}; did you mean \"value\"?", start("\"valu\"")));
        assert_eq!(text(tuple.field("other")), start("\"other\""));
        assert_eq!(text(tuple.get(2)), start("at index 2"));
    }
}
