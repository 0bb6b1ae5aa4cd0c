//! Declaring a topology: components, their settings and their subscriptions.
//!
//! Nothing is checked until [`TopologyBuilder::build`], which then names every violation at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ringstorm_types::config::{Config, KeyClass, Origin, keys};
use ringstorm_types::id::ACKER_COMPONENT;
use ringstorm_types::numbering::tasks_wanted;
use ringstorm_types::topology::{Component, Execution, Grouping, Input, Topology};
use ringstorm_types::validate::{Warning, validate};
use ringstorm_types::{ComponentId, DEFAULT_STREAM, StreamId};

use crate::api::async_spout::{AsyncSpout, AsynchronousSpout};
use crate::api::asynchronous::{AsyncBolt, Asynchronous};
use crate::api::bolt::{Bolt, Plain, Simple, SimpleBolt};
use crate::api::declare::{DeclaredStream, Declarer};
use crate::api::flat_map::{FlatMap, FlatMapping};
use crate::api::grouping::CustomGrouping;
use crate::api::spout::Spout;
use crate::core::bolt_executor::BoltFactory;
use crate::core::failure::{Guarded, LastWords};
use crate::core::spout_executor::SpoutFactory;
use crate::error::BuildError;

/// Makes the code of a component's tasks.
#[derive(Clone)]
pub(crate) enum Factory {
    Spout(SpoutFactory),
    Bolt(BoltFactory),
}

/// Makes a user's grouping for each emitting task.
pub(crate) type GroupingFactory = Arc<dyn Fn() -> Box<dyn CustomGrouping> + Send + Sync>;

/// A component's code and what belongs to it.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) factory: Factory,
    pub(crate) streams: BTreeMap<StreamId, DeclaredStream>,
    /// By position among the component's inputs.
    pub(crate) custom_groupings: BTreeMap<usize, GroupingFactory>,
    /// Of its factories.
    pub(crate) last_words: LastWords,
}

fn guard<F>(factory: F) -> (Guarded<F>, LastWords) {
    let last_words = LastWords::default();
    (Guarded::new(factory, &last_words), last_words)
}

/// A component whose code is of this type.
fn of<T>(component: Component) -> Component {
    Component { type_name: std::any::type_name::<T>().to_owned(), ..component }
}

/// A checked topology, ready to run.
#[derive(Clone)]
pub struct BuiltTopology {
    pub(crate) topology: Topology,
    pub(crate) parts: BTreeMap<ComponentId, Part>,
    pub(crate) config: Config,
    pub(crate) warnings: Vec<Warning>,
}

impl BuiltTopology {
    /// The same topology with other numbers of executors, as after a rebalance: of each component that is named, `__acker`
    /// among them. Tasks stay as they are, whatever shares them.
    ///
    /// # Errors
    /// A setting that the number of tasks depends on cannot be read.
    pub fn with_executors(mut self, counts: &BTreeMap<ComponentId, u32>) -> Result<Self, BuildError> {
        for (id, component) in &mut self.topology.components {
            if let Some(count) = counts.get(id) {
                component.task_count = Some(tasks_wanted(component, &self.config)?);
                component.parallelism_hint = Some(*count);
            }
        }
        if let Some(count) = counts.get(ACKER_COMPONENT) {
            // Without a setting there is one for each worker that was asked for when it was submitted.
            let tasks = self.config.acker_executors()?.map_or_else(|| self.config.workers(), Ok)?;
            self.config.set_ackers(tasks, *count, &Origin::other("the cluster"));
        }
        Ok(self)
    }

    /// The structure as data.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The configuration it was checked with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What may not be meant so where it runs in a cluster, in words: settings that only act there are.
    pub fn warnings_in_cluster(&self) -> impl Iterator<Item = String> + '_ {
        let only_there =
            |warning: &&Warning| !matches!(warning, Warning::WithoutEffect(note) if note.class == KeyClass::Cluster);
        self.warnings.iter().filter(only_there).map(ToString::to_string)
    }

    /// What may not be meant so, in words.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.warnings.iter().map(ToString::to_string)
    }
}

impl std::fmt::Debug for BuiltTopology {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BuiltTopology").field("topology", &self.topology).finish_non_exhaustive()
    }
}

