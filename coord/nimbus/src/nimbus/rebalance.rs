//! A rebalance whose wait has ended: other contents of blobs, a placement from scratch, and the status of before.
//!
//! The new counts are in the base already. A changed content gets a new number in the tree first, so that a number never
//! stands for two contents, is stored, and is held by as many as a submission's before the topology is placed by it. All
//! of it can be done again by whoever leads next: what is done already is seen, and not done twice.

use std::fmt;
use std::sync::Arc;

use ringstorm_control::time::Moment;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_lifecycle::rebalance::{overridden, with_resources};
use ringstorm_lifecycle::transition::Action;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::RebalanceOptions;
use ringstorm_records::znode::{BlobHolder, Node, NodeName};
use ringstorm_store::cluster::{Leadership, Reading, Skipped, Tree, Trouble};
use ringstorm_store::store::SessionId;

use super::Nimbus;
use super::acts::{Act, ActSaid};
use super::code::{blob_key, blob_states, topology_keys};
use super::said::TermSaid;
use super::submission::{Replication, replication, wanted_replication};
use crate::interface::{CodeFailure, CodeRequest, Content, HeldBlob, NimbusEffect};

/// A rebalance under way.
#[derive(Debug)]
pub(super) struct Rebalancing {
    pub(super) topology: NodeName,
    options: RebalanceOptions,
    /// The content that is to be stored next.
    next: Option<(NodeName, Content)>,
    /// Since when it waits for others to hold the contents.
    waits_since: Option<Moment>,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum RebalanceSaid {
    Numbered(Result<u32, Trouble>),
    Replicated(Result<Replication, Trouble>),
}

/// What was looked at before a rebalance is taken.
#[derive(Debug)]
pub(super) struct Looked {
    /// The assignment, if it is there and cannot be read.
    pub(super) damaged_assignment: Option<Skipped>,
    /// Whether there is code that this nimbus lacks and no other one lists.
    pub(super) is_code_nowhere: bool,
}

impl Rebalancing {
    pub(super) fn new(topology: NodeName, options: RebalanceOptions) -> Self {
        Self { topology, options, next: None, waits_since: None }
    }
}

impl fmt::Display for Rebalancing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the rebalance of {}", self.topology)
    }
}

impl Nimbus {
    fn rebalancing(&mut self) -> Option<&mut Rebalancing> {
        match self.term()?.acts.act()? {
            Act::Rebalance(rebalancing) => Some(rebalancing),
            _ => None,
        }
    }

    /// Stores the next content that differs; places the topology when there is none.
    pub(super) fn go_on_with_rebalance(&mut self) {
        let Some(Rebalancing { topology, options, .. }) = self.rebalancing() else { return };
        let (topology, options) = (topology.clone(), options.clone());
        let (Some(conf), Some(code)) = (self.code.conf(&topology).cloned(), self.code.topology(&topology).cloned())
        else {
            self.put_off("the code of the topology is not here yet");
            return;
        };
        // Options that cannot be read are not stored; if somebody stored them all the same, they change nothing.
        let new_conf = overridden(&conf, &options).ok().flatten().filter(|new| *new != *conf);
        let new_code = with_resources(&code, &options).ok().flatten().filter(|new| *new != *code);
        let conf_key = blob_key(&topology, TopologyBlob::Conf);
        let next = new_conf
            .map(|new| (conf_key, Content::Conf(Arc::new(new))))
            .or_else(|| new_code.map(|new| (blob_key(&topology, TopologyBlob::Code), Content::Code(Arc::new(new)))));
        if let Some(rebalancing) = self.rebalancing() {
            rebalancing.next.clone_from(&next);
        }
        match next {
            Some((key, _)) => self.number_content(key),
            None => self.say_in_term(|tree| async move {
                let result = replication(&tree, &topology_keys(&topology)).await;
                TermSaid::Act(ActSaid::Rebalance(RebalanceSaid::Replicated(result)))
            }),
        }
    }

