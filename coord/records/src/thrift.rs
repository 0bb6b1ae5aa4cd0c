//! Thrift's binary protocol, and records that are defined once.
//!
//! **Why not a Thrift library.** Three were looked at, at these versions:
//!
//! - `thrift` 0.25 (Apache's own) with generated code. Well kept. But its generator is a C++ program that distributions
//!   ship in older versions (0.17), whose code reserves what the length of a list claims; texts are reserved by their
//!   length too, up to 100 MB unless set. Unknown fields are lost, and an unknown member of a union loses the record.
//!   Nothing describes the records, so that names for people would be a second definition.
//! - `pilota` 0.13 (with `volo-thrift`). Well kept. It brings tokio and a Protobuf runtime, trusts lengths (a short
//!   buffer panics), and does not bound nesting when it decodes.
//! - `fbthrift`: bound to its own compiler and build.
//!
//! What Storm needs of Thrift is one protocol, framed, without services of its own kind. That is this folder; the
//! records stand in [`records`](crate::records) as tables that read like an interface definition.
//!
//! - [`Record`], [`Wire`]: values and whole records; [`Decoder`] and [`Encoder`] under them.
//! - [`Schema`]: what a record looks like, as data.
//! - [`UnknownFields`]: what a later version wrote and this one keeps.
//! - [`Tree`]: any value without its definition.
//! - [`message`], [`frame`]: calls and answers, and how they lie in a stream of bytes.
//!
//! Invariants: hostile bytes cost one [`DecodeError`]: no panic, no deep recursion, memory within [`allowance`]. Equal
//! records have equal bytes.

mod decoder;
mod define;
mod encoder;
mod error;
pub mod frame;
mod kind;
pub mod message;
mod record;
mod schema;
mod tree;
mod unknown;
mod wire;

pub use decoder::{DEPTH_MAX, Decoder, allowance};
pub(crate) use define::{enumerations, records};
pub use encoder::Encoder;
pub use error::{DecodeError, Problem};
pub use kind::Kind;
pub use record::{Record, RecordType};
pub use schema::{EnumSchema, FieldSchema, Schema, Type};
pub use tree::Tree;
pub use unknown::{UnknownField, UnknownFields};
pub use wire::{Binary, Wire};
pub(crate) use wire::{Field, absent};
