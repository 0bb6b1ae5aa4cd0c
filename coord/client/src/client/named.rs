//! Requests that change a topology that lives: what a look at it says of them.
//!
//! Invariant: a request that was perhaps done is not made again where another topology has taken the name. Threading: pure
//! functions. Errors: refusals, in words of their own.

use ringstorm_nimbus::interface::{Refusal, Request};
use ringstorm_records::records::{TopologyStatus, TopologySummary};

use crate::interface::FoundState;

/// The topology that is meant.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    /// Its id, as it was found before the first call.
    id: Option<String>,
    /// Whether it was looked at, and since the last doubt.
    pub(super) is_looked_at: bool,
}

impl Target {
    /// Whether it was there.
    pub(super) fn is_known(&self) -> bool {
        self.id.is_some()
    }
}

/// What follows from a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The request is made, or made again.
    Act,
    /// It has been done.
    Found(FoundState),
    /// It cannot be done any more.
    Refused(Refusal),
}

/// The name of the topology that a request changes, if it is such a request.
pub(super) fn named(request: &Request) -> Option<&str> {
    match request {
        Request::Kill { name, .. }
        | Request::Activate { name }
        | Request::Deactivate { name }
        | Request::Rebalance { name, .. } => Some(name),
        Request::Submit(_)
        | Request::SetLogConfig { .. }
        | Request::LogConfig { .. }
        | Request::SetCredentials { .. }
        | Request::IsTopologyNameAllowed { .. }
        | Request::Topologies
        | Request::Leader
        | Request::WorkerHeartbeat(_)
        | Request::WorkerHeartbeats(_) => None,
    }
}

/// What follows from the list of topologies. A topology that is missing there may be one that cannot be read, so that
/// nimbus has to say that it is not alive.
pub(super) fn after_a_look(
    request: &Request,
    target: &mut Target,
    topologies: &[TopologySummary],
    is_in_doubt: bool,
) -> After {
    target.is_looked_at = true;
    let name = named(request).unwrap_or_default();
    let Some(found) = topologies.iter().find(|topology| topology.name == name) else { return After::Act };
    if !is_in_doubt {
        target.id.get_or_insert_with(|| found.id.clone());
        return After::Act;
    }
    if target.id.as_ref().is_some_and(|id| *id != found.id) {
        return match request {
            Request::Kill { .. } => After::Found(FoundState::WasKilled),
            _ => After::Refused(Refusal::NotAlive(format!(
                "{name} is not alive: the topology that was meant is gone, and another one has its name"
            ))),
        };
    }
    let wanted = match request {
        Request::Kill { .. } => (TopologyStatus::Killed, FoundState::IsKilled),
        Request::Rebalance { .. } => (TopologyStatus::Rebalancing, FoundState::IsRebalancing),
        Request::Activate { .. } => (TopologyStatus::Active, FoundState::IsActive),
        _ => (TopologyStatus::Inactive, FoundState::IsInactive),
    };
    if found.status == wanted.0.to_string() { After::Found(wanted.1) } else { After::Act }
}
