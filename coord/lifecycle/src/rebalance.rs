//! Options of a rebalance: which are taken, and what they do to the stored code and configuration. Source:
//! `Nimbus.rebalance`, `Nimbus.updateBlobStore` and `ResourceUtils.updateStormTopologyResources` of Storm 2.8.2.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{ComponentCommon, RebalanceOptions, StormTopology};
use ringstorm_types::config::Origin;
use ringstorm_types::config::keys::{MAIN_ARGS, TOPOLOGY_TASKS, WIRE_FORMAT};
use serde_json::Value;

use crate::Refusal;
use crate::conf::{self, Conf};
use crate::refusal::Reasons;
use crate::system::{components, components_mut, system_topology};
use crate::validate;

/// Keys that a rebalance does not change, whatever the operator says: who the topology belongs to, and secrets.
const NOT_OVERRIDDEN: [&str; 7] = [
    "topology.submitter.principal",
    "topology.submitter.user",
    "storm.zookeeper.superACL",
    "storm.zookeeper.topology.auth.scheme",
    "storm.zookeeper.topology.auth.payload",
    "storm.local.hostname",
    conf::WORKER_SECRET,
];

/// Keys that go with the executable that was submitted: with others its workers would build another topology, or none.
const OF_THE_SUBMISSION: [&str; 4] = [MAIN_ARGS, WIRE_FORMAT, "ringstorm.code.sha256", "ringstorm.submission.token"];

const RESOURCES_MAP: &str = "topology.component.resources.map";

/// Older names of resources, which stand in the configuration itself.
const LEGACY_RESOURCES: [(&str, &str); 3] = [
    ("topology.component.cpu.pcore.percent", "cpu.pcore.percent"),
    ("topology.component.resources.onheap.memory.mb", "onheap.memory.mb"),
    ("topology.component.resources.offheap.memory.mb", "offheap.memory.mb"),
];

/// The options that are stored for what an operator asks. `name` and `topology` are those of the topology as it was
/// submitted, `stored` is its configuration, `principal` is who asks (`None` for an anonymous caller), whatever the
/// options say.
///
/// # Errors
/// [`Refusal::Invalid`] with every reason: an unknown component, less than one executor, overrides that are not JSON; and
/// unlike Storm, which takes these: a component of the system that the topology does not have, more executors than the
/// component has tasks, a negative number of workers, overrides that [`check_overrides`] refuses. 0 workers stand for the
/// old number, as in Storm.
pub fn check(
    name: &str,
    topology: &StormTopology,
    stored: &Conf,
    options: &RebalanceOptions,
    principal: Option<&str>,
) -> Result<RebalanceOptions, Refusal> {
    let mut options = options.clone();
    options.principal = principal.map(str::to_owned);
    let mut reasons = Reasons::default();
    // Overrides may change how many tasks components of the system have.
    let conf = overridden(stored, &options).ok().flatten();
    let tasks = tasks(conf.as_ref().unwrap_or(stored), topology);
    let components: BTreeSet<&str> = topology.spouts.keys().chain(topology.bolts.keys()).map(String::as_str).collect();
    let valid = components.iter().copied().collect::<Vec<_>>().join(",");
    for (component, executors) in options.num_executors.iter().flatten() {
        let tasks = tasks.get(component);
        if tasks.is_none() && !components.contains(component.as_str()) {
            reasons.add(|| format!("Invalid component {component} for topology {name}, valid values are {valid}"));
        }
        if let Some(tasks) = tasks.filter(|tasks| *tasks < executors) {
            reasons.add(|| {
                format!(
                    "Component {component} has {tasks} tasks, which {executors} executors cannot share; ask for no more \
                     executors than tasks"
                )
            });
        }
        if *executors < 1 {
            reasons.add(|| {
                format!("Number of executors must be greater than 0; component {component} is given {executors}")
            });
        }
    }
    if let Some(workers) = options.num_workers
        && workers < 0
    {
        reasons.add(|| format!("Number of workers must not be less than 0; it is {workers}"));
    }
    if let Some(json) = &options.topology_conf_overrides {
        match conf::parse(json, "The configuration of the rebalance") {
            Ok(mut overrides) => {
                for key in NOT_OVERRIDDEN {
                    overrides.shift_remove(key);
                }
                if let Err(refusal) = check_overrides(&overrides) {
                    reasons.add_refusal(refusal);
                }
                options.topology_conf_overrides = Some(conf::to_json(&overrides));
            }
            Err(refusal) => reasons.add_refusal(refusal),
        }
    }
    reasons.check()?;
    Ok(options)
}

