//! Ready-made components: spouts and bolts to use or to build on.
//!
//! - [`LineSpout`] reads lines from a file or standard input, [`LineWriter`] writes them;
//! - [`channel`](channel()) takes messages from other threads and async code;
//! - [`ReplayingSpout`] makes a reliable spout of any [`Source`] of messages;
//! - [`TopologyBuilder::spout_fn`](crate::TopologyBuilder::spout_fn) and its siblings make components of closures.

mod channel;
mod closures;
mod delivery;
mod line_writer;
mod lines;
mod queue;
mod replay;
mod retry;

pub use channel::{ChannelSender, ChannelSource, Envelope, SendError, SendFuture, TrySendError, channel, channel_with};
pub use closures::FlatMapFn;
pub use delivery::{Delivery, DeliveryError};
pub use line_writer::LineWriter;
pub use lines::{Line, LineSpout, LineView};
pub use replay::{DeadLetter, Emission, Fetched, ReplayCounts, ReplayingSpout, Source};
pub use retry::{Retry, RetryPolicy};
