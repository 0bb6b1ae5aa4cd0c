//! The control of a worker in the words of the world.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::rc::Rc;

use ringstorm_control::machine::Machine;
use ringstorm_control::time::{Moment, Now};
use ringstorm_lifecycle::executors::Tasks;
use ringstorm_lifecycle::system::system_topology;
use ringstorm_nimbus::interface::Conf;
use ringstorm_records::records::StormTopology;
use ringstorm_records::znode::{NodeName, Slot};
use ringstorm_store::cluster::Cluster;
use ringstorm_supervisor::events::StartWorker;
use ringstorm_types::ComponentId;
use ringstorm_types::assignment::WorkerSecret;
use ringstorm_types::config::Config;
use ringstorm_types::numbering::{Numbering, number};
use ringstorm_types::topology::{Component, Topology};
use ringstorm_worker::{Identity, TopologyFacts, WorkerControl, WorkerEffect, WorkerInput, WorkerSettings};

use crate::actor::{Actor, Effect, Factory, Input};
use crate::plants::PlantedBug;
use crate::world::disk::Code;

const ACKER: &str = "__acker";

struct Adapter(WorkerControl);

/// A worker as its supervisor starts it. It ends at once if the tree does not say what its topology is.
pub(crate) fn worker(
    cluster: Cluster,
    supervisor: NodeName,
    host: String,
    start: StartWorker,
    code: Option<Code>,
    planted: Option<PlantedBug>,
) -> Factory {
    Rc::new(move |birth| {
        let topology = NodeName::new(&start.topology).ok()?;
        let executors = birth.mirror.bases.get(&topology)?.component_executors.clone()?;
        let code = code.as_ref()?;
        let ackers = executors.get(ACKER).copied().unwrap_or(0).try_into().ok()?;
        let facts = TopologyFacts {
            secret: WorkerSecret("0123456789abcdef0123456789abcdef".to_owned()),
            acker_executors: ackers,
            numbering: numbering(&code.conf, &code.topology, &executors, ackers)?,
            spouts: code.topology.spouts.keys().filter_map(|id| ComponentId::new(id).ok()).collect(),
        };
        let identity = Identity {
            topology,
            slot: Slot { supervisor: supervisor.clone(), port: start.port },
            host: host.clone(),
            incarnation: start.incarnation,
            version: start.version,
            cores: NonZeroUsize::new(start.cores as usize)?,
        };
        let control = WorkerControl::new(birth.now, identity, facts, WorkerSettings::default(), cluster.clone());
        Some(Box::new(Adapter(crate::plants::in_worker(control, planted))))
    })
}

/// The tasks and executors of a topology, as its executable finds them.
fn numbering(conf: &Conf, stored: &StormTopology, executors: &BTreeMap<String, i32>, ackers: u32) -> Option<Numbering> {
    let tasks = Tasks::number(&system_topology(conf, stored).ok()?).ok()?;
    let of_kind = |id: &String, component: Component| {
        let count = u32::try_from(tasks.of(id).count()).ok()?;
        let hint = executors.get(id).and_then(|count| u32::try_from(*count).ok());
        let component = Component { parallelism_hint: hint, task_count: Some(count), ..component };
        Some((ComponentId::new(id).ok()?, component))
    };
    let spouts = stored.spouts.keys().filter_map(|id| of_kind(id, Component::spout()));
    let bolts = stored.bolts.keys().filter_map(|id| of_kind(id, Component::bolt()));
    number(&Topology { components: spouts.chain(bolts).collect() }, &Config::new(), ackers).ok()
}

impl Actor for Adapter {
    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect> {
        match input {
            Input::Store(said) => said_by(self.0.handle(now, WorkerInput::Store(said))),
            Input::Worker(input) => said_by(self.0.handle(now, *input)),
            Input::Nimbus(_) | Input::Supervisor(_) | Input::Client(_) => Vec::new(),
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        said_by(self.0.wake(now))
    }

    fn wake_at(&self) -> Option<Moment> {
        self.0.wake_at()
    }
}

fn said_by(effects: Vec<WorkerEffect>) -> Vec<Effect> {
    let turned = effects.into_iter().map(|effect| match effect {
        WorkerEffect::Store(asked) => Effect::Store(asked),
        WorkerEffect::Note(line) => Effect::Note(line),
        other => Effect::Worker(Box::new(other)),
    });
    turned.collect()
}
