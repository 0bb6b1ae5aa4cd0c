//! The whole daemon on a real ensemble, asked by its port as any client would.
//!
//! One test runs at a time: each has an ensemble of one member. Where ZooKeeper is not installed all of it is skipped,
//! loudly, see [`ringstorm_ensemble`].
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod client;
mod cluster;
mod hostile;
mod life;
#[path = "../../../../records/tests/java_oracle/oracle.rs"]
#[allow(dead_code, reason = "others need more of it")]
mod oracle;
mod ours;
mod process;
mod storms_client;
mod two;

/// Where the oracle's program lies, from this package.
const ORACLE: &str = "tests/java";
