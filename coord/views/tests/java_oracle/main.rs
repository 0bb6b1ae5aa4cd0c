//! Apache Storm's own classes make the same figures of the same beats, and ask for the same resources.
//!
//! Needs Java 17 or later (a development kit) and Maven, which fetches Storm 2.8.2's server library once. Without them
//! the tests are skipped and say so; with `RINGSTORM_REQUIRE_JAVA=1` that is a failure.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod beats;
#[path = "../../../records/tests/java_oracle/oracle.rs"]
mod oracle;
#[path = "../suite/same.rs"]
mod same;

use std::collections::BTreeMap;
use std::sync::Arc;

use beats::Case;
use oracle::{hex, oracle, unhex};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ringstorm_lifecycle::conf::{self, Conf};
use ringstorm_lifecycle::executors::first_executors;
use ringstorm_records::records::{
    Assignment, ComponentPageInfo, ComponentType, ExecutorInfo, StormBase, StormTopology, TopologyPageInfo,
    TopologyStatus, TopologySummary, WorkerResources,
};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::NodeName;
use ringstorm_views::Definition;
use ringstorm_views::component_page::component_page;
use ringstorm_views::gather::Topology;
use ringstorm_views::topologies::topology_summary;
use ringstorm_views::topology_page::topology_page;
use same::assert_same;
use serde_json::Value;

/// Where the oracle's program lies, from this package.
const ORACLE: &str = "tests/java";

/// Random cases of each kind.
const CASES: usize = 400;

