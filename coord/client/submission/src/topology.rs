//! Components, streams, groupings and numbers as a `StormTopology`.
//!
//! Where Storm's record can say less than a topology: of two subscriptions of a bolt to one stream the first one is shown;
//! where and how code runs is not.
//!
//! Numbers are written out, so that nobody else's defaults decide: each component has its `topology.tasks` in its
//! configuration, and as many executors as will share them. Keys of a component that are `null` are left out, since they
//! count as unset here, and as set to nothing in Storm.
//!
//! Threading: pure functions. Errors: settings that cannot be read.

use std::collections::BTreeMap;

use ringstorm_records::records::{
    Bolt, ComponentCommon, GlobalStreamId, Grouping as Grouped, NullStruct, SpoutSpec, StormTopology, StreamInfo,
};
use ringstorm_types::config::keys::TOPOLOGY_TASKS;
use ringstorm_types::config::{Config, ConfigError};
use ringstorm_types::numbering::{executor_count, tasks_wanted};
use ringstorm_types::topology::{Component, ComponentKind, Grouping, Topology};
use serde_json::{Map, Value};

use crate::component::{GROUPING_CLASS, PARTIAL_KEY_CLASS, class, component_object};

/// Which Storm this one answers for, and which Ringstorm it is.
const VERSION: &str = concat!("2.8.2-ringstorm.", env!("CARGO_PKG_VERSION"));

/// The records of a topology with the configuration that it was built with.
///
/// # Errors
/// A setting that the number of tasks depends on cannot be read, which does not happen to a topology that was validated.
pub fn storm_topology(topology: &Topology, config: &Config) -> Result<StormTopology, ConfigError> {
    let mut storm = StormTopology { storm_version: Some(VERSION.to_owned()), ..StormTopology::default() };
    for (id, component) in &topology.components {
        let (object, common) = (component_object(&component.type_name), common(component, config)?);
        match component.kind {
            ComponentKind::Spout => {
                storm.spouts.insert(id.to_string(), SpoutSpec { spout_object: object, common });
            }
            ComponentKind::Bolt => {
                storm.bolts.insert(id.to_string(), Bolt { bolt_object: object, common });
            }
        }
    }
    Ok(storm)
}

fn common(component: &Component, config: &Config) -> Result<ComponentCommon, ConfigError> {
    let mut inputs = BTreeMap::new();
    for input in &component.inputs {
        let source = GlobalStreamId { component_id: input.component.to_string(), stream_id: input.stream.to_string() };
        inputs.entry(source).or_insert_with(|| grouped(&input.grouping));
    }
    let streams = component.outputs.iter().map(|(id, output)| {
        (id.to_string(), StreamInfo { output_fields: output.fields.clone(), direct: output.direct })
    });
    let given = component.config.iter().filter(|(_, value, _)| !value.is_null());
    let mut own: Map<String, Value> = given.map(|(key, value, _)| (key.to_owned(), value.clone())).collect();
    own.insert(TOPOLOGY_TASKS.to_owned(), tasks_wanted(component, config)?.into());
    // Both are at most the number of tasks that a topology can have.
    let executors = i32::try_from(executor_count(component, config)?).unwrap_or(i32::MAX);
    Ok(ComponentCommon {
        inputs,
        streams: streams.collect(),
        parallelism_hint: Some(executors),
        json_conf: Some(Value::Object(own).to_string()),
    })
}

/// A grouping as Storm's record.
fn grouped(grouping: &Grouping) -> Grouped {
    let nothing = NullStruct::default;
    match grouping {
        Grouping::Shuffle => Grouped::Shuffle(nothing()),
        Grouping::LocalOrShuffle => Grouped::LocalOrShuffle(nothing()),
        Grouping::Fields(fields) => Grouped::Fields(fields.clone()),
        Grouping::PartialKey(fields) => {
            Grouped::CustomObject(class(PARTIAL_KEY_CLASS, fields.iter().map(String::as_str)))
        }
        Grouping::All => Grouped::All(nothing()),
        // As Storm's builder writes it.
        Grouping::Global => Grouped::Fields(Vec::new()),
        Grouping::None => Grouped::None(nothing()),
        Grouping::Direct => Grouped::Direct(nothing()),
        Grouping::Custom(name) => Grouped::CustomObject(class(GROUPING_CLASS, [name.as_str()])),
    }
}

#[cfg(test)]
mod tests {
    use ringstorm_types::config::Origin;
    use ringstorm_types::topology::{Input, Output};
    use ringstorm_types::{ComponentId, StreamId};

    use super::*;

    fn input(stream: &str, grouping: Grouping) -> Input {
        let stream = StreamId::new(stream).unwrap();
        Input { component: ComponentId::new("words").unwrap(), stream, grouping }
    }

    #[test]
    fn every_grouping_has_a_record_and_the_first_subscription_to_a_stream_is_shown() {
        let fields = || vec!["word".to_owned()];
        let groupings = [
            ("a", Grouping::Shuffle, "Shuffle"),
            ("b", Grouping::LocalOrShuffle, "LocalOrShuffle"),
            ("c", Grouping::Fields(fields()), "Fields([\"word\"])"),
            ("d", Grouping::PartialKey(fields()), PARTIAL_KEY_CLASS),
            ("e", Grouping::All, "All"),
            ("f", Grouping::Global, "Fields([])"),
            ("g", Grouping::None, "None"),
            ("h", Grouping::Direct, "Direct"),
            ("i", Grouping::Custom("by size".into()), "by size"),
        ];
        let mut bolt = Component::bolt();
        bolt.inputs = groupings.iter().map(|(stream, grouping, _)| input(stream, grouping.clone())).collect();
        bolt.inputs.push(input("a", Grouping::All));
        let common = common(&bolt, &Config::new()).unwrap();
        assert_eq!(common.inputs.len(), groupings.len());
        for (stream, _, words) in groupings {
            let source = GlobalStreamId { component_id: "words".into(), stream_id: stream.into() };
            let shown = format!("{:?}", common.inputs[&source]);
            assert!(shown.contains(words), "{shown} and not {words}");
        }
    }

    #[test]
    fn a_component_has_its_streams_its_numbers_and_its_own_keys() {
        let mut spout = Component::spout();
        (spout.parallelism_hint, spout.task_count) = (Some(9), Some(4));
        spout.type_name = "app::Words".into();
        spout.outputs.insert(StreamId::new("late").unwrap(), Output::dynamic(["word", "time"]).direct());
        spout.config.set("own.key", "value", Origin::TOPOLOGY);
        spout.config.set("topology.max.spout.pending", Value::Null, Origin::TOPOLOGY);
        let topology = Topology { components: [(ComponentId::new("words").unwrap(), spout)].into() };
        let storm = storm_topology(&topology, &Config::new()).unwrap();
        let SpoutSpec { spout_object, common } = &storm.spouts["words"];
        assert_eq!(crate::component::type_name(spout_object), Some("app::Words"));
        assert_eq!(common.parallelism_hint, Some(4), "no more executors than tasks");
        assert_eq!(common.json_conf.as_deref(), Some(r#"{"own.key":"value","topology.tasks":4}"#));
        let late = &common.streams["late"];
        assert!(late.direct && late.output_fields == ["word", "time"]);
        assert!(storm.bolts.is_empty() && storm.storm_version.unwrap().starts_with("2.8.2-ringstorm."));
    }
}
