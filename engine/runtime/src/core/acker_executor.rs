//! Runs one acker task: applies ack messages to its ledger and hands the outcomes to the spout tasks.
//!
//! Threading: belongs to one core. Errors: a malformed message can only come from another process; it is counted and
//! ignored.

use ringstorm_acking::{AckMessage, EdgeKey, Ledger, Outcome};
use ringstorm_types::ExecutorId;

use crate::core::transfer::Transfer;

/// Entries looked at for expiry in one turn.
const EXPIRED_PER_TURN: usize = 4096;

pub(crate) struct AckerExecutor {
    pub(crate) id: ExecutorId,
    pub(crate) ledger: Ledger,
    incoming: Vec<AckMessage>,
    outcomes: Vec<Outcome>,
    /// `None` when message time-outs are off.
    timeout_ns: Option<u64>,
    next_rotation_ns: u64,
    expiring: bool,
    /// Messages applied.
    pub(crate) executed: u64,
    pub(crate) ignored: u64,
}

impl AckerExecutor {
    pub(crate) fn new(id: ExecutorId, key: EdgeKey, timeout_ns: Option<u64>, now_ns: u64) -> Self {
        Self {
            id,
            ledger: Ledger::new(key),
            incoming: Vec::new(),
            outcomes: Vec::new(),
            timeout_ns,
            next_rotation_ns: timeout_ns.map_or(u64::MAX, |timeout_ns| now_ns.saturating_add(timeout_ns)),
            expiring: false,
            executed: 0,
            ignored: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, message: AckMessage) {
        self.incoming.push(message);
    }

    pub(crate) fn next_deadline_ns(&self) -> Option<u64> {
        self.timeout_ns.map(|_| self.next_rotation_ns)
    }

    /// Applies what has come in. Returns whether there was anything.
    #[inline]
    pub(crate) fn run(&mut self, transfer: &mut Transfer) -> bool {
        if transfer.now_ns >= self.next_rotation_ns || self.expiring {
            self.expire(transfer.now_ns);
        }
        if self.incoming.is_empty() {
            return self.expiring;
        }
        for message in self.incoming.drain(..) {
            self.executed += 1;
            if self.ledger.apply(&message, &mut self.outcomes).is_err() {
                self.ignored += 1;
            }
        }
        for outcome in self.outcomes.drain(..) {
            transfer.route_outcome(outcome.root(), outcome);
        }
        true
    }

    fn expire(&mut self, now_ns: u64) {
        if now_ns >= self.next_rotation_ns {
            self.ledger.rotate();
            self.next_rotation_ns = now_ns.saturating_add(self.timeout_ns.unwrap_or(u64::MAX));
        }
        self.expiring = self.ledger.expire_slice(EXPIRED_PER_TURN);
    }
}
