//! Faults on purpose: one machine breaks one of its rules, to show that the laws notice.
//!
//! Without the feature `planted-bugs` there are none. Threading: plain data.

use ringstorm_nimbus::Nimbus;
use ringstorm_supervisor::Supervisor;
use ringstorm_worker::WorkerControl;

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlantedBug {
    /// Nimbus writes assignments without a check that it leads.
    UnfencedAssignment,
    /// Nimbus refuses a submission of which it does not know whether it was done.
    UnknownIsFailed,
    /// Nimbus cleans up though it could not read who lives.
    CleanUpAfterFailedRead,
    /// A new leader forgets what is being waited for.
    PendingRebalanceLost,
    /// A round takes slots for free that are not.
    SlotGivenTwice,
    /// A supervisor goes on with what it had read before an interruption.
    StaleAfterInterruption,
    /// A supervisor uses an id that another live session holds.
    ClonedIdAccepted,
    /// A supervisor starts a worker with the incarnation of the one before.
    OldIncarnationReused,
    /// A worker accepts a process that is not the newest of its slot.
    OldIncarnationAccepted,
    /// A worker takes an assignment that is older than one that it has seen.
    LowerVersionTaken,
}

impl PlantedBug {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::UnfencedAssignment,
        Self::UnknownIsFailed,
        Self::CleanUpAfterFailedRead,
        Self::PendingRebalanceLost,
        Self::SlotGivenTwice,
        Self::StaleAfterInterruption,
        Self::ClonedIdAccepted,
        Self::OldIncarnationReused,
        Self::OldIncarnationAccepted,
        Self::LowerVersionTaken,
    ];

    /// The one of this name, as it stands here.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bug| format!("{bug:?}") == name)
    }
}

#[cfg(feature = "planted-bugs")]
mod planted {
    use super::{Nimbus, PlantedBug, Supervisor, WorkerControl};

    pub(crate) fn in_nimbus(nimbus: Nimbus, bug: Option<PlantedBug>) -> Nimbus {
        let mut plants = ringstorm_nimbus::Plants::default();
        plants.unfenced_assignment = bug == Some(PlantedBug::UnfencedAssignment);
        plants.unknown_is_failed = bug == Some(PlantedBug::UnknownIsFailed);
        plants.clean_up_after_failed_read = bug == Some(PlantedBug::CleanUpAfterFailedRead);
        plants.pending_rebalance_lost = bug == Some(PlantedBug::PendingRebalanceLost);
        plants.slot_given_twice = bug == Some(PlantedBug::SlotGivenTwice);
        nimbus.with_plants(plants)
    }

    pub(crate) fn in_supervisor(supervisor: Supervisor, bug: Option<PlantedBug>) -> Supervisor {
        use ringstorm_supervisor::plants::{Plant, Plants};
        let plant = match bug {
            Some(PlantedBug::StaleAfterInterruption) => Plant::StaleAfterInterruption,
            Some(PlantedBug::ClonedIdAccepted) => Plant::ClonedIdAccepted,
            Some(PlantedBug::OldIncarnationReused) => Plant::OldIncarnationReused,
            _ => return supervisor,
        };
        supervisor.planted(Plants::new([plant]))
    }

    pub(crate) fn in_worker(mut control: WorkerControl, bug: Option<PlantedBug>) -> WorkerControl {
        control.plants.accepts_old_incarnations = bug == Some(PlantedBug::OldIncarnationAccepted);
        control.plants.takes_lower_versions = bug == Some(PlantedBug::LowerVersionTaken);
        control
    }
}

#[cfg(not(feature = "planted-bugs"))]
mod planted {
    use super::{Nimbus, PlantedBug, Supervisor, WorkerControl};

    pub(crate) fn in_nimbus(nimbus: Nimbus, _: Option<PlantedBug>) -> Nimbus {
        nimbus
    }

    pub(crate) fn in_supervisor(supervisor: Supervisor, _: Option<PlantedBug>) -> Supervisor {
        supervisor
    }

    pub(crate) fn in_worker(control: WorkerControl, _: Option<PlantedBug>) -> WorkerControl {
        control
    }
}

pub(crate) use planted::{in_nimbus, in_supervisor, in_worker};
