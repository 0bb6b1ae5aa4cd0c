//! The system topology: what a client submitted, with the components and streams that the system adds to it. Source:
//! `StormCommon.systemTopology` of Storm 2.8.2.
//!
//! The components that the system adds say which class of Storm's they stand for and hold no code: every runtime brings
//! its own. (Storm puts serialized objects of these classes there.)

use std::collections::BTreeMap;

use ringstorm_records::records::{
    Bolt, ComponentCommon, ComponentObject, GlobalStreamId, Grouping, JavaObject, NullStruct, StormTopology, StreamInfo,
};
use ringstorm_types::config::keys::{
    DEFAULT_MESSAGE_TIMEOUT_SECS, DEFAULT_WORKERS, TOPOLOGY_ACKER_EXECUTORS, TOPOLOGY_MESSAGE_TIMEOUT_SECS,
    TOPOLOGY_TASKS, TOPOLOGY_TICK_TUPLE_FREQ_SECS, TOPOLOGY_WORKERS,
};
use ringstorm_types::config::kind_of;
use ringstorm_types::id::{
    ACK_ACK_STREAM, ACK_FAIL_STREAM, ACK_INIT_STREAM, ACK_RESET_TIMEOUT_STREAM, ACKER_COMPONENT, EVENTLOG_STREAM,
    EVENTLOGGER_COMPONENT, FLUSH_STREAM, METRICS_COMPONENT_PREFIX, METRICS_STREAM, METRICS_TICK_STREAM,
    SYSTEM_COMPONENT, SYSTEM_STREAM, TICK_STREAM,
};
use serde_json::{Value, json};

use crate::Refusal;
use crate::conf::{self, Conf};

/// How many executors write sampled tuples; unset stands for one in each worker, 0 for none.
pub(crate) const EVENTLOGGER_EXECUTORS: &str = "topology.eventlogger.executors";
const METRICS_CONSUMERS: &str = "topology.metrics.consumer.register";
/// The most inputs of consumers of metrics, each of which reads from each component.
const CONSUMED_MAX: usize = 1_000_000;

/// The time-out of messages in a configuration, in seconds; 30 when it is not set. It is also how long a kill or rebalance
/// waits that does not say how long.
///
/// # Errors
/// [`Refusal::Invalid`]: it is no whole number.
pub fn message_timeout_secs(conf: &Conf) -> Result<i32, Refusal> {
    Ok(conf::int(conf, TOPOLOGY_MESSAGE_TIMEOUT_SECS)?.unwrap_or(DEFAULT_MESSAGE_TIMEOUT_SECS as i32))
}

/// Every component, bolts first.
pub(crate) fn components(topology: &StormTopology) -> impl Iterator<Item = (&str, &ComponentCommon)> {
    let bolts = topology.bolts.iter().map(|(id, bolt)| (id.as_str(), &bolt.common));
    let spouts = topology.spouts.iter().map(|(id, spout)| (id.as_str(), &spout.common));
    let state_spouts = topology.state_spouts.iter().map(|(id, spout)| (id.as_str(), &spout.common));
    bolts.chain(spouts).chain(state_spouts)
}

/// Every component, bolts first.
pub(crate) fn components_mut(topology: &mut StormTopology) -> impl Iterator<Item = (&str, &mut ComponentCommon)> {
    let bolts = topology.bolts.iter_mut().map(|(id, bolt)| (id.as_str(), &mut bolt.common));
    let spouts = topology.spouts.iter_mut().map(|(id, spout)| (id.as_str(), &mut spout.common));
    let state_spouts = topology.state_spouts.iter_mut().map(|(id, spout)| (id.as_str(), &mut spout.common));
    bolts.chain(spouts).chain(state_spouts)
}

