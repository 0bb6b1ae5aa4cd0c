//! The interface of schedulers.

use crate::Cluster;

/// Decides which slot runs which executor: what `IScheduler` is in Storm.
///
/// Where Storm has `prepare`, `config` and `cleanup` there are the constructor, the fields and `Drop` of the implementing
/// type. A scheduler may keep state from round to round; it must be a function of that and of the cluster alone, so that
/// whole clusters can be simulated from one seed.
pub trait Scheduler {
    /// Makes one round: frees slots and assigns executors in `cluster`, which refuses what must never be. What a round
    /// leaves as it was stays as it was; a topology that cannot be placed is left alone, the others go on.
    fn schedule(&mut self, cluster: &mut Cluster);
}
