//! Everything that is decided before a worker starts, and again for each new assignment: tasks, cores, links, routes.
//! Pure; each core builds itself from the one blueprint.
//!
//! Invariants: a link exists exactly where a route, an ack or a pause needs one; every task has one home.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use ringstorm_acking::{EdgeKey, Lanes};
use ringstorm_ring::IdleSettings;
use ringstorm_tuple::Schema;
use ringstorm_types::assignment::Assignment;
use ringstorm_types::config::{Config, CorePlacement};
use ringstorm_types::fnv::fnv;
use ringstorm_types::graph::{cycles, topological_order};
use ringstorm_types::id::{SYSTEM_COMPONENT, TICK_STREAM};
use ringstorm_types::numbering::{Numbering, number};
use ringstorm_types::placement::place_those;
use ringstorm_types::topology::{ComponentKind, Grouping};
use ringstorm_types::{ComponentId, ExecutorId, StreamId, TaskId};

use crate::api::builder::BuiltTopology;
use crate::api::context::TopologyFacts;
use crate::api::input::Source;
use crate::core::InboxMarks;
use crate::core::host::Host;
use crate::core::transfer::{Load, TaskBoard, TransferLimits};
use crate::error::BuildError;

mod reach;

/// What all data rings of a worker may hold together; above it rings get fewer cells.
const RING_BYTES_MAX: usize = 512 << 20;
/// What an inbox gets after it has paused its feeders lies in rings already: they hold so much less than the limit of
/// cycles together, or a cycle that does not grow might meet its limit.
const CYCLE_LIMIT_TO_RINGS: usize = 4;
/// A ring is never shorter than this.
const RING_CELLS_MIN: usize = 4;
/// Pending messages per spout task when `topology.max.spout.pending` is unset. Storm has no limit then; without one a
/// stuck bolt would let the pending table grow without end.
const MAX_PENDING_DEFAULT: usize = 1 << 20;

/// The number of a component for runs of the system (ticks).
pub(crate) const SYSTEM_NUMBER: u32 = u32::MAX - 1;

/// A core of some worker, whatever the assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The number of its worker.
    pub(crate) worker: u64,
    /// Its number there.
    pub(crate) core: u32,
}

/// One thread of a worker.
#[derive(Clone, Debug)]
pub(crate) struct ThreadPlan {
    /// The position of its worker in the assignment.
    pub(crate) worker: usize,
    pub(crate) host: Host,
    pub(crate) executors: Vec<ExecutorId>,
}

/// Needs of an ordered pair of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkNeed {
    pub(crate) data: bool,
    pub(crate) control: bool,
}

/// A topology on paper, with all of its workers, and which of them this is.
pub(crate) struct Blueprint {
    pub(crate) assignment: Arc<Assignment>,
    /// The position of this worker in the assignment.
    pub(crate) own: usize,
    pub(crate) built: Arc<BuiltTopology>,
    pub(crate) config: Config,
    pub(crate) facts: Arc<TopologyFacts>,
    pub(crate) numbering: Numbering,
    /// The threads of all workers, those of a worker side by side. Their index is the number of a core.
    pub(crate) threads: Vec<ThreadPlan>,
    /// By task id (index 0 is the system): the index of its thread.
    pub(crate) thread_of_task: Vec<usize>,
    /// By task id and stream number.
    pub(crate) sources: Vec<Vec<Arc<Source>>>,
    pub(crate) component_numbers: Vec<u32>,
    /// Components by number.
    pub(crate) components: Vec<ComponentId>,
    /// Components in topological order.
    pub(crate) order: Vec<ComponentId>,
    pub(crate) cycles: Vec<Vec<ComponentId>>,
    pub(crate) links: BTreeMap<(usize, usize), LinkNeed>,
    pub(crate) ring_cells: usize,
    pub(crate) edge_key: EdgeKey,
    pub(crate) seed: u64,
    pub(crate) lanes: Lanes,
    pub(crate) ackers: Vec<u32>,
    pub(crate) spouts: Vec<u32>,
    pub(crate) limits: TransferLimits,
    pub(crate) marks: InboxMarks,
    pub(crate) idle: IdleSettings,
    pub(crate) board: Arc<TaskBoard>,
    pub(crate) timeout_ns: Option<u64>,
    pub(crate) failure_limit: u32,
    pub(crate) load_aware: bool,
}

