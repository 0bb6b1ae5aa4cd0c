//! The page of a component: `getComponentPageInfo`.
//!
//! Source: `Nimbus.getComponentPageInfo` of Storm 2.8.2. Threading: plain data. Errors: none.

use ringstorm_records::records::{ComponentPageInfo, ComponentType, ErrorInfo};
use ringstorm_types::id::EVENTLOGGER_COMPONENT;

use crate::definition::Definition;
use crate::executors::{Placed, beating, placed};
use crate::gather::{Beats, Topology};
use crate::statistics::component::ComponentFigures;

/// The executors of a component.
pub fn executors_of<'a>(
    topology: &'a Topology,
    definition: &'a Definition,
    component: &str,
) -> impl Iterator<Item = Placed<'a>> {
    let tasks = definition.tasks().of(component);
    placed(topology.assignment.as_ref()).filter(move |executor| tasks.contains(&executor.first))
}

/// A component with its figures in all windows, and in one by stream and by executor. `component` is one of the
/// definition's and of `kind`; `errors` are all of it that are kept.
#[expect(clippy::too_many_arguments, reason = "each is a part of the question or of what was gathered for it")]
pub fn component_page(
    topology: &Topology,
    definition: &Definition,
    beats: &Beats,
    errors: Vec<ErrorInfo>,
    component: &str,
    kind: ComponentType,
    window: &str,
    include_system: bool,
) -> ComponentPageInfo {
    let base = &topology.base;
    let mut executors = beating(topology.assignment.as_ref(), definition, beats, include_system);
    executors.retain(|executor| executor.component == component);
    let figures = ComponentFigures::of(&executors, kind, window, include_system);
    let event_logger = event_logger(topology, definition, component);
    ComponentPageInfo {
        component_id: component.to_owned(),
        component_type: kind,
        topology_id: Some(topology.id.as_str().to_owned()),
        topology_name: Some(definition.name().unwrap_or(&base.name).to_owned()),
        num_executors: Some(figures.executors),
        num_tasks: Some(figures.tasks),
        window_to_stats: Some(figures.windows()),
        gsid_to_input_stats: figures.inputs(),
        sid_to_output_stats: Some(figures.outputs()),
        exec_stats: Some(figures.each().to_vec()),
        errors: Some(errors),
        eventlog_host: event_logger.map(|executor| executor.host.to_owned()),
        eventlog_port: event_logger.map(|executor| i32::from(executor.port)),
        debug_options: base.component_debug.as_ref().and_then(|of| of.get(component)).cloned(),
        topology_status: Some(base.status.to_string()),
        resources_map: Some(definition.request(component).named()),
    }
}

/// The executor of the event logger to which sampled tuples of the component go: fields grouping on its id.
fn event_logger<'a>(topology: &'a Topology, definition: &'a Definition, component: &str) -> Option<Placed<'a>> {
    let tasks = definition.tasks().of(EVENTLOGGER_COMPONENT);
    let count = i32::try_from(tasks.len()).ok().filter(|count| *count > 0)?;
    // `Arrays.deepHashCode` of the list that holds the id alone.
    let hash = component.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    let task = tasks.start + hash.wrapping_add(31).rem_euclid(count);
    placed(topology.assignment.as_ref()).find(|executor| (executor.first..=executor.last).contains(&task))
}
