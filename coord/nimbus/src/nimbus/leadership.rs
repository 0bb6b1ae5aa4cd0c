//! The queue for leadership, and what comes before one leads.
//!
//! Whoever is first in the queue leads once it holds the code of all topologies. What it lacks it fetches; if another
//! candidate holds all of it, it goes behind that one instead, as Storm's does. Code that nobody holds must not keep a
//! cluster without a leader for ever, as it does in Storm: it leads without, and leaves that topology alone. Where another
//! nimbus is known that may come with it, it waits for that one a while first.
//!
//! Invariants: one place in the queue at a time; nothing is written as a leader before the survey of what is there, which
//! comes behind everything that was written before. Errors: troubles are tried again.

use std::collections::BTreeSet;

use ringstorm_control::time::Moment;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{StormBase, TopologyStatus};
use ringstorm_records::znode::{Candidate, Node, NodeName};
use ringstorm_store::cluster::{Candidacy, Leadership, Listing, Skipped, Standing, Tree, Trouble};
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::WatchEvent;

use super::Nimbus;
use super::acts::Acts;
use super::clean_up::CleanUps;
use super::code::{BlobState, blob_states, topology_keys};
use super::requests::sync;
use super::rounds::Rounds;
use super::said::{Said, TermSaid};
use super::submission::Submissions;
use super::term::{Lead, Term};
use super::transitions::Delays;

/// The place in the queue.
#[derive(Debug, Default)]
pub(super) struct Election {
    /// How many places were asked for; each has another id.
    places: u128,
    /// How many terms this process has begun.
    terms: u64,
    /// The id of the place that was asked for.
    id: Option<NodeName>,
    candidacy: Option<Candidacy>,
    /// The node that is watched.
    watched: Option<ZnodePath>,
    is_asking: bool,
    /// Something changed while it was asking.
    is_stale: bool,
    troubles: u32,
    at: Option<Moment>,
    /// The code that was waited for long enough in this session.
    given_up: BTreeSet<NodeName>,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum ElectionSaid {
    Stood(Result<Candidacy, Trouble>),
    Standing(Result<Standing, Trouble>),
    SteppedDown(Result<(), Trouble>),
}

/// What was found by whoever is first in the queue.
#[derive(Debug)]
pub(super) struct Survey {
    /// All topologies that can be read.
    pub(super) bases: Vec<(NodeName, StormBase)>,
    /// The blobs of all topologies.
    pub(super) blobs: Vec<BlobState>,
    /// Everybody in the queue.
    pub(super) queue: Vec<(Candidate, NimbusAddress)>,
    /// Every nimbus that the tree knows of: those that live, and the last one that led.
    known: Vec<(String, i32)>,
    pub(super) skipped: Vec<Skipped>,
}

/// Whoever is first in the queue and does not lead yet.
#[derive(Debug)]
pub(super) struct Gaining {
    pub(super) term: u64,
    pub(super) leadership: Leadership,
    since: Moment,
    troubles: u32,
    is_asking: bool,
    at: Option<Moment>,
    /// What it waits for, as it was said last.
    waits_for: BTreeSet<NodeName>,
    /// Whether nobody else holds what it waits for, so that it waits for somebody to come with it.
    is_lost: bool,
}

impl Election {
    /// Of an earlier session nothing is left.
    pub(super) fn forget(&mut self) {
        *self = Self { places: self.places, terms: self.terms, ..Self::default() };
    }

    /// What was asked has no answer.
    pub(super) fn forget_conversations(&mut self) {
        self.is_asking = false;
    }

    pub(super) fn due(&self) -> Option<Moment> {
        self.at
    }
}

impl Gaining {
    pub(super) fn due(&self) -> Option<Moment> {
        self.at
    }
}

impl Nimbus {
    pub(super) fn wake_election(&mut self) {
        if self.election.at.is_some_and(|at| at <= self.now.moment) {
            self.look_at_standing();
        }
    }

    pub(super) fn watch_election(&mut self, event: &WatchEvent) {
        if self.election.watched.as_ref() == Some(&event.path) {
            self.look_at_standing();
        }
    }

