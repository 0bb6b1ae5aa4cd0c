//! Ringstorm: Apache Storm's model on a thread-per-core io_uring runtime.

mod entry;

/// What derived code refers to. Not part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use ringstorm_tuple as tuple;
}

#[doc(no_inline)]
pub use clap;
pub use entry::{NoOptions, main};
pub use ringstorm_runtime::*;
pub use ringstorm_tuple::{FieldRef, Fields, Tuple, TupleField, Value, Values, values};
pub use ringstorm_types as types;
pub use ringstorm_types::config::Config;
pub use ringstorm_types::{MessageId, TaskId};

/// What nearly every topology imports.
pub mod prelude {
    #[doc(no_inline)]
    pub use std::process::ExitCode;

    #[doc(no_inline)]
    pub use clap;

    pub use crate::{
        Bolt, BoltCollector, Config, Declarer, Emitter, FailReason, FlatMap, Input, LocalCluster, MessageId, Next,
        NoOptions, Result, SimpleBolt, Spout, SpoutCollector, TopologyBuilder, TopologyContext, Tuple, TupleRef,
        Values, values,
    };
}