/// The topology with `__acker`, `__eventlogger`, consumers of metrics, `__system`, and the streams of all of these.
/// `conf` is the stored configuration, with the daemon's underneath or not; `topology` is the stored one.
///
/// # Errors
/// [`Refusal::Invalid`] for a value that cannot be read. Whether the topology makes sense is looked at by
/// [`validate`](crate::validate).
pub fn system_topology(conf: &Conf, topology: &StormTopology) -> Result<StormTopology, Refusal> {
    let mut system = topology.clone();
    add_acker(conf, &mut system)?;
    add_eventlogger(conf, &mut system)?;
    add_metrics_consumers(conf, &mut system)?;
    let streams = [
        (TICK_STREAM, stream(&["rate_secs"])),
        (FLUSH_STREAM, stream(&[])),
        (METRICS_TICK_STREAM, stream(&["interval"])),
    ];
    let object = class("org.apache.storm.metric.SystemBolt");
    add_bolt(&mut system, SYSTEM_COMPONENT, object, BTreeMap::new(), streams.into(), 0, None);
    for (_, common) in components_mut(&mut system) {
        common.streams.insert(METRICS_STREAM.to_owned(), stream(&["task-info", "data-points"]));
        common.streams.insert(SYSTEM_STREAM.to_owned(), stream(&["event"]));
    }
    Ok(system)
}

fn add_acker(conf: &Conf, system: &mut StormTopology) -> Result<(), Refusal> {
    let timeout = message_timeout_secs(conf)?;
    let by_id = || Grouping::Fields(vec!["id".to_owned()]);
    let mut inputs = BTreeMap::new();
    for (id, bolt) in &mut system.bolts {
        for (name, fields) in
            [(ACK_ACK_STREAM, &["id", "ack-val"][..]), (ACK_FAIL_STREAM, &["id"]), (ACK_RESET_TIMEOUT_STREAM, &["id"])]
        {
            bolt.common.streams.insert(name.to_owned(), stream(fields));
            inputs.insert(source(id, name), by_id());
        }
    }
    for (id, spout) in &mut system.spouts {
        let mut own = conf::of_component(id, &spout.common)?;
        own.insert(TOPOLOGY_TICK_TUPLE_FREQ_SECS.to_owned(), timeout.into());
        spout.common.json_conf = Some(conf::to_json(&own));
        spout.common.streams.insert(ACK_INIT_STREAM.to_owned(), stream(&["id", "init-val", "spout-task"]));
        inputs.insert(source(id, ACK_INIT_STREAM), by_id());
        for name in [ACK_ACK_STREAM, ACK_FAIL_STREAM, ACK_RESET_TIMEOUT_STREAM] {
            spout.common.inputs.insert(source(ACKER_COMPONENT, name), Grouping::Direct(NullStruct::default()));
        }
    }
    let streams = [ACK_ACK_STREAM, ACK_FAIL_STREAM, ACK_RESET_TIMEOUT_STREAM]
        .map(|name| (name, StreamInfo { direct: true, ..stream(&["id", "time-delta-ms"]) }));
    let executors = per_worker(conf, TOPOLOGY_ACKER_EXECUTORS)?;
    let object = class("org.apache.storm.daemon.Acker");
    add_bolt(system, ACKER_COMPONENT, object, inputs, streams.into(), executors, Some(timeout));
    Ok(())
}

fn add_eventlogger(conf: &Conf, system: &mut StormTopology) -> Result<(), Refusal> {
    let executors = per_worker(conf, EVENTLOGGER_EXECUTORS)?;
    if executors <= 0 {
        return Ok(());
    }
    let mut inputs = BTreeMap::new();
    for (id, common) in components_mut(system) {
        common.streams.insert(EVENTLOG_STREAM.to_owned(), stream(&["component-id", "message-id", "ts", "values"]));
        inputs.insert(source(id, EVENTLOG_STREAM), Grouping::Fields(vec!["component-id".to_owned()]));
    }
    let object = class("org.apache.storm.metric.EventLoggerBolt");
    let timeout = message_timeout_secs(conf)?;
    add_bolt(system, EVENTLOGGER_COMPONENT, object, inputs, BTreeMap::new(), executors, Some(timeout));
    Ok(())
}

