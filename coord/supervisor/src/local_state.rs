//! What a supervisor remembers on disk: who it is, what it runs, what it has seen.
//!
//! Storm keeps the same in its local state (`supervisor-id`, `local-assignments`). It is saved before what depends on it
//! is done, so that after a crash at any moment the next daemon knows of everything that may run. Invariants: what is
//! read is checked. Threading: plain data. Errors: a state that cannot be read is an error for an operator; nothing is
//! guessed from it.

use std::collections::BTreeMap;

use ringstorm_records::znode::NodeName;
use serde::{Deserialize, Serialize};

use crate::share::Share;

/// No incarnation is above this, so that a next one always exists.
pub const INCARNATION_MAX: u64 = i64::MAX as u64;

/// How many of its own sessions are remembered. More than one, since a crash may come between opening and saving.
pub(crate) const SESSIONS_KEPT: usize = 4;

/// What outlives the daemon. The default is that of a host where none has run yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalState {
    /// The supervisor's id, once it has one.
    pub supervisor: Option<String>,
    /// The [mark](crate::settings::Host::mark) of the host that wrote this.
    pub host_mark: String,
    /// The daemon's sessions on that host that may not be over, oldest first.
    pub sessions: Vec<i64>,
    /// An operator took the supervisor out of service.
    pub is_out_of_service: bool,
    /// Slots, by port.
    pub slots: BTreeMap<u16, SlotState>,
    /// The newest assignment that was seen of each topology with a part here, by topology id.
    pub assigned: BTreeMap<String, Assigned>,
}

/// What is remembered of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotState {
    /// The highest incarnation that a worker was started with, in microseconds since 1970, roughly.
    pub last_incarnation: u64,
    /// The worker that may be running.
    pub running: Option<RunningWorker>,
}

/// A worker that was started, or was about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningWorker {
    /// Its incarnation.
    pub incarnation: u64,
    /// Its process, once that is known.
    pub pid: Option<u32>,
    /// What it runs.
    pub share: Share,
}

/// What an assignment gave to this supervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assigned {
    /// The assignment's version; zero if it has none.
    pub version: i64,
    /// How many cores each slot of this supervisor has for the topology, as all of its workers believe.
    pub cores: u32,
    /// What its slots are to run, by port.
    pub shares: BTreeMap<u16, Share>,
}

/// A local state that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the supervisor's local state cannot be used: {0}; if it cannot be restored, stop the workers of this host, remove \
     it, and start the supervisor under a new id"
)]
pub struct InvalidState(String);

impl LocalState {
    /// The text to be saved.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).expect("maps with numbers and texts as keys can always be written")
    }

    /// Reads what was saved.
    ///
    /// # Errors
    /// It is damaged, or of another version.
    pub fn from_text(text: &str) -> Result<Self, InvalidState> {
        let state: Self = serde_json::from_str(text).map_err(|error| InvalidState(error.to_string()))?;
        state.check()?;
        Ok(state)
    }

    /// Checks what serialisation does not.
    ///
    /// # Errors
    /// An id is no name of a node, or an incarnation is above [`INCARNATION_MAX`].
    pub fn check(&self) -> Result<(), InvalidState> {
        let running = self.slots.values().filter_map(|slot| slot.running.as_ref());
        let topologies = running.clone().map(|worker| &worker.share.topology).chain(self.assigned.keys());
        for name in self.supervisor.iter().chain(topologies) {
            NodeName::new(name).map_err(|error| InvalidState(error.to_string()))?;
        }
        let incarnations = running.map(|worker| worker.incarnation);
        let last = self.slots.values().map(|slot| slot.last_incarnation);
        match last.chain(incarnations).find(|incarnation| *incarnation > INCARNATION_MAX) {
            Some(incarnation) => Err(InvalidState(format!("{incarnation} is no incarnation"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> LocalState {
        let share = Share {
            topology: "words-1-1".to_owned(),
            executors: [(1, 1), (2, 4)].into(),
            resources: [("cpu.pcore.percent".to_owned(), 40_000)].into(),
        };
        let running = RunningWorker { incarnation: 7, pid: Some(12), share: share.clone() };
        LocalState {
            supervisor: Some("id-host".to_owned()),
            host_mark: "boot".to_owned(),
            sessions: vec![-3, 4],
            is_out_of_service: true,
            slots: [(6700, SlotState { last_incarnation: 7, running: Some(running) })].into(),
            assigned: [("words-1-1".to_owned(), Assigned { version: 3, cores: 2, shares: [(6700, share)].into() })]
                .into(),
        }
    }

    #[test]
    fn what_was_saved_is_read() {
        assert_eq!(LocalState::from_text(&state().to_text()), Ok(state()));
        let empty = LocalState::default();
        assert_eq!(LocalState::from_text(&empty.to_text()), Ok(empty));
    }

    #[test]
    fn a_damaged_state_is_refused_with_what_to_do() {
        let text = state().to_text();
        for end in (0..text.len()).step_by(7) {
            let why = LocalState::from_text(&text[..end]).unwrap_err().to_string();
            assert!(why.contains("remove it"), "{why}");
        }
        let bad = [
            LocalState { supervisor: Some("a/b".to_owned()), ..state() },
            LocalState { assigned: [(String::new(), Assigned::default())].into(), ..state() },
            LocalState {
                slots: [(1, SlotState { last_incarnation: u64::MAX, running: None })].into(),
                ..LocalState::default()
            },
        ];
        for state in bad {
            assert!(LocalState::from_text(&state.to_text()).is_err(), "{state:?}");
        }
    }
}
