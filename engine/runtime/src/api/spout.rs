//! Sources of tuples.

use std::time::Instant;

use ringstorm_acking::FailReason;
use ringstorm_types::MessageId;

use crate::api::collector::SpoutCollector;
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::error::Result;

/// A source of tuples. One instance runs each task; it is made on its core by the component's factory and never leaves
/// its thread.
///
/// A spout on a core must not wait: one that reads from something that blocks is declared
/// [blocking](crate::SpoutDeclarer::blocking) and gets a thread of its own.
pub trait Spout: 'static {
    /// Declares the streams that are emitted. Called on a throw-away instance when the topology is built.
    fn declare(&self, declarer: &mut Declarer);

    /// Called once before the first tuple.
    ///
    /// # Errors
    /// An error ends the run: a source that cannot be opened has nothing to do.
    fn open(&mut self, context: &TopologyContext) -> Result {
        let _ = context;
        Ok(())
    }

    /// Emits what is there and says what it did. Called again and again while the topology is active, fewer messages
    /// are pending than `topology.max.spout.pending` allows, and the subscribers have room.
    ///
    /// # Errors
    /// An error is reported and the task is rebuilt from its factory.
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next>;

    /// The message and everything that came of it is done.
    fn ack(&mut self, id: MessageId) {
        let _ = id;
    }

    /// The message failed, and why. Emit it again if it is to be tried again.
    fn fail(&mut self, id: MessageId, reason: FailReason) {
        let _ = (id, reason);
    }

    /// The topology was activated (or started).
    fn activate(&mut self) {}

    /// The topology was deactivated: `next_tuple` is not called until it is activated again.
    fn deactivate(&mut self) {}

    /// Called once at the end of an orderly stop.
    fn close(&mut self) {}
}

/// What a call of [`Spout::next_tuple`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It emitted; call again at once.
    Emitted,
    /// There is nothing now; call again after a back-off (50 us, doubling to 100 ms while this goes on).
    Idle,
    /// There is nothing before this instant, unless the [waker](TopologyContext::waker) is woken first.
    Until(Instant),
    /// There is nothing until the [waker](TopologyContext::waker) is woken.
    Waiting,
    /// The input has ended. The spout is still called after a fail, so that it can replay; when nothing is pending any
    /// more and every spout says this, the run ends.
    Finished,
}
