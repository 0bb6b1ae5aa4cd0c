//! What a topology will look like when it runs in this process, before it runs: the same decisions as a run makes.

use std::num::NonZeroUsize;

use ringstorm_types::describe::Plan;
use ringstorm_types::numbering::number;
use ringstorm_types::placement::{local_acker_count, place};
use serde_json::Value;

use crate::api::builder::BuiltTopology;
use crate::error::BuildError;
use crate::worker::cpus;

/// A plan in words and as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// For people.
    pub text: String,
    /// For programs.
    pub json: Value,
}

/// Describes a topology: components, streams, groupings, tasks, executors, and the core that each executor lives on.
///
/// # Errors
/// [`BuildError`] when its tasks cannot be numbered.
pub fn describe(name: &str, built: &BuiltTopology) -> Result<Description, BuildError> {
    let (topology, config) = (&built.topology, &built.config);
    let cores = config.worker_cores()?.unwrap_or_else(usable_cpu_count);
    let cores = NonZeroUsize::new(cores).unwrap_or(NonZeroUsize::MIN);
    let numbering = number(topology, config, local_acker_count(topology, config, cores)?)?;
    let placement = place(&numbering, topology, cores);
    let plan = Plan { name, topology, config, numbering: &numbering, placement: &placement, warnings: &built.warnings };
    Ok(Description { text: plan.to_string(), json: plan.to_json() })
}

/// How many CPUs this process may use: its affinity mask, one NUMA node of it, as far as its control group pays for. A
/// run has as many cores unless `ringstorm.worker.cores` says otherwise.
pub fn usable_cpu_count() -> usize {
    cpus::usable().cpus.len()
}
