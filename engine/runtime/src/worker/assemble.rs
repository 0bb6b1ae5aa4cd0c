//! Builds one core from the blueprint, on the core's own thread: user code is made where it will live.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ringstorm_acking::{EdgeGenerator, Folder, RootId};
use ringstorm_net::{Sockets, SocketsSettings};
use ringstorm_ring::{Consumer, Doorbell, IdlePolicy, Producer, RingError, ring};
use ringstorm_types::id::ACKER_COMPONENT;
use ringstorm_types::topology::Grouping;
use ringstorm_types::{ComponentId, ExecutorId, TaskId};

use crate::api::builder::Factory;
use crate::api::context::{TaskWaker, TopologyContext};
use crate::core::acker_executor::AckerExecutor;
use crate::core::bolt_executor::{BoltExecutor, BoltFactory, BoltTask, Tick};
use crate::core::control::ControlBatch;
use crate::core::events::EventSender;
use crate::core::failure::caught;
use crate::core::frame_cell::FrameCell;
use crate::core::gate::Gate;
use crate::core::grouper::Grouper;
use crate::core::host::Host;
use crate::core::link::{Feeder, Inbound, Link, RingWay, Way};
use crate::core::outlet::{FramePool, Outlet};
use crate::core::output::{OutputStream, Route, TaskOutput, number_of_stream};
use crate::core::reports::Reports;
use crate::core::rewire::pause_links;
use crate::core::shuffle::Shuffle;
use crate::core::small_random::SmallRandom;
use crate::core::spout_executor::{SpoutExecutor, SpoutFactory, SpoutSettings};
use crate::core::spout_task::SpoutTask;
use crate::core::status::{CommandBox, CoreStatus};
use crate::core::tracker::Tracker;
use crate::core::transfer::{AckRun, Destination, Transfer, TransferCounters};
use crate::core::{Core, LocalExecutor};
use crate::debug::DebugLog;
use crate::worker::blueprint::{Blueprint, LinkNeed, Place, SYSTEM_NUMBER, task_number};

/// Cells of a data ring at the most to the thread of an executor whose code may wait. What lies in them waits for the call
/// that runs, however slow it is.
const CELLS_OF_WAITING: usize = 4;
/// What a frame may have besides one largest tuple: the rest of a usual frame, and columns.
const FRAME_MARGIN_BYTES: usize = 1 << 20;
/// Cells of a control ring.
const CONTROL_CELLS: usize = 128;

/// The ends of rings and connections that one thread gets.
#[derive(Default)]
pub(crate) struct Ends {
    /// Outbound, in ascending order of the other thread.
    pub(crate) links: Vec<Link>,
    pub(crate) inbound: Vec<(Inbound, Feeder)>,
    /// The cores of other workers that it has connections with, by peer.
    pub(crate) peers: Vec<Place>,
}

/// Makes every ring of the worker and deals the ends out to its threads, in their order.
pub(crate) fn make_ends(blueprint: &Blueprint, doorbells: &[Doorbell]) -> Result<Vec<Ends>, RingError> {
    let own = blueprint.own_threads();
    let mut ends: Vec<Ends> =
        own.clone().map(|thread| Ends { peers: blueprint.peers(thread), ..Ends::default() }).collect();
    for ((from, to), need) in &blueprint.links {
        if !own.contains(from) {
            continue;
        }
        let LinkNeed { data, .. } = need;
        let sender = from - own.start;
        if !own.contains(to) {
            continue;
        }
        let reader = to - own.start;
        let may_wait = blueprint.threads[*to].host == Host::Thread;
        let (data_in, data_out): (Option<Producer<FrameCell>>, Option<Consumer<FrameCell>>) = if *data {
            let cells = if may_wait { blueprint.ring_cells.min(CELLS_OF_WAITING) } else { blueprint.ring_cells };
            let (producer, consumer) = ring(cells)?;
            (Some(producer), Some(consumer))
        } else {
            (None, None)
        };
        let (control_in, control_out) = ring::<ControlBatch>(CONTROL_CELLS)?;
        let way = RingWay::new(doorbells[reader].clone(), data_in, control_in, may_wait);
        let feeder =
            Feeder { doorbell: doorbells[sender].clone(), room_wanted: Arc::clone(&way.room_wanted), freed: false };
        ends[sender].links.push(Link::new(blueprint.place(*to), Way::Ring(way)));
        ends[reader].inbound.push((Inbound { data: data_out, control: control_out }, feeder));
    }
    for Ends { links, peers, .. } in &mut ends {
        links.extend(peers.iter().enumerate().map(|(peer, place)| Link::new(*place, Way::Socket(peer))));
    }
    Ok(ends)
}

