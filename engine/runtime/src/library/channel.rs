//! A bounded channel into a topology: any thread or async job sends, a spout emits.
//!
//! ```
//! use ringstorm_runtime::{LocalCluster, LocalOptions, TopologyBuilder, library::channel};
//! use ringstorm_tuple::Tuple;
//! use ringstorm_types::config::Config;
//!
//! #[derive(Tuple)]
//! #[tuple(crate = ringstorm_tuple)]
//! struct Order {
//!     amount: u64,
//! }
//!
//! let (sender, orders) = channel(1024);
//! let mut topology = TopologyBuilder::new();
//! topology.spout("orders", orders);
//! topology.for_each_fn("book", |_| Ok(())).shuffle_grouping("orders");
//! let run = LocalCluster::new().submit("shop", topology.build(&Config::new())?, LocalOptions::default())?;
//!
//! sender.send_tracked(Order { amount: 3 })?.wait()?; // booked
//! drop(sender); // The input has ended.
//! run.wait();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: at most `capacity` messages are in the channel, not counting those that were emitted; a message is emitted
//! by one task; a [`Delivery`] is settled in any case, by the end of the run at the latest.
//!
//! Threading: senders are `Send`, `Sync` and cheap to clone; the spout wakes up its core for nothing but messages.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ringstorm_tuple::Tuple;

use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::error::Result;
use crate::library::delivery::{Completer, Delivery, DeliveryError, delivery};
use crate::library::queue::{Pulled, Queue, Refused};
use crate::library::replay::{DeadLetter, Emission, Fetched, ReplayCounts, ReplayingSpout, Source};
use crate::library::retry::RetryPolicy;

/// Messages that a task takes from the channel at once.
const BATCH: usize = 64;

/// A channel for `capacity` messages (at least 1) and the factory of the spout that emits them, to be given to
/// [`TopologyBuilder::spout`](crate::TopologyBuilder::spout). The spout emits to its default stream. A message that
/// fails is given up at once: its sender is told if it asked to be, and may send it again; else it is reported.
///
/// The spout's input ends when every sender is dropped. With several tasks each message goes to one of them. One channel
/// serves one topology at a time.
pub fn channel<T: Tuple + Send + 'static>(
    capacity: usize,
) -> (ChannelSender<T>, impl Fn() -> ReplayingSpout<ChannelSource<T>> + Clone + Send + Sync + 'static) {
    channel_with(capacity, RetryPolicy::none())
}

/// As [`channel`], with retries of what failed.
pub fn channel_with<T: Tuple + Send + 'static>(
    capacity: usize,
    policy: RetryPolicy,
) -> (ChannelSender<T>, impl Fn() -> ReplayingSpout<ChannelSource<T>> + Clone + Send + Sync + 'static) {
    let queue = Arc::new(Queue::new(capacity, BATCH));
    let sender = ChannelSender(Arc::new(SendingEnd(Arc::clone(&queue))));
    let receiving = Arc::new(ReceivingEnd(queue));
    let factory = move || {
        let source =
            ChannelSource { receiving: Some(Arc::clone(&receiving)), batch: VecDeque::new(), done: 0, waker: None };
        ReplayingSpout::with_policy(source, policy)
    };
    (sender, factory)
}

/// A message that could not be sent, since the run has ended.
#[derive(thiserror::Error, Clone, PartialEq, Eq)]
#[error("the topology does not take messages any more; its run has ended")]
pub struct SendError<T>(pub T);

/// A message that could not be sent at once.
#[derive(thiserror::Error, Clone, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The channel is full: the topology is slower than its senders.
    #[error("the channel is full; send later, or wait with send")]
    Full(T),
    /// The run has ended.
    #[error("the topology does not take messages any more; its run has ended")]
    Closed(T),
}

impl<T> std::fmt::Debug for SendError<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SendError(..)")
    }
}

impl<T> std::fmt::Debug for TrySendError<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if matches!(self, Self::Full(_)) { "Full(..)" } else { "Closed(..)" })
    }
}

/// Sends messages into a topology, before it runs or while it does. Clones send into the same channel.
pub struct ChannelSender<T>(Arc<SendingEnd<T>>);

impl<T> Clone for ChannelSender<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> std::fmt::Debug for ChannelSender<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ChannelSender(..)")
    }
}

