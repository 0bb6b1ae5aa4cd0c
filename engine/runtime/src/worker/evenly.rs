//! The assignment of a run on one machine: every worker gets as much as the others.
//!
//! Pure, apart from the secret, which is drawn by the caller.

use std::num::NonZeroUsize;

use ringstorm_types::ExecutorId;
use ringstorm_types::assignment::{AssignedWorker, Assignment, WorkerSecret};
use ringstorm_types::numbering::number;
use ringstorm_types::placement::{local_acker_count, share};

use crate::api::builder::BuiltTopology;
use crate::error::BuildError;

/// The version of an assignment that nothing was changed in.
const FIRST_VERSION: i64 = 1;

/// Deals a topology out to workers 0, 1 and so on, whose addresses and incarnations are for the caller to say. Each gets
/// the cores that are set, or its part of the `cpus` of this machine.
///
/// # Errors
/// When the topology cannot be numbered, or a setting is wrong.
pub(crate) fn deal_evenly(
    built: &BuiltTopology,
    topology_id: String,
    secret: WorkerSecret,
    workers: NonZeroUsize,
    cpus: usize,
) -> Result<Assignment, BuildError> {
    let (topology, config) = (&built.topology, &built.config);
    let cores = config.worker_cores()?.unwrap_or(cpus / workers);
    let cores = NonZeroUsize::new(cores).unwrap_or(NonZeroUsize::MIN);
    // As in Storm there is an acker for each worker; within one process, one near each spout.
    let acker_executors = match workers {
        NonZeroUsize::MIN => local_acker_count(topology, config, cores)?,
        workers => u32::try_from(workers.get()).unwrap_or(u32::MAX),
    };
    let numbering = number(topology, config, acker_executors)?;
    // A worker without executors is none; the others are numbered without gaps.
    let shares = share(&numbering, topology, workers).into_iter().filter(|executors| !executors.is_empty());
    let workers = shares.zip(0..).map(|(executors, number)| {
        let executors: Vec<ExecutorId> = executors.into_iter().collect();
        AssignedWorker { number, incarnation: 0, address: String::new(), cores, executors }
    });
    let workers = workers.collect();
    Ok(Assignment { topology_id, version: FIRST_VERSION, secret, acker_executors, active: true, workers })
}

/// The CPUs of one of several workers on this machine; none if there are not enough for all.
pub(crate) fn cpus_of(assignment: &Assignment, own: usize, cpus: &[usize]) -> Vec<usize> {
    let cores = |workers: &[AssignedWorker]| workers.iter().map(|worker| worker.cores.get()).sum::<usize>();
    let (before, all) = (cores(&assignment.workers[..own]), cores(&assignment.workers));
    if all > cpus.len() {
        return Vec::new();
    }
    cpus[before..before + assignment.workers[own].cores.get()].to_vec()
}