impl std::fmt::Debug for Blueprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Blueprint").field("assignment", &self.assignment).finish_non_exhaustive()
    }
}

impl Blueprint {
    /// Plans a topology for the worker at that position of the assignment. All workers plan the same from the same
    /// assignment, but for `cpus`, which are this worker's: if there are too few for its cores, these are not pinned.
    ///
    /// # Errors
    /// When the assignment is not one for this topology, or a setting is wrong.
    /// Whether an assignment is one for the topology, as [`Blueprint::new`] would say.
    pub(crate) fn check(built: &BuiltTopology, assignment: &Assignment) -> Result<(), BuildError> {
        let numbering = number(&built.topology, &built.config, assignment.acker_executors)?;
        Ok(assignment.check(&numbering)?)
    }

    pub(crate) fn new(
        built: Arc<BuiltTopology>,
        name: &str,
        assignment: Arc<Assignment>,
        own: usize,
        cpus: &[usize],
    ) -> Result<Self, BuildError> {
        let config = built.config.clone();
        let topology = built.topology.clone();
        let numbering = number(&topology, &config, assignment.acker_executors)?;
        assignment.check(&numbering)?;
        let seed = seed_of(&assignment);
        let own_cores = assignment.workers[own].cores.get();
        let pinned = config.cores_placement()? == CorePlacement::Pinned && own_cores <= cpus.len();
        let mut threads = Vec::new();
        for (worker, assigned) in assignment.workers.iter().enumerate() {
            let executors: BTreeSet<ExecutorId> = assigned.executors.iter().copied().collect();
            let placement = place_those(&numbering, &topology, assigned.cores, |id| executors.contains(&id));
            let pins = cpus.iter().map(|cpu| Host::Pinned { cpu: *cpu }).filter(|_| pinned && worker == own);
            let hosts = pins.chain(std::iter::repeat(Host::Unbound));
            // A core without executors would only cost a thread.
            let cores = placement.cores().zip(hosts).filter(|((_, executors), _)| !executors.is_empty());
            threads.extend(cores.map(|((_, executors), host)| ThreadPlan {
                worker,
                host,
                executors: executors.to_vec(),
            }));
            threads.extend(placement.on_own_threads().map(|id| ThreadPlan {
                worker,
                host: Host::Thread,
                executors: vec![id],
            }));
        }

        let task_count = numbering.task_count();
        let mut thread_of_task = vec![usize::MAX; task_count + 1];
        for (index, thread) in threads.iter().enumerate() {
            for task in thread.executors.iter().flat_map(|executor| executor.tasks()) {
                thread_of_task[task_number(task)] = index;
            }
        }
        let components: Vec<ComponentId> = topology.components.keys().cloned().collect();
        let component_numbers = component_numbers(&numbering, &components);
        let sources = sources(&built, &numbering);
        let ackers: Vec<u32> = numbering.ackers().iter().map(|task| task_number(*task) as u32).collect();
        let mut spouts: Vec<u32> = topology
            .components
            .iter()
            .filter(|(_, component)| component.kind == ComponentKind::Spout)
            .flat_map(|(id, _)| numbering.tasks_of(id).iter().map(|task| task_number(*task) as u32))
            .collect();
        spouts.sort_unstable();
        let lanes = Lanes::new(spouts.len() as u32, ackers.len() as u32)
            .map_err(|error| BuildError::Declaration(error.to_string()))?;

        let frame_bytes = config.frame_bytes()?;
        let inbox_mark_bytes = config.inbox_mark_bytes()?;
        let always_spin = config.cores_always_spin()?;
        let facts = Arc::new(TopologyFacts {
            id: assignment.topology_id.clone(),
            name: name.to_owned(),
            tasks: numbering.components().map(|(id, tasks)| (id.clone(), tasks.to_vec())).collect(),
        });
        let mut blueprint = Self {
            own,
            facts,
            thread_of_task,
            sources,
            component_numbers,
            components,
            order: topological_order(&topology),
            cycles: cycles(&topology),
            links: BTreeMap::new(),
            ring_cells: config.ring_cells()?,
            edge_key: EdgeKey::new(seed),
            seed,
            assignment,
            lanes,
            ackers,
            spouts,
            limits: TransferLimits {
                tuple_bytes_max: config.tuple_max_bytes()?,
                frame_bytes,
                cycle_bytes_max: config.cycle_limit_bytes()?,
            },
            marks: InboxMarks { high_bytes: inbox_mark_bytes, low_bytes: inbox_mark_bytes / 4 },
            idle: IdleSettings { always_spin, never_spin: !pinned && !always_spin, ..IdleSettings::default() },
            board: Arc::new(TaskBoard::new(task_count)),
            timeout_ns: config
                .enable_message_timeouts()?
                .then(|| config.message_timeout_secs())
                .transpose()?
                .map(|seconds| u64::from(seconds) * 1_000_000_000),
            failure_limit: config.task_failure_limit()?,
            load_aware: !config.disable_loadaware_messaging()?,
            built,
            config,
            numbering,
            threads,
        };
        blueprint.links = blueprint.plan_links();
        // Those at other workers count as fast until they say something.
        for task in (1..=task_count).filter(|task| !blueprint.is_own(blueprint.thread_of_task[*task])) {
            blueprint.board.show(task as u32, task as u32, Load::default());
        }
        let mut rings_by_reader = BTreeMap::<usize, usize>::new();
        for ((_, to), _) in blueprint
            .links
            .iter()
            .filter(|((from, to), need)| need.data && blueprint.is_own(*from) && blueprint.is_own(*to))
        {
            *rings_by_reader.entry(*to).or_default() += 1;
        }
        let rings: usize = rings_by_reader.values().sum();
        let rings_of_a_reader = rings_by_reader.values().copied().max().unwrap_or(0);
        let most_of_a_reader = blueprint.limits.cycle_bytes_max / CYCLE_LIMIT_TO_RINGS;
        let is_too_much = |cells| {
            rings * cells * frame_bytes > RING_BYTES_MAX || rings_of_a_reader * cells * frame_bytes > most_of_a_reader
        };
        while blueprint.ring_cells > RING_CELLS_MIN && is_too_much(blueprint.ring_cells) {
            blueprint.ring_cells /= 2;
        }
        Ok(blueprint)
    }

