//! The machines of the control plane hold Storm's tree on a real ensemble of three members: through a topology's whole
//! life, and while the ensemble and the daemons fail.
//!
//! Daemons are threads, each with a client and a link of its own; so are workers, whose cores do nothing. Code lies in
//! memory. Where ZooKeeper is not installed all of it is skipped, loudly, see [`ringstorm_ensemble`].

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod daemon;
mod faults;
mod life;
mod nimbus;
#[path = "../../../coord/records/tests/java_oracle/oracle.rs"]
#[allow(dead_code, reason = "others need more of it")]
mod oracle;
mod storms_classes;
mod supervisor;
#[path = "../../../coord/store/zookeeper/tests/contract/golden/tree.rs"]
#[allow(dead_code, reason = "others need more of it")]
mod tree;
mod worker;
mod world;

/// Where the oracle's program lies, from this package.
const ORACLE: &str = "../coord/records/tests/java";
