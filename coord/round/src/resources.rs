//! What an executor may use, as Storm counts it, for [`WorkerResources`] and for whoever looks.
//!
//! The default scheduler does not look at it, but Storm writes it into each assignment, and tools show it. Source:
//! `NormalizedResourceRequest` and `Cluster.calculateWorkerResources` of Storm 2.8.2. Memory that several components share
//! is not counted: only Storm's resource-aware scheduler places by it.
//!
//! Threading: plain data. Errors: none; a value that is no number counts as unset.

use std::collections::BTreeMap;

use ringstorm_records::records::WorkerResources;
use ringstorm_types::id::{ACKER_COMPONENT, METRICS_COMPONENT_PREFIX};
use serde_json::{Map, Value};

use crate::supervisors::CPU_PERCENT;

const ON_HEAP: &str = "onheap.memory.mb";
const OFF_HEAP: &str = "offheap.memory.mb";
/// Storm's own names, besides which an amount is one of a generic resource.
const NOT_GENERIC: [&str; 4] = [ON_HEAP, OFF_HEAP, CPU_PERCENT, "memory.mb"];
/// Keys of configurations, and Storm's own names for what they set.
const NORMALIZED: [(&str, &str); 3] = [
    ("topology.component.cpu.pcore.percent", CPU_PERCENT),
    ("topology.component.resources.onheap.memory.mb", ON_HEAP),
    ("topology.component.resources.offheap.memory.mb", OFF_HEAP),
];
const RESOURCES_MAP: &str = "topology.component.resources.map";

/// What one executor may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Resources {
    /// Megabytes (`topology.component.resources.onheap.memory.mb`).
    pub on_heap_mb: f64,
    /// Megabytes (`topology.component.resources.offheap.memory.mb`).
    pub off_heap_mb: f64,
    /// Hundredths of a CPU (`topology.component.cpu.pcore.percent`).
    pub cpu_percent: f64,
    /// Amounts of resources that users named (`topology.component.resources.map`).
    pub generic: BTreeMap<String, f64>,
}

impl Default for Resources {
    /// Storm's defaults.
    fn default() -> Self {
        Self { on_heap_mb: 128.0, off_heap_mb: 0.0, cpu_percent: 10.0, generic: BTreeMap::new() }
    }
}

impl Resources {
    /// Nothing at all.
    pub fn none() -> Self {
        Self { on_heap_mb: 0.0, off_heap_mb: 0.0, cpu_percent: 0.0, generic: BTreeMap::new() }
    }

    /// What each executor of a component may use: what the component says itself, for ackers and consumers of metrics what
    /// `topology.acker.…` and `topology.metrics.consumer.…` say, then what the topology says, then the defaults. Amounts in
    /// a map of resources come before single ones.
    pub fn of_component(
        component: &str,
        component_conf: &Map<String, Value>,
        topology_conf: &Map<String, Value>,
    ) -> Self {
        let own_prefix = match component {
            ACKER_COMPONENT => Some("topology.acker."),
            _ if component.starts_with(METRICS_COMPONENT_PREFIX) => Some("topology.metrics.consumer."),
            _ => None,
        };
        let of_kind = own_prefix.map(|prefix| amounts(topology_conf, prefix)).unwrap_or_default();
        let single = amounts(topology_conf, "topology.component.");
        let layers = [
            single,
            mapped(topology_conf),
            of_kind,
            amounts(component_conf, "topology.component."),
            mapped(component_conf),
        ];
        let mut amounts: BTreeMap<String, f64> = layers.into_iter().flatten().collect();
        let defaults = Self::default();
        let mut taken = |name: &str, default| amounts.remove(name).unwrap_or(default);
        let on_heap_mb = taken(ON_HEAP, defaults.on_heap_mb);
        let off_heap_mb = taken(OFF_HEAP, defaults.off_heap_mb);
        let cpu_percent = taken(CPU_PERCENT, defaults.cpu_percent);
        amounts.retain(|name, _| !NOT_GENERIC.contains(&name.as_str()));
        Self { on_heap_mb, off_heap_mb, cpu_percent, generic: amounts }
    }

    /// The amounts by Storm's names.
    pub fn named(&self) -> BTreeMap<String, f64> {
        let own = [(ON_HEAP, self.on_heap_mb), (OFF_HEAP, self.off_heap_mb), (CPU_PERCENT, self.cpu_percent)];
        let generic = self.generic.iter().map(|(name, amount)| (name.clone(), *amount));
        own.map(|(name, amount)| (name.to_owned(), amount)).into_iter().chain(generic).collect()
    }