/// Collects the components of a topology.
///
/// Components are given as factories: a closure (or a function such as `Counter::default`) that makes one task's code.
/// It is called once when the topology is declared, to ask for its streams, and once for each task, on the core that
/// the task lives on; so a component need not be `Send`.
#[derive(Default)]
pub struct TopologyBuilder {
    topology: Topology,
    config: Config,
    parts: BTreeMap<ComponentId, Part>,
    faults: Vec<String>,
    /// Ids that two components have.
    doubles: BTreeSet<ComponentId>,
}

impl std::fmt::Debug for TopologyBuilder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TopologyBuilder").field("topology", &self.topology).finish_non_exhaustive()
    }
}

impl TopologyBuilder {
    /// A topology without components.
    pub fn new() -> Self {
        Self::default()
    }

    /// A setting of the topology. One that is given when it is run (a file, the command line) goes before it.
    pub fn set(&mut self, key: &str, value: impl Into<serde_json::Value>) -> &mut Self {
        self.config.set(key, value, Origin::TOPOLOGY);
        self
    }

    /// Adds a spout.
    pub fn spout<S: Spout>(&mut self, id: &str, factory: impl Fn() -> S + Send + Sync + 'static) -> SpoutDeclarer<'_> {
        let mut declarer = Declarer::default();
        factory().declare(&mut declarer);
        let (factory, last_words) = guard(factory);
        let make = Factory::Spout(Arc::new(move || Box::new(factory.get()())));
        SpoutDeclarer(self.add(id, of::<S>(Component::spout()), declarer, make, last_words))
    }

    /// Adds an asynchronous spout.
    pub fn async_spout<S: AsyncSpout>(
        &mut self,
        id: &str,
        factory: impl Fn() -> S + Send + Sync + 'static,
    ) -> SpoutDeclarer<'_> {
        self.spout(id, move || AsynchronousSpout::new(factory()))
    }

    /// Adds a bolt.
    pub fn bolt<B: Bolt>(&mut self, id: &str, factory: impl Fn() -> B + Send + Sync + 'static) -> BoltDeclarer<'_> {
        let mut declarer = Declarer::default();
        factory().declare(&mut declarer);
        let (factory, last_words) = guard(factory);
        let make = Factory::Bolt(Arc::new(move || Box::new(Plain::new(factory.get()()))));
        BoltDeclarer(self.add(id, of::<B>(Component::bolt()), declarer, make, last_words))
    }

    /// Adds a bolt whose `Ok` acks, whose error fails, and whose emits are anchored by themselves.
    pub fn simple_bolt<B: SimpleBolt>(
        &mut self,
        id: &str,
        factory: impl Fn() -> B + Send + Sync + 'static,
    ) -> BoltDeclarer<'_> {
        let mut declarer = Declarer::default();
        factory().declare(&mut declarer);
        let (factory, last_words) = guard(factory);
        let make = Factory::Bolt(Arc::new(move || Box::new(Simple(factory.get()()))));
        BoltDeclarer(self.add(id, of::<B>(Component::bolt()), declarer, make, last_words))
    }

