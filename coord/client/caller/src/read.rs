//! Calls that change nothing.
//!
//! Threading: one caller, who waits. Errors: [`ReadError`].

use ringstorm_client::ClientSettings;
use ringstorm_nimbus::interface::Refusal;
use ringstorm_records::nimbus::{Method, NimbusException};
use ringstorm_records::thrift::message::{ApplicationException, ApplicationExceptionKind};

use crate::connection::{CallFailure, shown};
use crate::nimbuses::{NoAnswer, Rank, Tried, ask_any};
use crate::refusals::{WireRefusal, from_wire};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// What was asked for is not there, or not for this caller.
    #[error("{0}")]
    Refused(NimbusException),
    /// Nimbus cannot answer that, whoever asks.
    #[error("nimbus cannot answer: {0}")]
    Failed(ApplicationException),
    /// As [`Self::Failed`], in the words of a nimbus that says why and what to do.
    #[error("nimbus cannot answer: {0}")]
    Cannot(String),
    /// There is nobody to ask.
    #[error("there is no nimbus to ask; set nimbus.seeds")]
    NoSeeds,
    /// Nimbus answered each time that it cannot say it at present. With its words.
    #[error("{0}; look again later, or at the log of the nimbus that leads if that lasts")]
    NotNow(String),
    /// Nobody answered, however often it was tried.
    #[error("no nimbus answers: {0}; look at nimbus.seeds, and whether a nimbus runs")]
    GivenUp(String),
}

/// Asks the leader, or else any of the seeds, and again after pauses. `method` must change nothing: it may be called
/// several times.
///
/// # Errors
/// See [`ReadError`].
pub fn read<M: Method>(settings: &ClientSettings, method: &M) -> Result<M::Success, ReadError> {
    read_telling(settings, method, &mut |_| {})
}

/// As [`read()`], and tells before each pause what went wrong and what follows, in a line.
///
/// # Errors
/// See [`ReadError`].
pub fn read_telling<M: Method>(
    settings: &ClientSettings,
    method: &M,
    tell: &mut dyn FnMut(String),
) -> Result<M::Success, ReadError> {
    let mut has_answered = false;
    let asked = ask_any(settings, tell, |connection, rank| {
        match connection.call(method) {
            Ok(success) => Tried::Done(Ok(success)),
            // A nimbus that does not lead may not have a blob yet.
            Err(CallFailure::Refused(exception @ NimbusException::KeyNotFound(_))) if rank == Rank::Seed => {
                Tried::Trouble(exception.to_string())
            }
            Err(CallFailure::Refused(exception)) => Tried::Done(Err(ReadError::Refused(exception))),
            Err(CallFailure::Failed(exception)) => match passing(&exception) {
                Some(why) => {
                    has_answered = true;
                    Tried::Trouble(format!("nimbus {} cannot say it now: {why}", shown(connection.address())))
                }
                None => Tried::Done(Err(failed(exception))),
            },
            Err(CallFailure::NotSent(why) | CallFailure::Unknown(why)) => {
                has_answered = false;
                Tried::Trouble(why)
            }
        }
    });
    match asked {
        Ok(result) => result,
        Err(NoAnswer::NoSeeds) => Err(ReadError::NoSeeds),
        Err(NoAnswer::GivenUp(why)) if has_answered => Err(ReadError::NotNow(why)),
        Err(NoAnswer::GivenUp(why)) => Err(ReadError::GivenUp(why)),
    }
}

/// What a failure that does not pass means. Of a question nobody need be told that nothing was done.
fn failed(exception: ApplicationException) -> ReadError {
    match (exception.kind, from_wire(WireRefusal::Failure(exception.clone()))) {
        (Some(ApplicationExceptionKind::InternalError), Refusal::IllegalState(why)) => ReadError::Cannot(why),
        _ => ReadError::Failed(exception),
    }
}

/// Why there is no answer, if the same question may be answered by another nimbus, or later.
pub(crate) fn passing(exception: &ApplicationException) -> Option<String> {
    if exception.kind == Some(ApplicationExceptionKind::MissingResult) {
        return Some(exception.to_string());
    }
    match from_wire(WireRefusal::Failure(exception.clone())) {
        Refusal::TryAgain(why) => Some(why),
        refusal @ Refusal::NotLeader { .. } => Some(refusal.to_string()),
        _ => None,
    }
}
