//! When an inbox has enough: its feeders pause until it has room again.
//!
//! Threading: belongs to one core.

use crate::core::control::ControlMessage;
use crate::core::link::Way;
use crate::core::transfer::{Load, UNKNOWN_US};
use crate::core::{Core, INBOX_TUPLES_MIN, INBOX_TUPLES_UNKNOWN, INBOX_WAIT_HIGH_NS};

impl Core {
    /// Pauses or resumes the feeders of an inbox. Returns whether it has to be looked at again.
    pub(super) fn check_inbox(&mut self, index: usize) -> bool {
        let transfer = &mut self.transfer;
        let (bytes, queued) = (transfer.outlets[index].bytes(), transfer.outlets[index].queued());
        let executor = &mut self.bolts[index];
        executor.inbox.population_max = executor.inbox.population_max.max(queued);
        let wait_ns = executor.tuple_ns.saturating_mul(queued as u64);
        let wait_us = u32::try_from(wait_ns / 1000).unwrap_or(u32::MAX);
        // Before the first call has ended nobody knows how slow it is.
        let is_unknown = executor.tuple_ns == 0;
        let tuple_us =
            if is_unknown { UNKNOWN_US } else { (executor.tuple_ns / 1000).min(u64::from(UNKNOWN_US - 1)) as u32 };
        let load = Load { wait_us, tuple_us, over_limit: bytes > transfer.limits.cycle_bytes_max };
        let (first, last) = (executor.id.first.0 as u32, executor.id.last.0 as u32);
        transfer.board.show(first, last, load);
        if transfer.sockets.is_some() && executor.inbox.is_news(load, transfer.now_ns) {
            let Load { wait_us, tuple_us, over_limit } = load;
            for link in transfer.links.iter_mut().filter(|link| matches!(link.way, Way::Socket(_))) {
                link.control_queue.push(ControlMessage::Load { first, last, wait_us, tuple_us, over_limit });
            }
        }
        let too_slow =
            queued > INBOX_TUPLES_MIN && wait_ns > INBOX_WAIT_HIGH_NS || queued > INBOX_TUPLES_UNKNOWN && is_unknown;
        let paused = self.paused[index];
        let pause = bytes > self.marks.high_bytes || too_slow;
        let resume = !pause
            && bytes <= self.marks.low_bytes
            && (queued <= INBOX_TUPLES_MIN / 2 || wait_ns < INBOX_WAIT_HIGH_NS / 2);
        if pause && !paused || resume && paused {
            self.paused[index] = pause;
            executor.inbox.pauses += u64::from(pause);
            transfer.set_paused(first, last, pause);
            let message =
                if pause { ControlMessage::Pause { first, last } } else { ControlMessage::Resume { first, last } };
            for link in &self.pause_links[index] {
                transfer.links[*link as usize].control_queue.push(message);
            }
        }
        queued > 0 || self.paused[index]
    }
}
