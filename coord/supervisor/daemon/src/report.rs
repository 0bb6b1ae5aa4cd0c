//! Troubles of workers, as errors of their topology in the tree, where `get-errors` and the user interfaces find them.
//!
//! A worker that died cannot say so itself. What its supervisor knows of it is written as an error of the components that
//! it ran, or was to run, with a session of its own that is there only while there is something to write.
//!
//! Invariants: of a slot one trouble is written in [`PAUSE`] at most; of a topology that is gone none. Threading: a thread
//! of its own, behind a short queue. Errors: what cannot be written is lost here; the supervisor's log and the history
//! have it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringstorm_lifecycle::executors::Tasks;
use ringstorm_lifecycle::system::system_topology;
use ringstorm_records::records::{ErrorInfo, StormBase};
use ringstorm_records::znode::{ComponentName, NodeName};
use ringstorm_store::cluster::{Cluster, Reading};
use ringstorm_store::control::Control;
use ringstorm_supervisor::share::ExecutorId;
use ringstorm_types::TaskId;
use ringstorm_zookeeper::{Settings, ZooKeeperStore};

use crate::code::Local;

/// How many troubles may wait.
const QUEUE_MAX: usize = 64;

/// The shortest time between two troubles of a slot.
const PAUSE: Duration = Duration::from_secs(10);

/// How long a session or an answer is waited for.
const LIMIT: Duration = Duration::from_secs(30);

/// For how long a session is kept without anything to write.
const SESSION_KEPT: Duration = Duration::from_secs(10);

/// Of how many components at most something is an error whose part in it is not known.
const COMPONENTS_MAX: usize = 10;

/// A trouble.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) topology: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What the worker ran.
    pub(crate) executors: Vec<ExecutorId>,
    pub(crate) text: String,
}

/// By which troubles are reported.
#[derive(Clone, Debug)]
pub(crate) struct Reports(SyncSender<Report>);

/// Whoever writes them.
pub(crate) struct Reporter {
    pub(crate) zookeeper: Settings,
    pub(crate) cluster: Cluster,
    pub(crate) local: Local,
}

impl Reports {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(reporter: Reporter) -> std::io::Result<Self> {
        let (sender, reports) = sync_channel(QUEUE_MAX);
        std::thread::Builder::new().name("reports".into()).spawn(move || reporter.run(&reports))?;
        Ok(Self(sender))
    }

    /// Reports a trouble, or loses it if too many wait.
    pub(crate) fn add(&self, report: Report) {
        let _ = self.0.try_send(report);
    }
}

impl Reporter {
    fn run(self, reports: &Receiver<Report>) {
        let mut written: BTreeMap<(String, u16), Instant> = BTreeMap::new();
        let mut control: Option<Control<ZooKeeperStore>> = None;
        loop {
            let report = match reports.recv_timeout(SESSION_KEPT) {
                Ok(report) => report,
                Err(RecvTimeoutError::Timeout) => {
                    control = None;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            written.retain(|_, at| at.elapsed() < PAUSE);
            let slot = (report.topology.clone(), report.port);
            if let Entry::Vacant(entry) = written.entry(slot) {
                entry.insert(Instant::now());
                control = self.write(control.take(), &report);
            }
        }
    }

    /// Writes a trouble; the session, if it can be used further.
    fn write(&self, control: Option<Control<ZooKeeperStore>>, report: &Report) -> Option<Control<ZooKeeperStore>> {
        let open = || ZooKeeperStore::open(self.zookeeper.clone(), || {}).ok().map(Control::new);
        let mut control = control.or_else(open)?;
        let session = control.opened(LIMIT).ok()?;
        let topology = NodeName::new(&report.topology).ok()?;
        let components = self.components(report);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let error = ErrorInfo {
            error: report.text.clone(),
            error_time_secs: i32::try_from(since.as_secs()).unwrap_or(i32::MAX),
            host: Some(report.host.clone()),
            port: Some(i32::from(report.port)),
        };
        let procedure = self.cluster.procedure(|tree| async move {
            // Nothing is written of a topology that is gone: nobody would remove it.
            let Reading::Found { value: base, .. } = tree.storm_base(&topology, false).await? else { return Ok(()) };
            let components = if components.is_empty() { components_of(&base) } else { components };
            for component in components {
                tree.report_error(&topology, &component, &error).await?;
            }
            Ok::<(), ringstorm_store::cluster::Trouble>(())
        });
        let done = control.run(session, procedure, LIMIT).ok()?;
        while control.next_event(Duration::ZERO).is_some() {}
        done.ok().map(|()| control)
    }

    /// The components that a worker ran, without those of the system if there are others. None where the topology's
    /// structure is not here.
    fn components(&self, report: &Report) -> BTreeSet<ComponentName> {
        let names = || {
            let conf = self.local.conf(&report.topology).ok()?;
            let system = system_topology(&conf, &self.local.structure(&report.topology)?).ok()?;
            let tasks = Tasks::number(&system).ok()?;
            let firsts = report.executors.iter().filter_map(|(first, _)| i32::try_from(*first).ok().map(TaskId));
            let all: BTreeSet<String> = firsts.filter_map(|task| Some(tasks.component_of(task)?.to_string())).collect();
            let own: BTreeSet<String> = all.iter().filter(|name| !name.starts_with("__")).cloned().collect();
            Some(if own.is_empty() { all } else { own })
        };
        names().unwrap_or_default().iter().filter_map(|name| ComponentName::new(name).ok()).collect()
    }
}

/// The components of a topology, of which it is not known where they run: as many as a person reads.
fn components_of(base: &StormBase) -> BTreeSet<ComponentName> {
    let names = base.component_executors.iter().flat_map(|executors| executors.keys());
    let own = names.filter(|name| !name.starts_with("__")).filter_map(|name| ComponentName::new(name).ok());
    own.take(COMPONENTS_MAX).collect()
}
