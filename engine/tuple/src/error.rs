//! What can go wrong with one tuple, and who acts.
//!
//! Every error here concerns a single tuple: the caller fails its input (or drops and counts it when it has none) and
//! goes on with the next.

use crate::{FieldRef, Fields, Kind, LayoutHash, MAX_DEPTH, MAX_PAYLOAD_BYTES};

/// A tuple could not be written. Nothing was appended. The component that emitted it must change what it emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The archive would be larger than its 32-bit offsets can span.
    #[error("the tuple needs at least {bytes} bytes, more than the {MAX_PAYLOAD_BYTES} that one may have: split it")]
    TooLarge {
        /// What the tuple would need, in bytes, as far as that was counted.
        bytes: usize,
    },
    /// A dynamic value nests lists and maps too deeply.
    #[error("a value nests lists and maps more than {MAX_DEPTH} deep: flatten it")]
    TooDeep,
    /// A dynamic tuple has not as many values as its stream has fields.
    #[error(
        "the tuple has {}, but its stream declares {}: emit one value for each",
        counted(*found, "value"),
        counted(*wanted, "field")
    )]
    Count {
        /// How many fields the stream declares.
        wanted: usize,
        /// How many values the tuple has.
        found: usize,
    },
    /// A tuple of another layout was emitted than the stream declares.
    #[error("the tuple has layout {found}, but its stream declares {wanted}: emit the type that was declared")]
    Layout {
        /// The layout of the stream.
        wanted: LayoutHash,
        /// The layout of the tuple.
        found: LayoutHash,
    },
}

/// Bytes from another machine are no tuple of their stream. Its sender is broken or hostile: drop the tuple, count it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// The payload has not the size that its fields need.
    #[error("the payload has {found} bytes where the fields of its stream need {wanted}: the sender is corrupt")]
    Size {
        /// The size in bytes that the fields need (at least, when some of them vary).
        wanted: usize,
        /// The size in bytes that was found.
        found: usize,
    },
    /// The bytes of one field are not of its kind: bad UTF-8, a bad tag, or an offset that leads outside.
    #[error("field {index} ({name}) of the payload is not a valid {kind}: the sender is corrupt")]
    Field {
        /// The index of the field.
        index: usize,
        /// The name of the field.
        name: &'static str,
        /// The kind that it should have.
        kind: Kind,
    },
    /// The values of a dynamic tuple cannot be walked: bad UTF-8, a bad tag, an offset that leads outside, or too deep.
    #[error("the payload is not a valid list of values: the sender is corrupt")]
    Values,
    /// A dynamic tuple has not as many values as its stream has fields.
    #[error(
        "the payload has {}, but its stream declares {}: the sender is corrupt",
        counted(*found, "value"),
        counted(*wanted, "field")
    )]
    Count {
        /// How many fields the stream declares.
        wanted: usize,
        /// How many values the payload has.
        found: usize,
    },
}

/// A tuple cannot be read as the type that a bolt asks for. The topology's author must change one of the two.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The tuple is a tick of the system, which carries nothing that a component has emitted. Found by whoever knows where
    /// a tuple comes from.
    #[error("the tuple is a tick and carries no data: ask `is_tick` first, and read only what is none")]
    Tick,
    /// The fields of a dynamic stream have not the names of those of the type, or not in the same order.
    #[error(
        "the stream declares the fields {found}, but the type reads {wanted}: declare the same names in the same order \
         on both sides, or read the fields by name or by index"
    )]
    Names {
        /// The fields of the stream.
        found: Fields,
        /// The fields of the type.
        wanted: Fields,
    },
    /// A dynamic tuple has not as many values as the type has fields.
    #[error(
        "the tuple has {}, but the type reads {}: declare the same fields on both sides",
        counted(*found, "value"),
        counted(*wanted, "field")
    )]
    Count {
        /// How many fields the type has.
        wanted: usize,
        /// How many values the tuple has.
        found: usize,
    },
    /// A value of a dynamic tuple does not fit the kind of its field.
    #[error("field {index} ({name}) holds {found}, but the type reads {wanted}: emit that kind or read another")]
    Field {
        /// The index of the field.
        index: usize,
        /// The name of the field in the type that reads.
        name: &'static str,
        /// The kind that the type reads.
        wanted: Kind,
        /// What the tuple holds, in words.
        found: &'static str,
    },
    /// The stream carries another typed layout.
    #[error("the stream carries another type: {differences}: read the type that is emitted, or its fields by name")]
    Layout {
        /// Which fields differ, in words.
        differences: String,
    },
}

/// `1 field`, `2 fields`.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl ViewError {
    /// The error for a dynamic stream whose fields are named otherwise than those of the type that reads it.
    #[cold]
    pub(crate) fn names(found: &Fields, wanted: &[&str]) -> ViewError {
        ViewError::Names { found: found.clone(), wanted: Fields::new(wanted.iter().copied()) }
    }

    /// The error for a stream of one typed layout that is read as another.
    #[cold]
    pub(crate) fn layout(found_names: &Fields, found_kinds: &[Kind], names: &[&str], kinds: &[Kind]) -> ViewError {
        let found = found_names.iter().zip(found_kinds).map(|(name, kind)| format!("{name}: {kind}"));
        let wanted = names.iter().zip(kinds).map(|(name, kind)| format!("{name}: {kind}"));
        let (found, wanted): (Vec<_>, Vec<_>) = (found.collect(), wanted.collect());
        let mut differences = Vec::new();
        for index in 0..found.len().max(wanted.len()) {
            match (found.get(index), wanted.get(index)) {
                (Some(found), Some(wanted)) if found == wanted => {}
                (Some(found), Some(wanted)) => {
                    differences.push(format!("field {index} is `{found}` where `{wanted}` is read"));
                }
                (Some(found), None) => differences.push(format!("field {index}, `{found}`, is not read")),
                (None, Some(wanted)) => differences.push(format!("field {index}, `{wanted}`, is missing")),
                (None, None) => {}
            }
        }
        ViewError::Layout { differences: differences.join("; ") }
    }

    #[cold]
    pub(crate) fn field(index: usize, name: &'static str, wanted: Kind, found: FieldRef<'_>) -> ViewError {
        ViewError::Field { index, name, wanted, found: found.kind_name() }
    }
}
