//! What the machine is told, what it wants done, and what comes of a request.
//!
//! Plain data, so that a trace can print it. Threading: none of its own.

use std::fmt;

use ringstorm_nimbus::interface::{Refusal, Reply, Request, Upload};
use ringstorm_records::payload::NimbusAddress;

/// By which the outcome of a call is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// What the machine is told. Each call and each upload gets one of these, whatever happens; whoever makes them has a
/// limit of time.
#[derive(Clone, Debug)]
pub enum ClientInput {
    /// A call has ended.
    Called {
        /// Which.
        call: CallId,
        /// How.
        outcome: CallOutcome,
    },
    /// An upload has ended.
    Uploaded {
        /// Which.
        call: CallId,
        /// What names the file at that nimbus; or why it is not there.
        outcome: Result<Upload, String>,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// An answer came.
    Answered(Result<Reply, Refusal>),
    /// It was never sent: nobody was reached. With a reason.
    NotSent(String),
    /// It may have been sent, and no answer came, or one that cannot be read. With a reason.
    Unknown(String),
}

/// What the machine wants done.
#[derive(Clone, Debug)]
pub enum ClientEffect {
    /// A call of a nimbus.
    Call {
        /// By which its outcome is known.
        call: CallId,
        /// Of which one.
        address: NimbusAddress,
        /// What is asked for.
        request: Box<Request>,
    },
    /// The file of the submission is sent to a nimbus, whatever is there already.
    Upload {
        /// By which its outcome is known.
        call: CallId,
        /// To which one.
        address: NimbusAddress,
    },
    /// The request has come to this; nothing follows.
    Done(Result<Success, ClientError>),
    /// A line for whoever waits.
    Note(String),
}

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub enum Success {
    /// It was done, and this is the answer.
    Answered(Reply),
    /// A call got no answer, and what was found since then is what it asked for. Somebody else may have done it.
    Found(Finding),
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the topology.
    pub name: String,
    /// What it is.
    pub state: FoundState,
}

/// What a topology was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundState {
    /// It was killed: it is gone.
    WasKilled,
    /// It is killed, and waits for its end.
    IsKilled,
    /// It is rebalancing.
    IsRebalancing,
    /// It is active.
    IsActive,
    /// It is inactive.
    IsInactive,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            FoundState::WasKilled => "was killed: it is gone",
            FoundState::IsKilled => "is killed",
            FoundState::IsRebalancing => "is rebalancing",
            FoundState::IsActive => "is active",
            FoundState::IsInactive => "is inactive",
        };
        write!(formatter, "{} {state} (an earlier call got no answer; this was found afterwards)", self.name)
    }
}

/// Why a request was not done, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// Nimbus will not do it. What was asked for is not so.
    #[error(transparent)]
    Refused(Refusal),
    /// The configuration of a submission is no JSON object. Nothing was sent.
    #[error("the configuration of the topology is no JSON object: {0}")]
    Conf(String),
    /// The file of a submission cannot be sent as it is. Nothing was done. With the reason.
    #[error("nothing was submitted: {0}")]
    File(String),
    /// There is nobody to ask.
    #[error("there is no nimbus to ask; set nimbus.seeds")]
    NoSeeds,
    /// Nobody did it, however often it was tried. Nothing was done.
    #[error("nothing was done, and it is not tried any more: {0}; look at nimbus.seeds, and whether a nimbus leads")]
    GivenUp(String),
    /// It was sent, no answer came, and nothing that was found since then says what became of it.
    #[error("whether it was done is not known: {0}; look before it is asked for again")]
    InDoubt(String),
}
