//! A plan as JSON.

use serde_json::{Map, Value, json};

use super::Plan;
use crate::config::{Config, shown};
use crate::graph::cycles;
use crate::id::{ACKER_COMPONENT, ExecutorId};
use crate::placement::Home;
use crate::topology::{Component, Execution, Grouping, Input, Output};

pub(super) fn plan(plan: &Plan<'_>) -> Value {
    let components: Vec<Value> = plan.components().map(|(id, item)| component(plan, &id, item)).collect();
    let cores: Vec<Value> = plan
        .placement
        .cores()
        .map(|(core, executors)| json!({ "core": core, "executors": executor_names(executors.iter().copied()) }))
        .collect();
    json!({
        "topology": plan.name,
        "components": components,
        "ackers": {
            "tasks": plan.numbering.ackers(),
            "executors": executors(plan, ACKER_COMPONENT),
        },
        "cores": cores,
        "own_threads": executor_names(plan.placement.on_own_threads()),
        "cycles": cycles(plan.topology),
        "config": config(plan.config),
        "warnings": plan.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn component(plan: &Plan<'_>, id: &str, component: &Component) -> Value {
    let (execution, concurrency) = match component.execution {
        Execution::OnCore => ("on core", None),
        Execution::Blocking => ("blocking", None),
        Execution::Async { concurrency } => ("async", Some(concurrency)),
        Execution::FlatMap => ("flat map", None),
    };
    let mut value = json!({
        "id": id,
        "kind": component.kind,
        "execution": execution,
        "tasks": plan.numbering.tasks_of(id),
        "executors": executors(plan, id),
        "inputs": component.inputs.iter().map(input).collect::<Vec<_>>(),
        "outputs": component.outputs.iter().map(|(stream, item)| output(stream, item)).collect::<Vec<_>>(),
        "config": config(&component.config),
    });
    if let Some(concurrency) = concurrency {
        value["concurrency"] = json!(concurrency);
    }
    value
}

fn executors(plan: &Plan<'_>, component: &str) -> Vec<Value> {
    let executors = plan.numbering.executors_of(component).iter();
    executors
        .map(|executor| {
            // An executor on its own thread has no core.
            let core = match plan.placement.home_of(executor.id) {
                Some(Home::Core(core)) => Some(core),
                Some(Home::OwnThread) | None => None,
            };
            json!({ "id": executor.id.to_string(), "core": core })
        })
        .collect()
}

fn executor_names(executors: impl Iterator<Item = ExecutorId>) -> Vec<String> {
    executors.map(|executor| executor.to_string()).collect()
}

fn input(input: &Input) -> Value {
    let mut value = json!({ "component": input.component, "stream": input.stream, "grouping": input.grouping.name() });
    if let Grouping::Fields(fields) | Grouping::PartialKey(fields) = &input.grouping {
        value["fields"] = json!(fields);
    }
    value
}

fn output(stream: &str, output: &Output) -> Value {
    let mut value = json!({ "stream": stream, "fields": output.fields, "direct": output.direct });
    if output.layout != 0 {
        value["type"] = json!(output.layout_name);
        value["layout"] = json!(format!("{:016x}", output.layout));
    }
    value
}

fn config(config: &Config) -> Value {
    let settings = config
        .iter()
        .map(|(key, value, origin)| (key.to_owned(), json!({ "value": shown(key, value), "set_by": origin.as_str() })));
    Value::Object(settings.collect::<Map<_, _>>())
}
