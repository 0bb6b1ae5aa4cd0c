//! A topology as data: which components there are, what they emit and what they subscribe to.
//!
//! Nothing here runs, and nothing here is checked: a [`Topology`] may be wrong in every way that
//! [`validate`](crate::validate::validate) knows. The code of spouts and bolts lives with the builder that made this
//! data. Components are kept in plain string order, so that equal topologies are equal however they were built.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::Config;
use crate::id::{ComponentId, StreamId};

/// The components of a topology, without those of the system.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Topology {
    /// Every spout and bolt by its id.
    pub components: BTreeMap<ComponentId, Component>,
}

/// A spout or a bolt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Component {
    /// Spout or bolt.
    pub kind: ComponentKind,
    /// The name of the type of its code, for people; empty where that is not known.
    pub type_name: String,
    /// Where and how its code runs.
    pub execution: Execution,
    /// The number of executors; `None` means 1, as in Storm.
    pub parallelism_hint: Option<u32>,
    /// The number of tasks; `None` means `topology.tasks` of [`config`](Self::config), else one for each executor.
    pub task_count: Option<u32>,
    /// Settings of this component alone; they go before those of the topology.
    pub config: Config,
    /// The streams that it emits.
    pub outputs: BTreeMap<StreamId, Output>,
    /// The streams that it reads, in the order of subscription. Two subscriptions to one stream route independently, and
    /// are warned about.
    pub inputs: Vec<Input>,
    /// What its code takes the tuples of its inputs for, so that a mismatch is found before it runs.
    pub reads: Vec<Reads>,
}

impl Component {
    /// A spout with one executor and no streams yet.
    pub fn spout() -> Self {
        Self::of_kind(ComponentKind::Spout)
    }

    /// A bolt with one executor and no streams yet.
    pub fn bolt() -> Self {
        Self::of_kind(ComponentKind::Bolt)
    }

    fn of_kind(kind: ComponentKind) -> Self {
        Self {
            kind,
            type_name: String::new(),
            execution: Execution::OnCore,
            parallelism_hint: None,
            task_count: None,
            config: Config::new(),
            outputs: BTreeMap::new(),
            inputs: Vec::new(),
            reads: Vec::new(),
        }
    }
}

/// What a component is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// A source of tuples.
    Spout,
    /// A reader of tuples.
    Bolt,
}

impl ComponentKind {
    /// `spout` or `bolt`, for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spout => "spout",
            Self::Bolt => "bolt",
        }
    }
}

/// Where and how the code of a component runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// On a core, each call to its end: it must not wait.
    OnCore,
    /// On an unpinned thread of its own: it may wait as long as it likes.
    Blocking,
    /// On a core, as jobs that await input and output.
    Async {
        /// The most tuples that one task works on at the same time, at least 1.
        concurrency: u32,
    },
    /// On a core, as an iterator that is pulled while there is room for what it emits.
    FlatMap,
}

/// A declared stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Output {
    /// The names of the fields, in order.
    pub fields: Vec<String>,
    /// Whether the emitter names the receiving task of each tuple.
    pub direct: bool,
    /// The hash of the layout of the typed tuples on this stream; 0 when they are dynamic.
    pub layout: u64,
    /// The name of the tuple type, for messages; empty when the tuples are dynamic.
    pub layout_name: String,
    /// The kinds of the fields, in order, for messages; empty when the tuples are dynamic.
    pub kinds: Vec<String>,
}

impl Output {
    /// A stream of dynamic tuples with these fields.
    pub fn dynamic<F: Into<String>>(fields: impl IntoIterator<Item = F>) -> Self {
        let fields = fields.into_iter().map(Into::into).collect();
        Self { fields, direct: false, layout: 0, layout_name: String::new(), kinds: Vec::new() }
    }

    /// The same stream, but direct: its emitter names the receiving task of each tuple.
    #[must_use]
    pub fn direct(self) -> Self {
        Self { direct: true, ..self }
    }
}

/// A subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Input {
    /// The component that emits the stream.
    pub component: ComponentId,
    /// The stream.
    pub stream: StreamId,
    /// Which of the subscriber's tasks receives which tuple.
    pub grouping: Grouping,
}

/// How the tuples of a stream are spread over the tasks of a subscriber. The rules are Storm's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// Evenly, to less loaded tasks first.
    Shuffle,
    /// Shuffle over the tasks of the same worker if there are any, else over all.
    LocalOrShuffle,
    /// Tuples with equal values in these fields, of which there is at least one, go to the same task.
    Fields(Vec<String>),
    /// Each value of these fields has two tasks, of which the less used one gets the tuple; without fields, each
    /// value of the first field.
    PartialKey(Vec<String>),
    /// A copy to every task.
    All,
    /// The task with the lowest id.
    Global,
    /// No matter which: a random task.
    None,
    /// The emitter names the task.
    Direct,
    /// Code of the user; this is the name to show for it.
    Custom(String),
}

impl Grouping {
    /// The name of the grouping as Storm's documentation has it, without its fields.
    pub fn name(&self) -> &str {
        match self {
            Self::Shuffle => "shuffle",
            Self::LocalOrShuffle => "local-or-shuffle",
            Self::Fields(_) => "fields",
            Self::PartialKey(_) => "partial key",
            Self::All => "all",
            Self::Global => "global",
            Self::None => "none",
            Self::Direct => "direct",
            Self::Custom(name) => name,
        }
    }
}

/// What a component's code takes the tuples of some of its inputs for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reads {
    /// The emitting component; `None` means any that the component subscribes to.
    pub component: Option<ComponentId>,
    /// The stream; `None` means any that the component subscribes to.
    pub stream: Option<StreamId>,
    /// The hash of the layout that the code reads; 0 when it reads fields by name.
    pub layout: u64,
    /// The fields that the code reads, each with the name of its type.
    pub fields: Vec<(String, String)>,
    /// The name of the type that the code reads, for messages.
    pub type_name: String,
}

impl Reads {
    /// Whether this says something about a subscription.
    pub fn covers(&self, input: &Input) -> bool {
        self.component.as_ref().is_none_or(|component| *component == input.component)
            && self.stream.as_ref().is_none_or(|stream| *stream == input.stream)
    }
}