    /// Asks where this nimbus stands; queues up if it does not.
    pub(super) fn look_at_standing(&mut self) {
        self.election.at = Some(self.now.moment + self.settings.standing_period);
        if !self.presence.is_there() || self.code.is_unknown() {
            return;
        }
        if self.election.is_asking {
            self.election.is_stale = true;
            return;
        }
        self.election.is_asking = true;
        self.election.is_stale = false;
        if let Some(candidacy) = self.election.candidacy.clone() {
            self.say(|tree| async move { Said::Election(ElectionSaid::Standing(tree.standing(&candidacy).await)) });
        } else {
            self.queue_up();
        }
    }

    fn queue_up(&mut self) {
        let Some(session) = self.usable() else { return };
        let (random, places) = (self.identity.random, &mut self.election.places);
        // The same id until it is known that the place was made.
        let id = self.election.id.get_or_insert_with(|| {
            *places += 1;
            uuid(random.wrapping_add(*places))
        });
        let (id, address) = (id.clone(), self.identity.address.clone());
        self.say(|tree| async move { Said::Election(ElectionSaid::Stood(tree.stand(session, &id, &address).await)) });
    }

    pub(super) fn hear_election(&mut self, said: ElectionSaid) {
        self.election.is_asking = false;
        match said {
            ElectionSaid::Stood(Ok(candidacy)) => {
                self.election.candidacy = Some(candidacy);
                self.look_at_standing();
            }
            ElectionSaid::Standing(Ok(standing)) => self.take_standing(standing),
            ElectionSaid::SteppedDown(Ok(())) => {
                // Behind whoever can lead now.
                self.election.candidacy = None;
                self.election.id = None;
                self.look_at_standing();
            }
            ElectionSaid::Stood(Err(trouble))
            | ElectionSaid::Standing(Err(trouble))
            | ElectionSaid::SteppedDown(Err(trouble)) => {
                self.election.troubles += 1;
                self.election.at = Some(self.now.moment + self.settings.pause(self.election.troubles));
                self.note(format_args!("who leads is not known: {trouble}"));
                return;
            }
        }
        self.election.troubles = 0;
        if self.election.is_stale {
            self.look_at_standing();
        }
    }

    fn take_standing(&mut self, standing: Standing) {
        match standing {
            Standing::Leads(leadership) => {
                self.election.watched = Some(leadership.latch().clone());
                if self.lead.leadership() != Some(&leadership) {
                    self.end_term("it has another place in the queue");
                    self.begin_to_gain(leadership);
                }
            }
            Standing::Waits { before, address } => {
                self.end_term("another nimbus is before it in the queue");
                if address.as_ref() == Some(self.address()) && self.election.watched.as_ref() != Some(&before) {
                    self.note(
                        "an earlier process of this nimbus has ended, and keeps its place in the queue until its session with \
                         ZooKeeper ends (storm.zookeeper.session.timeout); this one waits for that",
                    );
                }
                self.election.watched = Some(before);
            }
            Standing::Gone => {
                self.end_term("its place in the queue is gone");
                self.election.candidacy = None;
                self.election.id = None;
                self.look_at_standing();
            }
        }
    }

    fn begin_to_gain(&mut self, leadership: Leadership) {
        self.election.terms += 1;
        self.lead = Lead::Gaining(Gaining {
            term: self.election.terms,
            leadership,
            since: self.now.moment,
            troubles: 0,
            is_asking: false,
            at: None,
            waits_for: BTreeSet::new(),
            is_lost: false,
        });
        self.survey();
    }

    /// Looks at what a leader needs. Called again when code came, and from time to time.
    pub(super) fn survey(&mut self) {
        let Lead::Gaining(gaining) = &mut self.lead else { return };
        if gaining.is_asking {
            return;
        }
        gaining.is_asking = true;
        gaining.at = None;
        self.say_in_term(|tree| async move { TermSaid::Surveyed(survey(&tree).await.map(Box::new)) });
    }