/// Whether workers could start with these settings on top of their topology's: the rules of a submission, for clients
/// before they ask and for nimbus. Keys of the topology's own pass.
///
/// # Errors
/// [`Refusal::Invalid`] with every reason: keys that are slips of known ones, with what was meant; values that their keys do
/// not take; keys that go with the executable.
pub fn check_overrides(overrides: &Conf) -> Result<(), Refusal> {
    let mut reasons = Reasons::default();
    for key in OF_THE_SUBMISSION.iter().filter(|key| overrides.contains_key(**key)) {
        reasons.add(|| format!("{key} goes with the executable; to change it, kill the topology and submit it again"));
    }
    validate::typed(overrides, &Origin::other("the rebalance")).into_iter().for_each(|reason| reasons.add(|| reason));
    reasons.check()
}

/// How many tasks each component has, those of the system too. One that does not say it is not there; nor is any, when the
/// configuration makes no system topology, which whoever reads it is told then.
fn tasks(conf: &Conf, topology: &StormTopology) -> BTreeMap<String, i32> {
    let Ok(system) = system_topology(conf, topology) else { return BTreeMap::new() };
    let count = |(id, common): (&str, &ComponentCommon)| {
        let own = conf::of_component(id, common).ok()?;
        Some((id.to_owned(), conf::int(&own, TOPOLOGY_TASKS).ok().flatten()?))
    };
    components(&system).filter_map(count).collect()
}

/// The stored configuration with the overrides of a rebalance on top; `None` when there are none.
///
/// # Errors
/// [`Refusal::Invalid`]: they are not JSON. [`check`] lets no such options pass.
pub fn overridden(stored: &Conf, options: &RebalanceOptions) -> Result<Option<Conf>, Refusal> {
    match options.topology_conf_overrides.as_deref() {
        None | Some("") => Ok(None),
        Some(json) => Ok(Some(conf::merged(stored, &conf::parse(json, "The configuration of the rebalance")?))),
    }
}

/// The stored topology with the resources of a rebalance; `None` when there are none. Components that the topology does
/// not have are passed over.
///
/// # Errors
/// [`Refusal::Invalid`]: the configuration of a component cannot be read.
pub fn with_resources(stored: &StormTopology, options: &RebalanceOptions) -> Result<Option<StormTopology>, Refusal> {
    let Some(overrides) = options.topology_resources_overrides.as_ref().filter(|overrides| !overrides.is_empty())
    else {
        return Ok(None);
    };
    let mut topology = stored.clone();
    for (id, common) in components_mut(&mut topology) {
        if let Some(resources) = overrides.get(id) {
            let mut own = conf::of_component(id, common)?;
            set_resources(&mut own, resources);
            common.json_conf = Some(conf::to_json(&own));
        }
    }
    Ok(Some(topology))
}

fn set_resources(conf: &mut Conf, resources: &BTreeMap<String, f64>) {
    let mut map = match conf.get(RESOURCES_MAP) {
        Some(Value::Object(map)) => map.clone(),
        _ => Conf::new(),
    };
    for (name, amount) in resources {
        let known = LEGACY_RESOURCES.into_iter().find(|(legacy, normal)| name == legacy || name == normal);
        if let Some((legacy, _)) = known {
            conf.shift_remove(legacy);
            map.shift_remove(legacy);
        }
        map.insert(known.map_or(name.as_str(), |(_, normal)| normal).to_owned(), (*amount).into());
    }
    conf.insert(RESOURCES_MAP.to_owned(), map.into());
}

#[cfg(test)]
mod tests;
