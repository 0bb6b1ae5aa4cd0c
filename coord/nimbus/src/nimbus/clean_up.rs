//! What topologies that are gone have left, in the tree and in the code directory.
//!
//! The leader decides by [`lifecycle`](ringstorm_lifecycle::clean_up) from listings of every place; if one of them fails,
//! nothing is cleaned up. Before anything of a topology is removed its base is looked for once more. Every nimbus, leader
//! or not, removes blobs of topologies from its own directory that the tree does not know any more; see
//! [`code`](super::code).
//!
//! Errors: troubles are left to the next time.

use std::collections::BTreeSet;

use ringstorm_control::time::Moment;
use ringstorm_lifecycle::clean_up::{CleanUp, IdleSince, Listing as Ids, Listings, clean_up};
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::{Leadership, Tree, Trouble};

use super::Nimbus;
use super::acts::ActSaid;
use super::code::topology_keys;
use super::said::TermSaid;
use crate::interface::{CodeRequest, NimbusEffect};

/// What is known of topologies that are gone.
#[derive(Debug)]
pub(super) struct CleanUps {
    idle_since: IdleSince,
    at: Option<Moment>,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum CleanUpSaid {
    Listed(Box<Listings>),
    /// The topologies of which everything was removed, and what kept it from going on.
    Removed(Vec<NodeName>, Result<(), Trouble>),
}

impl CleanUps {
    pub(super) fn new(now: Moment) -> Self {
        Self { idle_since: IdleSince::default(), at: Some(now) }
    }

    pub(super) fn due(&self, is_free: bool) -> Option<Moment> {
        self.at.filter(|_| is_free)
    }

    pub(super) fn is_due(&self, now: Moment) -> bool {
        self.at.is_some_and(|at| at <= now)
    }
}

impl Nimbus {
    pub(super) fn list_for_clean_up(&mut self) {
        let at = self.now.moment + self.settings.monitor_period;
        if let Some(term) = self.term() {
            term.clean_ups.at = Some(at);
        }
        self.say_in_term(|tree| async move {
            TermSaid::Act(ActSaid::CleanUp(CleanUpSaid::Listed(Box::new(listings(&tree).await))))
        });
    }

    pub(super) fn hear_clean_up(&mut self, said: CleanUpSaid) {
        match said {
            CleanUpSaid::Listed(listings) => self.decide_clean_up(*listings),
            CleanUpSaid::Removed(topologies, Ok(())) => {
                for topology in topologies {
                    self.note(format_args!("what topology {topology} had left is removed"));
                    for key in topology_keys(&topology) {
                        if self.code.number_of(&key).is_some() {
                            self.effects.push(NimbusEffect::Code(CodeRequest::Remove { key }));
                        }
                    }
                }
                self.finish_act();
            }
            // An older tree may have been restored meanwhile, with what was removed. The directory is left to whoever looks
            // at the tree the next time.
            CleanUpSaid::Removed(topologies, Err(trouble)) => {
                for topology in topologies {
                    self.note(format_args!("what topology {topology} had left in ZooKeeper is removed"));
                }
                self.act_trouble(&trouble);
            }
        }
    }