/// What a core is given besides the blueprint.
pub(crate) struct Fittings {
    pub(crate) index: usize,
    pub(crate) ends: Ends,
    pub(crate) doorbell: Doorbell,
    pub(crate) status: Arc<CoreStatus>,
    pub(crate) commands: Arc<CommandBox>,
    pub(crate) events: EventSender,
    /// Where emits are shown, if any component's are.
    pub(crate) debug: Option<DebugLog>,
}

/// Builds a core on the calling thread.
pub(crate) fn assemble(blueprint: &Blueprint, fittings: Fittings) -> Core {
    let Fittings { index, ends, doorbell, status, commands, events, debug } = fittings;
    let builder = CoreBuilder { blueprint, thread: index, doorbell: &doorbell, events: &events, debug };
    let mut locals: Vec<Option<LocalExecutor>> = vec![None; blueprint.thread_of_task.len()];
    let mut transfer = builder.transfer(ends.links, &status);
    transfer.sockets = blueprint.has_other_workers().then(|| {
        let frame_bytes_max = blueprint.limits.tuple_bytes_max.saturating_add(FRAME_MARGIN_BYTES);
        let frame_bytes_max = u32::try_from(frame_bytes_max).unwrap_or(u32::MAX);
        let version = blueprint.assignment.version;
        Sockets::new(ends.peers.len(), version, SocketsSettings { frame_bytes_max, ..SocketsSettings::default() })
    });
    let (mut bolts, mut spouts, mut ackers) = (Vec::new(), Vec::new(), Vec::new());
    let now_ns = crate::clock::now_ns();
    for id in builder.bolt_executors().into_iter().chain(builder.other_executors()) {
        let Some(executor) = blueprint.numbering.executor_of(id.first) else { continue };
        let component = &executor.component;
        let local = if component.as_str() == ACKER_COMPONENT {
            // Storm lets an executor of the acker have several tasks; here each is an executor of its own.
            for task in id.tasks() {
                locals[task_number(task)] = Some(LocalExecutor::Acker(ackers.len() as u32));
                ackers.push(AckerExecutor::new(id, blueprint.edge_key, blueprint.timeout_ns, now_ns));
            }
            continue;
        } else {
            match &blueprint.built.parts[component].factory {
                Factory::Spout(factory) => {
                    spouts.push(builder.spout(id, component, factory, &transfer, now_ns));
                    LocalExecutor::Spout(spouts.len() as u32 - 1)
                }
                Factory::Bolt(factory) => {
                    bolts.push(builder.bolt(id, component, factory, &transfer, now_ns));
                    LocalExecutor::Bolt(bolts.len() as u32 - 1)
                }
            }
        };
        for task in id.tasks() {
            locals[task_number(task)] = Some(local);
        }
    }
    let may_wait = builder.may_wait();
    let pause_links =
        bolts.iter().map(|bolt: &BoltExecutor| pause_links(blueprint, &bolt.component, &transfer.links)).collect();
    let watched = (0..bolts.len() as u32).filter(|index| bolts[*index as usize].is_woken_from_outside()).collect();
    let (inbound, feeders) = ends.inbound.into_iter().unzip();
    Core {
        worker: blueprint.own_number(),
        index,
        may_wait,
        paused: vec![false; bolts.len()],
        pause_links,
        transfer,
        inbound,
        feeders,
        bolts,
        spouts,
        ackers,
        locals,
        ready: VecDeque::new(),
        watched,
        marks: blueprint.marks,
        sources: blueprint.sources.clone(),
        component_numbers: blueprint.component_numbers.clone(),
        policy: IdlePolicy::new(blueprint.idle),
        status,
        commands,
        events,
        gate_version_seen: 0,
        report_idle: false,
        idle_reported: false,
        next_deadline_ns: u64::MAX,
        next_tick_ns: u64::MAX,
        stopping: false,
        pauses_by_peer: Vec::new(),
        idle_since_ns: now_ns,
        told_ns: 0,
        tick_payload: Vec::new(),
        parker: None,
    }
}

