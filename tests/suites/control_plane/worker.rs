//! A worker process as a thread: its control, and cores that do nothing but go on. Threading and errors: as those of
//! [`crate::daemon`].

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_control::time::{Moment, Now};
use ringstorm_records::znode::{NodeName, Slot};
use ringstorm_supervisor::events::{Exit, ProcessEvent, StartWorker};
use ringstorm_types::ComponentId;
use ringstorm_types::assignment::WorkerSecret;
use ringstorm_types::config::Config;
use ringstorm_types::numbering::number;
use ringstorm_types::topology::{Component, Topology};
use ringstorm_worker::{CoresEvent, Identity, TopologyFacts, WorkerControl, WorkerEffect, WorkerInput, WorkerSettings};

use crate::daemon::{Daemon, Program, Word, Words};
use crate::supervisor::{ID, Machinery};
use crate::world::{Notes, World, cluster};

/// How long a worker that ends has for what is left to be written.
const FAREWELL: Duration = Duration::from_secs(2);

/// A worker process, or one that was.
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) topology: String,
    is_over: Arc<AtomicBool>,
    daemon: Daemon<WorkerInput>,
}

struct WorkerProgram {
    world: Arc<World>,
    identity: Identity,
    machinery: Weak<Machinery>,
    is_over: Arc<AtomicBool>,
    is_assigned: bool,
    is_started: bool,
    ends_at: Option<Moment>,
    notes: Notes,
}

impl Process {
    pub(crate) fn start(
        world: &Arc<World>,
        machinery: &Arc<Machinery>,
        worker: &StartWorker,
        pid: u32,
        session: Duration,
    ) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let program = WorkerProgram {
            world: Arc::clone(world),
            identity: Identity {
                topology: NodeName::new(&worker.topology).unwrap(),
                slot: Slot { supervisor: NodeName::new(ID).unwrap(), port: worker.port },
                host: "127.0.0.1".into(),
                incarnation: worker.incarnation,
                version: worker.version,
                cores: NonZeroUsize::new(worker.cores as usize).unwrap(),
            },
            machinery: Arc::downgrade(machinery),
            is_over: Arc::clone(&is_over),
            is_assigned: false,
            is_started: false,
            ends_at: None,
            notes: world.notes.of(&format!("worker {}", worker.port)),
        };
        let daemon = Daemon::start(world.clock, &world.addresses, session, program);
        Self { pid, topology: worker.topology.clone(), is_over, daemon }
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    pub(crate) fn words(&self) -> &Words<WorkerInput> {
        self.daemon.words()
    }

    pub(crate) fn end(&mut self) {
        self.daemon.end();
    }
}

impl WorkerProgram {
    fn say(&self, event: ProcessEvent) {
        if let Some(machinery) = self.machinery.upgrade() {
            machinery.say(event);
        }
    }

    /// The topology of the recorded life, with as many executors as the tree says now; `None` when it is gone.
    fn facts(&self) -> Option<TopologyFacts> {
        let base = self.world.base(&self.identity.topology)?;
        let counts: BTreeMap<String, i32> = base.component_executors.unwrap();
        let component = |name: &str, mut component: Component, tasks: u32| {
            component.parallelism_hint = Some(u32::try_from(counts[name]).unwrap());
            component.task_count = Some(tasks);
            (ComponentId::new(name).unwrap(), component)
        };
        let components = [
            component("words", Component::spout(), 4),
            component("count", Component::bolt(), 3),
            component("sink", Component::bolt(), 1),
        ];
        let acker_executors = u32::try_from(counts["__acker"]).unwrap();
        Some(TopologyFacts {
            secret: WorkerSecret("0123456789abcdef0123456789abcdef".into()),
            acker_executors,
            numbering: number(&Topology { components: components.into() }, &Config::new(), acker_executors).unwrap(),
            spouts: [ComponentId::new("words").unwrap()].into(),
        })
    }
}

impl Program for WorkerProgram {
    type Machine = WorkerControl;

    fn make(&mut self, now: Now) -> Option<WorkerControl> {
        let settings = WorkerSettings { errors_per_interval: 1_000, ..WorkerSettings::default() };
        let facts = self.facts()?;
        Some(WorkerControl::new(now, self.identity.clone(), facts, settings, cluster()))
    }

    fn telling(said: FromStore) -> WorkerInput {
        WorkerInput::Store(said)
    }

    fn sorting(effect: WorkerEffect) -> Result<ToStore, WorkerEffect> {
        match effect {
            WorkerEffect::Store(asked) => Ok(asked),
            other => Err(other),
        }
    }

    fn act(&mut self, now: Now, effect: WorkerEffect, _: &Words<WorkerInput>) -> ControlFlow<()> {
        match effect {
            WorkerEffect::Assign(assignment) => {
                self.is_assigned = true;
                self.notes.add(&format!("runs version {}", assignment.version));
            }
            WorkerEffect::Stop { why } => {
                self.ends_at = Some(now.moment + FAREWELL);
                self.notes.add(&format!("ends: {why}"));
            }
            WorkerEffect::Note(line) => self.notes.add(&line),
            other => self.notes.add(&format!("{other:?}")),
        }
        ControlFlow::Continue(())
    }

    fn tick(&mut self, now: Now, _: &WorkerControl, own: &Words<WorkerInput>) {
        let say = |event| drop(own.send(Word::Input(WorkerInput::Cores(event))));
        let Some(machinery) = self.machinery.upgrade() else { return };
        let (port, incarnation) = (self.identity.slot.port, self.identity.incarnation);
        if self.ends_at.is_some_and(|at| at <= now.moment) {
            let _ = own.send(Word::End);
        } else if self.is_started {
            say(CoresEvent::Progress(vec![now.moment; self.identity.cores.get()]));
        } else if self.is_assigned && machinery.starts_cores.load(Ordering::SeqCst) {
            self.is_started = true;
            say(CoresEvent::Started);
            say(CoresEvent::Ready);
            self.say(ProcessEvent::Ready { port, incarnation });
        }
        self.say(ProcessEvent::Beat { port, incarnation });
    }

    fn ended(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let (port, incarnation) = (self.identity.slot.port, self.identity.incarnation);
        let how = if self.ends_at.is_some() { Exit::Code(0) } else { Exit::Unknown };
        self.say(ProcessEvent::Exited { port, incarnation, how });
    }
}