    /// Whether two threads live in one worker, so that a ring joins them.
    fn is_ring(&self, (from, to): (usize, usize)) -> bool {
        self.threads[from].worker == self.threads[to].worker
    }

    /// Where a thread is, for other assignments too.
    pub(crate) fn place(&self, thread: usize) -> Place {
        let worker = self.threads[thread].worker;
        let core = (thread - self.threads_of_worker(worker).start) as u32;
        Place { worker: self.assignment.workers[worker].number, core }
    }

    /// Whether this worker has others to talk to, now or later.
    pub(crate) fn has_other_workers(&self) -> bool {
        self.assignment.workers.len() > 1 || !self.assignment.workers[self.own].address.is_empty()
    }

    /// The number of this worker.
    pub(crate) fn own_number(&self) -> u64 {
        self.assignment.workers[self.own].number
    }

    /// That of this process. What it draws from the seed differs by it from what the process before it drew: its roots are
    /// not to be taken for that one's.
    pub(crate) fn incarnation(&self) -> u64 {
        self.assignment.workers[self.own].incarnation
    }

    /// The cores of other workers that a core has connections with, in the order of their peers in its sockets.
    pub(crate) fn peers(&self, thread: usize) -> Vec<Place> {
        let pairs = self.links.keys().filter(|pair| !self.is_ring(**pair));
        let others = pairs.filter_map(|(from, to)| match (*from == thread, *to == thread) {
            (true, _) => Some(*to),
            (_, true) => Some(*from),
            _ => None,
        });
        let places: BTreeSet<Place> = others.map(|other| self.place(other)).collect();
        places.into_iter().collect()
    }

    /// The numbers of this worker's cores.
    pub(crate) fn own_threads(&self) -> Range<usize> {
        self.threads_of_worker(self.own)
    }

