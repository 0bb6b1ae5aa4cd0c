//! A plan as text.

use std::fmt::{Formatter, Result};

use super::Plan;
use crate::config::{Config, shown};
use crate::graph::cycles;
use crate::id::{ACKER_COMPONENT, ComponentId, ExecutorId};
use crate::placement::Home;
use crate::screen::one_line;
use crate::topology::{Component, Execution, Grouping, Input, Output};

/// How many executors a line lists before it says how many more there are.
const LISTED: usize = 12;

pub(super) fn write(plan: &Plan<'_>, formatter: &mut Formatter<'_>) -> Result {
    let (tasks, executors) = plan.user_counts();
    writeln!(
        formatter,
        "Topology {}: {}, {} in {}, {}, {}",
        one_line(plan.name),
        counted(plan.topology.components.len(), "component"),
        counted(tasks, "task"),
        counted(executors, "executor"),
        counted(plan.numbering.ackers().len(), "acker"),
        counted(plan.placement.core_count(), "core"),
    )?;
    for (id, component) in plan.components() {
        writeln!(formatter, "\n{} {id}: {}", component.kind.as_str(), counts(plan, &id))?;
        write_component(plan, &id, component, formatter)?;
    }
    if !plan.numbering.ackers().is_empty() {
        writeln!(formatter, "\nbolt {ACKER_COMPONENT}: {}", counts(plan, ACKER_COMPONENT))?;
        writeln!(formatter, "  runs   {}", homes(plan, ACKER_COMPONENT))?;
    }
    write_cores(plan, formatter)?;
    for cycle in cycles(plan.topology) {
        let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(ComponentId::as_str).collect();
        writeln!(formatter, "\ncycle {}", path.join(", "))?;
    }
    if !plan.config.is_empty() {
        writeln!(formatter, "\nsettings")?;
        write_config(plan.config, formatter)?;
    }
    if !plan.warnings.is_empty() {
        writeln!(formatter, "\nwarnings")?;
    }
    plan.warnings.iter().try_for_each(|warning| writeln!(formatter, "  {warning}"))
}

fn write_component(plan: &Plan<'_>, id: &str, component: &Component, formatter: &mut Formatter<'_>) -> Result {
    for input in &component.inputs {
        writeln!(formatter, "  reads  {}", input_words(input))?;
    }
    for (stream, output) in &component.outputs {
        writeln!(formatter, "  emits  {}", output_words(stream, output))?;
    }
    let execution = match component.execution {
        Execution::OnCore => String::new(),
        Execution::Blocking => ", blocking".to_owned(),
        Execution::Async { concurrency } => {
            format!(", async with {} at a time", counted(concurrency as usize, "tuple"))
        }
        Execution::FlatMap => ", as a flat map".to_owned(),
    };
    writeln!(formatter, "  runs   {}{execution}", homes(plan, id))?;
    write_config(&component.config, formatter)
}

fn write_cores(plan: &Plan<'_>, formatter: &mut Formatter<'_>) -> Result {
    writeln!(formatter)?;
    for (core, executors) in plan.placement.cores() {
        let named = executors.iter().map(|executor| named(plan, *executor));
        writeln!(formatter, "core {core}: {}", list(named, "idle"))?;
    }
    let own_threads = list(plan.placement.on_own_threads().map(|executor| named(plan, executor)), "");
    if own_threads.is_empty() { Ok(()) } else { writeln!(formatter, "own threads: {own_threads}") }
}

fn write_config(config: &Config, formatter: &mut Formatter<'_>) -> Result {
    config.iter().try_for_each(|(key, value, origin)| {
        writeln!(formatter, "  {} = {} (set by {origin})", one_line(key), shown(key, value))
    })
}

fn counts(plan: &Plan<'_>, component: &str) -> String {
    let tasks = counted(plan.numbering.tasks_of(component).len(), "task");
    format!("{tasks} in {}", counted(plan.numbering.executors_of(component).len(), "executor"))
}

fn homes(plan: &Plan<'_>, component: &str) -> String {
    let executors = plan.numbering.executors_of(component).iter();
    let homes = executors.map(|executor| match plan.placement.home_of(executor.id) {
        Some(Home::Core(core)) => format!("{} on core {core}", executor.id),
        Some(Home::OwnThread) => format!("{} on its own thread", executor.id),
        None => format!("{} elsewhere", executor.id),
    });
    list(homes, "nowhere")
}

fn named(plan: &Plan<'_>, executor: ExecutorId) -> String {
    let component = plan.numbering.component_of(executor.first).map_or("?", ComponentId::as_str);
    format!("{component} {executor}")
}

fn input_words(input: &Input) -> String {
    let grouping = one_line(input.grouping.name());
    let by = match &input.grouping {
        Grouping::Fields(fields) | Grouping::PartialKey(fields) if !fields.is_empty() => {
            format!("{grouping} {}", field_names(fields))
        }
        _ => grouping,
    };
    format!("{} of {}, grouped by {by}", input.stream, input.component)
}

fn output_words(stream: &str, output: &Output) -> String {
    let kind = if output.layout == 0 { "dynamic".to_owned() } else { one_line(&output.layout_name) };
    let direct = if output.direct { ", direct" } else { "" };
    format!("{stream} ({}), {kind}{direct}", field_names(&output.fields))
}

fn field_names(fields: &[String]) -> String {
    fields.iter().map(one_line).collect::<Vec<_>>().join(", ")
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn list(items: impl Iterator<Item = String>, if_empty: &str) -> String {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return if_empty.to_owned();
    }
    let mut text = items.by_ref().take(LISTED).collect::<Vec<_>>().join(", ");
    let more = items.count();
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
