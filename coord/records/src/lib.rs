//! Storm's records and its znode tree, as data: what nimbus, supervisors, workers and clients write for each other.
//!
//! - [`thrift`]: the binary protocol, messages and frames.
//! - [`records`]: every struct of the tree and of the nimbus port, from one definition.
//! - [`nimbus`]: the methods on the nimbus port.
//! - [`payload`]: what lies in znodes: gzip over records, and the few other forms.
//! - [`znode`]: every path of the tree, how its node is made, and what lies there.
//! - [`render`]: records and nodes for people, as JSON.
//!
//! Invariants: pure functions of bytes and texts; no I/O, no clock, no randomness. Bytes of a stranger, in a znode or
//! on a port, cost one clear error and a bounded amount of memory. A reader tolerates what later versions add.
//!
//! Threading: plain data. Errors: reported to whoever reads; what cannot be read is never a reason to remove it.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod fuzz;
pub mod nimbus;
pub mod payload;
pub mod records;
pub mod render;
pub mod thrift;
pub mod znode;
