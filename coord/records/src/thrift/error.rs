//! Why bytes are not the record that they should be.

use super::Kind;

/// Bytes that cannot be read as a record or message. They are damaged, or were written by something else; nothing that
/// was read before the fault is used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}{}: {problem}", place_text(.place))]
pub struct DecodeError {
    /// What is wrong.
    pub problem: Problem,
    /// Where, from the start of the bytes that were to be decoded.
    pub at: usize,
    /// The innermost record and field of it that were being read, with Storm's names.
    pub place: Option<(&'static str, &'static str)>,
}

impl DecodeError {
    /// The same error, inside this field unless a deeper one is known.
    pub(crate) fn within(mut self, record: &'static str, field: &'static str) -> Self {
        self.place.get_or_insert((record, field));
        self
    }
}

fn place_text(place: &Option<(&'static str, &'static str)>) -> String {
    place.map_or_else(String::new, |(record, field)| format!(", in {record}.{field}"))
}

/// What is wrong with bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end too early.
    #[error("the bytes end where {needed} more are needed and {left} are left; they were cut, or are no such record")]
    Truncated {
        /// Bytes of the value.
        needed: usize,
        /// Bytes at hand.
        left: usize,
    },
    /// A length or count below zero.
    #[error("a length of {0} is claimed")]
    NegativeLength(i32),
    /// A container that cannot be whole.
    #[error("{count} elements are claimed, which {left} bytes cannot hold")]
    Count {
        /// What is claimed.
        count: usize,
        /// Bytes at hand.
        left: usize,
    },
    /// A byte that stands for no wire type.
    #[error("no wire type has the code {0}")]
    KindCode(u8),
    /// A container of other things than its field has.
    #[error("elements of wire type code {found} came where {} is due", expected.name())]
    Elements {
        /// The code that came.
        found: u8,
        /// What the field holds.
        expected: Kind,
    },
    /// A text that is not UTF-8.
    #[error("a text is not UTF-8")]
    NotUtf8,
    /// A field without which the record has no meaning.
    #[error("{record} has no field {id}, `{field}`, which it must have{}", hint(*.other))]
    MissingField {
        /// The record.
        record: &'static str,
        /// Storm's number of the field.
        id: i16,
        /// Storm's name of the field.
        field: &'static str,
        /// The wire type with which a field of this number came, if one did.
        other: Option<Kind>,
    },
    /// A union without a member.
    #[error("the union {0} has no member; exactly one is due")]
    EmptyUnion(&'static str),
    /// A union with several members.
    #[error("the union {0} has more than one member")]
    CrowdedUnion(&'static str),
    /// Structs and containers within each other.
    #[error("values are nested more than {0} deep")]
    TooDeep(u32),
    /// Many tiny values whose decoded form is large.
    #[error("what {length} bytes decode to would take more memory than they may; such a record is made to do harm")]
    TooLarge {
        /// The bytes that were to be decoded.
        length: usize,
    },
    /// More bytes than the record has.
    #[error("{0} bytes follow the end")]
    Trailing(usize),
    /// The first bytes of a message are of another protocol.
    #[error("a message starts with {0:08x}, which is neither version 1 of the binary protocol nor a length")]
    Version(u32),
    /// A message that is no call and no answer.
    #[error("no kind of message has the number {0}")]
    MessageKind(u8),
    /// An answer that says nothing.
    #[error("the answer to {0} holds neither a result nor an exception that is known")]
    NoResult(&'static str),
    /// An argument or message that is not what is due here.
    #[error("{0}")]
    Unexpected(String),
}

fn hint(other: Option<Kind>) -> String {
    other.map_or_else(String::new, |kind| format!("; one of wire type {} came instead", kind.name()))
}