    /// Adds others, so many times.
    pub fn add(&mut self, other: &Self, count: f64) {
        self.on_heap_mb += other.on_heap_mb * count;
        self.off_heap_mb += other.off_heap_mb * count;
        self.cpu_percent += other.cpu_percent * count;
        for (name, amount) in &other.generic {
            *self.generic.entry(name.clone()).or_default() += amount * count;
        }
    }

    /// The record for a worker, from what each of its executors may use.
    pub fn of_worker(executors: impl Iterator<Item = Self>) -> WorkerResources {
        let mut sum = Self::none();
        executors.for_each(|of| sum.add(&of, 1.0));
        WorkerResources {
            mem_on_heap: Some(sum.on_heap_mb),
            mem_off_heap: Some(sum.off_heap_mb),
            cpu: Some(sum.cpu_percent),
            shared_mem_on_heap: Some(0.0),
            shared_mem_off_heap: Some(0.0),
            resources: Some(sum.named()),
            shared_resources: Some([].into()),
        }
    }
}

/// Without Storm's own resources: the generic ones of a worker's record.
pub fn generic_of(resources: &BTreeMap<String, f64>) -> impl Iterator<Item = (&String, f64)> {
    resources.iter().filter(|(name, _)| !NOT_GENERIC.contains(&name.as_str())).map(|(name, amount)| (name, *amount))
}

/// The single amounts under a prefix of keys, by Storm's names.
fn amounts(conf: &Map<String, Value>, prefix: &str) -> Vec<(String, f64)> {
    let amount = |(key, name): (&str, &str)| {
        let key = key.strip_prefix("topology.component.")?;
        Some((name.to_owned(), conf.get(&format!("{prefix}{key}"))?.as_f64()?))
    };
    NORMALIZED.into_iter().filter_map(amount).collect()
}

/// The amounts of the map of resources, by Storm's names.
fn mapped(conf: &Map<String, Value>) -> Vec<(String, f64)> {
    let Some(map) = conf.get(RESOURCES_MAP).and_then(Value::as_object) else { return Vec::new() };
    let name = |key: &str| NORMALIZED.iter().find(|(of, _)| *of == key).map_or(key, |(_, name)| name).to_owned();
    map.iter().filter_map(|(key, value)| Some((name(key), value.as_f64()?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conf(of: Value) -> Map<String, Value> {
        match of {
            Value::Object(fields) => fields,
            _ => panic!("a conf is an object"),
        }
    }

    #[test]
    fn the_component_comes_before_the_topology_and_the_acker_has_keys_of_its_own() {
        let topology = conf(json!({
            "topology.component.cpu.pcore.percent": 20,
            "topology.acker.cpu.pcore.percent": 5.5,
            "topology.component.resources.onheap.memory.mb": "many",
        }));
        let own = conf(
            json!({"topology.component.resources.offheap.memory.mb": 64, "topology.component.cpu.pcore.percent": 30}),
        );
        let nothing = Map::new();
        let of = |component, own: &Map<String, Value>| {
            let of = Resources::of_component(component, own, &topology);
            (of.on_heap_mb, of.off_heap_mb, of.cpu_percent)
        };
        assert_eq!(of("count", &nothing), (128.0, 0.0, 20.0));
        assert_eq!(of("count", &own), (128.0, 64.0, 30.0));
        assert_eq!(of("__acker", &nothing), (128.0, 0.0, 5.5));
        assert_eq!(Resources::of_component("count", &nothing, &nothing), Resources::default());
    }

    #[test]
    fn a_map_of_resources_comes_before_single_amounts_and_may_hold_others() {
        let topology = conf(json!({
            "topology.component.cpu.pcore.percent": 20,
            "topology.component.resources.map": {"gpu.count": 1, "cpu.pcore.percent": 25, "what": "text"},
            "topology.metrics.consumer.cpu.pcore.percent": 7,
        }));
        let own = conf(json!({
            "topology.component.cpu.pcore.percent": 30,
            "topology.component.resources.map": {"topology.component.cpu.pcore.percent": 35, "gpu.count": 2.5},
        }));
        let of = |component, own| Resources::of_component(component, own, &topology).named();
        let named = |cpu: f64, gpu: f64| {
            let all = [("cpu.pcore.percent", cpu), ("gpu.count", gpu), (OFF_HEAP, 0.0), (ON_HEAP, 128.0)];
            all.map(|(name, amount)| (name.to_owned(), amount)).into_iter().collect::<BTreeMap<_, _>>()
        };
        let nothing = Map::new();
        assert_eq!(of("count", &nothing), named(25.0, 1.0));
        assert_eq!(of("count", &own), named(35.0, 2.5));
        assert_eq!(of("__metrics_x", &nothing), named(7.0, 1.0));
    }
}
