//! The runtime's side of a worker process: started once, ordered, heard.
//!
//! Invariants: an order before the start or after the end is nobody's. Threading: belongs to the control thread; the
//! runtime runs on one of its own, which says when it is over. Errors: of the start.

use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use ringstorm_control::time::{Moment, Now};
use ringstorm_launch::Launch;
use ringstorm_runtime::{
    BuiltTopology, StartError, WorkerEnd, WorkerOrder, WorkerReport, WorkerStart, run_commanded_worker,
};
use ringstorm_types::assignment::Assignment;
use ringstorm_worker::{CoresEvent, Peer, PeerEvent, WorkerInput};

use super::Word;
use crate::figures::Figures;
use crate::lines;

/// A core that has ended a turn so long ago is not one that goes on. Turns are looked at once a second.
const STANDS_STILL: Duration = Duration::from_secs(3);

pub(super) struct Cores {
    name: String,
    number: u64,
    cpus: Vec<usize>,
    listener: Option<TcpListener>,
    words: Sender<Word>,
    orders: Option<Sender<WorkerOrder>>,
    /// How many cores the assignment gives; some of them may have nothing to run.
    count: usize,
    is_started: bool,
    /// When the core that is behind the others last ended a turn.
    oldest_turn: Moment,
    began: Moment,
    figures: Figures,
    is_over: bool,
    end: Option<WorkerEnd>,
}

impl Cores {
    pub(super) fn new(launch: &Launch, listener: TcpListener, words: Sender<Word>, number: u64) -> Self {
        Self {
            name: launch.topology_name.clone(),
            number,
            cpus: launch.cpus.iter().map(|cpu| *cpu as usize).collect(),
            listener: Some(listener),
            words,
            orders: None,
            count: 0,
            is_started: false,
            oldest_turn: Moment::default(),
            began: Moment::default(),
            figures: Figures::default(),
            is_over: false,
            end: None,
        }
    }

    /// Starts them.
    pub(super) fn start(
        &mut self,
        topology: BuiltTopology,
        assignment: Assignment,
        figures_period: Duration,
    ) -> Result<(), StartError> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let own = assignment.position_of(self.number).map(|position| assignment.workers[position].cores.get());
        self.count = own.unwrap_or_default();
        let start = WorkerStart {
            name: self.name.clone(),
            topology,
            number: self.number,
            assignment,
            listener,
            cpus: self.cpus.clone(),
            figures_period,
        };
        let (orders, ordered) = channel();
        let (words, over) = (self.words.clone(), self.words.clone());
        let report = move |report| match report {
            // As many as there are tuples: nobody else is to wait behind them.
            WorkerReport::Debug(line) => lines::line(&format!("debug: {line}")),
            report => drop(words.send(Word::Cores(report))),
        };
        let run = move || drop(over.send(Word::Over(run_commanded_worker(start, ordered, report))));
        std::thread::Builder::new()
            .name("ringstorm-worker".into())
            .spawn(run)
            .map_err(|source| StartError::System { what: "starting a thread (limit: processes)".into(), source })?;
        self.orders = Some(orders);
        Ok(())
    }

    pub(super) fn order(&self, order: WorkerOrder) {
        if let Some(orders) = &self.orders {
            // Those that are over need no orders.
            let _ = orders.send(order);
        }
    }

    /// Takes a report. Returns what the machine is told of it.
    pub(super) fn heard(
        &mut self,
        now: Now,
        moment: impl Fn(Instant) -> Moment,
        report: WorkerReport,
    ) -> Option<WorkerInput> {
        let peer = |worker, incarnation| Peer { worker, incarnation };
        let event = match report {
            WorkerReport::Started => {
                (self.is_started, self.began, self.oldest_turn) = (true, now.moment, now.moment);
                CoresEvent::Started
            }
            WorkerReport::Ready => {
                lines::note("every task and every connection is ready");
                CoresEvent::Ready
            }
            WorkerReport::Progress(turns) => {
                let mut turns: Vec<Moment> = turns.into_iter().map(moment).collect();
                self.oldest_turn = turns.iter().copied().min().unwrap_or(now.moment);
                // A core that has nothing to run is not there, and stands still for nobody.
                turns.resize(turns.len().max(self.count), now.moment);
                CoresEvent::Progress(turns)
            }
            WorkerReport::Figures(figures) => {
                CoresEvent::Statistics(self.figures.take(now.moment.since(self.began), figures))
            }
            WorkerReport::Error { component, task, text } => {
                CoresEvent::Error { component, task, text, time: now.wall }
            }
            WorkerReport::Met { worker, incarnation, version } => {
                return Some(WorkerInput::Peer(PeerEvent::Offered { peer: peer(worker, incarnation), version }));
            }
            WorkerReport::Ahead { version } => return Some(WorkerInput::Peer(PeerEvent::Ahead { version })),
            WorkerReport::PeerLost { worker, incarnation } => {
                return Some(WorkerInput::Peer(PeerEvent::Lost { peer: peer(worker, incarnation) }));
            }
            WorkerReport::Stale { newest } => {
                return Some(WorkerInput::Peer(PeerEvent::RefusedAsStale { newest }));
            }
            WorkerReport::MoreErrors(count) => {
                lines::error(&format!("{count} more, whose texts were not kept"));
                return None;
            }
            WorkerReport::Note(text) => {
                lines::note(&text);
                return None;
            }
            WorkerReport::Debug(line) => {
                lines::line(&format!("debug: {line}"));
                return None;
            }
        };
        Some(WorkerInput::Cores(event))
    }

    /// They have ended, in this way if in order.
    pub(super) fn over(&mut self, end: Option<WorkerEnd>) {
        (self.is_over, self.end) = (true, end);
    }

    /// Whether nothing runs, not yet or not any more.
    pub(super) fn are_over(&self) -> bool {
        self.is_over || self.orders.is_none()
    }

    /// Whether each of them ended a turn just now.
    pub(super) fn go_on(&self, now: Now) -> bool {
        self.is_started && !self.is_over && now.moment.since(self.oldest_turn) < STANDS_STILL
    }

    /// Whether something was under way when they ended.
    pub(super) fn have_left_something(&self) -> bool {
        matches!(self.end, Some(WorkerEnd::Stopped { pending, in_flight }) if pending + in_flight > 0)
    }
}
