//! A topology in this process: for running it here, for tests, for embedding.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use crate::api::builder::BuiltTopology;
use crate::api::context::TopologyFacts;
use crate::core::failure::{Guarded, LastWords, caught};
use crate::debug::{DebugListener, DebugThread};
use crate::error::StartError;
use crate::metrics::CoreSnapshot;
use crate::report::{ErrorReport, RunReport};
use crate::worker::blueprint::Blueprint;
use crate::worker::coordinator::{Coordinator, Message, NoteListener};
use crate::worker::cores::{StartedCores, start_cores, stop_at_once};
use crate::worker::cpus;
use crate::worker::error_thread::ErrorListener;
use crate::worker::evenly::deal_evenly;
use crate::worker::fleet::{Fleet, WorkerCommand};
use crate::worker::members::Members;
use crate::worker::owner::{Owner, Wishes};
use crate::worker::random::random_bytes;
use ringstorm_types::assignment::WorkerSecret;

/// Runs topologies in this process, each on cores of its own.
#[derive(Debug, Default)]
pub struct LocalCluster {
    submitted: AtomicU64,
}

/// How to start a topology.
#[derive(Default)]
pub struct LocalOptions {
    /// Called with each error as it happens, on a thread of its own. Errors that come faster than it takes them are left to
    /// the report; at its end a run waits for it for five seconds at most.
    pub on_error: Option<ErrorListener>,
    /// Called with a line for each tuple that a component with `topology.debug` emits, on a thread of its own. Without it
    /// the lines go to standard error. Lines that come faster than they are taken are left out and counted; at its end a
    /// run waits for them for five seconds at most.
    pub on_debug: Option<DebugListener>,
    /// Called with what happens to the connections between workers. Without it, that goes to standard error.
    pub on_note: Option<NoteListener>,
    /// Start with spouts that are not asked for tuples, until [`RunningTopology::activate`].
    pub inactive: bool,
}

impl std::fmt::Debug for LocalOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LocalOptions").field("inactive", &self.inactive).finish_non_exhaustive()
    }
}

impl LocalCluster {
    /// A cluster of this process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a topology and returns at once.
    ///
    /// # Errors
    /// [`StartError`] when the topology cannot be planned or the system refuses what its cores need.
    pub fn submit(
        &self,
        name: &str,
        topology: BuiltTopology,
        options: LocalOptions,
    ) -> Result<RunningTopology, StartError> {
        let number = self.submitted.fetch_add(1, Ordering::Relaxed) + 1;
        start(&topology_id(name, number), name, topology, options)
    }

    /// Runs a topology to the end of its input.
    ///
    /// # Errors
    /// As [`LocalCluster::submit`].
    pub fn run(&self, name: &str, topology: BuiltTopology) -> Result<RunReport, StartError> {
        Ok(self.submit(name, topology, LocalOptions::default())?.wait())
    }
}

/// A topology that runs in this process. Dropping it stops it, after a drain.
pub struct RunningTopology {
    owner: Owner,
    coordinator: Option<JoinHandle<RunReport>>,
    cores: Vec<JoinHandle<()>>,
    facts: Arc<TopologyFacts>,
    /// There until the run is over.
    blueprint: Option<Arc<Blueprint>>,
    debug: Option<DebugThread>,
}

impl std::fmt::Debug for RunningTopology {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RunningTopology").field("id", &self.facts.id).finish_non_exhaustive()
    }
}

impl RunningTopology {
    /// Waits until the input has ended and everything is drained, or the run fails.
    pub fn wait(mut self) -> RunReport {
        self.join()
    }

    /// Takes nothing new, drains for at most `ringstorm.drain.timeout.secs`, and stops.
    pub fn stop(mut self) -> RunReport {
        self.request_stop();
        self.join()
    }

    /// Asks for a stop and returns at once.
    pub fn request_stop(&self) {
        self.owner.stop();
    }

    /// A handle that can ask for a stop from anywhere, such as a signal handler's thread.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.owner.clone())
    }

    /// A handle that can ask for counters from anywhere, while somebody else waits for the end.
    pub fn observer(&self) -> Observer {
        Observer(self.owner.clone())
    }

    /// Lets the spouts be asked for tuples.
    pub fn activate(&self) {
        self.owner.set_active(true);
    }

    /// Keeps the spouts from being asked for tuples; bolts go on.
    pub fn deactivate(&self) {
        self.owner.set_active(false);
    }

    /// The counters of every core that answers within half a second.
    pub fn snapshots(&self) -> Vec<CoreSnapshot> {
        self.observer().snapshots()
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.coordinator.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// The topology's id.
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    fn join(&mut self) -> RunReport {
        let report = self.coordinator.take().expect("a run is joined once").join();
        let mut report = report.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // Cores that user code holds are left behind; they end with the process.
        if report.cores_left_behind == 0 {
            for core in self.cores.drain(..) {
                let _ = core.join();
            }
        }
        if let Some(debug) = self.debug.take() {
            debug.end();
        }
        if let Some(blueprint) = self.blueprint.take() {
            drop_blueprint(blueprint, &mut report);
        }
        report
    }
}