    fn number_content(&mut self, key: NodeName) {
        let (Some(session), Some(number)) = (self.usable(), self.code.number_of(&key)) else { return };
        let own = BlobHolder { nimbus: self.address().clone(), version: number };
        let Some(term) = self.term() else { return };
        let leader = term.leadership.clone();
        self.say_in_term(|tree| async move {
            let result = number_anew(&tree, &leader, session, &key, &own).await;
            TermSaid::Act(ActSaid::Rebalance(RebalanceSaid::Numbered(result)))
        });
    }

    pub(super) fn hear_rebalance(&mut self, said: RebalanceSaid) {
        match said {
            RebalanceSaid::Numbered(Ok(number)) => {
                let Some((key, content)) = self.rebalancing().and_then(|rebalancing| rebalancing.next.take()) else {
                    return;
                };
                if self.code.number_of(&key).is_some_and(|held| held >= number) {
                    self.put_off("another content of its code is newer");
                    return;
                }
                let blob = HeldBlob { key, number, content };
                self.code.replaces(blob.clone());
                self.effects.push(NimbusEffect::Code(CodeRequest::Replace(blob)));
            }
            RebalanceSaid::Replicated(Ok(replication)) => self.place_if_held(replication),
            RebalanceSaid::Numbered(Err(trouble)) | RebalanceSaid::Replicated(Err(trouble)) => {
                self.act_trouble(&trouble);
            }
        }
    }

    fn place_if_held(&mut self, replication: Replication) {
        let now = self.now.moment;
        let Some(rebalancing) = self.rebalancing() else { return };
        let since = *rebalancing.waits_since.get_or_insert(now);
        let topology = rebalancing.topology.clone();
        let (wanted, limit) = self.code.conf(&topology).map_or((1, None), |conf| wanted_replication(conf));
        let is_enough = replication.is_enough(wanted);
        self.note_skipped(replication.skipped);
        if is_enough || limit.is_some_and(|limit| now.since(since) >= limit) {
            self.read_for_round();
        } else {
            self.postpone(self.settings.replication_period);
        }
    }

    /// A content is stored, or is not.
    pub(super) fn content_replaced(&mut self, key: &NodeName, result: Result<u32, CodeFailure>) {
        let is_current =
            self.rebalancing().is_some_and(|rebalancing| topology_keys(&rebalancing.topology).contains(key));
        match result {
            Ok(number) => {
                self.content_is_stored(key, number);
                if is_current {
                    self.go_on_with_rebalance();
                }
            }
            Err(why) => {
                self.code.replaces_not(key);
                if is_current {
                    self.put_off(&why.to_string());
                }
            }
        }
    }

    /// The assignment of the rebalance is written.
    pub(super) fn finish_rebalance(&mut self) {
        let Some(rebalancing) = self.rebalancing() else { return };
        let topology = rebalancing.topology.clone();
        self.change(topology, Action::FinishRebalance);
    }
}

/// Looks at what a rebalance of a topology needs; `lacking` is what this nimbus, `own`, does not hold of its code.
pub(super) async fn look(
    tree: &Tree,
    topology: &NodeName,
    lacking: Vec<NodeName>,
    own: &NimbusAddress,
) -> Result<Looked, Trouble> {
    let damaged_assignment = match tree.assignment(topology, false).await? {
        Reading::Garbage { why, .. } => {
            Some(Skipped { path: tree.path(&Node::Assignment { topology: topology.clone() }), why })
        }
        Reading::Absent | Reading::Found { .. } => None,
    };
    let states = blob_states(tree, lacking, false).await?;
    let is_code_nowhere = states.iter().any(|blob| blob.holders.iter().all(|holder| holder.nimbus == *own));
    Ok(Looked { damaged_assignment, is_code_nowhere })
}

/// Gives a content that is about to be made a number above all that were given.
async fn number_anew(
    tree: &Tree,
    leader: &Leadership,
    session: SessionId,
    key: &NodeName,
    own: &BlobHolder,
) -> Result<u32, Trouble> {
    // Numbers rise only if all that are listed hold the same.
    tree.hold_blob(session, key, own).await?;
    for holder in tree.blob_holders(key, false).await?.found {
        if holder.version < own.version {
            tree.release_blob(key, &holder.nimbus).await?;
        }
    }
    let number = tree.number_blob(key, &own.nimbus, Some(leader)).await?;
    Ok(u32::try_from(number).unwrap_or(0))
}
