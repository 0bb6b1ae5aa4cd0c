//! Nimbus as a daemon: everything around the machine of [`ringstorm_nimbus`] that does I/O.
//!
//! ```text
//!   clients ─► port ─► service ─┬─► machine, over ZooKeeper        the thread that called `serve`
//!             one thread        ├─► uploads, downloads             one thread
//!                               ├─► reads, with their own session  one thread
//!                               └─► code directory  ◄─ machine     one thread, and a few that fetch
//! ```
//!
//! - [`settings`]: what can be set, and how it follows from a configuration.
//! - [`port`]: connections, frames, and what hostile peers may cost.
//! - `service`: what each method means.
//! - `checks`: whether what is submitted can run here at all.
//! - `files`: the inbox of uploads, downloads.
//! - `code`: the code directory on disk.
//! - `reads`: what only looks, through [`ringstorm_views`].
//! - [`daemon`]: all of it together, from start to end.
//!
//! Invariants: the machine's thread waits for nothing but its inbox; whoever asks is answered or told why not. Threading:
//! as above; what threads share is a map of what is held on disk, and the replies that are waited for. Errors: of the
//! start, returned; afterwards each costs the one who asked an answer, and operators a line of the log.
#![forbid(unsafe_code)]

mod checks;
mod code;
pub mod daemon;
mod files;
mod hand;
pub mod port;
mod random;
mod reads;
mod service;
pub mod settings;

pub use daemon::{NimbusDaemon, Stopper, run};
pub use settings::DaemonSettings;
