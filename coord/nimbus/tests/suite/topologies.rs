//! Topologies to submit.

use std::collections::BTreeMap;

use ringstorm_nimbus::interface::{SUBMISSION_TOKEN, Submission, Upload};
use ringstorm_records::records::{
    Bolt, ComponentCommon, ComponentObject, GlobalStreamId, Grouping, NullStruct, ShellComponent, SpoutSpec,
    StormTopology, StreamInfo, SubmitOptions, TopologyInitialStatus,
};

fn object() -> ComponentObject {
    ComponentObject::Shell(ShellComponent { execution_command: Some("run".into()), script: Some("it".into()) })
}

fn common(executors: i32, inputs: BTreeMap<GlobalStreamId, Grouping>) -> ComponentCommon {
    let stream = StreamInfo { output_fields: vec!["word".into()], direct: false };
    ComponentCommon {
        inputs,
        streams: [("default".to_owned(), stream)].into(),
        parallelism_hint: Some(executors),
        json_conf: None,
    }
}

/// A spout of two executors and a bolt of four.
pub(crate) fn words() -> StormTopology {
    let from = GlobalStreamId { component_id: "words".into(), stream_id: "default".into() };
    let inputs = [(from, Grouping::Shuffle(NullStruct::default()))].into();
    StormTopology {
        spouts: [("words".to_owned(), SpoutSpec { spout_object: object(), common: common(2, BTreeMap::new()) })].into(),
        bolts: [("count".to_owned(), Bolt { bolt_object: object(), common: common(4, inputs) })].into(),
        ..StormTopology::default()
    }
}

/// A submission of [`words`] under a name, with a token.
pub(crate) fn submission(name: &str, token: &str, workers: u32) -> Submission {
    Submission {
        name: name.into(),
        topology: words(),
        conf: format!(
            r#"{{"topology.workers": {workers}, "{SUBMISSION_TOKEN}": "{token}", "topology.message.timeout.secs": 30}}"#
        ),
        options: SubmitOptions { initial_status: TopologyInitialStatus::Active, creds: None },
        upload: Upload { name: "upload".into(), checksum: String::new() },
        worker_secret: "secret".into(),
    }
}
