//! The words for everything that can be wrong with a topology, or merely risky.

use std::fmt;

use crate::config::{ConfigError, Note, keys};
use crate::id::{ComponentId, InvalidId, RESERVED_PREFIX, StreamId};

/// Streams that a component may declare, and that a bolt may subscribe to: they are numbered in 16 bits.
pub(super) const STREAMS_MAX: usize = u16::MAX as usize;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the nouns of the message above them")]
pub enum Violation {
    /// Nothing would ever be emitted.
    #[error("the topology has no spout, so that nothing would ever be emitted; add at least one spout")]
    NoSpouts,
    /// Two components have one id. Found by builders: in a [`Topology`](crate::topology::Topology) ids are unique.
    #[error("two components are called {component:?}; give one of them another id")]
    DuplicateComponent { component: ComponentId },
    /// Two declarations of one stream. Found by builders, like duplicate components.
    #[error("component {component:?} declares stream {stream:?} twice; remove one declaration or rename its stream")]
    DuplicateStream { component: ComponentId, stream: StreamId },
    /// A text that cannot be an id. Found by builders.
    #[error(transparent)]
    InvalidId(#[from] InvalidId),
    /// An id of the system.
    #[error("component id {component:?} starts with {RESERVED_PREFIX:?}, which is reserved for the system; rename it")]
    ReservedComponent { component: ComponentId },
    /// A stream of the system.
    #[error(
        "component {component:?} declares stream {stream:?}, which starts with {RESERVED_PREFIX:?} and so is reserved \
         for the system; rename the stream"
    )]
    ReservedStream { component: ComponentId, stream: StreamId },
    /// A subscription to a component that is not there.
    #[error("bolt {bolt:?} subscribes to component {missing:?}, which does not exist. {hint}")]
    UnknownComponent { bolt: ComponentId, missing: ComponentId, hint: String },
    /// A subscription to a stream that the component does not declare.
    #[error(
        "bolt {bolt:?} subscribes to stream {missing:?} of component {source_component:?}, which does not declare it. \
         {hint}"
    )]
    UnknownStream { bolt: ComponentId, source_component: ComponentId, missing: StreamId, hint: String },
    /// A grouping by a field that the stream does not have.
    #[error(
        "bolt {bolt:?} groups stream {stream:?} of component {source_component:?} by field {missing:?}, which the \
         stream does not have. {hint}"
    )]
    UnknownField { bolt: ComponentId, source_component: ComponentId, stream: StreamId, missing: String, hint: String },
    /// A partial-key grouping of tuples that have no first field.
    #[error(
        "bolt {bolt:?} groups stream {stream:?} of component {source_component:?} by partial key, but the stream has \
         no fields; declare a field to group by, or choose another grouping"
    )]
    PartialKeyWithoutFields { bolt: ComponentId, source_component: ComponentId, stream: StreamId },
    /// A fields grouping by nothing, which would send everything to one task.
    #[error(
        "bolt {bolt:?} groups stream {stream:?} of component {source_component:?} by fields, but names none, so that one \
         task would get everything; name the fields to group by, or say global grouping if that is meant"
    )]
    FieldsGroupingWithoutFields { bolt: ComponentId, source_component: ComponentId, stream: StreamId },
    /// A direct grouping of a stream whose emitter does not name tasks.
    #[error(
        "bolt {bolt:?} subscribes with a direct grouping to stream {stream:?} of component {source_component:?}, which \
         is not a direct stream; declare the stream as direct, or choose another grouping"
    )]
    DirectGroupingOfPlainStream { bolt: ComponentId, source_component: ComponentId, stream: StreamId },
    /// Another grouping of a stream whose emitter names tasks.
    #[error(
        "bolt {bolt:?} subscribes with a {grouping} grouping to stream {stream:?} of component {source_component:?}, \
         which is a direct stream; use a direct grouping, or declare the stream as not direct"
    )]
    PlainGroupingOfDirectStream { bolt: ComponentId, source_component: ComponentId, stream: StreamId, grouping: String },
    /// A bolt that would never receive anything.
    #[error("bolt {bolt:?} subscribes to nothing; add a grouping that names the component it reads from")]
    BoltWithoutInputs { bolt: ComponentId },
    /// A spout that subscribes.
    #[error("spout {spout:?} subscribes to component {source_component:?}, but spouts read no streams; make it a bolt")]
    SpoutWithInputs { spout: ComponentId, source_component: ComponentId },
    /// One field name twice in one declaration.
    #[error(
        "component {component:?} declares field {field:?} more than once on stream {stream:?}; rename one of the fields"
    )]
    DuplicateField { component: ComponentId, stream: StreamId, field: String },
    /// More streams than frames can number.
    #[error(
        "component {component:?} declares {streams} streams, more than the {limit} that are possible; put what they carry \
         on fewer streams, with a field that tells it apart",
        limit = STREAMS_MAX
    )]
    TooManyStreams { component: ComponentId, streams: usize },
    /// More streams to read than can be counted apart.
    #[error(
        "bolt {bolt:?} subscribes to {streams} streams, more than the {limit} that are possible; put what they carry on \
         fewer streams, or read them with several bolts",
        limit = STREAMS_MAX
    )]
    TooManyInputs { bolt: ComponentId, streams: usize },
    /// No executors.
    #[error("component {component:?} has parallelism 0, so that it would never run; use at least 1")]
    ZeroParallelism { component: ComponentId },
    /// No tasks.
    #[error("component {component:?} has 0 tasks, so that it would never run; use at least 1")]
    ZeroTasks { component: ComponentId },
    /// More executors than tasks for them.
    #[error(
        "component {component:?} asks for {executors} executors but has only {tasks} {noun}; raise its tasks to \
         {executors}, or lower its parallelism to {tasks}",
        noun = if *tasks == 1 { "task" } else { "tasks" }
    )]
    MoreExecutorsThanTasks { component: ComponentId, executors: u32, tasks: u32 },
    /// The number of tasks is given twice, differently.
    #[error(
        "component {component:?} is given {tasks} tasks in the topology and {configured} by {key} in its \
         configuration; keep one of the two",
        key = keys::TOPOLOGY_TASKS
    )]
    ContradictoryTasks { component: ComponentId, tasks: u32, configured: u32 },
    /// An async component that may work on nothing.
    #[error("async component {component:?} has concurrency 0, so that it would never work on a tuple; use at least 1")]
    ZeroConcurrency { component: ComponentId },
    /// More tasks than tables are made for.
    #[error("the topology has {tasks} tasks, more than the {limit} that are possible; lower the parallelism of its \
             components, above all of {largest:?}", limit = keys::MAX_TASKS)]
    TooManyTasks { tasks: u64, largest: ComponentId },
    /// Code that reads one type of tuple subscribes to a stream of another.
    #[error(
        "bolt {bolt:?} reads {reads}, but stream {stream:?} of component {source_component:?} carries {carries}; \
         change the type on one side, or read the fields by name"
    )]
    WrongTupleType {
        bolt: ComponentId,
        source_component: ComponentId,
        stream: StreamId,
        reads: String,
        carries: String,
    },
    /// Code reads a field that the stream does not have.
    #[error(
        "bolt {bolt:?} reads field {missing:?} of stream {stream:?} of component {source_component:?}, which the \
         stream does not have. {hint}"
    )]
    UnknownReadField {
        bolt: ComponentId,
        source_component: ComponentId,
        stream: StreamId,
        missing: String,
        hint: String,
    },
    /// Code reads dynamic tuples as a type whose fields are in another order, or not as many.
    #[error(
        "bolt {bolt:?} reads {reads}, but stream {stream:?} of component {source_component:?} carries {carries}; \
         declare the same names in the same order on both sides, or read the fields by name or by index"
    )]
    OtherFieldOrder {
        bolt: ComponentId,
        source_component: ComponentId,
        stream: StreamId,
        reads: String,
        carries: String,
    },
    /// Code reads a stream that the bolt does not subscribe to.
    #[error(
        "bolt {bolt:?} reads {reads}, but does not subscribe to it; add a grouping for it, or remove the code that \
         reads it"
    )]
    ReadsWithoutSubscription { bolt: ComponentId, reads: String },
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Violation {
    /// The component whose streams are subscribed to wrongly. Of no account where that id has two components.
    pub fn source_component(&self) -> Option<&ComponentId> {
        match self {
            Self::UnknownStream { source_component, .. }
            | Self::UnknownField { source_component, .. }
            | Self::PartialKeyWithoutFields { source_component, .. }
            | Self::FieldsGroupingWithoutFields { source_component, .. }
            | Self::DirectGroupingOfPlainStream { source_component, .. }
            | Self::PlainGroupingOfDirectStream { source_component, .. }
            | Self::WrongTupleType { source_component, .. }
            | Self::UnknownReadField { source_component, .. }
            | Self::OtherFieldOrder { source_component, .. } => Some(source_component),
            _ => None,
        }
    }
}