    /// Adds a bolt that turns each tuple into an iterator of tuples, which is pulled while there is room.
    pub fn flat_map<F: FlatMap>(
        &mut self,
        id: &str,
        factory: impl Fn() -> F + Send + Sync + 'static,
    ) -> BoltDeclarer<'_> {
        let mut declarer = Declarer::default();
        factory().declare(&mut declarer);
        let (factory, last_words) = guard(factory);
        let make = Factory::Bolt(Arc::new(move || Box::new(FlatMapping::new(factory.get()()))));
        let component = Component { execution: Execution::FlatMap, ..of::<F>(Component::bolt()) };
        BoltDeclarer(self.add(id, component, declarer, make, last_words))
    }

    /// Adds a bolt that awaits, with at most `concurrency` tuples in work at each task.
    pub fn async_bolt<B: AsyncBolt>(
        &mut self,
        id: &str,
        concurrency: u32,
        factory: impl Fn() -> B + Send + Sync + 'static,
    ) -> BoltDeclarer<'_> {
        let mut declarer = Declarer::default();
        factory().declare(&mut declarer);
        let (factory, last_words) = guard(factory);
        let make = Factory::Bolt(Arc::new(move || Box::new(Asynchronous::new(factory.get()(), concurrency as usize))));
        let component = Component { execution: Execution::Async { concurrency }, ..of::<B>(Component::bolt()) };
        BoltDeclarer(self.add(id, component, declarer, make, last_words))
    }

    /// Checks the topology with a configuration, which goes before the topology's own settings.
    ///
    /// # Errors
    /// [`BuildError`] with every violation at once.
    pub fn build(self, config: &Config) -> Result<BuiltTopology, BuildError> {
        let Self { topology, config: own, parts, faults, doubles } = self;
        let config = own.merged_with(config);
        let validated = validate(&topology, &config);
        if !faults.is_empty() {
            let violations = validated.err().into_iter().flat_map(|violations| violations.0);
            // Which of two components a subscription is meant for cannot be told, and so not what is wrong with it.
            let violations = violations
                .filter(|violation| violation.source_component().is_none_or(|component| !doubles.contains(component)));
            let texts = faults.into_iter().chain(violations.map(|violation| violation.to_string()));
            return Err(BuildError::Declaration(texts.collect::<Vec<_>>().join("\n")));
        }
        Ok(BuiltTopology { topology, parts, config, warnings: validated? })
    }

    fn add(
        &mut self,
        id: &str,
        mut component: Component,
        declarer: Declarer,
        factory: Factory,
        last_words: LastWords,
    ) -> Declaration<'_> {
        self.faults.extend(declarer.faults.iter().map(|fault| format!("component {id:?}: {fault}")));
        let id = self.free_id(id);
        component.outputs = declarer.outputs.iter().map(|(id, stream)| (id.clone(), stream.output.clone())).collect();
        component.reads = declarer.reads;
        let part = Part { factory, streams: declarer.outputs, custom_groupings: BTreeMap::new(), last_words };
        self.parts.insert(id.clone(), part);
        self.topology.components.insert(id.clone(), component);
        Declaration { builder: self, id }
    }

    /// The id, or a stand-in for one that is invalid or taken, so that the rest can still be declared and checked; the
    /// fault ends the build.
    fn free_id(&mut self, id: &str) -> ComponentId {
        let taken = match ComponentId::new(id) {
            Ok(id) if !self.topology.components.contains_key(&id) => return id,
            Ok(id) => {
                self.faults.push(format!(
                    "the id {id:?} is used by two components; give one of them another, ids are unique over spouts and \
                     bolts"
                ));
                self.doubles.insert(id.clone());
                id
            }
            Err(error) => {
                self.faults.push(error.to_string());
                let stand_in = ComponentId::from_static("(invalid)");
                if !self.topology.components.contains_key(&stand_in) {
                    return stand_in;
                }
                // Two are invalid: each has a stand-in of its own.
                stand_in
            }
        };
        // Ids are bounded, so a long one is cut.
        let start: String = taken.chars().take(100).collect();
        let numbered = (2_u64..).filter_map(|number| ComponentId::new(format!("{start} (number {number})")).ok());
        let mut free = numbered.filter(|id| !self.topology.components.contains_key(id));
        free.next().expect("there are more numbers than components")
    }
}

/// The part that spouts and bolts share.
struct Declaration<'a> {
    builder: &'a mut TopologyBuilder,
    id: ComponentId,
}

impl Declaration<'_> {
    fn component(&mut self) -> &mut Component {
        self.builder.topology.components.get_mut(&self.id).expect("`add` has put it there")
    }

    fn subscribe(&mut self, source: StreamRef<'_>, grouping: Grouping) -> usize {
        match (ComponentId::new(source.component), StreamId::new(source.stream)) {
            (Ok(component), Ok(stream)) => {
                let inputs = &mut self.component().inputs;
                inputs.push(Input { component, stream, grouping });
                inputs.len() - 1
            }
            (Err(error), _) | (_, Err(error)) => {
                let fault = format!("component {:?} subscribes to a stream of no valid id: {error}", self.id);
                self.builder.faults.push(fault);
                0
            }
        }
    }

    fn set(&mut self, key: &str, value: serde_json::Value) {
        let origin = Origin::component(&self.id);
        self.component().config.set(key, value, origin);
    }
}

/// A stream of a component: `"component"` for its default stream, or `("component", "stream")`.
#[derive(Clone, Copy, Debug)]
pub struct StreamRef<'a> {
    component: &'a str,
    stream: &'a str,
}

impl<'a> From<&'a str> for StreamRef<'a> {
    fn from(component: &'a str) -> Self {
        Self { component, stream: DEFAULT_STREAM }
    }
}

impl<'a> From<(&'a str, &'a str)> for StreamRef<'a> {
    fn from((component, stream): (&'a str, &'a str)) -> Self {
        Self { component, stream }
    }
}

