//! What the jobs of asynchronous components emit with: tuples are serialised at once and wait for their job to end.
//!
//! Invariants: what is emitted while its job runs leaves when that ends; what is emitted afterwards, through a clone that
//! was kept, is refused and counted.
//!
//! Threading: stays on the core of its task.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ringstorm_tuple::{Schema, Tuple};
use ringstorm_types::{DEFAULT_STREAM, MessageId};

use crate::core::reports::encode_text;
use crate::error::Result;

/// One emit that waits for its job to end.
pub(crate) struct OwnedEmission {
    pub(crate) stream: String,
    pub(crate) id: Option<MessageId>,
    /// The serialised tuple with its schema, or why it could not be serialised.
    pub(crate) tuple: Result<(Schema, Vec<u8>), String>,
}

/// What a job emits with. Its clones are good for the same job, and like it of no use once that has ended: what is emitted
/// then is refused, counted and reported.
#[derive(Clone, Default)]
pub struct AsyncEmitter(Rc<Outbox>);

#[derive(Default)]
struct Outbox {
    emissions: RefCell<Vec<OwnedEmission>>,
    /// The job has ended: nobody looks here any more.
    is_closed: Cell<bool>,
    late: Late,
}

/// What was emitted too late, for all jobs of a task.
#[derive(Clone, Default)]
pub(crate) struct Late(Rc<RefCell<LateEmits>>);

#[derive(Default)]
struct LateEmits {
    count: u64,
    ids: Vec<MessageId>,
}

impl Late {
    /// What came too late since this was last asked, in words, and the messages among it.
    pub(crate) fn take(&self) -> Option<(String, Vec<MessageId>)> {
        let LateEmits { count, ids } = self.0.take();
        let text = || {
            format!(
                "{count} emits were refused, since they were made with the emitter of a job that had ended; emit with that \
                 of the running one"
            )
        };
        (count > 0).then(|| (text(), ids))
    }

    fn note(&self, id: Option<MessageId>) {
        let mut late = self.0.borrow_mut();
        late.count += 1;
        late.ids.extend(id);
    }
}

impl std::fmt::Debug for AsyncEmitter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AsyncEmitter").field("waiting", &self.0.emissions.borrow().len()).finish()
    }
}

impl AsyncEmitter {
    pub(crate) fn new(late: &Late) -> Self {
        Self(Rc::new(Outbox { late: late.clone(), ..Outbox::default() }))
    }

    /// Ends it, and gives what was emitted.
    pub(crate) fn close(&self) -> Vec<OwnedEmission> {
        self.0.is_closed.set(true);
        self.0.emissions.take()
    }

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
        if self.0.is_closed.get() {
            return self.0.late.note(id);
        }
        let schema = schema_of::<T>(tuple);
        let mut payload = Vec::with_capacity(Tuple::size_hint(tuple));
        let tuple = match Tuple::serialize(tuple, &mut payload) {
            Ok(()) => Ok((schema, payload)),
            Err(error) => Err(format!("an emit to stream {stream}: {}", encode_text(&error, tuple, schema.fields()))),
        };
        self.0.emissions.borrow_mut().push(OwnedEmission { stream: stream.to_owned(), id, tuple });
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