impl<T> ChannelSender<T> {
    /// Sends a message; waits while the channel is full. Not for code on a core, which it would stall.
    ///
    /// # Errors
    /// [`SendError`] with the message when the run has ended.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.0.push(Envelope { message, completer: None }).map_err(|refused| SendError(refused.message))
    }

    /// Sends a message if there is room now.
    ///
    /// # Errors
    /// [`TrySendError`] with the message.
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.try_push(Envelope { message, completer: None })
    }

    /// As [`ChannelSender::send`]; the [`Delivery`] tells what becomes of the message.
    ///
    /// # Errors
    /// [`SendError`] with the message when the run has ended.
    pub fn send_tracked(&self, message: T) -> Result<Delivery, SendError<T>> {
        let (envelope, delivery) = Envelope::tracked(message);
        self.0.0.push(envelope).map_err(|refused| SendError(refused.message))?;
        Ok(delivery)
    }

    /// As [`ChannelSender::try_send`]; the [`Delivery`] tells what becomes of the message.
    ///
    /// # Errors
    /// [`TrySendError`] with the message.
    pub fn try_send_tracked(&self, message: T) -> Result<Delivery, TrySendError<T>> {
        let (envelope, delivery) = Envelope::tracked(message);
        self.try_push(envelope)?;
        Ok(delivery)
    }

    /// Sends a message from async code, on any runtime: awaits room, and gives what tells its fate:
    /// `sender.send_async(order).await?.await?` returns when the order is processed.
    pub fn send_async(&self, message: T) -> SendFuture<'_, T> {
        let (envelope, delivery) = Envelope::tracked(message);
        SendFuture { sender: self, envelope: Some(envelope), delivery: Some(delivery) }
    }

    fn try_push(&self, envelope: Envelope<T>) -> Result<(), TrySendError<T>> {
        self.0.0.try_push(envelope).map_err(|refused| match refused {
            Refused::Full(envelope) => TrySendError::Full(envelope.message),
            Refused::Closed(envelope) => TrySendError::Closed(envelope.message),
        })
    }
}

/// The future of [`ChannelSender::send_async`]. Dropped before it is ready, the message is not sent.
#[must_use = "nothing is sent before it is awaited"]
pub struct SendFuture<'a, T> {
    sender: &'a ChannelSender<T>,
    envelope: Option<Envelope<T>>,
    delivery: Option<Delivery>,
}

impl<T> std::fmt::Debug for SendFuture<'_, T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SendFuture(..)")
    }
}

// Nothing in it is pinned: the message is moved out before it is used.
impl<T> Unpin for SendFuture<'_, T> {}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<Delivery, SendError<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match this.sender.0.0.poll_push(&mut this.envelope, context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(refused)) => Poll::Ready(Err(SendError(refused.message))),
            Poll::Ready(Ok(())) => {
                Poll::Ready(Ok(this.delivery.take().expect("a future is not polled after it is ready")))
            }
        }
    }
}

/// A message on its way.
#[derive(Debug)]
pub struct Envelope<T> {
    message: T,
    completer: Option<Completer>,
}

impl<T> Envelope<T> {
    fn tracked(message: T) -> (Self, Delivery) {
        let (completer, delivery) = delivery();
        (Self { message, completer: Some(completer) }, delivery)
    }
}

/// Dropped with the last sender: the input has ended.
struct SendingEnd<T>(Arc<Queue<Envelope<T>>>);

impl<T> Drop for SendingEnd<T> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Dropped when neither a task nor a factory that could make one is left: nobody will ever take a message.
struct ReceivingEnd<T>(Arc<Queue<Envelope<T>>>);

impl<T> Drop for ReceivingEnd<T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The messages of a [`channel`].
pub struct ChannelSource<T> {
    /// Absent once the run is over.
    receiving: Option<Arc<ReceivingEnd<T>>>,
    batch: VecDeque<Envelope<T>>,
    /// Messages of the batch that were handed on, whose room is given back with the next pull.
    done: usize,
    waker: Option<Waker>,
}

impl<T> Drop for ChannelSource<T> {
    fn drop(&mut self) {
        if let Some(receiving) = &self.receiving {
            receiving.0.give_back(self.done + self.batch.len());
        }
    }
}

impl<T> std::fmt::Debug for ChannelSource<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ChannelSource").field("taken", &self.batch.len()).finish_non_exhaustive()
    }
}

impl<T: Tuple + Send + 'static> Source for ChannelSource<T> {
    type Message = Envelope<T>;

    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<T>();
    }

    fn open(&mut self, context: &TopologyContext) -> Result {
        self.waker = Some(context.waker());
        if let Some(receiving) = &self.receiving {
            receiving.0.open();
        }
        Ok(())
    }

    fn fetch(&mut self) -> Result<Fetched<Envelope<T>>> {
        if self.batch.is_empty() {
            let (Some(receiving), Some(waker)) = (&self.receiving, &self.waker) else { return Ok(Fetched::Ended) };
            match receiving.0.pull(&mut self.batch, std::mem::take(&mut self.done), waker) {
                Pulled::Items => {}
                Pulled::Waiting => return Ok(Fetched::Waiting),
                Pulled::Ended => return Ok(Fetched::Ended),
            }
        }
        self.done += 1;
        Ok(self.batch.pop_front().map_or(Fetched::Idle, Fetched::Message))
    }

    fn emit(&mut self, envelope: &Envelope<T>, emission: Emission<'_, '_>) {
        emission.emit(&envelope.message);
    }

    fn acked(&mut self, envelope: Envelope<T>) {
        if let Some(completer) = envelope.completer {
            completer.complete(Ok(()));
        }
    }

    fn dead_letter(&mut self, envelope: Envelope<T>, death: DeadLetter) -> Option<String> {
        match envelope.completer {
            Some(completer) => {
                completer.complete(Err(DeliveryError::Failed(death.reason)));
                None
            }
            None => (!death.is_reported).then(|| death.to_string()),
        }
    }

    fn close(&mut self, _: ReplayCounts) {
        if let Some(receiving) = self.receiving.take() {
            receiving.0.close();
        }
    }
}
