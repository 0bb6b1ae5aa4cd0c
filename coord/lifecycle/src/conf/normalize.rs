//! How nimbus completes what a client submits. Source: `Nimbus.normalizeConf`, `Nimbus.normalizeTopology` and
//! `ServerUtils.getComponentParallelism` of Storm 2.8.2.
//!
//! Unlike Storm, whose lists and maps come in the order of Java's hashes, lists made here are sorted. Unlike Storm, both
//! functions may be applied to their own results, which they leave as they are.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{ComponentCommon, StormTopology};
use ringstorm_types::config::keys::{TOPOLOGY_ACKER_EXECUTORS, TOPOLOGY_MAX_TASK_PARALLELISM, TOPOLOGY_TASKS};
use serde_json::Value;

use super::read::{flag, int, list, wrong};
use super::{Conf, merged, of_component, to_json};
use crate::Refusal;
use crate::system::{EVENTLOGGER_EXECUTORS, components, components_mut};

const WORKERS_ARTIFACTS_DIR: &str = "storm.workers.artifacts.dir";
const KRYO_DECORATORS: &str = "topology.kryo.decorators";
const KRYO_REGISTER: &str = "topology.kryo.register";
const NETTY_AUTHENTICATION: &str = "storm.messaging.netty.authentication";
const WORKER_NIMBUS_USE_TLS: &str = "topology.worker.nimbus.thrift.client.use.tls";
const NIMBUS_USE_TLS: &str = "nimbus.thrift.client.use.tls";
const METRICS_REPORTERS: &str = "topology.metrics.reporters";
const OLD_METRICS_REPORTERS: &str = "storm.metrics.reporters";
const SYSTEM_METRICS_REPORTERS: &str = "storm.topology.metrics.system.reporters";
const CGROUP_HIERARCHY_DIR: &str = "storm.cgroup.hierarchy.dir";
const WORKER_METRICS: &str = "worker.metrics";
const WORKER_TIMEOUT_SECS: &str = "topology.worker.timeout.secs";
const WORKER_MAX_TIMEOUT_SECS: &str = "worker.max.timeout.secs";

/// The topology's configuration with what must be the same for all of its workers, and what only the cluster may say.
///
/// # Errors
/// [`Refusal::Invalid`] for a value that it needs and cannot read.
pub fn normalize_conf(daemon: &Conf, topology_conf: &Conf, topology: &StormTopology) -> Result<Conf, Refusal> {
    let mut conf = topology_conf.clone();
    conf.shift_remove(WORKERS_ARTIFACTS_DIR);

    let mut decorators = BTreeSet::new();
    let mut serializers = BTreeMap::new();
    for (id, common) in components(topology) {
        let component = of_component(id, common)?;
        add_decorators(&mut decorators, &component)?;
        add_serializers(&mut serializers, &component)?;
    }
    let of = |key| if topology_conf.contains_key(key) { topology_conf } else { daemon };
    add_decorators(&mut decorators, of(KRYO_DECORATORS))?;
    add_serializers(&mut serializers, of(KRYO_REGISTER))?;
    conf.insert(KRYO_REGISTER.to_owned(), Value::Object(serializers.into_iter().collect()));
    conf.insert(KRYO_DECORATORS.to_owned(), decorators.into_iter().collect());

    let both = merged(daemon, topology_conf);
    for key in [TOPOLOGY_ACKER_EXECUTORS, EVENTLOGGER_EXECUTORS, TOPOLOGY_MAX_TASK_PARALLELISM] {
        conf.insert(key.to_owned(), value(&both, key));
    }

    let either = |key| Ok::<bool, Refusal>(flag(topology_conf, key)? || flag(daemon, key)?);
    conf.insert(NETTY_AUTHENTICATION.to_owned(), either(NETTY_AUTHENTICATION)?.into());
    let with_tls = either(WORKER_NIMBUS_USE_TLS)?;
    conf.insert(WORKER_NIMBUS_USE_TLS.to_owned(), with_tls.into());
    conf.insert(NIMBUS_USE_TLS.to_owned(), with_tls.into());

    add_reporters(&mut conf, daemon, &both)?;

    // What only the cluster may say.
    for key in [CGROUP_HIERARCHY_DIR, WORKER_METRICS] {
        conf.insert(key.to_owned(), value(daemon, key));
    }
    if let (Some(timeout), Some(limit)) = (int(&both, WORKER_TIMEOUT_SECS)?, int(&both, WORKER_MAX_TIMEOUT_SECS)?)
        && timeout > limit
    {
        conf.insert(WORKER_TIMEOUT_SECS.to_owned(), limit.into());
    }
    Ok(conf)
}

