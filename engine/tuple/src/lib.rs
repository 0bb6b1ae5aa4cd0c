//! Tuples: typed and dynamic values, their bytes, their views and the hash that places keys.
//!
//! A stream carries *typed* tuples (a struct with `#[derive(Tuple)]`) or *dynamic* ones ([`Values`]). Both are written
//! once, as an rkyv archive with the root at its end ([`Tuple::serialize`]), and read in place after that
//! ([`Tuple::view`], [`Schema::field`]). Both show the same named fields as [`FieldRef`]s, to groupings ([`hash`]), to
//! JSON and to bolts that read by name.
//!
//! Invariants: every archived type has alignment 1, so a payload may start at any address; every byte of a payload is
//! initialised; [`Schema::validate`] accepts only what can then be walked safely, to a bounded depth.
//!
//! Miri needs `-Zmiri-tree-borrows` here: rkyv's relative pointers lead out of the bytes of the reference through which
//! they are read, which Tree Borrows allows and Stacked Borrows, an older model, does not.
//!
//! Threading: pure data and functions; [`Schema`] and [`Fields`] are shared between threads, views stay where their
//! bytes are. Errors are returned to the caller, who fails the one tuple at hand and carries on.
//!
//! ```
//! use ringstorm_tuple::{Schema, Tuple};
//!
//! #[derive(Tuple)]
//! #[tuple(crate = ringstorm_tuple)]
//! struct Word<'a> {
//!     word: &'a str,
//!     count: u64,
//! }
//!
//! let mut payload = Vec::new();
//! Word { word: "storm", count: 3 }.serialize(&mut payload)?;
//!
//! let schema = Word::schema();
//! schema.validate(&payload)?;
//! // SAFETY: the payload was just validated against this schema.
//! let view = unsafe { schema.view::<Word<'_>>(&payload) }?;
//! assert_eq!((view.word(), view.count()), ("storm", 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod archived;
mod base64;
mod check;
mod encode;
mod error;
pub mod field;
mod field_ref;
mod fields;
#[doc(hidden)]
pub mod fuzz;
pub mod hash;
mod json;
mod layout;
mod record;
mod schema;
mod tuple;
mod value;
mod values;

pub use archived::{ArchivedValue, ArchivedValues};
pub use encode::{Encoder, MAX_PAYLOAD_BYTES, Slot, Stored};
pub use error::{EncodeError, ValidateError, ViewError};
pub use field::{Field, ListView};
pub use field_ref::{FieldRef, List, ListRef, MapRef};
pub use fields::Fields;
pub use layout::{Kind, LayoutHash};
pub use ringstorm_tuple_derive::{Tuple, TupleField};
pub use rkyv;
pub use schema::Schema;
pub use tuple::Tuple;
pub use value::{MAX_DEPTH, Value};
pub use values::{Values, ValuesView};

/// What derived code calls. Not part of the interface: it may change with every version.
#[doc(hidden)]
pub mod derived {
    pub use crate::archived::{
        ArchivedEnum, ArchivedField, ArchivedValue, ArchivedValues, UnitEnum, Validator, variant_named,
    };
    pub use crate::check::{check_field, check_record};
    pub use crate::encode::{Encoder, Slot, Stored, encode, root};
    pub use crate::error::{EncodeError, ValidateError, ViewError};
    pub use crate::field::{Field, Item};
    pub use crate::field_ref::FieldRef;
    pub use crate::layout::{Kind, LayoutHash};
    pub use crate::record::{IsField, Record, check_count, check_value};
    pub use crate::tuple::levels;
}
