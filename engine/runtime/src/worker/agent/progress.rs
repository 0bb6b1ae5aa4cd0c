//! How far the cores of a worker are, for whoever wants to know whether they live, and what they have counted.
//!
//! A core that rests ends no turns, and shall not be woken for nothing: it is rung only when it has ended none since the
//! last look. So a core that lives is never older here than two looks.
//!
//! Threading: belongs to the agent. Errors: a core that does not answer is missing from what is reported.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::core::host::Host;
use crate::core::status::Command;
use crate::worker::agent::commanded::WorkerReport;
use crate::worker::members::{LocalCores, Members};

/// Between two looks at the turns of cores.
const PERIOD: Duration = Duration::from_secs(1);
/// How long cores may take to hand in what they have counted.
pub(crate) const FIGURES_TIMEOUT: Duration = Duration::from_millis(100);

/// What is known of one core.
#[derive(Debug)]
struct Seen {
    /// Its place among the threads of this process.
    member: usize,
    turns: u64,
    /// When it was first seen to have ended as many.
    since: Instant,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Progress {
    cores: Vec<Seen>,
    next_look: Instant,
    figures_period: Duration,
    next_figures: Instant,
}

impl Progress {
    /// Of cores that have just been started.
    pub(crate) fn new(cores: &LocalCores, figures_period: Duration, now: Instant) -> Self {
        let first = cores.first_core();
        let members = 0..cores.count();
        // User code may keep a thread of its own for as long as it likes.
        let proper = members.filter(|member| !matches!(cores.blueprint.threads[first + member].host, Host::Thread));
        let seen = proper.map(|member| Seen { member, turns: 0, since: now });
        Self { cores: seen.collect(), next_look: now, figures_period, next_figures: now + figures_period }
    }

    /// What there is to report now. Rings whoever has ended no turn since the last look.
    pub(crate) fn look(&mut self, cores: &LocalCores, now: Instant) -> Vec<WorkerReport> {
        let mut reports = Vec::new();
        if now >= self.next_look {
            self.next_look = now + PERIOD;
            for seen in &mut self.cores {
                let turns = cores.statuses[seen.member].turns.load(Ordering::Relaxed);
                if turns == seen.turns {
                    cores.commands[seen.member].send(Command::EndTurn);
                } else {
                    (seen.turns, seen.since) = (turns, now);
                }
            }
            reports.push(WorkerReport::Progress(self.cores.iter().map(|seen| seen.since).collect()));
        }
        if now >= self.next_figures {
            self.next_figures = now + self.figures_period;
            reports.push(WorkerReport::Figures(cores.figures(FIGURES_TIMEOUT)));
        }
        reports
    }
}
