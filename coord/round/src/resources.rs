//! What an executor may use, as Storm counts it, for [`WorkerResources`].
//!
//! The default scheduler does not look at it, but Storm writes it into each assignment, and tools show it. Source:
//! `ResourceUtils` and `Cluster.calculateWorkerResources` of Storm 2.8.2. Memory that several components share is not
//! counted: only Storm's resource-aware scheduler places by it.
//!
//! Threading: plain data. Errors: none; a value that is no number counts as unset.

use ringstorm_records::records::WorkerResources;
use ringstorm_types::id::ACKER_COMPONENT;
use serde_json::{Map, Value};

use crate::supervisors::CPU_PERCENT;

const ON_HEAP: &str = "onheap.memory.mb";
const OFF_HEAP: &str = "offheap.memory.mb";

/// What one executor may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resources {
    /// Megabytes (`topology.component.resources.onheap.memory.mb`).
    pub on_heap_mb: f64,
    /// Megabytes (`topology.component.resources.offheap.memory.mb`).
    pub off_heap_mb: f64,
    /// Hundredths of a CPU (`topology.component.cpu.pcore.percent`).
    pub cpu_percent: f64,
}

impl Default for Resources {
    /// Storm's defaults.
    fn default() -> Self {
        Self { on_heap_mb: 128.0, off_heap_mb: 0.0, cpu_percent: 10.0 }
    }
}

impl Resources {
    /// What each executor of a component may use: what the component says itself, for ackers what
    /// `topology.acker.…` says, then what the topology says, then the defaults.
    pub fn of_component(
        component: &str,
        component_conf: &Map<String, Value>,
        topology_conf: &Map<String, Value>,
    ) -> Self {
        let defaults = Self::default();
        let value = |middle: &str, default: f64| {
            let key = format!("topology.component.{middle}");
            let acker = (component == ACKER_COMPONENT).then(|| format!("topology.acker.{middle}"));
            let given = |conf: &Map<String, Value>, key: &str| conf.get(key).and_then(Value::as_f64);
            given(component_conf, &key)
                .or_else(|| given(topology_conf, &acker?))
                .or_else(|| given(topology_conf, &key))
                .unwrap_or(default)
        };
        Self {
            on_heap_mb: value("resources.onheap.memory.mb", defaults.on_heap_mb),
            off_heap_mb: value("resources.offheap.memory.mb", defaults.off_heap_mb),
            cpu_percent: value(CPU_PERCENT, defaults.cpu_percent),
        }
    }

    /// The record for a worker, from what each of its executors may use.
    pub fn of_worker(executors: impl Iterator<Item = Self>) -> WorkerResources {
        let nothing = Self { on_heap_mb: 0.0, off_heap_mb: 0.0, cpu_percent: 0.0 };
        let sum = executors.fold(nothing, |sum, of| Self {
            on_heap_mb: sum.on_heap_mb + of.on_heap_mb,
            off_heap_mb: sum.off_heap_mb + of.off_heap_mb,
            cpu_percent: sum.cpu_percent + of.cpu_percent,
        });
        let named = [(ON_HEAP, sum.on_heap_mb), (OFF_HEAP, sum.off_heap_mb), (CPU_PERCENT, sum.cpu_percent)];
        WorkerResources {
            mem_on_heap: Some(sum.on_heap_mb),
            mem_off_heap: Some(sum.off_heap_mb),
            cpu: Some(sum.cpu_percent),
            shared_mem_on_heap: Some(0.0),
            shared_mem_off_heap: Some(0.0),
            resources: Some(named.map(|(name, value)| (name.to_owned(), value)).into()),
            shared_resources: Some([].into()),
        }
    }
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
}
