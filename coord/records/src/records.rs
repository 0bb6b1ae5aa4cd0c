//! Storm's records: every struct, union, exception and enumeration of the znode tree and of the nimbus port.
//!
//! The tables are the one definition from which types, encoding, decoding and schema come; how they are written stands
//! in `thrift/define.rs`. Field ids, names and types are Storm's (`storm.thrift` of 2.8.2) and compared with Storm's
//! own classes by the test `java_oracle`. A record keeps Storm's name; a field has Storm's name in snake case, and is
//! shown to people by Storm's own.
//!
//! Left out, since nothing here speaks of them: DRPC, Pacemaker, worker tokens, and the local state files of Storm's
//! supervisors.

mod blobs;
mod cluster;
mod exceptions;
mod options;
mod pages;
mod statistics;
mod summaries;
mod topology;

pub use blobs::*;
pub use cluster::*;
pub use exceptions::*;
pub use options::*;
pub use pages::*;
pub use statistics::*;
pub use summaries::*;
pub use topology::*;

use crate::thrift::RecordType;

/// Every record, in no particular order.
pub fn all() -> impl Iterator<Item = &'static RecordType> {
    let modules = [BLOBS, CLUSTER, EXCEPTIONS, OPTIONS, PAGES, STATISTICS, SUMMARIES, TOPOLOGY];
    modules.into_iter().flatten()
}

/// The record that Storm calls so.
pub fn named(name: &str) -> Option<&'static RecordType> {
    all().find(|record| record.schema.name == name)
}