macro_rules! shared_settings {
    ($declarer:ident) => {
        impl $declarer<'_> {
            /// The number of executors (1 unless set).
            pub fn parallelism(mut self, executors: u32) -> Self {
                self.0.component().parallelism_hint = Some(executors);
                self
            }

            /// The number of tasks (as many as executors unless set).
            pub fn tasks(mut self, tasks: u32) -> Self {
                self.0.component().task_count = Some(tasks);
                self
            }

            /// A setting of this component alone, over that of the topology.
            pub fn set(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
                self.0.set(key, value.into());
                self
            }

            /// Its code may wait: each executor gets an unpinned thread of its own and never stalls a core.
            pub fn blocking(mut self) -> Self {
                self.0.component().execution = Execution::Blocking;
                self
            }
        }

        impl std::fmt::Debug for $declarer<'_> {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_tuple(stringify!($declarer)).field(&self.0.id).finish()
            }
        }
    };
}

/// Settings of a spout that was just added.
pub struct SpoutDeclarer<'a>(Declaration<'a>);

shared_settings!(SpoutDeclarer);

/// Settings and subscriptions of a bolt that was just added.
pub struct BoltDeclarer<'a>(Declaration<'a>);

shared_settings!(BoltDeclarer);

impl BoltDeclarer<'_> {
    /// Gives every task a tick tuple at this period.
    pub fn tick_every(self, period: Duration) -> Self {
        self.set(keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS, period.as_secs_f64())
    }

    /// Tuples go to all tasks in turn, to less loaded ones first.
    pub fn shuffle_grouping<'s>(self, source: impl Into<StreamRef<'s>>) -> Self {
        self.grouping(source, Grouping::Shuffle)
    }

    /// Shuffle over the tasks of the same worker if there are any, else over all.
    pub fn local_or_shuffle_grouping<'s>(self, source: impl Into<StreamRef<'s>>) -> Self {
        self.grouping(source, Grouping::LocalOrShuffle)
    }

    /// Tuples with equal values in these fields go to the same task.
    pub fn fields_grouping<'s, F: Into<String>>(
        self,
        source: impl Into<StreamRef<'s>>,
        fields: impl IntoIterator<Item = F>,
    ) -> Self {
        self.grouping(source, Grouping::Fields(fields.into_iter().map(Into::into).collect()))
    }

    /// Each key has two tasks, of which the less used one gets the tuple. Without fields the text of the first value is the
    /// key, as in Storm.
    pub fn partial_key_grouping<'s, F: Into<String>>(
        self,
        source: impl Into<StreamRef<'s>>,
        fields: impl IntoIterator<Item = F>,
    ) -> Self {
        self.grouping(source, Grouping::PartialKey(fields.into_iter().map(Into::into).collect()))
    }

    /// Every task gets a copy.
    pub fn all_grouping<'s>(self, source: impl Into<StreamRef<'s>>) -> Self {
        self.grouping(source, Grouping::All)
    }

    /// Everything goes to the task with the lowest id.
    pub fn global_grouping<'s>(self, source: impl Into<StreamRef<'s>>) -> Self {
        self.grouping(source, Grouping::Global)
    }

    /// A random task for each tuple.
    pub fn none_grouping<'s>(self, source: impl Into<StreamRef<'s>>) -> Self {
        self.grouping(source, Grouping::None)
    }

    /// The emitter names the task of each tuple; the stream must be declared direct.
    pub fn direct_grouping<'s>(self, source: impl Into<StreamRef<'s>>) -> Self {
        self.grouping(source, Grouping::Direct)
    }

    /// The user's own code chooses; `name` is shown for it.
    pub fn custom_grouping<'s, G: CustomGrouping + 'static>(
        mut self,
        source: impl Into<StreamRef<'s>>,
        name: &str,
        factory: impl Fn() -> G + Send + Sync + 'static,
    ) -> Self {
        let position = self.0.subscribe(source.into(), Grouping::Custom(name.to_owned()));
        let id = self.0.id.clone();
        if let Some(part) = self.0.builder.parts.get_mut(&id) {
            let factory = Guarded::new(factory, &part.last_words);
            part.custom_groupings.insert(position, Arc::new(move || Box::new(factory.get()())));
        }
        self
    }

    /// Subscribes with a grouping that is given as data.
    pub fn grouping<'s>(mut self, source: impl Into<StreamRef<'s>>, grouping: Grouping) -> Self {
        self.0.subscribe(source.into(), grouping);
        self
    }
}
