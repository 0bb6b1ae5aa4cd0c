//! What a worker process does of what its machine wants, from the first line to the last.
//!
//! The control thread waits for three things at once: a word of the tree, of the cores, or of a signal, and the next
//! moment at which something is due. Peers are judged where they shake hands, so that what the machine says of a
//! connection needs no doing.
//!
//! Invariants: the cores are started once. When the machine wants the process to end, or the cores have ended, it ends
//! within a bounded time, whoever does not answer. Threading: belongs to the control thread. Errors: of the start,
//! returned; later ones end the process with a line.

mod cores;

use std::net::TcpListener;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringstorm_control::runner::Runner;
use ringstorm_control::time::{Moment, Now};
use ringstorm_launch::Launch;
use ringstorm_records::records::StormBase;
use ringstorm_runtime::{BuiltTopology, StartError, WorkerEnd, WorkerOrder, WorkerReport};
use ringstorm_types::config::Config;
use ringstorm_worker::assigning::slot_number;
use ringstorm_worker::{StopReason, WorkerControl, WorkerEffect, WorkerInput};
use ringstorm_zookeeper::ZooKeeperStore;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::beginning::{Beginning, Told, Wanted};
use crate::exit::WorkerExit;
use crate::launch::Known;
use crate::slot;
use crate::supervisor::Supervisor;
use crate::{levels, lines};
use cores::Cores;

/// How often the supervisor hears that the process lives (Storm's `worker.heartbeat.frequency.secs`).
const BEAT_PERIOD: Duration = Duration::from_secs(1);
/// What the tree is yet to hear when the process ends may take so long.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Closing components may take so long besides the drain, as the runtime has it, and a little more.
const CLOSING: Duration = Duration::from_secs(6);

/// What wakes the control thread.
enum Word {
    /// The store has something to say.
    Store,
    /// The cores say something.
    Cores(WorkerReport),
    /// The cores are over.
    Over(Result<WorkerEnd, StartError>),
    /// The process is asked to end.
    End,
}

/// Tells the time.
#[derive(Clone, Copy)]
struct Clock {
    start: Instant,
}

impl Clock {
    fn now(self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { moment: Moment(self.start.elapsed()), wall }
    }

    fn moment(self, at: Instant) -> Moment {
        Moment(at.saturating_duration_since(self.start))
    }
}

/// Why and since when the process ends.
#[derive(Clone, Copy)]
struct Ending {
    why: StopReason,
    since: Moment,
}

struct Program {
    known: Known,
    supervisor: Supervisor,
    clock: Clock,
    cores: Cores,
    /// The topology, until the cores have it, and the base that it is to be built with.
    topology: Option<BuiltTopology>,
    base: Option<Box<StormBase>>,
    ending: Option<Ending>,
    /// Why the process cannot go on, and since when.
    failure: Option<(String, Moment)>,
    next_beat: Moment,
}

/// Runs a worker to its end.
pub(crate) fn run(
    launch: &Launch,
    build: impl FnOnce(&Config) -> Result<BuiltTopology, String>,
) -> Result<WorkerExit, String> {
    let supervisor = Supervisor::new(launch);
    let listener: TcpListener = match slot::bind(launch) {
        Ok(listener) => listener,
        Err(slot::Unusable { kind, why }) => {
            supervisor.cannot_use_slot(kind, &why);
            lines::error(&why);
            return Ok(WorkerExit::Slot);
        }
    };
    let known = Known::of(launch).map_err(|error| error.to_string())?;
    let (words, inbox) = channel();
    watch_signals(words.clone())
        .map_err(|error| format!("signals cannot be watched: {error}; raise the limits of processes and open files"))?;
    let topology = build(&known.config)?;
    if !levels::install() {
        lines::note("the topology has a logger of its own: set_log_level does not reach what it says");
    }
    let notify = words.clone();
    let store = ZooKeeperStore::open(known.zookeeper.clone(), move || drop(notify.send(Word::Store)))
        .map_err(|error| format!("the thread that talks with ZooKeeper cannot be started: {error}; raise the limit"))?;
    let beginning = Beginning::new(known.cluster.clone(), known.identity.topology.clone());
    let mut runner = Runner::new(beginning, store, Told::Store, Beginning::sort);
    let number = slot_number(&known.identity.slot);
    let clock = Clock { start: Instant::now() };
    let mut program = Program {
        cores: Cores::new(launch, listener, words, number),
        known,
        supervisor,
        clock,
        topology: Some(topology),
        base: None,
        ending: None,
        failure: None,
        next_beat: Moment::default(),
    };
    lines::note(&format!(
        "this is incarnation {} of the worker of {} at port {}",
        launch.incarnation, launch.topology, launch.port
    ));
    program.lead(&mut runner, &inbox);
    Ok(program.exit())
}