/// Lets go of users' factories, as all others have, and reports what that said.
fn drop_blueprint(blueprint: Arc<Blueprint>, report: &mut RunReport) {
    let parts = blueprint.built.parts.iter();
    let last_words: Vec<_> = parts.map(|(id, part)| (id.to_string(), Arc::clone(&part.last_words))).collect();
    drop(blueprint);
    for (component, texts) in last_words {
        for text in texts.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let text = format!("the drop of its factory {text}");
            let component = component.clone();
            let since_start = report.elapsed;
            report.errors.push(ErrorReport { component, task: 0, text, fatal: false, since_start });
            report.error_count += 1;
        }
    }
}

impl Drop for RunningTopology {
    fn drop(&mut self) {
        if self.coordinator.is_some() {
            self.request_stop();
            self.join();
        }
    }
}

/// Asks a run to stop.
#[derive(Debug, Clone)]
pub struct StopHandle(Owner);

impl StopHandle {
    /// Asks for a stop; a run that is over ignores it.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// Reads the counters of a run.
#[derive(Debug, Clone)]
pub struct Observer(Owner);

impl Observer {
    /// The counters of every core that answers within half a second; none once the run is over.
    pub fn snapshots(&self) -> Vec<CoreSnapshot> {
        self.0.snapshots()
    }
}

fn start(id: &str, name: &str, topology: BuiltTopology, options: LocalOptions) -> Result<RunningTopology, StartError> {
    let cpus = cpus::usable().cpus;
    let assignment = deal_evenly(&topology, id.to_owned(), random_secret(), NonZeroUsize::MIN, cpus.len())?;
    let blueprint = Arc::new(Blueprint::new(Arc::new(topology), name, Arc::new(assignment), 0, &cpus)?);
    let (messages, inbox) = channel();
    let LocalOptions { on_error, on_debug, on_note, inactive } = options;
    let StartedCores { cores, threads, debug } = start_cores(&blueprint, &messages, on_debug)?;
    let all_commands = cores.commands.clone();
    let wishes = Arc::<Wishes>::default();
    let inbox = (inbox, Arc::clone(&wishes));
    let coordinator = lead(&blueprint, Box::new(cores), inbox, on_error, on_note, !inactive)
        .inspect_err(|_| stop_at_once(&all_commands))?;
    Ok(running(Owner::new(wishes, messages), coordinator, threads, blueprint, debug))
}

fn running(
    owner: Owner,
    coordinator: JoinHandle<RunReport>,
    cores: Vec<JoinHandle<()>>,
    blueprint: Arc<Blueprint>,
    debug: Option<DebugThread>,
) -> RunningTopology {
    let facts = Arc::clone(&blueprint.facts);
    RunningTopology { owner, coordinator: Some(coordinator), cores, facts, blueprint: Some(blueprint), debug }
}

/// Has a coordinator lead those members, on a thread of its own.
fn lead(
    blueprint: &Arc<Blueprint>,
    members: Box<dyn Members>,
    inbox: (Receiver<Message>, Arc<Wishes>),
    on_error: Option<ErrorListener>,
    on_note: Option<NoteListener>,
    active: bool,
) -> Result<JoinHandle<RunReport>, StartError> {
    let on_note = on_note.unwrap_or_else(|| Box::new(|text| eprintln!("{text}")));
    let mut on_note = Guarded::new(on_note, &LastWords::default());
    // Nothing has failed if it panics, and there is nobody else to tell.
    let on_note = Box::new(move |text: &str| drop(caught(|| on_note.get_mut()(text))));
    let coordinator = Coordinator::new(blueprint, members, inbox, on_error, on_note, active);
    let thread = std::thread::Builder::new().name("ringstorm-coordinator".into());
    thread.spawn(move || coordinator.run()).map_err(|source| {
        let what = "starting the coordinator's thread (limit: processes)".into();
        StartError::System { what, source }
    })
}

/// Starts a topology in worker processes of their own, each by a command that runs [`run_worker`](crate::run_worker), and
/// returns when all of them have been told what to do. They are led from here as cores of this process would be.
///
/// # Errors
/// As [`LocalCluster::submit`], and when a worker ends before it is ready.
pub fn submit_to_workers(
    name: &str,
    topology: BuiltTopology,
    workers: NonZeroUsize,
    command: WorkerCommand,
    options: LocalOptions,
) -> Result<RunningTopology, StartError> {
    let cpus = cpus::usable().cpus;
    let assignment = deal_evenly(&topology, topology_id(name, 1), random_secret(), workers, cpus.len())?;
    let blueprint = Arc::new(Blueprint::new(Arc::new(topology), name, Arc::new(assignment), 0, &cpus)?);
    let (messages, inbox) = channel();
    let LocalOptions { on_error, on_debug, on_note, inactive } = options;
    let fleet = Fleet::start(&blueprint, command, &messages, on_debug)?;
    let wishes = Arc::<Wishes>::default();
    let inbox = (inbox, Arc::clone(&wishes));
    let coordinator = lead(&blueprint, Box::new(fleet), inbox, on_error, on_note, !inactive)?;
    Ok(running(Owner::new(wishes, messages), coordinator, Vec::new(), blueprint, None))
}

/// The id of a topology as Storm makes it: its name, the number of the submission, and when it was made.
fn topology_id(name: &str, number: u64) -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{name}-{number}-{seconds}")
}

/// A secret that differs from run to run.
fn random_secret() -> WorkerSecret {
    WorkerSecret(random_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
}
