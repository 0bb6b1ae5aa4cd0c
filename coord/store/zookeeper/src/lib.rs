//! The store on a real ZooKeeper ensemble.
//!
//! A [`ZooKeeperStore`] keeps the contract of every [`Store`](ringstorm_store::store::Store) on the crate
//! `zookeeper-client`. The crate is driven by one thread of this package's own, so that neither a busy core nor a busy
//! control thread can make a session expire.
//!
//! What the crate does not give, and this package does:
//!
//! - After an interruption every armed watch is told as missed and armed anew by whoever reads again; nothing relies on
//!   the crate's own restoring of watches, which loses the persistent ones (0.11.2).
//! - After the end of a session another one is opened, for as long as the store lives, with pauses that grow. Operations
//!   of the old session are refused.
//! - While there is no connection operations are refused at once, where the crate would queue them without a limit. Each
//!   operation has a time-out; how many may be under way is bounded.
//! - An error that leaves open whether something was done is told apart from one that says it was not.
//! - A fault inside the crate ends a session and not the process.
//!
//! Invariants: those of the contract. Threading: a store belongs to one thread, its own thread does the rest. Errors:
//! outcomes and session events; settings are checked before anything is started.
#![forbid(unsafe_code)]

mod convert;
mod serving;
mod settings;
mod store;
mod thread;

pub use settings::{Settings, SettingsError, daemon_acls, root, worker_acls};
pub use store::{IN_FLIGHT_MAX, ZooKeeperStore};