/// The first signal asks for the end, the second one is the end.
fn watch_signals(words: Sender<Word>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let watch = move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                // Without destructors and exit handlers: whatever hangs must not keep the process.
                signal_hook::low_level::exit(128 + signal);
            }
            let _ = words.send(Word::End);
        }
    };
    std::thread::Builder::new().name("ringstorm-signals".into()).spawn(watch).map(drop)
}

impl Program {
    fn lead(&mut self, runner: &mut Runner<Beginning, ZooKeeperStore>, inbox: &Receiver<Word>) {
        loop {
            let now = self.clock.now();
            let Ok(is_more) = continued(runner.step(now, |wanted| self.act(now, wanted))) else { return };
            if let Some(base) = self.base.take() {
                match self.begin(now, &base) {
                    Ok(control) => {
                        let begin = Told::Begin(Box::new(control));
                        if runner.tell(now, begin, |wanted| self.act(now, wanted)).is_break() {
                            return;
                        }
                    }
                    Err(why) => return self.fail(now, why),
                }
            }
            if is_more {
                continue;
            }
            if self.is_done(now, runner.machine().control()) {
                return;
            }
            self.beat(now);
            let due = runner.wake_at().into_iter().chain([self.next_beat]).chain(self.deadline()).min();
            let wait = due.map_or(BEAT_PERIOD, |due| due.since(now.moment));
            let input = match inbox.recv_timeout(wait) {
                Ok(Word::Store) | Err(RecvTimeoutError::Timeout) => None,
                Ok(Word::Cores(report)) => self.heard(self.clock.now(), report),
                Ok(Word::Over(result)) => {
                    self.over(self.clock.now(), result);
                    None
                }
                Ok(Word::End) if runner.machine().control().is_none() => {
                    // Nothing runs yet that could be drained.
                    self.ending = Some(Ending { why: StopReason::Asked, since: now.moment });
                    return;
                }
                Ok(Word::End) => Some(WorkerInput::End),
                // This has a sender itself.
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let now = self.clock.now();
            if let Some(input) = input
                && runner.tell(now, Told::Worker(input), |wanted| self.act(now, wanted)).is_break()
            {
                return;
            }
        }
    }

    /// Makes the control of what the tree says.
    fn begin(&mut self, now: Now, base: &StormBase) -> Result<WorkerControl, String> {
        let topology = self.topology.take().ok_or("the topology was begun before, which is a fault of Ringstorm")?;
        let (topology, facts) = self.known.with_base(topology, base).map_err(|error| error.to_string())?;
        self.topology = Some(topology);
        let Known { identity, settings, cluster, .. } = &self.known;
        Ok(WorkerControl::new(now, identity.clone(), facts, settings.clone(), cluster.clone()))
    }

    /// Does what the machine wants.
    fn act(&mut self, now: Now, wanted: Wanted) -> ControlFlow<()> {
        let effect = match wanted {
            Wanted::Base(base) => {
                self.base = Some(base);
                return ControlFlow::Continue(());
            }
            Wanted::Gone => {
                lines::note("this worker ends: the topology is gone");
                self.supervisor.leaves("the topology is gone");
                self.ending = Some(Ending { why: StopReason::NoAssignment, since: now.moment });
                return ControlFlow::Break(());
            }
            Wanted::Note(line) => {
                lines::note(&line);
                return ControlFlow::Continue(());
            }
            Wanted::Worker(effect) => effect,
            // It was sorted out before.
            Wanted::Store(_) => return ControlFlow::Continue(()),
        };
        match effect {
            WorkerEffect::Assign(assignment) => {
                if let Some(topology) = self.topology.take() {
                    if let Err(error) = self.cores.start(topology, *assignment, self.known.settings.beat_period) {
                        self.cannot_start(now, &error);
                    }
                } else {
                    self.cores.order(WorkerOrder::Assign(assignment));
                }
            }
            WorkerEffect::SetActive(active) => self.cores.order(WorkerOrder::SetActive(active)),
            WorkerEffect::Drain { limit } => self.cores.order(WorkerOrder::Drain { limit }),
            WorkerEffect::Renew { lowest } => {
                self.cores.order(WorkerOrder::Renew { worker: lowest.worker, incarnation: lowest.incarnation });
            }
            WorkerEffect::Stop { why } => self.stop(now, why),
            WorkerEffect::Note(line) => lines::note(&line),
            WorkerEffect::SetLogLevels(levels) => {
                levels::set(&levels);
                lines::note("the levels of loggers are set anew");
            }
            // The thread that shakes hands has judged by the same rules.
            WorkerEffect::Accept { .. } | WorkerEffect::Refuse { .. } => {}
            // It was sorted out before.
            WorkerEffect::Store(_) => {}
        }
        ControlFlow::Continue(())
    }

    fn stop(&mut self, now: Now, why: StopReason) {
        lines::note(&format!("this worker ends: {why}"));
        match why {
            StopReason::Superseded { newest } => self.supervisor.stale(newest),
            StopReason::Asked => {}
            StopReason::NoAssignment
            | StopReason::NothingAssigned
            | StopReason::OtherExecutors
            | StopReason::OtherNumbering => self.supervisor.leaves(&why.to_string()),
        }
        self.ending = Some(Ending { why, since: now.moment });
        // Who was asked has time to finish; what another process does from now on is done there.
        let drain = (why == StopReason::Asked).then_some(self.known.drain_limit);
        self.cores.order(WorkerOrder::End { drain });
    }

    /// Takes what the cores say. Returns what the machine is told of it.
    fn heard(&mut self, now: Now, report: WorkerReport) -> Option<WorkerInput> {
        if matches!(report, WorkerReport::Started) {
            self.supervisor.ready();
        }
        self.cores.heard(now, |at| self.clock.moment(at), report)
    }

    /// The cores are over.
    fn over(&mut self, now: Now, result: Result<WorkerEnd, StartError>) {
        self.cores.over(result.as_ref().ok().copied());
        match result {
            Ok(_) if self.ending.is_some() => {}
            Ok(_) => self.fail(now, "the cores have ended, and nobody has asked them to".into()),
            Err(error) => self.cannot_start(now, &error),
        }
    }

    fn cannot_start(&mut self, now: Now, error: &StartError) {
        if let StartError::System { source, .. } = error {
            self.supervisor.cannot_use_slot(slot::trouble(source), &error.to_string());
        }
        self.fail(now, error.to_string());
    }

    fn fail(&mut self, now: Now, why: String) {
        lines::error(&why);
        self.failure.get_or_insert((why, now.moment));
    }

    /// The supervisor hears of this process while it lives.
    fn beat(&mut self, now: Now) {
        if now.moment >= self.next_beat {
            self.next_beat = now.moment + BEAT_PERIOD;
            if self.cores.go_on(now) {
                self.supervisor.beat();
            }
        }
    }

    /// When the process ends at the latest, if it ends.
    fn deadline(&self) -> Option<Moment> {
        let of_failure = self.failure.as_ref().map(|(_, since)| *since + LAST_WORDS);
        let of_end = self.ending.map(|ending| {
            let least = ending.since + LAST_WORDS;
            if self.cores.are_over() { least } else { ending.since + self.known.drain_limit + CLOSING }
        });
        of_failure.into_iter().chain(of_end).min()
    }

    /// Whether there is nothing left to wait for.
    fn is_done(&self, now: Now, control: Option<&WorkerControl>) -> bool {
        if self.deadline().is_some_and(|deadline| now.moment >= deadline) {
            return true;
        }
        if self.failure.is_some() {
            // What went wrong is to be read by whoever asks the cluster.
            return control.is_none_or(|control| control.unwritten_errors() == 0);
        }
        self.ending.is_some() && self.cores.are_over() && control.is_none_or(WorkerControl::has_taken_leave)
    }

    fn exit(&self) -> WorkerExit {
        if self.failure.is_some() {
            return WorkerExit::Failed;
        }
        match self.ending.map(|ending| ending.why) {
            Some(StopReason::Superseded { .. }) => WorkerExit::Superseded,
            Some(StopReason::Asked) if self.cores.have_left_something() => WorkerExit::Left,
            Some(_) => WorkerExit::Done,
            None => WorkerExit::Failed,
        }
    }
}

/// What a step came to; an error if it broke off.
fn continued<T>(flow: ControlFlow<(), T>) -> Result<T, ()> {
    match flow {
        ControlFlow::Continue(value) => Ok(value),
        ControlFlow::Break(()) => Err(()),
    }
}
