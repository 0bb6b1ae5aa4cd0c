//! The `StormBase`: what nimbus keeps of a topology besides its code, configuration and assignment, and how it is changed.
//! Source: `Nimbus.startTopology`, `Nimbus.debug` and `StormClusterStateImpl.updateStorm` of Storm 2.8.2.
//!
//! Fields of later versions stay as they are, in the record and in its debug options; Storm drops them.

use std::collections::BTreeMap;

use ringstorm_records::records::{DebugOptions, StormBase, TopologyActionOptions, TopologyStatus};
use ringstorm_records::thrift::UnknownFields;

use crate::id::{name_of, second_of};

/// What is to change in a base. The empty change, [`Changes::default`], still writes what Storm's writes: the maps and the
/// launch time are set then, if they were not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The new status, if there is one.
    pub status: Option<TopologyStatus>,
    /// The status to come back to. Unlike all else, it is dropped when it is not given.
    pub prev_status: Option<TopologyStatus>,
    /// The new number of workers; 0 stands for the old one.
    pub num_workers: i32,
    /// New numbers of executors; other components keep theirs.
    pub component_executors: BTreeMap<String, i32>,
    /// The options of the kill or rebalance that begins; without one the old ones stay.
    pub topology_action_options: Option<TopologyActionOptions>,
    /// Debug options by component, or by topology id for all of them.
    pub component_debug: BTreeMap<String, DebugOptions>,
}

impl Changes {
    /// A change of the status alone.
    pub fn to(status: TopologyStatus) -> Self {
        Self { status: Some(status), ..Self::default() }
    }
}

/// The base after a change.
///
/// As in Storm, the percentage of debug options that are there already grows by that of the new ones.
#[must_use]
pub fn changed(base: &StormBase, changes: Changes) -> StormBase {
    let mut component_executors = base.component_executors.clone().unwrap_or_default();
    component_executors.extend(changes.component_executors);
    let mut component_debug = base.component_debug.clone().unwrap_or_default();
    for options in component_debug.values_mut() {
        complete(options);
    }
    for (key, mut options) in changes.component_debug {
        complete(&mut options);
        match component_debug.get_mut(&key) {
            None => {
                component_debug.insert(key, options);
            }
            Some(old) => {
                old.enable = options.enable;
                old.samplingpct = Some(old.samplingpct.unwrap_or(0.0) + options.samplingpct.unwrap_or(0.0));
            }
        }
    }
    StormBase {
        status: changes.status.unwrap_or(base.status),
        num_workers: if changes.num_workers == 0 { base.num_workers } else { changes.num_workers },
        component_executors: Some(component_executors),
        launch_time_secs: Some(base.launch_time_secs.unwrap_or(0)),
        topology_action_options: changes.topology_action_options.or_else(|| base.topology_action_options.clone()),
        prev_status: changes.prev_status,
        component_debug: Some(component_debug),
        ..base.clone()
    }
}

/// A base for a topology of which nothing is known but its id: its name and second, inactive, with no workers.
#[must_use]
pub fn anew(topology: &str) -> StormBase {
    StormBase {
        name: name_of(topology).unwrap_or(topology).to_owned(),
        status: TopologyStatus::Inactive,
        num_workers: 0,
        component_executors: None,
        launch_time_secs: second_of(topology),
        owner: None,
        topology_action_options: None,
        prev_status: None,
        component_debug: None,
        principal: None,
        topology_version: None,
        unknown: UnknownFields::default(),
    }
}

/// The base after an operator has turned debugging of a component on or off, or of the whole topology with an empty
/// component. `percentage` of tuples, which is cut to 0 to 100; NaN counts as 0. Turning it off keeps the percentage, and
/// turning it on adds to it, as in Storm.
#[must_use]
pub fn debugged(base: &StormBase, topology: &str, component: &str, enable: bool, percentage: f64) -> StormBase {
    let percentage = if percentage.is_nan() { 0.0 } else { percentage.clamp(0.0, 100.0) };
    let options =
        DebugOptions { enable: Some(enable), samplingpct: enable.then_some(percentage), ..DebugOptions::default() };
    let key = if component.is_empty() { topology } else { component };
    // What is being waited for goes on; Storm forgets it here, and then stays in that rebalance for ever.
    let prev_status = base.prev_status;
    let component_debug = BTreeMap::from([(key.to_owned(), options)]);
    changed(base, Changes { component_debug, prev_status, ..Changes::default() })
}

/// Storm writes both fields, whichever were set.
fn complete(options: &mut DebugOptions) {
    options.enable.get_or_insert(false);
    options.samplingpct.get_or_insert(0.0);
}

#[cfg(test)]
mod tests;