/// Every broken rule of a topology; at least one. Displayed one a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Violations(pub Vec<Violation>);

impl Violations {
    /// Whether all of it was typed on the command line: the topology itself is sound.
    #[must_use]
    pub fn are_of_command_line(&self) -> bool {
        self.0.iter().all(|it| matches!(it, Violation::Config(error) if error.is_of_command_line()))
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{violation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

/// Something that is allowed and may still surprise. Displayed as a sentence that says what to change.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields are the nouns of the message")]
pub enum Warning {
    /// A lost message would hold its place among the pending ones for ever.
    PendingNeverTimesOut { spout: ComponentId, max_spout_pending: u32 },
    /// A parallelism is cut by a limit.
    ParallelismCapped { component: ComponentId, asked: u32, limit: u32 },
    /// A bolt gets each tuple of a stream more than once.
    SubscribedTwice { bolt: ComponentId, source_component: ComponentId, stream: StreamId },
    /// Settings that do nothing.
    WithoutEffect(Note),
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PendingNeverTimesOut { spout, max_spout_pending } => write!(
                formatter,
                "spout {spout:?} can stall: {} is false, so that a message that is neither acked nor failed stays \
                 pending for ever, and {} stops the spout at {max_spout_pending} of them; turn time-outs on, or make \
                 sure that every tuple is acked or failed",
                keys::TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS,
                keys::TOPOLOGY_MAX_SPOUT_PENDING,
            ),
            Self::ParallelismCapped { component, asked, limit } => write!(
                formatter,
                "component {component:?} asks for {asked} tasks and gets {limit}, because {} is {limit}; raise that \
                 setting, or lower the component's parallelism",
                keys::TOPOLOGY_MAX_TASK_PARALLELISM,
            ),
            Self::SubscribedTwice { bolt, source_component, stream } => write!(
                formatter,
                "bolt {bolt:?} subscribes to stream {stream:?} of component {source_component:?} more than once and gets \
                 each tuple by each of these groupings (in Storm the last one takes the place of the others); keep one \
                 of them, unless that is meant",
            ),
            Self::WithoutEffect(note) => write!(formatter, "{note}"),
        }
    }
}
