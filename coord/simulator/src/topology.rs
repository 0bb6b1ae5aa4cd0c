//! The topology that runs in every world: a spout and a bolt.
//!
//! Threading: plain data.

use std::collections::BTreeMap;

use ringstorm_records::records::{
    Bolt, ComponentCommon, ComponentObject, GlobalStreamId, Grouping, NullStruct, SpoutSpec, StormTopology, StreamInfo,
};
use ringstorm_records::thrift::Binary;
use serde_json::json;

/// The spout.
pub const SPOUT: &str = "words";
/// The bolt.
pub const BOLT: &str = "split";

/// How many a component has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Executors that it starts with.
    pub executors: i32,
    /// Tasks.
    pub tasks: i32,
}

impl Counts {
    /// One task for each executor.
    pub const fn plain(executors: i32) -> Self {
        Self { executors, tasks: executors }
    }
}

/// A spout, and a bolt that takes what it emits.
pub fn topology(spout: Counts, bolt: Counts) -> StormTopology {
    let source = GlobalStreamId { component_id: SPOUT.to_owned(), stream_id: "default".to_owned() };
    let inputs = BTreeMap::from([(source, Grouping::Shuffle(NullStruct::default()))]);
    let object = || ComponentObject::SerializedJava(Binary(vec![1]));
    let bolt = Bolt { bolt_object: object(), common: ComponentCommon { inputs, ..common(bolt) } };
    StormTopology {
        spouts: [(SPOUT.to_owned(), SpoutSpec { spout_object: object(), common: common(spout) })].into(),
        bolts: [(BOLT.to_owned(), bolt)].into(),
        ..StormTopology::default()
    }
}

fn common(counts: Counts) -> ComponentCommon {
    let stream = StreamInfo { output_fields: vec!["word".to_owned()], direct: false };
    ComponentCommon {
        streams: BTreeMap::from([("default".to_owned(), stream)]),
        parallelism_hint: Some(counts.executors),
        json_conf: Some(json!({ "topology.tasks": counts.tasks }).to_string()),
        ..ComponentCommon::default()
    }
}