    /// The numbers of a worker's cores.
    pub(crate) fn threads_of_worker(&self, worker: usize) -> Range<usize> {
        let first = self.threads.partition_point(|thread| thread.worker < worker);
        first..self.threads.partition_point(|thread| thread.worker <= worker)
    }

    pub(crate) fn is_own(&self, thread: usize) -> bool {
        self.threads[thread].worker == self.own
    }

    pub(crate) fn is_in_cycle(&self, component: &str, with: &str) -> bool {
        self.cycle_of(component).is_some_and(|cycle| cycle.iter().any(|member| &**member == with))
    }

    pub(crate) fn cycle_of(&self, component: &str) -> Option<&[ComponentId]> {
        let cycle = self.cycles.iter().find(|cycle| cycle.iter().any(|member| &**member == component))?;
        Some(cycle)
    }

    /// The cycle in words: "a, b, a".
    pub(crate) fn cycle_name(&self, component: &str) -> String {
        let Some(cycle) = self.cycle_of(component) else { return String::new() };
        let names: Vec<&str> = cycle.iter().chain(cycle.first()).map(|member| member.as_str()).collect();
        names.join(", ")
    }

    /// Subscriptions to a stream of a component: subscriber, position among its inputs, grouping.
    pub(crate) fn subscribers<'a>(
        &'a self,
        component: &'a str,
        stream: &'a str,
    ) -> impl Iterator<Item = (&'a ComponentId, usize, &'a Grouping)> + 'a {
        self.built.topology.components.iter().flat_map(move |(id, subscriber)| {
            let inputs = subscriber.inputs.iter().enumerate();
            inputs
                .filter(move |(_, input)| &*input.component == component && &*input.stream == stream)
                .map(move |(position, input)| (id, position, &input.grouping))
        })
    }

    /// The tasks of a component as numbers.
    pub(crate) fn tasks_of(&self, component: &str) -> Vec<u32> {
        self.numbering.tasks_of(component).iter().map(|task| task_number(*task) as u32).collect()
    }

    /// The settings of a component: its own before the topology's.
    pub(crate) fn component_config(&self, component: &ComponentId) -> Config {
        self.config.merged_with(&self.built.topology.components[component].config)
    }

    /// Whether what the component emits is to be shown; as in Storm it may be set for a component alone.
    pub(crate) fn shows_emits_of(&self, component: &ComponentId) -> bool {
        self.component_config(component).debug().unwrap_or(false)
    }

    pub(crate) fn max_pending(&self, component: &Config) -> Result<usize, BuildError> {
        Ok(component.max_spout_pending()?.map_or(MAX_PENDING_DEFAULT, |pending| pending as usize))
    }
}

/// What the workers of one topology draw their numbers from.
fn seed_of(assignment: &Assignment) -> u64 {
    fnv(assignment.secret.0.bytes().chain(assignment.topology_id.bytes()))
}

/// A task id as an index; tasks of components count from 1.
pub(crate) fn task_number(task: TaskId) -> usize {
    usize::try_from(task.0).unwrap_or(0)
}

fn component_numbers(numbering: &Numbering, components: &[ComponentId]) -> Vec<u32> {
    let mut numbers = vec![SYSTEM_NUMBER; numbering.task_count() + 1];
    for (id, tasks) in numbering.components() {
        let number = components.iter().position(|component| component == id).unwrap_or(components.len());
        for task in tasks {
            numbers[task_number(*task)] = number as u32;
        }
    }
    numbers
}

fn sources(built: &BuiltTopology, numbering: &Numbering) -> Vec<Vec<Arc<Source>>> {
    let mut sources = vec![Vec::new(); numbering.task_count() + 1];
    sources[0] = vec![Arc::new(Source {
        component: ComponentId::from_static(SYSTEM_COMPONENT),
        stream: StreamId::from_static(TICK_STREAM),
        schema: Schema::dynamic(["rate_secs"]),
    })];
    for (id, part) in &built.parts {
        let streams: Vec<Arc<Source>> = part
            .streams
            .iter()
            .map(|(stream, declared)| {
                let schema = declared.schema.clone();
                Arc::new(Source { component: id.clone(), stream: stream.clone(), schema })
            })
            .collect();
        for task in numbering.tasks_of(id) {
            sources[task_number(*task)] = streams.clone();
        }
    }
    sources
}