/// The topology with the number of tasks of each component in its configuration, where it stays: whatever a rebalance
/// does to executors, tasks and so the targets of groupings are the same. `total` is the daemon's configuration with the
/// topology's on top.
///
/// # Errors
/// [`Refusal::Invalid`] for a component's configuration that cannot be read.
pub fn normalize_topology(total: &Conf, topology: &StormTopology) -> Result<StormTopology, Refusal> {
    let mut normalized = topology.clone();
    for (id, common) in components_mut(&mut normalized) {
        let mut conf = of_component(id, common)?;
        conf.insert(TOPOLOGY_TASKS.to_owned(), component_tasks(total, id, common)?.into());
        common.json_conf = Some(to_json(&conf));
    }
    Ok(normalized)
}

/// The number of tasks of a component: what its configuration or else the topology's says, else as many as executors; not
/// more than `topology.max.task.parallelism`.
///
/// # Errors
/// [`Refusal::Invalid`] for a value that cannot be read.
pub fn component_tasks(total: &Conf, id: &str, common: &ComponentCommon) -> Result<i32, Refusal> {
    let component = of_component(id, common)?;
    let value = |key| if component.contains_key(key) { int(&component, key) } else { int(total, key) };
    let tasks = value(TOPOLOGY_TASKS)?.unwrap_or_else(|| common.parallelism_hint.unwrap_or(1));
    Ok(value(TOPOLOGY_MAX_TASK_PARALLELISM)?.map_or(tasks, |limit| tasks.min(limit)))
}

/// Whether the functions above can read the configuration of a component.
///
/// # Errors
/// [`Refusal::Invalid`]: they cannot.
pub(crate) fn check_component(id: &str, common: &ComponentCommon) -> Result<(), Refusal> {
    let conf = of_component(id, common)?;
    add_decorators(&mut BTreeSet::new(), &conf)?;
    add_serializers(&mut BTreeMap::new(), &conf)?;
    component_tasks(&Conf::new(), id, common).map(drop)
}

fn value(conf: &Conf, key: &str) -> Value {
    conf.get(key).cloned().unwrap_or_default()
}

fn add_decorators(decorators: &mut BTreeSet<String>, conf: &Conf) -> Result<(), Refusal> {
    for decorator in list(conf, KRYO_DECORATORS)? {
        let name = decorator.as_str().ok_or_else(|| wrong(KRYO_DECORATORS, decorator, "the name of a class"))?;
        decorators.insert(name.to_owned());
    }
    Ok(())
}

/// Takes a list of classes, or of classes with their serializers, as clients write it, and the map that it becomes.
fn add_serializers(serializers: &mut BTreeMap<String, Value>, conf: &Conf) -> Result<(), Refusal> {
    let mut add = |map: &Conf| serializers.extend(map.iter().map(|(class, by)| (class.clone(), by.clone())));
    if let Some(Value::Object(map)) = conf.get(KRYO_REGISTER) {
        add(map);
        return Ok(());
    }
    for entry in list(conf, KRYO_REGISTER)? {
        match entry {
            Value::Object(map) => add(map),
            Value::String(class) => add(&Conf::from_iter([(class.clone(), Value::Null)])),
            other => return Err(wrong(KRYO_REGISTER, other, "a text or an object of texts")),
        }
    }
    Ok(())
}

/// The reporters of metrics of the topology, and those that the cluster adds to each topology.
fn add_reporters(conf: &mut Conf, daemon: &Conf, both: &Conf) -> Result<(), Refusal> {
    if !both.contains_key(METRICS_REPORTERS)
        && let Some(reporters) = both.get(OLD_METRICS_REPORTERS)
    {
        conf.insert(METRICS_REPORTERS.to_owned(), reporters.clone());
    }
    if daemon.contains_key(SYSTEM_METRICS_REPORTERS) {
        let mut reporters = list(conf, METRICS_REPORTERS)?.to_vec();
        for reporter in list(daemon, SYSTEM_METRICS_REPORTERS)? {
            if !reporters.contains(reporter) {
                reporters.push(reporter.clone());
            }
        }
        conf.insert(METRICS_REPORTERS.to_owned(), reporters.into());
    }
    Ok(())
}
