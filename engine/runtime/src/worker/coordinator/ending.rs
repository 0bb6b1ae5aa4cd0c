//! The end of a run: the drain, `finish` of each bolt in topological order, what was left, and whoever does not end.
//!
//! Threading: the coordinator's. Errors: what was not done in time is in the report.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ringstorm_types::ComponentId;
use ringstorm_types::topology::ComponentKind;

use super::{Coordinator, DRAIN_PERIOD, SNAPSHOT_TIMEOUT};
use crate::core::events::ERRORS_WAITING_MAX;
use crate::report::{Outcome, RunReport};
use crate::worker::members::{LeftBehind, Order};

/// How long cores may take to close and clean up before they are left behind.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for cores that do not even answer, since user code holds them.
const STOP_TIMEOUT_OF_HELD: Duration = Duration::from_millis(500);

/// What was left undone at the end.
#[derive(Debug, Default)]
struct Left {
    /// Messages pending.
    pending: u64,
    /// Tuples not executed.
    in_flight: u64,
    /// Members that did not say.
    silent: Vec<String>,
}

impl Coordinator {
    /// Ends what was led.
    pub(super) fn end(mut self) -> RunReport {
        self.is_ending = true;
        let timeout = Duration::from_secs_f64(self.blueprint.config.drain_timeout_secs().unwrap_or(30.0));
        let mut until = Instant::now() + timeout;
        let mut drained = self.fatal.is_none();
        self.members.tell_all(Order::StopTicks);
        if self.stop_requested {
            self.members.tell_all(Order::Deactivate);
        }
        if self.fatal.is_none() && self.has_begun {
            drained = self.drain(until);
            self.name_those_away();
            let order = self.blueprint.order.clone();
            for component in order {
                if self.fatal.is_some() || !drained {
                    break;
                }
                if !self.stop_requested {
                    // Whoever stops it wants all of it to end in time; otherwise each component has as much.
                    until = Instant::now() + timeout;
                }
                drained = self.finish(&component, until) && self.drain(until);
                if !drained && !self.stop_requested {
                    self.fatal.get_or_insert(format!(
                        "component {component} and what came of it was not finished within {timeout:?} after the input \
                         had ended; raise ringstorm.drain.timeout.secs if it needs more"
                    ));
                }
            }
        }
        let (snapshots, answered) = self.members.snapshots(SNAPSHOT_TIMEOUT);
        self.last_snapshots = Some(snapshots.clone());
        let Left { pending, in_flight, silent } = if drained { Left::default() } else { self.left() };
        let cores_left_behind = self.end_members(&answered);
        self.hear_the_last();
        self.error_thread.end();
        self.wishes.end();
        let outcome = match self.fatal.take() {
            Some(text) => Outcome::Failed(text),
            None if self.stop_requested => Outcome::Stopped,
            None => Outcome::Completed,
        };
        RunReport {
            outcome,
            drained,
            pending,
            in_flight,
            errors: self.errors,
            error_count: self.error_count,
            worker_deaths: self.worker_deaths,
            elapsed: self.started.elapsed(),
            snapshots,
            silent_workers: silent,
            cores_left_behind,
        }
    }

    /// Has the tasks of a component finish. Returns whether all of them did.
    ///
    /// Spouts have nothing to finish, but once their cores have answered they emit nothing any more. One that does not
    /// come back from waiting for its source holds nobody up: what it may yet emit is not acked.
    fn finish(&mut self, component: &ComponentId, until: Instant) -> bool {
        let number = self.blueprint.components.iter().position(|known| known == component);
        let Some(number) = number.and_then(|number| u32::try_from(number).ok()) else { return true };
        let is_spout = self.blueprint.built.topology.components[component].kind == ComponentKind::Spout;
        let until = if is_spout { until.min(Instant::now() + STOP_TIMEOUT_OF_HELD) } else { until };
        let hosts = self.members.hosts_of(component);
        self.members.tell_all(Order::Finish { component: number });
        while !hosts.iter().all(|member| self.finished[*member] == Some(number)) {
            if self.fatal.is_some() || Instant::now() >= until {
                return is_spout;
            }
            self.wait(DRAIN_PERIOD);
        }
        true
    }

    /// Has all members close and clean up and waits for their ends; names who holds those that do not end. Those that
    /// have just answered have more time than those that user code holds. Returns how many threads are left behind.
    fn end_members(&mut self, answered: &BTreeSet<usize>) -> usize {
        self.members.tell_all(Order::Stop { orderly: true });
        let told = Instant::now();
        let has_begun = self.has_begun;
        let has_answered = |member: usize| !has_begun || answered.contains(&member);
        while let Some(timeout) = (0..self.ended.len())
            .filter(|member| !self.ended[*member])
            .map(|member| if has_answered(member) { STOP_TIMEOUT } else { STOP_TIMEOUT_OF_HELD })
            .max()
            .filter(|timeout| told.elapsed() < *timeout)
        {
            self.wait(Duration::from_millis(20).min(timeout));
        }
        let mut threads = 0;
        for member in (0..self.ended.len()).filter(|member| !self.ended[*member]).collect::<Vec<_>>() {
            let LeftBehind { component, text, is_thread } = self.members.left_behind(member);
            threads += usize::from(is_thread);
            self.report(component, 0, text, false);
        }
        threads
    }

    /// What was said before the last ends, and counts of errors that had to wait. Who was left behind may go on.
    fn hear_the_last(&mut self) {
        for _ in 0..4 * ERRORS_WAITING_MAX {
            let Ok(message) = self.messages.try_recv() else { return };
            self.handle(message);
        }
    }

    /// A member whose place was not taken in time cannot say what was left there.
    fn name_those_away(&mut self) {
        let away: Vec<String> = (0..self.ready.len())
            .filter(|member| !self.ready[*member])
            .map(|member| self.members.name(member))
            .collect();
        if !away.is_empty() {
            self.fatal.get_or_insert(format!(
                "{} had died, and nobody was ready in its place before the time to drain was over; what was left there is \
                 unknown",
                away.join(", ")
            ));
        }
    }

    /// Waits until nothing is on its way and nothing is pending.
    fn drain(&mut self, until: Instant) -> bool {
        loop {
            if self.is_drained() {
                return true;
            }
            if self.fatal.is_some() || Instant::now() >= until {
                return false;
            }
            self.wait(DRAIN_PERIOD);
        }
    }

    /// What was left undone, as far as that is known.
    fn left(&mut self) -> Left {
        let (reading, silent) = self.members.partial_reading();
        Left {
            pending: reading.sent.pending,
            in_flight: reading.in_flight(),
            silent: silent.into_iter().map(|member| self.members.name(member)).collect(),
        }
    }
}
