//! What a core does at a time of its own: ticks, and the deadlines of its executors.
//!
//! Threading: belongs to one core.

use ringstorm_frame::Anchors;
use ringstorm_tuple::{Tuple, Value, Values};

use crate::core::Core;

impl Core {
    pub(super) fn update_deadline(&mut self) {
        let transfer = &self.transfer;
        let spouts = self.spouts.iter_mut().filter_map(|spout| spout.next_deadline_ns(transfer));
        let ackers = self.ackers.iter().filter_map(|acker| acker.next_deadline_ns());
        let own = spouts.chain(ackers).min().unwrap_or(u64::MAX);
        self.next_deadline_ns = own.min(self.next_tick_ns);
    }

    pub(super) fn update_ticks(&mut self) {
        let ticks = self.bolts.iter().filter_map(|bolt| bolt.tick.map(|tick| tick.next_ns));
        self.next_tick_ns = ticks.min().unwrap_or(u64::MAX);
    }

    /// Gives tick tuples to the executors whose time has come.
    pub(super) fn tick(&mut self) {
        let now_ns = self.transfer.now_ns;
        for (index, bolt) in self.bolts.iter_mut().enumerate() {
            let Some(tick) = &mut bolt.tick else { continue };
            if now_ns < tick.next_ns {
                continue;
            }
            // Ticks that a busy core missed are not made up for, as a burst of them would help nobody; nor do they pile
            // up before a bolt that is held.
            tick.next_ns = (tick.next_ns + tick.period_ns).max(now_ns);
            if bolt.ticks_waiting > 0 {
                continue;
            }
            bolt.ticks_waiting = bolt.id.task_count() as u64;
            self.tick_payload.clear();
            let seconds = tick.period_ns as f64 / 1e9;
            let value = if seconds.fract() == 0.0 { Value::Int(seconds as i64) } else { Value::Float(seconds) };
            let payload = &mut self.tick_payload;
            Values(vec![value]).serialize(payload).expect("a number can always be encoded");
            let transfer = &mut self.transfer;
            for task in bolt.id.tasks() {
                transfer.list(index as u32);
                let outlet = &mut transfer.outlets[index];
                outlet.make_room(payload.len(), &mut transfer.pool);
                let appended = outlet.writer.append(0, 0, task.0 as u32, Anchors::None, |bytes| {
                    bytes.extend_from_slice(payload);
                    Ok::<(), std::convert::Infallible>(())
                });
                debug_assert!(appended.is_ok(), "copying bytes cannot fail");
                transfer.counters.sent += 1;
            }
        }
        self.update_ticks();
        self.update_deadline();
    }
}
