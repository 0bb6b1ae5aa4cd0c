//! A topology as its blobs define it, made ready for questions.
//!
//! A definition is made once for each content of a topology's code and configuration, and shared by all answers: numbering
//! tasks and adding the system's components for each question would cost more than the question. Source:
//! `Nimbus.getCommonTopoInfo` and `TopologyDetails` of Storm 2.8.2.
//!
//! Invariants: immutable. Errors: a [`Refusal`] for code or configuration that cannot be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringstorm_lifecycle::Refusal;
use ringstorm_lifecycle::conf::{self, Conf, merged};
use ringstorm_lifecycle::executors::Tasks;
use ringstorm_lifecycle::system::system_topology;
use ringstorm_records::records::{ComponentCommon, ComponentType, SharedMemory, StormBase, StormTopology};
use ringstorm_round::Resources;
use ringstorm_types::TaskId;
use ringstorm_types::id::{RESERVED_PREFIX, SYSTEM_COMPONENT};

const TOPOLOGY_NAME: &str = "topology.name";

/// Whether a component or stream is one of the system's (`Utils.isSystemId`).
pub fn is_system(id: &str) -> bool {
    id.starts_with(RESERVED_PREFIX)
}

/// A topology's code and configuration.
#[derive(Clone, Debug)]
pub struct Definition {
    conf: Arc<Conf>,
    code: Arc<StormTopology>,
    total: Conf,
    system: StormTopology,
    tasks: Tasks,
    requests: BTreeMap<String, Resources>,
}

impl Definition {
    /// From the configuration of this daemon and what the blobs `stormconf.ser` and `stormcode.ser` hold.
    ///
    /// # Errors
    /// A value that cannot be read.
    pub fn new(daemon: &Conf, conf: Arc<Conf>, code: Arc<StormTopology>) -> Result<Self, Refusal> {
        let total = merged(daemon, &conf);
        let system = system_topology(&total, &code)?;
        let tasks = Tasks::number(&system)?;
        let mut requests = BTreeMap::new();
        for (id, common) in components(&system) {
            let own = conf::of_component(id, common)?;
            requests.insert(id.to_owned(), Resources::of_component(id, &own, &total));
        }
        Ok(Self { conf, code, total, system, tasks, requests })
    }

    /// The stored configuration, with its secrets.
    pub fn conf(&self) -> &Conf {
        &self.conf
    }

    /// The stored configuration on top of the daemon's, with its secrets.
    pub fn total_conf(&self) -> &Conf {
        &self.total
    }

    /// As it was submitted.
    pub fn code(&self) -> &StormTopology {
        &self.code
    }

    /// With the system's components.
    pub fn system(&self) -> &StormTopology {
        &self.system
    }

    /// Its tasks.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Its name, as the configuration has it.
    pub fn name(&self) -> Option<&str> {
        self.conf.get(TOPOLOGY_NAME).and_then(|name| name.as_str())
    }

    /// The version of the client that built it.
    pub fn storm_version(&self) -> Option<String> {
        self.code.storm_version.clone()
    }

    /// The component of a task; `None` for the system's own task and for one that is not there.
    pub fn component_of(&self, task: i32) -> Option<&str> {
        self.tasks.component_of(TaskId(task)).map(|id| id.as_str())
    }

    /// What both kinds of component have in common; `None` for one that is not there.
    pub fn common(&self, component: &str) -> Option<&ComponentCommon> {
        let spout = || self.system.spouts.get(component).map(|spout| &spout.common);
        self.system.bolts.get(component).map(|bolt| &bolt.common).or_else(spout)
    }

    /// What a component is; `None` for one that is not there.
    pub fn kind(&self, component: &str) -> Option<ComponentType> {
        let is_spout = || self.system.spouts.contains_key(component).then_some(ComponentType::Spout);
        self.system.bolts.contains_key(component).then_some(ComponentType::Bolt).or_else(is_spout)
    }

    /// Every component that has tasks.
    pub fn components_with_tasks(&self) -> impl Iterator<Item = &str> {
        self.tasks.components().filter(|(_, tasks)| !tasks.is_empty()).map(|(id, _)| id.as_str())
    }

    /// Every component but `__system`, which has no tasks of its own.
    pub fn component_ids(&self) -> impl Iterator<Item = &str> {
        components(&self.system).map(|(id, _)| id).filter(|id| *id != SYSTEM_COMPONENT)
    }

    /// What each executor of a component may use.
    pub fn request(&self, component: &str) -> Resources {
        self.requests
            .get(component)
            .cloned()
            .unwrap_or_else(|| Resources::of_component(component, &Conf::new(), &self.total))
    }

    /// What all executors may use together, with the memory that components share.
    pub fn requested(&self, base: &StormBase) -> Resources {
        let mut sum = Resources::none();
        let counts = base.component_executors.iter().flatten();
        for (component, count) in counts.filter(|(_, count)| **count > 0) {
            let tasks = self.tasks.of(component).len();
            let count = tasks.min(usize::try_from(*count).unwrap_or(0));
            sum.add(&self.request(component), count as f64);
        }
        for SharedMemory { on_heap, off_heap_worker, off_heap_node, .. } in
            self.code.shared_memory.iter().flatten().map(|(_, shared)| shared)
        {
            sum.on_heap_mb += on_heap.unwrap_or(0.0);
            sum.off_heap_mb += off_heap_worker.unwrap_or(0.0) + off_heap_node.unwrap_or(0.0);
        }
        sum
    }
}

fn components(topology: &StormTopology) -> impl Iterator<Item = (&str, &ComponentCommon)> {
    let bolts = topology.bolts.iter().map(|(id, bolt)| (id.as_str(), &bolt.common));
    let spouts = topology.spouts.iter().map(|(id, spout)| (id.as_str(), &spout.common));
    bolts.chain(spouts)
}
