//! What is said to a supervisor by its control socket: one [`Datagram`] each, which is lost without harm.
//!
//! Nothing is answered. What a worker says counts for the process that it names, and only as long as that runs.
//! Invariants, threading and errors: those of the [crate].

use std::fmt;

use serde::{Deserialize, Serialize};

/// No datagram is larger, in bytes.
pub const DATAGRAM_BYTES_MAX: usize = 8192;

/// Longer explanations of a worker are cut, in bytes. Escaped they still fit into a datagram.
const WHY_BYTES_MAX: usize = 1024;

/// One datagram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Datagram {
    /// Of a worker.
    Worker(WorkerSays),
    /// Of an operator's command.
    Operator(OperatorSays),
}

/// What a worker says. Processes are known by the port of their slot and their incarnation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerSays {
    /// It has come up, so that it beats from now on. A beat says as much.
    Ready {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
    },
    /// It lives. To be said once a second (Storm's `worker.heartbeat.frequency.secs`).
    Beat {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
    },
    /// Its peers refuse it, since they know of a newer process in its slot.
    Stale {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
        /// The lowest incarnation that is current to them.
        newest: u64,
    },
    /// It cannot use its slot, and is about to end.
    CannotUseSlot {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
        /// What is wrong.
        kind: SlotTrouble,
        /// In words.
        why: String,
    },
    /// By the tree it has nothing to do in its slot any more, and is about to end in order. Its supervisor may see the
    /// same a moment later.
    Leaves {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
        /// Why, in words.
        why: String,
    },
}

/// What is wrong with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotTrouble {
    /// Another process has the port.
    PortTaken,
    /// The host has no memory, files or processes left.
    ResourcesExhausted,
    /// The address cannot be used.
    AddressUnusable,
    /// Something that says nothing of the slot.
    Other,
}

/// What an operator wants of a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorSays {
    /// No new work for this host; what runs goes on until nimbus has moved it.
    OutOfService,
    /// Work again.
    InService,
}

/// A datagram that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no datagram of a worker or an operator: {0}")]
pub struct InvalidDatagram(String);

impl Datagram {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut datagram = self.clone();
        if let Self::Worker(WorkerSays::CannotUseSlot { why, .. } | WorkerSays::Leaves { why, .. }) = &mut datagram {
            why.truncate(why.floor_char_boundary(WHY_BYTES_MAX));
        }
        serde_json::to_vec(&datagram).expect("texts and numbers can always be written")
    }

    /// Reads one.
    ///
    /// # Errors
    /// It is none, or of a later version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidDatagram> {
        if bytes.len() > DATAGRAM_BYTES_MAX {
            return Err(InvalidDatagram(format!("it is larger than {DATAGRAM_BYTES_MAX} bytes")));
        }
        serde_json::from_slice(bytes).map_err(|error| InvalidDatagram(error.to_string()))
    }
}

impl WorkerSays {
    /// The process that says it: port and incarnation.
    pub fn process(&self) -> (u16, u64) {
        match self {
            Self::Ready { port, incarnation }
            | Self::Beat { port, incarnation }
            | Self::Stale { port, incarnation, .. }
            | Self::CannotUseSlot { port, incarnation, .. }
            | Self::Leaves { port, incarnation, .. } => (*port, *incarnation),
        }
    }
}

impl From<WorkerSays> for Datagram {
    fn from(says: WorkerSays) -> Self {
        Self::Worker(says)
    }
}

impl From<OperatorSays> for Datagram {
    fn from(says: OperatorSays) -> Self {
        Self::Operator(says)
    }
}

impl fmt::Display for SlotTrouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::PortTaken => "another process has the port",
            Self::ResourcesExhausted => "the host has no memory, files or processes left",
            Self::AddressUnusable => "the address cannot be used",
            Self::Other => "the worker cannot run",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_said_is_heard() {
        let (port, incarnation) = (6700, 7);
        let why = "no such address".to_owned();
        let said: [Datagram; 7] = [
            WorkerSays::Ready { port, incarnation }.into(),
            WorkerSays::Beat { port, incarnation }.into(),
            WorkerSays::Stale { port, incarnation, newest: 9 }.into(),
            WorkerSays::Leaves { port, incarnation, why: why.clone() }.into(),
            WorkerSays::CannotUseSlot { port, incarnation, kind: SlotTrouble::AddressUnusable, why }.into(),
            OperatorSays::OutOfService.into(),
            OperatorSays::InService.into(),
        ];
        for datagram in said {
            assert_eq!(Datagram::from_bytes(&datagram.to_bytes()), Ok(datagram));
        }
    }

    #[test]
    fn the_longest_explanation_fits() {
        let kind = SlotTrouble::Other;
        for text in ["\u{1}", "é", "\u{10ffff}"] {
            let why = text.repeat(100_000);
            let says = WorkerSays::CannotUseSlot { port: 65_535, incarnation: u64::MAX, kind, why: why.clone() };
            let bytes = Datagram::from(says).to_bytes();
            assert!(bytes.len() <= DATAGRAM_BYTES_MAX, "{}", bytes.len());
            let Ok(Datagram::Worker(WorkerSays::CannotUseSlot { why: heard, .. })) = Datagram::from_bytes(&bytes)
            else {
                panic!("{text:?}")
            };
            assert!(why.starts_with(&heard) && !heard.is_empty());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(Datagram::from_bytes(&bytes).is_err());
            prop_assert!(Datagram::from_bytes(&vec![b'['; DATAGRAM_BYTES_MAX]).is_err());
        }
    }
}
