//! `storm.yaml`, found where Storm finds it: the settings of daemons and clients of a cluster.
//!
//! - [`sources`]: where settings come from: Storm's places for the file, the environment, the command line.
//! - [`yaml`]: YAML as JSON, within bounds, with the line of everything that is wrong.
//! - [`conf`]: all settings together, Storm's defaults below them, each with its origin and its type checked.
//! - [`error`]: what can be wrong, all at once.
//!
//! Later sources go over earlier ones: Storm's defaults, the file, the environment, the command line. A key that nearly is a
//! known one is refused with what was meant; a key of Storm that has no effect here is named with the reason; every other
//! key passes through, since topologies keep settings of their own in the same map.
//!
//! Invariants: a [`Conf`] holds only values that its getters can give, so that none of them fails. Threading: plain data.
//! Errors: for the person who wrote the setting; nothing recovers from them but a changed configuration.
#![forbid(unsafe_code)]

pub mod conf;
mod defaults;
pub mod error;
mod resolved;
pub mod sources;
pub mod yaml;

pub use conf::Conf;
pub use error::ConfError;
pub use sources::{ConfSources, Role};
