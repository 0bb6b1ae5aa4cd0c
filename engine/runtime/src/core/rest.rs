//! A core without work: it spins for a moment, or parks until a ring, a waker or its next deadline.
//!
//! Invariants: a core parks only after it has published everything, asked for the room that it lacks, announced its park
//! and looked at everything that can wake it once more.
//!
//! Threading: belongs to one core.

use std::time::Duration;

use ringstorm_ring::Idle;

use crate::core::Core;
use crate::core::link::{Inbound, Link, OpenFrame};
use crate::core::parking::CoreParker;
use crate::core::status::Event;

/// How long a core that spins has been idle before it tells peers what came, and again.
const TELL_WHILE_SPINNING_NS: u64 = 1_000_000;

/// Looks at the rings between two turns of a core that spins: the other things that may come are in less haste.
const SPINS: u32 = 8;

impl Core {
    /// Nothing to do: spin for a moment, or park until a ring, a waker or the next deadline.
    pub(super) fn rest(&mut self) {
        let now_ns = self.transfer.now_ns;
        if self.report_idle && !self.idle_reported {
            self.idle_reported = true;
            self.send_event(Event::Idle);
        }
        self.update_deadline();
        let deadline = (self.next_deadline_ns != u64::MAX).then_some(self.next_deadline_ns);
        match self.policy.decide(now_ns, deadline, self.idle_since_ns) {
            Idle::Spin => {
                self.rest_sockets_while_spinning(now_ns);
                self.spin();
            }
            Idle::Park { for_ns } => {
                self.end_turn(OpenFrame::Go);
                if self.transfer.gate_version != self.gate_version_seen {
                    // Something was held when the executors had their turn and is not any more.
                    return;
                }
                let asked = self.ask_for_room();
                self.park(for_ns.map(Duration::from_nanos));
                if asked {
                    self.transfer.links.iter().for_each(|link| link.want_room(false));
                }
            }
        }
    }

    /// Peers wait to be told what came, and a core that spins does not rest: once in a while its sockets do. No connection
    /// is polled any more after such a time without anything.
    fn rest_sockets_while_spinning(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.idle_since_ns.max(self.told_ns)) >= TELL_WHILE_SPINNING_NS {
            self.told_ns = now_ns;
            self.flush_sockets(true);
        }
    }

    fn park(&mut self, timeout: Option<Duration>) {
        let Some(mut parker) = self.parker.take() else { return };
        if parker.prepare_park() {
            if parker.has_news() || self.has_arrivals() {
                parker.cancel_park();
            } else {
                parker.park(timeout);
            }
        }
        self.parker = Some(parker);
    }

    /// Looks for a moment at nothing but what arrives from other cores, and at the clock.
    fn spin(&mut self) {
        self.transfer.links.iter().for_each(Link::look_ahead);
        for _ in 0..SPINS {
            let has_input = |link: &Inbound| {
                link.data.as_ref().is_some_and(|data| data.has_available()) || link.control.has_available()
            };
            let sockets = self.transfer.sockets.as_ref();
            let has_news = sockets
                .is_some_and(|sockets| sockets.has_hot() || self.parker.as_mut().is_some_and(CoreParker::has_news));
            if has_news || self.inbound.iter().any(has_input) || crate::clock::now_ns() >= self.next_deadline_ns {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Where a ring was full, its reader is to ring this core's doorbell when it has read. Returns whether there is such a
    /// ring.
    fn ask_for_room(&self) -> bool {
        let mut asked = false;
        for link in &self.transfer.links {
            if link.blocked || !link.control_queue.is_empty() {
                link.want_room(true);
                asked = true;
            }
        }
        asked
    }

    fn has_arrivals(&mut self) -> bool {
        self.commands.is_waiting()
            || self
                .inbound
                .iter()
                .any(|link| link.control.has_available() || link.data.as_ref().is_some_and(|data| data.has_available()))
            || self.transfer.links.iter().any(|link| link.has_new_room())
            || self.watched.iter().any(|index| {
                // One that is listed and did not run may have been woken since; one that is held waits for its gate.
                let bolt = &mut self.bolts[*index as usize];
                bolt.has_work() && (!bolt.listed || bolt.gate.is_open(&self.transfer))
            })
            || self.spouts.iter_mut().any(|spout| spout.is_woken(&self.transfer))
    }
}
