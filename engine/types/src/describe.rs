//! What a topology will look like when it runs: as JSON for programs, as text for people.
//!
//! Everything comes from the same pure functions that the runtime uses, so that what is described is what happens.
//! Secrets in the configuration are hidden, and control characters in names are escaped: the text is safe to print.

mod json;
mod text;

use std::fmt;

use serde_json::Value;

use crate::config::Config;
use crate::graph::topological_order;
use crate::id::{ACKER_COMPONENT, ComponentId};
use crate::numbering::Numbering;
use crate::placement::Placement;
use crate::topology::{Component, Topology};
use crate::validate::Warning;

/// All that is decided about a topology before it runs.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use ringstorm_types::config::Config;
/// use ringstorm_types::describe::Plan;
/// use ringstorm_types::id::ComponentId;
/// use ringstorm_types::numbering::number;
/// use ringstorm_types::placement::place;
/// use ringstorm_types::topology::{Component, Topology};
/// use ringstorm_types::validate::validate;
///
/// let mut topology = Topology::default();
/// topology.components.insert(ComponentId::from_static("words"), Component::spout());
/// let config = Config::new();
/// let warnings = validate(&topology, &config)?;
/// let numbering = number(&topology, &config, 1)?;
/// let placement = place(&numbering, &topology, NonZeroUsize::MIN);
/// let plan = Plan {
///     name: "demo",
///     topology: &topology,
///     config: &config,
///     numbering: &numbering,
///     placement: &placement,
///     warnings: &warnings,
/// };
/// assert_eq!(plan.to_json()["components"][0]["id"], "words");
/// assert!(plan.to_string().starts_with("Topology demo: 1 component, 1 task in 1 executor, 1 acker, 1 core"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The name of the topology.
    pub name: &'a str,
    /// The topology.
    pub topology: &'a Topology,
    /// Its configuration, defaults and command line included.
    pub config: &'a Config,
    /// Its tasks and executors.
    pub numbering: &'a Numbering,
    /// The homes of its executors.
    pub placement: &'a Placement,
    /// What validation warned about.
    pub warnings: &'a [Warning],
}

impl<'a> Plan<'a> {
    /// The plan as a JSON object, its components in the order in which tuples flow. Layout hashes are
    /// texts, because many readers of JSON cannot hold 64 bits in a number.
    pub fn to_json(&self) -> Value {
        json::plan(self)
    }

    /// The components in the order in which tuples flow.
    fn components(&self) -> impl Iterator<Item = (ComponentId, &'a Component)> {
        let topology = self.topology;
        topological_order(topology).into_iter().filter_map(|id| {
            let component = topology.components.get(&id)?;
            Some((id, component))
        })
    }

    /// The number of tasks and of executors, without ackers.
    fn user_counts(&self) -> (usize, usize) {
        let tasks = self.numbering.task_count() - self.numbering.ackers().len();
        let executors = self.numbering.executors().len() - self.numbering.executors_of(ACKER_COMPONENT).len();
        (tasks, executors)
    }
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, formatter)
    }
}

#[cfg(test)]
mod tests;
