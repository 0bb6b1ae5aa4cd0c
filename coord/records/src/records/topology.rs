//! What a topology is, as clients submit it and nimbus stores it.
//!
//! Source: `storm.thrift` of Storm 2.8.2; the meaning of fields from its Java code.

use std::collections::{BTreeMap, BTreeSet};

use crate::thrift::{Binary, records};

records! {
    in TOPOLOGY;

    /// An argument of a Java constructor.
    union JavaObjectArg {
        1: IntArg as "int_arg"(i32),
        2: LongArg as "long_arg"(i64),
        3: StringArg as "string_arg"(String),
        4: BoolArg as "bool_arg"(bool),
        5: BinaryArg as "binary_arg"(Binary),
        6: DoubleArg as "double_arg"(f64),
    }

    /// A Java object that is made where it runs: a class and the arguments of its constructor.
    #[derive(Default)]
    struct JavaObject {
        1: full_class_name: String,
        2: args_list: Vec<JavaObjectArg>,
    }

    /// Nothing: the member alone says it.
    #[derive(Default)]
    struct NullStruct {
    }

    /// A stream of a component. In statistics the component that it came from.
    #[derive(Default, Eq, PartialOrd, Ord, Hash)]
    struct GlobalStreamId {
        1: component_id as "componentId": String,
        2: stream_id as "streamId": String,
    }

    /// How the tuples of a stream are spread over the tasks of a bolt.
    union Grouping {
        /// By the values of these fields. None of them: one task gets all, the global grouping.
        1: Fields as "fields"(Vec<String>),
        2: Shuffle as "shuffle"(NullStruct),
        3: All as "all"(NullStruct),
        /// As shuffle.
        4: None as "none"(NullStruct),
        5: Direct as "direct"(NullStruct),
        /// A class of the user's and its arguments.
        6: CustomObject as "custom_object"(JavaObject),
        /// A serialized Java object.
        7: CustomSerialized as "custom_serialized"(Binary),
        8: LocalOrShuffle as "local_or_shuffle"(NullStruct),
    }

    /// A stream that a component declares.
    #[derive(Default)]
    struct StreamInfo {
        1: output_fields: Vec<String>,
        /// True when only direct grouping may subscribe.
        2: direct: bool,
    }

    /// A component in another language: a command that speaks Storm's multilang protocol.
    #[derive(Default)]
    struct ShellComponent {
        /// The first word of the command.
        1: execution_command: Option<String>,
        /// The second word of the command.
        2: script: Option<String>,
    }

    /// What runs as a component.
    union ComponentObject {
        /// A serialized Java object. Ringstorm puts nothing else here than what a client sent.
        1: SerializedJava as "serialized_java"(Binary),
        2: Shell as "shell"(ShellComponent),
        3: JavaObject as "java_object"(JavaObject),
    }

    /// What spouts and bolts have in common.
    #[derive(Default)]
    struct ComponentCommon {
        1: inputs: BTreeMap<GlobalStreamId, Grouping>,
        2: streams: BTreeMap<String, StreamInfo>,
        /// Executors; not set stands for 1.
        3: parallelism_hint: Option<i32>,
        /// JSON text.
        4: json_conf: Option<String>,
    }

    /// A spout of a topology.
    struct SpoutSpec {
        1: spout_object: ComponentObject,
        2: common: ComponentCommon,
    }

    /// A bolt of a topology.
    struct Bolt {
        1: bolt_object: ComponentObject,
        2: common: ComponentCommon,
    }

    /// Declared by Storm and never used.
    struct StateSpoutSpec {
        1: state_spout_object: ComponentObject,
        2: common: ComponentCommon,
    }

    /// Memory that several components share, for the scheduler. In megabytes.
    #[derive(Default)]
    struct SharedMemory {
        1: name: String,
        2: on_heap: Option<f64>,
        3: off_heap_worker: Option<f64>,
        4: off_heap_node: Option<f64>,
    }

    /// A topology: its components and what they need.
    #[derive(Default)]
    struct StormTopology {
        1: spouts: BTreeMap<String, SpoutSpec>,
        2: bolts: BTreeMap<String, Bolt>,
        /// Always empty.
        3: state_spouts: BTreeMap<String, StateSpoutSpec>,
        /// Java-serialized IWorkerHook objects.
        4: worker_hooks: Option<Vec<Binary>>,
        /// Blob keys.
        5: dependency_jars: Option<Vec<String>>,
        /// Blob keys.
        6: dependency_artifacts: Option<Vec<String>>,
        /// Of the client that made it.
        7: storm_version: Option<String>,
        8: jdk_version: Option<String>,
        /// Component id to names in shared_memory.
        9: component_to_shared_memory: Option<BTreeMap<String, BTreeSet<String>>>,
        10: shared_memory: Option<BTreeMap<String, SharedMemory>>,
    }
}