    fn decide_clean_up(&mut self, mut listings: Listings) {
        let now_ms = u64::try_from(self.now.moment.0.as_millis()).unwrap_or(u64::MAX);
        let delay_ms = u64::try_from(self.settings.deletion_delay.as_millis()).unwrap_or(u64::MAX);
        let plants = self.plants;
        if plants.clean_up_after_failed_read() {
            take_failed_for_empty(&mut listings);
        }
        if let Ok(blobs) = &mut listings.blobs {
            let held = self.code.held_keys().filter_map(|key| TopologyBlob::of_key(key.as_str()));
            blobs.extend(held.map(|(topology, _)| topology.to_owned()));
        }
        let Some(term) = self.term() else { return };
        let looks_again = !plants.clean_up_after_failed_read();
        let submitting = term.submissions.ids();
        let leader = term.leadership.clone();
        match clean_up(&listings, &submitting, &term.clean_ups.idle_since, now_ms, delay_ms) {
            Err(unreadable) => self.put_off(&unreadable.to_string()),
            Ok(CleanUp { remove, stray_assignments, idle_since }) => {
                term.clean_ups.idle_since = idle_since;
                if remove.is_empty() && stray_assignments.is_empty() {
                    self.finish_act();
                    return;
                }
                self.say_in_term(|tree| async move {
                    let mut removed = Vec::new();
                    let result =
                        remove_all(&tree, &leader, &remove, &stray_assignments, looks_again, &mut removed).await;
                    TermSaid::Act(ActSaid::CleanUp(CleanUpSaid::Removed(removed, result)))
                });
            }
        }
    }
}

/// A planted fault: places that could not be listed count as empty.
fn take_failed_for_empty(listings: &mut Listings) {
    for listing in [&mut listings.bases, &mut listings.assignments] {
        if listing.is_err() {
            *listing = Ok(BTreeSet::new());
        }
    }
}

/// What there is in each place. Those where topologies live come last: one that comes to be meanwhile lives.
async fn listings(tree: &Tree) -> Listings {
    let heartbeats = ids(tree, &Node::WorkerBeats {}).await;
    let errors = ids(tree, &Node::Errors {}).await;
    let backpressure = ids(tree, &Node::Backpressure {}).await;
    let credentials = ids(tree, &Node::AllCredentials {}).await;
    let log_configs = ids(tree, &Node::LogConfigs {}).await;
    let profiler_configs = ids(tree, &Node::ProfilerConfigs {}).await;
    // Numbers of contents that nobody has stored stay behind where a submission ended early.
    let (blobs, numbers) = (ids(tree, &Node::Blobs {}).await, ids(tree, &Node::BlobSequences {}).await);
    let blobs = blobs.and_then(|blobs| Ok(blobs.into_iter().chain(numbers?).collect()));
    let assignments = ids(tree, &Node::Assignments {}).await;
    let bases = ids(tree, &Node::Storms {}).await;
    // Ringstorm has no tokens of workers.
    let worker_keys = Ok(BTreeSet::new());
    Listings {
        bases,
        assignments,
        heartbeats,
        errors,
        blobs,
        backpressure,
        worker_keys,
        credentials,
        log_configs,
        profiler_configs,
    }
}

/// The ids of topologies that have something below a node. What the tree has no name for belongs to nobody.
async fn ids(tree: &Tree, below: &Node) -> Ids {
    let nodes = tree.nodes(below, false).await.map_err(|trouble| trouble.to_string())?;
    let id = |node| match node {
        Node::Storm { topology }
        | Node::Assignment { topology }
        | Node::TopologyWorkerBeats { topology }
        | Node::TopologyErrors { topology }
        | Node::TopologyBackpressure { topology }
        | Node::Credentials { topology }
        | Node::LogConfig { topology }
        | Node::TopologyProfilerConfigs { topology } => Some(topology.to_string()),
        Node::Blob { key } | Node::BlobSequence { key } => {
            TopologyBlob::of_key(key.as_str()).map(|(topology, _)| topology.to_owned())
        }
        _ => None,
    };
    Ok(nodes.found.into_iter().filter_map(id).collect())
}

async fn remove_all(
    tree: &Tree,
    leader: &Leadership,
    remove: &BTreeSet<String>,
    stray_assignments: &BTreeSet<String>,
    looks_again: bool,
    removed: &mut Vec<NodeName>,
) -> Result<(), Trouble> {
    for topology in stray_assignments.iter().filter_map(|id| NodeName::new(id).ok()) {
        if !(looks_again && tree.storm_base(&topology, false).await?.is_there()) {
            tree.remove_assignment(leader, &topology).await?;
        }
    }
    for topology in remove.iter().filter_map(|id| NodeName::new(id).ok()) {
        if looks_again && tree.storm_base(&topology, false).await?.is_there() {
            continue;
        }
        tree.remove_topology(leader, &topology).await?;
        tree.remove_remains(leader, &topology).await?;
        for key in topology_keys(&topology) {
            tree.remove_blob(leader, &key).await?;
        }
        removed.push(topology);
    }
    Ok(())
}
