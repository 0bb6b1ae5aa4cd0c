//! What a task reports of its errors, in words, and how much of it is kept.
//!
//! Threading: belongs to the core of its task.

use ringstorm_tuple::{EncodeError, FieldRef, Fields, MAX_DEPTH};

use crate::api::emittable::Emittable;

/// Texts kept of what a task reports in one turn.
const REPORTS_PER_TURN: usize = 8;

/// What a task reported since its core last told the coordinator. However much a task reports, the first texts are kept
/// and the others are counted, so that errors cost neither memory nor time.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) texts: Vec<String>,
    pub(crate) more: u64,
}

impl Reports {
    pub(crate) fn push(&mut self, text: impl FnOnce() -> String) {
        if self.texts.len() < REPORTS_PER_TURN {
            self.texts.push(text());
        } else {
            self.more += 1;
        }
    }
}

/// Why a tuple cannot be encoded, with the field that is at fault where it can be told.
#[cold]
pub(crate) fn encode_text<E: Emittable>(error: &EncodeError, tuple: &E, fields: &Fields) -> String {
    let at_fault = match error {
        EncodeError::TooDeep => (0..tuple.field_count()).find(|index| is_too_deep(tuple.field(*index), MAX_DEPTH)),
        _ => None,
    };
    match at_fault.and_then(|index| fields.get(index)) {
        Some(field) => format!("field {field:?}: {error}"),
        None => error.to_string(),
    }
}

/// Whether a value nests lists and maps more than `depth` deep. Looks no deeper, so the stack is safe.
fn is_too_deep(value: FieldRef<'_>, depth: usize) -> bool {
    match value {
        FieldRef::List(items) => depth == 0 || items.iter().any(|item| is_too_deep(item, depth - 1)),
        FieldRef::Map(entries) => depth == 0 || entries.iter().any(|(_, entry)| is_too_deep(entry, depth - 1)),
        _ => false,
    }
}
