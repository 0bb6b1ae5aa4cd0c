//! Which topologies are gone for good, so that what they and their workers left may be removed. Source:
//! `Nimbus.topoIdsToClean` and `getExpiredTopologyIds` of Storm 2.8.2.
//!
//! A topology leaves traces in several places: blobs, errors, heartbeats and more. One that has a trace somewhere, and
//! does not live, is a candidate; when it has been one for the whole delay, it may go. The delay is there because a
//! submission writes its blobs before the base by which the topology lives.
//!
//! Always true: nothing is removed on the word of a listing that failed. Nothing is removed that has a base, an assignment
//! or a submission under way. Unlike Storm, the delay counts from when the topology was first seen without life, not from
//! its first trace; and a topology with an assignment lives, base or not.
//!
//! Errors: [`Unreadable`], which nimbus answers by trying again in its next round.

use std::collections::{BTreeMap, BTreeSet};

use crate::Refusal;
use crate::conf::{self, Conf};

/// How long a candidate is left alone, in milliseconds.
pub const DELETION_DELAY_MS: &str = "nimbus.topology.blobstore.deletion.delay.ms";
/// Default of [`DELETION_DELAY_MS`]: five minutes.
pub const DEFAULT_DELETION_DELAY_MS: u64 = 5 * 60 * 1000;

/// Topology ids that were found in one place, or why that cannot be said.
pub type Listing = Result<BTreeSet<String>, String>;

/// Where topologies live, and where they leave something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listings {
    /// `storms`: those that live.
    pub bases: Listing,
    /// `assignments`: those that run.
    pub assignments: Listing,
    /// `workerbeats`.
    pub heartbeats: Listing,
    /// `errors`.
    pub errors: Listing,
    /// Blobs, by [`TopologyBlob::of_key`](crate::id::TopologyBlob::of_key).
    pub blobs: Listing,
    /// `backpressure`.
    pub backpressure: Listing,
    /// `secretkeys`, of all services.
    pub worker_keys: Listing,
    /// `credentials`. Storm never removes those of a submission that ended between these and the base.
    pub credentials: Listing,
    /// `logconfigs`, the same.
    pub log_configs: Listing,
    /// `profilerconfigs`, the same.
    pub profiler_configs: Listing,
}

/// A place that could not be listed. Nothing may be cleaned up then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing is cleaned up, because the {place} of topologies cannot be listed: {why}")]
pub struct Unreadable {
    /// The place.
    pub place: &'static str,
    /// What is wrong.
    pub why: String,
}

/// Since when each candidate has been one, in milliseconds of the clock that [`clean_up`] is told. Made anew by each new
/// leader, so that its delays start over, as in Storm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleSince(BTreeMap<String, u64>);

impl IdleSince {
    /// Since when a topology has been a candidate.
    pub fn get(&self, topology: &str) -> Option<u64> {
        self.0.get(topology).copied()
    }

    /// How many candidates there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a round of cleaning up should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanUp {
    /// Topologies of which everything may be removed.
    pub remove: BTreeSet<String>,
    /// Topologies without a base that have an assignment, for the whole delay. It may be removed, so that their workers
    /// stop; all else of them is left for later.
    pub stray_assignments: BTreeSet<String>,
    /// For the next round.
    pub idle_since: IdleSince,
}

/// The delay in a configuration, in milliseconds; a negative one counts as 0.
///
/// # Errors
/// [`Refusal::Invalid`]: it is no whole number.
pub fn deletion_delay_ms(daemon: &Conf) -> Result<u64, Refusal> {
    let delay = conf::int(daemon, DELETION_DELAY_MS)?;
    Ok(delay.map_or(DEFAULT_DELETION_DELAY_MS, |delay| u64::try_from(delay).unwrap_or(0)))
}

/// Decides what may be cleaned up. `submitting` are the ids of submissions under way, `idle_since` is what the last round
/// gave, `now_ms` the time of a clock that never goes back.
///
/// # Errors
/// [`Unreadable`]: a listing failed. The next round goes on with the same `idle_since`.
pub fn clean_up(
    listings: &Listings,
    submitting: &BTreeSet<String>,
    idle_since: &IdleSince,
    now_ms: u64,
    delay_ms: u64,
) -> Result<CleanUp, Unreadable> {
    let bases = known("bases", &listings.bases)?;
    let assignments = known("assignments", &listings.assignments)?;
    let mut candidates = BTreeSet::new();
    for (place, listing) in [
        ("assignments", &listings.assignments),
        ("heartbeats", &listings.heartbeats),
        ("errors", &listings.errors),
        ("blobs", &listings.blobs),
        ("back-pressure", &listings.backpressure),
        ("keys of workers", &listings.worker_keys),
        ("credentials", &listings.credentials),
        ("levels of loggers", &listings.log_configs),
        ("requests to profile", &listings.profiler_configs),
    ] {
        candidates.extend(known(place, listing)?);
    }
    let idle = candidates.into_iter().filter(|id| !bases.contains(*id) && !submitting.contains(*id));
    let idle_since: BTreeMap<String, u64> =
        idle.map(|id| (id.clone(), idle_since.get(id).unwrap_or(now_ms).min(now_ms))).collect();
    let is_due = |since: u64| now_ms - since >= delay_ms;
    let due = idle_since.iter().filter(|(_, since)| is_due(**since)).map(|(id, _)| id.clone());
    let (stray_assignments, remove) = due.partition(|id| assignments.contains(id));
    Ok(CleanUp { remove, stray_assignments, idle_since: IdleSince(idle_since) })
}

fn known<'a>(place: &'static str, listing: &'a Listing) -> Result<&'a BTreeSet<String>, Unreadable> {
    listing.as_ref().map_err(|why| Unreadable { place, why: why.clone() })
}

#[cfg(test)]
mod tests;