    pub(super) fn hear_survey(&mut self, survey: Result<Box<Survey>, Trouble>) {
        let Lead::Gaining(gaining) = &mut self.lead else { return };
        gaining.is_asking = false;
        match survey {
            Err(trouble) => {
                gaining.troubles += 1;
                gaining.at = Some(self.now.moment + self.settings.pause(gaining.troubles));
                self.note(format_args!("this nimbus is first in the queue and cannot lead yet: {trouble}"));
            }
            Ok(survey) => self.lead_or_fetch(*survey),
        }
    }

    fn lead_or_fetch(&mut self, mut survey: Survey) {
        let lacking: Vec<&BlobState> = survey.blobs.iter().filter(|blob| self.lacks(blob, &survey.bases)).collect();
        let lacking_keys: BTreeSet<_> = lacking.iter().map(|blob| blob.key.clone()).collect();
        let is_lost = lacking.iter().all(|blob| blob.newest(self.address()).is_none());
        let skipped = std::mem::take(&mut survey.skipped);
        self.note_skipped(skipped);
        let somebody_may_come = self.settings.has_peers || self.knows_others(&survey);
        let is_given_up = lacking_keys.is_subset(&self.election.given_up);
        let Lead::Gaining(gaining) = &mut self.lead else { return };
        gaining.troubles = 0;
        let has_waited = self.now.moment.since(gaining.since) >= self.settings.lost_code_wait;
        if is_lost && (has_waited || is_given_up || !somebody_may_come) {
            gaining.waits_for = lacking_keys;
            self.accept(survey);
            return;
        }
        let is_new = gaining.waits_for != lacking_keys || gaining.is_lost != is_lost;
        gaining.waits_for.clone_from(&lacking_keys);
        gaining.is_lost = is_lost;
        gaining.at = Some(self.now.moment + self.settings.replication_period);
        let others = survey.queue.iter().map(|(_, address)| address);
        let better =
            others.filter(|address| *address != self.address()).find(|address| holds_all(&survey.blobs, address));
        if let Some(better) = better.cloned() {
            self.step_down(&better);
            return;
        }
        if is_new && let Err(why) = self.leads_or_why_not() {
            self.note(why);
        }
        self.code.live(survey.blobs.iter().map(|blob| blob.key.clone()));
        self.take_blob_states(survey.blobs);
    }

    /// Whether a blob must be fetched before this nimbus leads. While a topology is rebalanced its contents are about to be
    /// made anew, from whichever there are; one that was killed needs none.
    fn lacks(&self, blob: &BlobState, bases: &[(NodeName, StormBase)]) -> bool {
        let number = self.code.number_of(&blob.key);
        let topology = TopologyBlob::of_key(blob.key.as_str()).map(|(topology, _)| topology);
        let base = bases.iter().find(|(id, _)| Some(id.as_str()) == topology).map(|(_, base)| base.status);
        let does_without = match base {
            Some(TopologyStatus::Killed) => true,
            Some(TopologyStatus::Rebalancing) => number.is_some(),
            _ => false,
        };
        !blob.is_current(number) && (blob.newest(self.address()).is_some() || !does_without)
    }

    /// Whether another nimbus is known, which may hold what is lacking and come back with it.
    fn knows_others(&self, survey: &Survey) -> bool {
        let own = self.address();
        let is_own = |host: &str, port: i32| host == own.host() && port == i32::from(own.port());
        survey.queue.iter().any(|(_, address)| address != own)
            || survey.known.iter().any(|(host, port)| !is_own(host, *port))
    }

    /// What this nimbus, which is first in the queue, waits for before it leads.
    pub(super) fn waits_for(&self) -> Option<String> {
        let Lead::Gaining(gaining) = &self.lead else { return None };
        if gaining.waits_for.is_empty() {
            return Some("this nimbus is taking the lead".into());
        }
        let topologies = topologies_of(&gaining.waits_for);
        if !gaining.is_lost {
            return Some(format!(
                "this nimbus is first in the queue, and fetches the code of {topologies} from another before it leads"
            ));
        }
        let left = self.settings.lost_code_wait.saturating_sub(self.now.moment.since(gaining.since)).as_secs();
        Some(format!(
            "this nimbus is first in the queue, and waits for the code of {topologies}, which no nimbus that lives holds; in \
             {left} s at the latest it leads without"
        ))
    }

