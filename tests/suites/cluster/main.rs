//! A whole cluster of real processes: a ZooKeeper ensemble, nimbuses, supervisors, workers, and the command line that
//! people use, under a load whose source knows what became of each message.
//!
//! Everything is done as an operator would do it: by the commands, and by signals to processes. Each test has a cluster
//! of its own. Skipped loudly where ZooKeeper is missing, see `ringstorm-ensemble`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod code;
mod damage;
mod deaths;
mod failures;
mod harness;
mod java;
mod leftovers;
mod levels;
mod life;
mod links;
mod misbehaviour;
#[path = "../../../coord/records/tests/java_oracle/oracle.rs"]
#[allow(dead_code, reason = "records need more of it")]
mod oracle;
mod ports;
mod submissions;
mod versions;

/// Where the Java programs lie, from this package.
const ORACLE: &str = "java";
