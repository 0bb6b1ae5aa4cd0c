//! Calls of a nimbus over TCP, for whoever may wait.
//!
//! - [`Connection`]: one connection, and calls on it one after another.
//! - [`perform()`]: a request, until it is known what became of it; the decisions are those of
//!   [`ringstorm_client::Client`].
//! - [`read()`]: what changes nothing, of the leader or else of any nimbus.
//! - [`download()`]: a blob, from where an earlier download broke off.
//! - [`refusals`]: how a nimbus says no. Both sides use it.
//!
//! Everything blocks, within the limits of [`Timeouts`]: a daemon that has other things to do calls from a thread of its
//! own.
//!
//! Invariants: a call that may have reached a nimbus is never reported as not sent; what a nimbus sends, whatever it is,
//! costs one error. Threading: plain values, no thread of their own but for the look-up of a name. Errors: returned, with
//! words that say whom to ask.
#![forbid(unsafe_code)]

mod connection;
mod deadline;
mod download;
mod file;
mod nimbuses;
mod perform;
mod read;
pub mod refusals;
mod requests;
mod resolve;

pub use connection::{ANSWER_BYTES_MAX, CallFailure, Connection};
pub use download::{DownloadError, Downloaded, download};
pub use file::UPLOAD_CHUNK_BYTES;
pub use perform::{Progress, perform};
pub use read::{ReadError, read, read_telling};
pub use requests::CODE_SHA256;
pub use ringstorm_client::{ClientError, ClientSettings, Success, Timeouts};