    fn step_down(&mut self, better: &NimbusAddress) {
        let Some(candidacy) = self.election.candidacy.clone() else { return };
        self.note(format_args!("this nimbus lacks code that {better} holds, and goes behind it in the queue"));
        self.end_term("it went behind another nimbus in the queue");
        self.election.is_asking = true;
        self.say(|tree| async move { Said::Election(ElectionSaid::SteppedDown(tree.stand_down(&candidacy).await)) });
    }

    fn accept(&mut self, survey: Survey) {
        let Lead::Gaining(gaining) = &self.lead else { return };
        let (number, since, leadership) = (gaining.term, gaining.since, gaining.leadership.clone());
        let lost = gaining.waits_for.clone();
        if !lost.is_empty() {
            self.note(format_args!(
                "no nimbus that lives holds the code of {}; it is left alone until one does, or it is killed",
                topologies_of(&lost)
            ));
        }
        self.election.given_up = lost;
        self.note("this nimbus leads now");
        let now = self.now.moment;
        self.lead = Lead::Leads(Box::new(Term {
            number,
            since,
            leadership,
            submissions: Submissions::default(),
            acts: Acts::default(),
            delays: Delays::default(),
            rounds: Rounds::new(now, self.settings.beats),
            clean_ups: CleanUps::new(now),
        }));
        self.begin_term(&survey);
    }
}

/// The topologies that blobs belong to.
fn topologies_of(keys: &BTreeSet<NodeName>) -> String {
    let topology = |key: &NodeName| TopologyBlob::of_key(key.as_str()).map(|(topology, _)| topology.to_owned());
    keys.iter().filter_map(topology).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// Whether a nimbus holds the newest content of each of these blobs.
fn holds_all(blobs: &[BlobState], address: &NimbusAddress) -> bool {
    blobs.iter().all(|blob| {
        let held = blob.holders.iter().find(|holder| holder.nimbus == *address);
        blob.is_current(held.map(|holder| holder.version))
    })
}

async fn survey(tree: &Tree) -> Result<Survey, Trouble> {
    // Behind everything that an earlier leader wrote, and what this one wrote before an interruption.
    sync(tree).await?;
    let Listing { found: bases, skipped } = bases(tree, false).await?;
    let keys: Vec<NodeName> = bases.iter().flat_map(|(topology, _)| topology_keys(topology)).collect();
    let blobs = blob_states(tree, keys, false).await?;
    let queue = tree.queue().await?;
    let living = tree.nimbuses(false).await?;
    let last = tree.last_leader().await?.map(|address| (address.host().to_owned(), i32::from(address.port())));
    let known = living.found.into_iter().map(|(_, nimbus)| (nimbus.host, nimbus.port)).chain(last).collect();
    let skipped = [skipped, queue.skipped, living.skipped].concat();
    Ok(Survey { bases, blobs, queue: queue.found, known, skipped })
}

/// All topologies with what is known of them; with `watch` it is told when one comes or goes.
pub(super) async fn bases(tree: &Tree, watch: bool) -> Result<Listing<(NodeName, StormBase)>, Trouble> {
    let records = tree.records::<StormBase>(&Node::Storms {}, watch).await?;
    let found = records.found.into_iter().filter_map(|(node, base, _)| match node {
        Node::Storm { topology } => Some((topology, base)),
        _ => None,
    });
    Ok(Listing { found: found.collect(), skipped: records.skipped })
}

/// A random number in the form of a UUID, as Curator names candidates.
fn uuid(number: u128) -> NodeName {
    let hex = format!("{number:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    NodeName::new(&parts.join("-")).expect("digits and hyphens may be the name of a node")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_as_curator_does() {
        assert_eq!(uuid(1).as_str(), "00000000-0000-0000-0000-000000000001");
        assert_eq!(uuid(u128::MAX).as_str(), "ffffffff-ffff-ffff-ffff-ffffffffffff");
    }
}