/// Has a component's code make something. A panic of it ends the core, and then it is known whose it was.
fn make<T>(component: &ComponentId, factory: impl FnOnce() -> T) -> T {
    caught(factory).unwrap_or_else(|text| panic!("a factory of component {component} panicked: {text}"))
}

struct CoreBuilder<'a> {
    blueprint: &'a Blueprint,
    thread: usize,
    doorbell: &'a Doorbell,
    events: &'a EventSender,
    debug: Option<DebugLog>,
}

impl CoreBuilder<'_> {
    fn executors(&self) -> &[ExecutorId] {
        &self.blueprint.threads[self.thread].executors
    }

    /// Whether this is the thread of an executor whose code may wait.
    fn may_wait(&self) -> bool {
        self.blueprint.threads[self.thread].host == Host::Thread
    }

    fn is_bolt(&self, id: ExecutorId) -> bool {
        let executor = self.blueprint.numbering.executor_of(id.first);
        executor.is_some_and(|executor| {
            let part = self.blueprint.built.parts.get(&executor.component);
            part.is_some_and(|part| matches!(part.factory, Factory::Bolt(_)))
        })
    }

    /// Bolt executors in the order of their inboxes.
    fn bolt_executors(&self) -> Vec<ExecutorId> {
        self.executors().iter().copied().filter(|id| self.is_bolt(*id)).collect()
    }

    fn other_executors(&self) -> Vec<ExecutorId> {
        self.executors().iter().copied().filter(|id| !self.is_bolt(*id)).collect()
    }

    fn transfer(&self, links: Vec<Link>, status: &Arc<CoreStatus>) -> Transfer {
        let blueprint = self.blueprint;
        let bolts = self.bolt_executors();
        let mut destinations = vec![Destination::Nowhere; blueprint.thread_of_task.len()];
        for (task, thread) in blueprint.thread_of_task.iter().enumerate().skip(1) {
            let id = TaskId(task as i32);
            destinations[task] = if *thread == self.thread {
                // Spouts and ackers have no inbox; their messages are handed over directly.
                bolts
                    .iter()
                    .position(|executor| executor.contains(id))
                    .map_or(Destination::Nowhere, |inbox| Destination::Local(inbox as u32))
            } else {
                Destination::behind(&links, blueprint.place(*thread))
            };
        }
        Transfer {
            destinations,
            outlets: (0..bolts.len() + links.len()).map(|_| Outlet::default()).collect(),
            inbox_count: bolts.len(),
            links,
            sockets: None,
            some_are_away: false,
            spare_pool: Vec::new(),
            pool: FramePool::new(blueprint.limits.frame_bytes),
            limits: blueprint.limits,
            fresh: Vec::new(),
            folder: Folder::new(blueprint.edge_key),
            acks: AckRun::default(),
            edge_key: blueprint.edge_key,
            lanes: blueprint.lanes,
            ackers: blueprint.ackers.clone(),
            spouts: blueprint.spouts.clone(),
            local_acks: Vec::new(),
            local_outcomes: Vec::new(),
            paused: vec![false; blueprint.thread_of_task.len()],
            gate_version: 0,
            board: Arc::clone(&blueprint.board),
            counters: TransferCounters::default(),
            status: Arc::clone(status),
            now_ns: crate::clock::now_ns(),
        }
    }

    fn component_config(&self, component: &ComponentId) -> ringstorm_types::config::Config {
        self.blueprint.component_config(component)
    }

    fn contexts(&self, id: ExecutorId, component: &ComponentId) -> Vec<TopologyContext> {
        let config = Arc::new(self.component_config(component));
        let all = self.blueprint.numbering.tasks_of(component);
        id.tasks()
            .map(|task| TopologyContext {
                topology: Arc::clone(&self.blueprint.facts),
                component: component.clone(),
                task,
                task_index: all.iter().position(|known| *known == task).unwrap_or(0),
                executor: id,
                config: Arc::clone(&config),
                wake: Arc::new(TaskWaker::new(self.doorbell.clone())),
                events: self.events.clone(),
            })
            .collect()
    }

    fn random(&self, salt: u64) -> SmallRandom {
        let Blueprint { seed, .. } = self.blueprint;
        let own = SmallRandom::new(seed ^ self.blueprint.incarnation().rotate_left(32)).next();
        let mut mixed = SmallRandom::new(own ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        SmallRandom::new(mixed.next())
    }

    fn output(&self, task: TaskId, component: &ComponentId, transfer: &Transfer) -> TaskOutput {
        let blueprint = self.blueprint;
        let number = task_number(task) as u32;
        let mut random = self.random(u64::from(number));
        let part = &blueprint.built.parts[component];
        let mut streams: Vec<OutputStream> = Vec::new();
        for (stream_number, (stream, declared)) in part.streams.iter().enumerate() {
            let routes = blueprint
                .subscribers(component, stream)
                .map(|(subscriber, position, grouping)| {
                    let in_cycle = blueprint.is_in_cycle(component, subscriber);
                    Route {
                        grouper: self.grouper(subscriber, position, grouping, &declared.schema, transfer, &mut random),
                        in_cycle,
                        cycle_name: if in_cycle { blueprint.cycle_name(component) } else { String::new() },
                    }
                })
                .collect();
            let (schema, direct) = (declared.schema.clone(), declared.output.direct);
            streams.push(OutputStream::new(stream.clone(), number_of_stream(stream_number), schema, direct, routes));
        }
        // Emits to the default stream find it at once.
        match streams.iter().position(|stream| &*stream.id == ringstorm_types::DEFAULT_STREAM) {
            Some(default) => streams.swap(0, default),
            None => streams.insert(0, OutputStream::stand_in()),
        }
        let debug = self.debug.clone().filter(|_| blueprint.shows_emits_of(component));
        if debug.is_some() {
            streams.iter_mut().for_each(OutputStream::show_emits);
        }
        TaskOutput {
            task: number,
            component: component.to_string(),
            streams,
            edges: EdgeGenerator::new(blueprint.edge_key, number, random.next()),
            refused: None,
            refused_count: 0,
            reported: Reports::default(),
            scratch: Vec::new(),
            debug,
        }
    }

    fn grouper(
        &self,
        subscriber: &ComponentId,
        position: usize,
        grouping: &Grouping,
        schema: &ringstorm_tuple::Schema,
        transfer: &Transfer,
        random: &mut SmallRandom,
    ) -> Grouper {
        let tasks = self.blueprint.tasks_of(subscriber);
        let indices = |fields: &[String]| -> Box<[usize]> {
            // Validation has settled that the fields exist.
            fields.iter().filter_map(|field| schema.index_of(field)).collect()
        };
        let one = |tasks: &[u32]| Grouper::One {
            task: tasks[0],
            outlet: transfer.outlet_of(tasks[0]).expect("a link exists for every route"),
        };
        match grouping {
            Grouping::Direct => Grouper::Direct { tasks: tasks.into() },
            Grouping::Custom(_) => {
                let factories = &self.blueprint.built.parts[subscriber].custom_groupings;
                let targets: Vec<TaskId> = tasks.iter().map(|task| TaskId(*task as i32)).collect();
                let grouping = make(subscriber, || {
                    let mut grouping = factories[&position]();
                    grouping.prepare(&targets);
                    grouping
                });
                Grouper::Custom { grouping, tasks: tasks.into(), chosen: Vec::new() }
            }
            _ if tasks.len() == 1 => one(&tasks),
            Grouping::Global => one(&tasks),
            Grouping::Fields(fields) => Grouper::Fields { indices: indices(fields), tasks: tasks.into() },
            Grouping::PartialKey(fields) => {
                Grouper::PartialKey { indices: indices(fields), sent: vec![0; tasks.len()].into(), tasks: tasks.into() }
            }
            Grouping::All => Grouper::All { tasks: tasks.into() },
            Grouping::None => Grouper::None { tasks: tasks.into(), random: random.clone() },
            Grouping::Shuffle => Grouper::Shuffle(Shuffle::new(tasks, self.blueprint.load_aware, random)),
            Grouping::LocalOrShuffle => {
                let tasks = self.blueprint.own_or_all(tasks);
                Grouper::Shuffle(Shuffle::new(tasks, self.blueprint.load_aware, random))
            }
        }
    }

    fn spout(
        &self,
        id: ExecutorId,
        component: &ComponentId,
        factory: &SpoutFactory,
        transfer: &Transfer,
        now_ns: u64,
    ) -> SpoutExecutor {
        let blueprint = self.blueprint;
        let tasks = self.contexts(id, component).into_iter().map(|context| {
            let output = self.output(context.task, component, transfer);
            let (roots, near) = self.first_roots(task_number(context.task) as u32);
            SpoutTask::new(make(component, || factory()), output, Tracker::new(roots, near), context)
        });
        let gate_routes = blueprint.own_gate_routes(component);
        let thread_of = |task: &u32| &blueprint.threads[blueprint.thread_of_task[*task as usize]];
        let mut targets = gate_routes.iter().flat_map(|route| &*route.tasks);
        let feeds_waiting = targets.any(|task| thread_of(task).host == Host::Thread);
        let settings = SpoutSettings {
            feeds_waiting,
            max_pending: blueprint.max_pending(&self.component_config(component)).unwrap_or(usize::MAX),
            timeout_ns: blueprint.timeout_ns,
            failure_limit: blueprint.failure_limit,
            may_wait: self.may_wait(),
            touches: blueprint.touched_by(component),
        };
        SpoutExecutor::new(
            id,
            component.clone(),
            blueprint.component_numbers[task_number(id.first)],
            task_number(id.first) as u32,
            tasks.collect(),
            Gate::new(gate_routes),
            Arc::clone(factory),
            settings,
            now_ns,
        )
    }

    /// Where the lanes of a spout task start, that of an acker on this core first.
    fn first_roots(&self, task: u32) -> (Vec<RootId>, bool) {
        let blueprint = self.blueprint;
        let Some(index) = blueprint.spouts.iter().position(|known| *known == task) else { return (Vec::new(), false) };
        let mut random = self.random(u64::from(task) << 32);
        let is_near = |acker: u32| {
            let acker = blueprint.ackers[acker as usize] as usize;
            blueprint.thread_of_task[acker] == self.thread
        };
        let mut lanes: Vec<_> = blueprint.lanes.lanes_of_spout_task(index as u32).collect();
        lanes.sort_by_key(|(_, acker)| !is_near(*acker));
        let near = lanes.first().is_some_and(|(_, acker)| is_near(*acker));
        (lanes.into_iter().map(|(lane, _)| RootId::first(lane, random.next())).collect(), near)
    }

    fn bolt(
        &self,
        id: ExecutorId,
        component: &ComponentId,
        factory: &BoltFactory,
        transfer: &Transfer,
        now_ns: u64,
    ) -> BoltExecutor {
        let blueprint = self.blueprint;
        let config = self.component_config(component);
        let tasks = self.contexts(id, component).into_iter().map(|context| {
            let output = self.output(context.task, component, transfer);
            BoltTask::new(make(component, || factory()), output, context)
        });
        let seconds = config.tick_tuple_freq_secs().ok().flatten();
        let tick = seconds.map(|seconds| {
            let period_ns = (seconds * 1e9) as u64;
            Tick { period_ns, next_ns: now_ns + period_ns }
        });
        BoltExecutor::new(
            id,
            component.clone(),
            blueprint.component_numbers[task_number(id.first)],
            task_number(id.first) as u32,
            tasks.collect(),
            Gate::new(blueprint.own_gate_routes(component)),
            self.input_keys(component, tick.is_some()),
            Arc::clone(factory),
            tick,
            blueprint.failure_limit,
            self.may_wait(),
        )
    }

    /// The (component number, stream number) pairs that a bolt subscribes to, each once.
    fn input_keys(&self, component: &ComponentId, ticks: bool) -> Vec<(u32, u16)> {
        let blueprint = self.blueprint;
        let mut keys: BTreeMap<(u32, u16), ()> = BTreeMap::new();
        for input in &blueprint.built.topology.components[component].inputs {
            let number = blueprint.components.iter().position(|known| *known == input.component);
            let part = blueprint.built.parts.get(&input.component);
            let stream = part.and_then(|part| part.streams.keys().position(|stream| *stream == input.stream));
            if let (Some(number), Some(stream)) = (number, stream) {
                keys.insert((number as u32, number_of_stream(stream)), ());
            }
        }
        if ticks {
            keys.insert((SYSTEM_NUMBER, 0), ());
        }
        keys.into_keys().collect()
    }
}
