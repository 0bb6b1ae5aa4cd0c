//! What conversations with the tree come to. The words of each kind stand with whoever hears them.

use ringstorm_store::cluster::Trouble;

use super::acts::ActSaid;
use super::code::CodeSaid;
use super::leadership::{ElectionSaid, Survey};
use super::presence::PresenceSaid;
use super::rounds::Beating;
use super::submission::SubmissionSaid;
use crate::interface::{Refusal, Reply, RequestId};

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum Said {
    Presence(PresenceSaid),
    Election(ElectionSaid),
    Code(CodeSaid),
    /// The answer to a request that only reads.
    Read {
        request: RequestId,
        reply: Result<Reply, Refusal>,
    },
    /// Of a leader, or of whoever is about to lead.
    Term {
        term: u64,
        said: TermSaid,
    },
}

/// What a conversation of a term has come to.
#[derive(Debug)]
pub(super) enum TermSaid {
    Surveyed(Result<Box<Survey>, Trouble>),
    Submission(SubmissionSaid),
    Act(ActSaid),
    Beats(Box<Beating>),
}
