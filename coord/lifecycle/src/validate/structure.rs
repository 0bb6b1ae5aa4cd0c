//! Components, streams and groupings of a submitted topology.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{
    ComponentCommon, ComponentObject, GlobalStreamId, Grouping, StormTopology, StreamInfo,
};
use ringstorm_types::config::keys::TOPOLOGY_TASKS;
use ringstorm_types::id::RESERVED_PREFIX;
use ringstorm_types::{ComponentId, StreamId};

use crate::Refusal;
use crate::conf::{self, Conf};
use crate::executors::Tasks;
use crate::refusal::Reasons;
use crate::system::{components, system_topology};

/// The longest list of names in a reason.
const LISTED: usize = 20;

/// What is wrong with a topology, as [`normalize_topology`](crate::conf::normalize_topology) gives it. `total` is the
/// daemon's configuration with the topology's on top.
pub fn structure(total: &Conf, topology: &StormTopology) -> Vec<String> {
    let mut reasons = Reasons::default();
    ids(topology, &mut reasons);
    for (id, spout) in &topology.spouts {
        if !spout.common.inputs.is_empty() {
            reasons.add(|| format!("May not declare inputs for a spout: [{id}]"));
        }
        object(id, &spout.spout_object, &mut reasons);
    }
    for (id, bolt) in &topology.bolts {
        object(id, &bolt.bolt_object, &mut reasons);
    }
    if !topology.state_spouts.is_empty() {
        let names = listed(topology.state_spouts.keys());
        reasons.add(|| format!("State spouts do not exist any more; use spouts: {names}"));
    }
    for (id, common) in components(topology) {
        if let Err(refusal) = parallelism(id, common, &mut reasons) {
            reasons.add_refusal(refusal);
        }
        declared_fields(id, common, &mut reasons);
    }
    match system_topology(total, topology) {
        Ok(system) => {
            inputs(&system, &mut reasons);
            if let Err(refusal) = Tasks::number(&system) {
                reasons.add_refusal(refusal);
            }
        }
        Err(refusal) => reasons.add_refusal(refusal),
    }
    let mut reasons = reasons.into_vec();
    let mut seen = BTreeSet::new();
    reasons.retain(|reason| seen.insert(reason.clone()));
    reasons
}

fn ids(topology: &StormTopology, reasons: &mut Reasons) {
    let (mut once, mut repeated) = (BTreeSet::new(), BTreeSet::new());
    for (id, common) in components(topology) {
        if id.starts_with(RESERVED_PREFIX) {
            reasons.add(|| format!("{id} is not a valid component id."));
        } else if let Err(error) = ComponentId::new(id) {
            reasons.add(|| error.to_string());
        }
        for stream in common.streams.keys() {
            if stream.starts_with(RESERVED_PREFIX) {
                reasons.add(|| format!("{stream} is not a valid stream id."));
            } else if let Err(error) = StreamId::new(stream) {
                reasons.add(|| error.to_string());
            }
        }
        if !once.insert(id) {
            repeated.insert(id);
        }
    }
    if !repeated.is_empty() {
        reasons.add(|| format!("Duplicate component ids: {}", listed(repeated)));
    }
}

fn object(id: &str, object: &ComponentObject, reasons: &mut Reasons) {
    if let ComponentObject::Unrecognized(_) = object {
        reasons.add(|| format!("Component: [{id}] is of a kind that this version does not know"));
    }
}

fn parallelism(id: &str, common: &ComponentCommon, reasons: &mut Reasons) -> Result<(), Refusal> {
    let tasks = conf::int(&conf::of_component(id, common)?, TOPOLOGY_TASKS)?.unwrap_or(0);
    let executors = common.parallelism_hint.unwrap_or(1);
    if tasks > 0 && executors <= 0 {
        reasons.add(|| {
            format!("Number of executors must be greater than 0 when number of tasks is greater than 0: [{id}]")
        });
    } else if executors < 0 {
        reasons.add(|| format!("Number of executors must not be less than 0: [{id}]"));
    }
    Ok(())
}

fn declared_fields(id: &str, common: &ComponentCommon, reasons: &mut Reasons) {
    for (stream, info) in &common.streams {
        let mut seen = BTreeSet::new();
        let again: BTreeSet<&String> = info.output_fields.iter().filter(|field| !seen.insert(*field)).collect();
        if !again.is_empty() {
            let again = listed(again);
            reasons.add(|| format!("Component: [{id}] declares fields of stream: [{stream}] more than once: {again}"));
        }
    }
}

fn inputs(system: &StormTopology, reasons: &mut Reasons) {
    let all: BTreeMap<&str, BTreeMap<&str, Stream<'_>>> = components(system)
        .map(|(id, common)| (id, common.streams.iter().map(|(stream, info)| (stream.as_str(), info.into())).collect()))
        .collect();
    // What the system adds can be wrong only where ids are, which was told.
    for (id, common) in components(system).filter(|(id, _)| !id.starts_with(RESERVED_PREFIX)) {
        for (source, grouping) in &common.inputs {
            let GlobalStreamId { component_id: from, stream_id: stream } = source;
            let Some(streams) = all.get(from.as_str()) else {
                reasons.add(|| format!("Component: [{id}] subscribes from non-existent component [{from}]"));
                continue;
            };
            let Some(info) = streams.get(stream.as_str()) else {
                reasons.add(|| {
                    format!("Component: [{id}] subscribes from non-existent stream: [{stream}] of component [{from}]")
                });
                continue;
            };
            for problem in grouping_problems(grouping, info) {
                reasons.add(|| {
                    format!("Component: [{id}] subscribes from stream: [{stream}] of component [{from}] {problem}")
                });
            }
        }
    }
}

/// A stream as groupings see it.
struct Stream<'a> {
    fields: BTreeSet<&'a str>,
    direct: bool,
}

impl<'a> From<&'a StreamInfo> for Stream<'a> {
    fn from(info: &'a StreamInfo) -> Self {
        Self { fields: info.output_fields.iter().map(String::as_str).collect(), direct: info.direct }
    }
}

/// What is wrong with a grouping of a stream, in words that go on with Storm's sentence.
fn grouping_problems(grouping: &Grouping, stream: &Stream<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    match (grouping, stream.direct) {
        (Grouping::Unrecognized(_), _) => problems.push("with a grouping that this version does not know".to_owned()),
        (Grouping::Direct(_), false) => {
            problems.push("with a direct grouping, but the stream is not direct".to_owned());
        }
        (Grouping::Direct(_), true) | (_, false) => {}
        (_, true) => problems.push("without a direct grouping, but the stream is direct".to_owned()),
    }
    if let Grouping::Fields(fields) = grouping {
        let missing: Vec<&String> = fields.iter().filter(|field| !stream.fields.contains(field.as_str())).collect();
        if !missing.is_empty() {
            problems.push(format!("+ with non-existent fields: {}", listed(missing)));
        }
    }
    problems
}

/// Names as Java shows a list of them, cut short.
fn listed<'a, Name: AsRef<str> + 'a>(names: impl IntoIterator<Item = Name>) -> String {
    let mut names = names.into_iter();
    let first: Vec<String> = names.by_ref().take(LISTED).map(|name| name.as_ref().to_owned()).collect();
    let more = names.count();
    let tail = if more == 0 { String::new() } else { format!(", and {more} more") };
    format!("[{}{tail}]", first.join(", "))
}
