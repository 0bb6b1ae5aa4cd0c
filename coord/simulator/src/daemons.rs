//! The machines of the control plane, in the words of the world.
//!
//! Threading: plain data. Errors: none of their own.

mod client;
mod nimbus;
mod supervisor;
mod worker;

pub use client::clients;
pub use nimbus::nimbus;
pub use supervisor::supervisor;
pub(crate) use worker::worker;