fn random<S: Strategy>(count: usize, strategy: S) -> Vec<S::Value> {
    let mut runner = TestRunner::default();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

fn record<R: Record>(answer: &str) -> R {
    assert!(!answer.starts_with("exception"), "{answer}");
    R::from_bytes(&unhex(answer)).unwrap()
}

fn map(conf: &Value) -> Conf {
    conf.as_object().unwrap().clone()
}

fn definition(conf: &Value, topology: &StormTopology) -> Definition {
    Definition::new(&Conf::new(), Arc::new(map(conf)), Arc::new(topology.clone())).unwrap()
}

fn base(definition: &Definition) -> StormBase {
    StormBase {
        name: "words".to_owned(),
        status: TopologyStatus::Active,
        num_workers: 1,
        component_executors: Some(first_executors(definition.system())),
        launch_time_secs: None,
        owner: Some("owner".to_owned()),
        topology_action_options: None,
        prev_status: None,
        component_debug: None,
        principal: Some(String::new()),
        topology_version: None,
        unknown: Default::default(),
    }
}

fn topology(definition: &Definition, assignment: &Assignment) -> Topology {
    let id = NodeName::new("words-1-1").unwrap();
    Topology {
        id,
        base: base(definition),
        assignment: Some(assignment.clone()),
        assignment_fault: None,
        code_holders: 1,
    }
}

/// Topologies that run and beat.
fn cases() -> Vec<(Definition, Case)> {
    let case = (beats::conf(), beats::topology()).prop_flat_map(|(conf, topology)| {
        let definition = definition(&conf, &topology);
        let counts = first_executors(definition.system());
        let executors = definition.tasks().executors(&counts).into_iter().map(|(id, component)| {
            let info = ExecutorInfo { task_start: id.first.0, task_end: id.last.0 };
            (info, definition.kind(component.as_str()) == Some(ComponentType::Spout))
        });
        beats::placed(conf, topology, executors.collect())
    });
    random(CASES, case).into_iter().map(|case| (definition(&case.conf, &case.topology), case)).collect()
}

fn request(kind: &str, case: &Case, component: Option<&str>) -> String {
    let mut words = vec![
        kind.to_owned(),
        conf::to_json(&map(&case.conf)),
        hex(&case.topology.to_bytes()),
        hex(&case.assignment.to_bytes()),
        case.window.to_owned(),
        case.include_system.to_string(),
    ];
    words.extend(component.map(str::to_owned));
    for (slot, beat) in &case.beats {
        words.extend([slot.supervisor.to_string(), slot.port.to_string(), hex(&beat.to_bytes())]);
    }
    words.join("\t")
}

/// Storm's statics remember every resource that was ever named, and show those that are not asked for as 0.
fn without_zeros(mut resources: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    resources.retain(|name, amount| name != "gpu.count" || *amount != 0.0);
    resources
}

fn comparable_page(mut page: TopologyPageInfo, case: &Case) -> TopologyPageInfo {
    let spouts = page.id_to_spout_agg_stats.iter_mut().flatten();
    for (_, of) in spouts.chain(page.id_to_bolt_agg_stats.iter_mut().flatten()) {
        let common = of.common_stats.as_mut().unwrap();
        common.resources_map = common.resources_map.take().map(without_zeros);
    }
    let workers = page.workers.as_mut().unwrap();
    workers.sort_by_key(|worker| (worker.supervisor_id.clone(), worker.port));
    for worker in workers {
        let slot = (worker.supervisor_id.clone().unwrap(), i64::from(worker.port.unwrap()));
        // Where an executor of the slot has not beaten, Java's hash order decides whether Storm shows 0.
        if !case.complete.contains(&slot) {
            worker.uptime_secs = None;
        }
    }
    let TopologyPageInfo { id, num_tasks, num_workers, num_executors, .. } = page;
    TopologyPageInfo {
        id,
        num_tasks,
        num_workers,
        num_executors,
        id_to_spout_agg_stats: page.id_to_spout_agg_stats,
        id_to_bolt_agg_stats: page.id_to_bolt_agg_stats,
        topology_stats: page.topology_stats,
        workers: page.workers,
        ..TopologyPageInfo::default()
    }
}

#[test]
fn pages_of_topologies_have_storms_figures() {
    let all = cases();
    let requests: Vec<_> = all.iter().map(|(_, case)| request("page", case, None)).collect();
    let Some(answers) = oracle(&requests) else { return };
    for ((definition, case), answer) in all.iter().zip(answers) {
        let topology = topology(definition, &case.assignment);
        let (window, sys) = (case.window, case.include_system);
        let ours = topology_page(&topology, definition, &case.beats, &BTreeMap::new(), window, sys, 0);
        assert_same(&comparable_page(ours, case), &comparable_page(record(&answer), case));
    }
}

fn comparable_component(page: ComponentPageInfo) -> ComponentPageInfo {
    let mut exec_stats = page.exec_stats;
    exec_stats.as_mut().unwrap().sort_by_key(|of| of.exec_summary.as_ref().unwrap().executor_info.clone());
    ComponentPageInfo {
        exec_stats,
        topology_name: None,
        errors: None,
        topology_status: None,
        resources_map: None,
        ..page
    }
}

#[test]
fn pages_of_components_have_storms_figures() {
    let mut all = Vec::new();
    for (definition, case) in cases() {
        let components: Vec<String> = definition.components_with_tasks().map(str::to_owned).collect();
        all.extend(components.into_iter().map(|component| (definition.clone(), case.clone(), component)));
    }
    let requests: Vec<_> = all.iter().map(|(_, case, component)| request("component", case, Some(component))).collect();
    let Some(answers) = oracle(&requests) else { return };
    for ((definition, case, component), answer) in all.iter().zip(answers) {
        let topology = topology(definition, &case.assignment);
        let kind = definition.kind(component).unwrap();
        let (window, sys) = (case.window, case.include_system);
        let ours = component_page(&topology, definition, &case.beats, Vec::new(), component, kind, window, sys);
        assert_same(&comparable_component(ours), &comparable_component(record(&answer)));
    }
}

#[test]
fn topologies_ask_for_what_storm_counts() {
    let assignment = proptest::collection::vec(beats::worker_resources(), 0..3);
    let all = random(CASES, (beats::conf(), beats::topology(), assignment));
    let all: Vec<_> = all
        .into_iter()
        .map(|(conf, code, workers)| {
            let definition = definition(&conf, &code);
            let mut assignment = Assignment::default();
            for (port, resources) in workers.into_iter().enumerate() {
                let slot = ringstorm_records::records::NodeInfo { node: "a".to_owned(), port: [port as i64].into() };
                assignment.worker_resources.insert(slot, resources);
            }
            (conf, topology(&definition, &assignment), definition)
        })
        .collect();
    let request = |(conf, topology, definition): &(Value, Topology, Definition)| {
        let (code, base) = (hex(&definition.code().to_bytes()), hex(&topology.base.to_bytes()));
        let assignment = hex(&topology.assignment.as_ref().unwrap().to_bytes());
        format!("resources\t{}\t{code}\t{base}\t{assignment}", conf::to_json(&map(conf)))
    };
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    let resources = |of: TopologySummary| TopologySummary {
        requested_memonheap: of.requested_memonheap,
        requested_memoffheap: of.requested_memoffheap,
        requested_cpu: of.requested_cpu,
        assigned_memonheap: of.assigned_memonheap,
        assigned_memoffheap: of.assigned_memoffheap,
        assigned_cpu: of.assigned_cpu,
        requested_generic_resources: of.requested_generic_resources.map(without_zeros),
        assigned_generic_resources: of.assigned_generic_resources.map(without_zeros),
        ..TopologySummary::default()
    };
    for ((_, topology, definition), answer) in all.iter().zip(answers) {
        let ours = topology_summary(topology, Some(definition), 0);
        assert_same(&resources(ours), &resources(record(&answer)));
    }
}

#[test]
fn components_ask_for_what_storm_gives_them() {
    let all = random(CASES, (beats::conf(), beats::topology()));
    let request = |(conf, code): &(Value, StormTopology)| {
        format!("requests\t{}\t{}", conf::to_json(&map(conf)), hex(&code.to_bytes()))
    };
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    for ((conf, code), answer) in all.iter().zip(answers) {
        let definition = definition(conf, code);
        let words: Vec<&str> = answer.split('\t').collect();
        for of in words.chunks(2) {
            let storms: WorkerResources = record(of[1]);
            let resources = |of| WorkerResources { resources: Some(without_zeros(of)), ..WorkerResources::default() };
            assert_same(&resources(definition.request(of[0]).named()), &resources(storms.resources.unwrap()));
        }
    }
}