fn add_metrics_consumers(conf: &Conf, system: &mut StormTopology) -> Result<(), Refusal> {
    let sources = components(system).map(|(id, _)| id).chain([SYSTEM_COMPONENT]);
    let shuffle = || Grouping::Shuffle(NullStruct::default());
    let inputs: BTreeMap<_, _> = sources.map(|id| (source(id, METRICS_STREAM), shuffle())).collect();
    let mut occurrences = BTreeMap::<&str, usize>::new();
    let consumers = conf::list(conf, METRICS_CONSUMERS)?;
    if consumers.len().saturating_mul(inputs.len()) > CONSUMED_MAX {
        let (consumers, components) = (consumers.len(), inputs.len());
        return Err(Refusal::invalid(format!(
            "{METRICS_CONSUMERS} has {consumers} consumers, too many for a topology of {components} components"
        )));
    }
    for consumer in consumers {
        let Some(consumer) = consumer.as_object() else {
            let kind = kind_of(consumer);
            return Err(Refusal::invalid(format!(
                "{METRICS_CONSUMERS} holds {kind}, which is not an object with a class"
            )));
        };
        let Some(class_name) = conf::text(consumer, "class")? else {
            return Err(Refusal::invalid(format!("{METRICS_CONSUMERS} holds an object without a class")));
        };
        let executors = conf::int(consumer, "parallelism.hint")?.unwrap_or(1);
        let occurrence = occurrences.entry(class_name).or_default();
        *occurrence += 1;
        let id = match *occurrence {
            1 => format!("{METRICS_COMPONENT_PREFIX}{class_name}"),
            number => format!("{METRICS_COMPONENT_PREFIX}{class_name}#{number}"),
        };
        let object = class("org.apache.storm.metric.MetricsConsumerBolt");
        add_bolt(system, &id, object, inputs.clone(), BTreeMap::new(), executors, None);
    }
    Ok(())
}

/// A number of executors of which there is one for each worker when it is not set.
fn per_worker(conf: &Conf, key: &str) -> Result<i32, Refusal> {
    let workers = || conf::int(conf, TOPOLOGY_WORKERS);
    Ok(conf::int(conf, key)?.or(workers()?).unwrap_or(DEFAULT_WORKERS as i32))
}

fn add_bolt(
    system: &mut StormTopology,
    id: &str,
    bolt_object: ComponentObject,
    inputs: BTreeMap<GlobalStreamId, Grouping>,
    streams: BTreeMap<&str, StreamInfo>,
    executors: i32,
    tick_secs: Option<i32>,
) {
    let mut conf = Conf::from_iter([(TOPOLOGY_TASKS.to_owned(), Value::from(executors))]);
    conf.extend(tick_secs.map(|secs| (TOPOLOGY_TICK_TUPLE_FREQ_SECS.to_owned(), json!(secs))));
    let streams = streams.into_iter().map(|(name, info)| (name.to_owned(), info)).collect();
    let common =
        ComponentCommon { inputs, streams, parallelism_hint: Some(executors), json_conf: Some(conf::to_json(&conf)) };
    system.bolts.insert(id.to_owned(), Bolt { bolt_object, common });
}

fn class(full_class_name: &str) -> ComponentObject {
    ComponentObject::JavaObject(JavaObject { full_class_name: full_class_name.to_owned(), args_list: Vec::new() })
}

fn stream(fields: &[&str]) -> StreamInfo {
    StreamInfo { output_fields: fields.iter().map(|field| (*field).to_owned()).collect(), direct: false }
}

fn source(component: &str, stream: &str) -> GlobalStreamId {
    GlobalStreamId { component_id: component.to_owned(), stream_id: stream.to_owned() }
}
