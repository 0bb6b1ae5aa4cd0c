//! What the machine is told, and what it wants done.
//!
//! Plain data, so that a trace can print it. Threading: none of its own.

mod code;
mod request;

use ringstorm_control::talks::{FromStore, ToStore};

pub use code::{BlobNumbers, CodeEvent, CodeFailure, CodeRequest, CodeTask, Conf, Content, HeldBlob};
pub use request::{Refusal, Reply, Request, RequestId, SUBMISSION_TOKEN, Submission, Upload};

/// What the machine is told.
#[derive(Clone, Debug)]
pub enum NimbusInput {
    /// The tree said something.
    Store(FromStore),
    /// Somebody asks for something. Each request gets one [`NimbusEffect::Reply`], whatever happens, as long as this
    /// process lives.
    Request {
        /// By which the reply is known. Never used twice.
        id: RequestId,
        /// What is asked for.
        request: Request,
    },
    /// The code directory said something. [`CodeEvent::Held`] comes once, first of all of them.
    Code(CodeEvent),
    /// The process is asked to end, with a reason. Everybody who waits is answered, and the last effect is
    /// [`NimbusEffect::Stop`].
    Stop(String),
}

/// What the machine wants done, in this order.
#[derive(Clone, Debug)]
pub enum NimbusEffect {
    /// An operation of the tree.
    Store(ToStore),
    /// The answer to a request.
    Reply {
        /// Which.
        id: RequestId,
        /// What became of it.
        reply: Result<Reply, Refusal>,
    },
    /// Something for the code directory.
    Code(CodeRequest),
    /// A line for the log of operators.
    Note(String),
    /// The process ends, with these words for whoever started it: since it cannot live here, before anything was written,
    /// or as it was asked to. Nothing will be done any more.
    Stop(String),
}
