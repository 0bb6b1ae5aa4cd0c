//! Which contents this nimbus holds, lacks and fetches.
//!
//! Every nimbus holds the newest content of every blob: what is listed under a blob, with its number, is who can give it. A
//! content with a lower number than the highest one is stale and is fetched anew; one with a higher number, which a
//! restored older tree leaves behind, counts as the newest there is.
//!
//! Invariants: what is listed as held was stored before. One fetch of a blob at a time. Nothing is removed here: what
//! belongs to nobody is left to the clean-up. Errors: troubles with the tree, and fetches that fail, are tried again.

mod blobs;
mod events;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringstorm_control::time::Moment;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_records::records::StormTopology;
use ringstorm_records::znode::{BlobHolder, NodeName};
use ringstorm_store::cluster::{Listing, Trouble};

use super::Nimbus;
use super::said::Said;
use crate::interface::{CodeRequest, Conf, Content, HeldBlob, NimbusEffect};

use blobs::keys;
pub(super) use blobs::{BlobState, blob_key, blob_states, topology_keys};

/// How many blobs are asked for in one conversation.
const BLOBS_AT_ONCE: usize = 300;

/// What this nimbus holds, and what it does about the rest.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// `None` until the directory has said what is there.
    held: Option<BTreeMap<NodeName, Held>>,
    /// Blobs that may have changed in the tree.
    stale: BTreeSet<NodeName>,
    /// Those of them that belong to a topology that lives.
    living: BTreeSet<NodeName>,
    are_keys_stale: bool,
    /// All that the tree names, as it was read last.
    keys: BTreeSet<NodeName>,
    is_asking: bool,
    fetches: BTreeMap<NodeName, Fetch>,
    /// Contents that are being stored in the place of others.
    replacing: BTreeMap<NodeName, HeldBlob>,
    /// Since when blobs are held here of topologies that the tree does not know.
    strays: BTreeMap<NodeName, Moment>,
    troubles: u32,
    /// When to look at what is stale.
    at: Option<Moment>,
    /// When to look at everything.
    all_at: Option<Moment>,
}

#[derive(Debug)]
struct Held {
    number: u32,
    content: Content,
    listed: Listed,
}

/// Whether the tree says that a content is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    /// Not yet in this session.
    NotYet,
    Yes,
    /// It did, and somebody took it back: a clean-up, or a mistake. It is listed again only while its topology lives, so
    /// that what is cleaned up does not come back.
    Withdrawn,
}

#[derive(Debug)]
struct Fetch {
    is_under_way: bool,
    tries: u32,
    at: Option<Moment>,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum CodeSaid {
    /// The keys of all blobs, and, read after them, the topologies that live.
    Keys(Result<(Listing<NodeName>, Listing<NodeName>), Trouble>),
    States {
        keys: Vec<NodeName>,
        result: Result<Vec<BlobState>, Trouble>,
    },
    Listed {
        key: NodeName,
        number: u32,
        result: Result<(), Trouble>,
    },
    Released {
        key: NodeName,
        result: Result<(), Trouble>,
    },
}

impl Code {
    pub(super) fn is_unknown(&self) -> bool {
        self.held.is_none()
    }

    pub(super) fn number_of(&self, key: &NodeName) -> Option<u32> {
        Some(self.held.as_ref()?.get(key)?.number)
    }

    /// The keys of all that is held.
    pub(super) fn held_keys(&self) -> impl Iterator<Item = &NodeName> {
        self.held.iter().flat_map(BTreeMap::keys)
    }

    /// The configuration of a topology.
    pub(super) fn conf(&self, topology: &NodeName) -> Option<&Arc<Conf>> {
        match &self.held.as_ref()?.get(&blob_key(topology, TopologyBlob::Conf))?.content {
            Content::Conf(conf) => Some(conf),
            _ => None,
        }
    }

    /// What a topology is.
    pub(super) fn topology(&self, topology: &NodeName) -> Option<&Arc<StormTopology>> {
        match &self.held.as_ref()?.get(&blob_key(topology, TopologyBlob::Code))?.content {
            Content::Code(topology) => Some(topology),
            _ => None,
        }
    }

    /// The tree says that a content is held.
    pub(super) fn is_listed(&mut self, key: &NodeName, number: u32) {
        let held = self.held.as_mut().and_then(|held| held.get_mut(key));
        if let Some(held) = held.filter(|held| held.number == number) {
            held.listed = Listed::Yes;
        }
    }

    /// Something that should have been removed and is there yet.
    fn take_stray(&mut self, key: NodeName) {
        let stray = Held { number: 0, content: Content::Opaque, listed: Listed::Withdrawn };
        self.held.get_or_insert_default().entry(key).or_insert(stray);
    }

    fn take(&mut self, blob: HeldBlob, listed: Listed) {
        let HeldBlob { key, number, content } = blob;
        self.held.get_or_insert_default().insert(key, Held { number, content, listed });
    }

    /// These belong to topologies that live.
    pub(super) fn live(&mut self, keys: impl IntoIterator<Item = NodeName>) {
        self.living.extend(keys);
    }

    pub(super) fn is_stale(&mut self, key: NodeName, now: Moment) {
        self.stale.insert(key);
        self.at = Some(now);
    }

    pub(super) fn keys_are_stale(&mut self, now: Moment) {
        self.are_keys_stale = true;
        self.at = Some(now);
    }

    /// A content is about to be stored in the place of another.
    pub(super) fn replaces(&mut self, blob: HeldBlob) {
        self.replacing.insert(blob.key.clone(), blob);
    }

    /// It was not.
    pub(super) fn replaces_not(&mut self, key: &NodeName) {
        self.replacing.remove(key);
    }

    /// Of an earlier session nothing is listed, and nothing is watched.
    pub(super) fn forget_session(&mut self) {
        for held in self.held.iter_mut().flat_map(BTreeMap::values_mut) {
            held.listed = Listed::NotYet;
        }
        self.stale.clear();
        self.living.clear();
        self.keys.clear();
        self.at = None;
        self.all_at = None;
        self.troubles = 0;
    }

    /// What was asked has no answer: all of it is asked again.
    pub(super) fn forget_conversations(&mut self) {
        self.is_asking = false;
        self.all_at = None;
    }

    pub(super) fn due(&self) -> Option<Moment> {
        let at = if self.is_asking { None } else { self.at };
        let fetches = self.fetches.values().filter(|fetch| !fetch.is_under_way).filter_map(|fetch| fetch.at);
        fetches.chain(at).chain(self.all_at).min()
    }
}

impl Nimbus {
    /// What says what a topology is, as far as this nimbus does not hold it.
    pub(super) fn definition_lacking(&self, topology: &NodeName) -> Vec<NodeName> {
        let keys = [TopologyBlob::Code, TopologyBlob::Conf].map(|blob| blob_key(topology, blob));
        keys.into_iter().filter(|key| self.code.number_of(key).is_none()).collect()
    }

    pub(super) fn wake_code(&mut self) {
        if !self.presence.is_there() || self.code.is_unknown() {
            // Asked again once both are so.
            (self.code.at, self.code.all_at) = (None, None);
            for fetch in self.code.fetches.values_mut() {
                fetch.at = None;
            }
            return;
        }
        let now = self.now.moment;
        if self.code.all_at.is_none_or(|at| at <= now) {
            self.code.all_at = Some(now + self.settings.code_sync_period);
            self.code.stale.extend(self.code.keys.iter().cloned());
            self.code.keys_are_stale(now);
        }
        let is_due = |fetch: &Fetch| !fetch.is_under_way && fetch.at.is_some_and(|at| at <= now);
        let fetches = self.code.fetches.iter().filter(|(_, fetch)| is_due(fetch));
        for key in fetches.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            if let Some(fetch) = self.code.fetches.get_mut(&key) {
                fetch.at = None;
            }
            self.code.is_stale(key, now);
        }
        if !self.code.is_asking && self.code.at.is_some_and(|at| at <= now) {
            self.ask_for_code();
        }
    }

    fn ask_for_code(&mut self) {
        self.code.at = None;
        if self.code.are_keys_stale {
            self.code.are_keys_stale = false;
            self.code.is_asking = true;
            self.say(|tree| async move { Said::Code(CodeSaid::Keys(keys(&tree).await)) });
            return;
        }
        let keys: Vec<NodeName> = self.code.stale.iter().take(BLOBS_AT_ONCE).cloned().collect();
        if keys.is_empty() {
            return;
        }
        for key in &keys {
            self.code.stale.remove(key);
        }
        self.code.is_asking = true;
        self.say(|tree| async move {
            let result = blob_states(&tree, keys.clone(), true).await;
            Said::Code(CodeSaid::States { keys, result })
        });
    }

    pub(super) fn hear_code(&mut self, said: CodeSaid) {
        let now = self.now.moment;
        match said {
            CodeSaid::Keys(Ok((listing, topologies))) => {
                self.code.is_asking = false;
                self.code.troubles = 0;
                self.note_skipped(listing.skipped.clone());
                self.take_strays(&listing, &topologies);
                let before = std::mem::take(&mut self.code.keys);
                let held = self.code.held.get_or_insert_default();
                let is_unlisted = |held: &Held| held.listed == Listed::NotYet;
                let is_new = |key: &NodeName| !before.contains(key) || held.get(key).is_none_or(is_unlisted);
                self.code.stale.extend(listing.found.iter().filter(|key| is_new(key)).cloned());
                self.code.keys = listing.found.into_iter().collect();
                self.code.at = Some(now);
            }
            CodeSaid::States { result: Ok(states), .. } => {
                self.code.is_asking = false;
                self.code.troubles = 0;
                self.take_blob_states(states);
                if !self.code.stale.is_empty() || self.code.are_keys_stale {
                    self.code.at = Some(now);
                }
            }
            CodeSaid::Keys(Err(trouble)) => {
                self.code.are_keys_stale = true;
                self.code_trouble(&trouble);
            }
            CodeSaid::States { keys, result: Err(trouble) } => {
                self.code.stale.extend(keys);
                self.code_trouble(&trouble);
            }
            CodeSaid::Released { result: Ok(()), .. } => self.survey(),
            CodeSaid::Released { key, result: Err(trouble) } => self.cannot_list(key, &trouble),
            CodeSaid::Listed { key, number, result } => match result {
                Ok(()) => {
                    self.code.is_listed(&key, number);
                    self.survey();
                }
                Err(trouble) => self.cannot_list(key, &trouble),
            },
        }
    }

    fn cannot_list(&mut self, key: NodeName, trouble: &Trouble) {
        self.code.stale.insert(key);
        self.code.troubles += 1;
        self.code.at = Some(self.now.moment + self.settings.pause(self.code.troubles));
        self.note(format_args!("the tree cannot be told yet which code this nimbus holds: {trouble}"));
    }

    fn code_trouble(&mut self, trouble: &Trouble) {
        self.code.is_asking = false;
        self.code.troubles += 1;
        self.code.at = Some(self.now.moment + self.settings.pause(self.code.troubles));
        self.note(format_args!("which code there is cannot be read: {trouble}"));
    }

    /// Lists what is held and current, fetches what others have newer.
    pub(super) fn take_blob_states(&mut self, states: Vec<BlobState>) {
        let own = self.address().clone();
        for state in states {
            let is_living = self.code.living.remove(&state.key);
            let number = self.code.number_of(&state.key);
            if number.is_none() && state.holders.iter().any(|holder| holder.nimbus == own) {
                // A restored older tree says so. Nobody may rely on it: neither who fetches nor who would lead.
                self.release(state.key.clone());
            }
            let better = state.better_than(number, &own);
            if !better.is_empty() {
                let better: Vec<BlobHolder> = better.into_iter().cloned().collect();
                self.fetch(state.key, &better);
            } else if let Some(number) = number {
                let is_listed = state.holders.contains(&BlobHolder { nimbus: own.clone(), version: number });
                let Some(held) = self.code.held.as_mut().and_then(|held| held.get_mut(&state.key)) else { continue };
                match held.listed {
                    _ if is_listed => held.listed = Listed::Yes,
                    Listed::Yes if !is_living => {
                        // Whether its topology lives is looked at next.
                        held.listed = Listed::Withdrawn;
                        self.code.keys_are_stale(self.now.moment);
                    }
                    Listed::Withdrawn if !is_living => {}
                    _ => self.list(state.key, number),
                }
            } else {
                // Nobody holds it. Whoever comes with it is seen by the watch.
                self.code.fetches.remove(&state.key);
            }
        }
    }

    /// Says in the tree that a content is held here.
    fn list(&mut self, key: NodeName, number: u32) {
        let Some(session) = self.usable() else { return };
        let holder = BlobHolder { nimbus: self.address().clone(), version: number };
        self.say(|tree| async move {
            let result = tree.hold_blob(session, &key, &holder).await;
            Said::Code(CodeSaid::Listed { key, number, result })
        });
    }

    /// Takes back in the tree that a blob is held here.
    fn release(&mut self, key: NodeName) {
        let own = self.address().clone();
        self.say(|tree| async move {
            let result = tree.release_blob(&key, &own).await;
            Said::Code(CodeSaid::Released { key, result })
        });
    }

    fn fetch(&mut self, key: NodeName, holders: &[BlobHolder]) {
        let fetch = self.code.fetches.entry(key.clone()).or_insert(Fetch { is_under_way: false, tries: 0, at: None });
        if fetch.is_under_way || fetch.at.is_some() {
            return;
        }
        // Another one each time, since one may be gone without the tree knowing it yet.
        let holder = &holders[fetch.tries as usize % holders.len()];
        fetch.is_under_way = true;
        let (number, from) = (holder.version, holder.nimbus.clone());
        self.effects.push(NimbusEffect::Code(CodeRequest::Fetch { key, number, from }));
    }

    /// Looks at what is held and not listed: what belongs to a topology that lives is listed again, what the tree does not
    /// name and belongs to none goes after a while.
    fn take_strays(&mut self, named: &Listing<NodeName>, living: &Listing<NodeName>) {
        let (now, delay) = (self.now.moment, self.settings.deletion_delay);
        let submitting = self.term().map(|term| term.submissions.ids()).unwrap_or_default();
        // What cannot be read as a name is somebody's all the same.
        let is_readable = living.skipped.is_empty();
        let named: BTreeSet<&NodeName> = named.found.iter().collect();
        let living: BTreeSet<&str> = living.found.iter().map(NodeName::as_str).collect();
        let mut strays = BTreeMap::new();
        for key in self.code.held_keys() {
            let Some((topology, _)) = TopologyBlob::of_key(key.as_str()) else { continue };
            if !named.contains(key) && !living.contains(topology) && !submitting.contains(topology) && is_readable {
                strays.insert(key.clone(), self.code.strays.get(key).copied().unwrap_or(now));
            }
        }
        // What the tree does not even name was taken out of it, whatever it said before.
        let is_unlisted = |key: &NodeName, held: &Held| held.listed != Listed::Yes || !named.contains(key);
        let held = self.code.held.iter().flatten().filter(|(key, held)| is_unlisted(key, held));
        let lives = |key: &NodeName| match TopologyBlob::of_key(key.as_str()) {
            Some((topology, _)) => living.contains(topology),
            // Those of users are nobody's to clean up.
            None => true,
        };
        let unlisted: Vec<NodeName> = held.map(|(key, _)| key).filter(|key| lives(key)).cloned().collect();
        self.code.living.extend(unlisted.iter().cloned());
        self.code.stale.extend(unlisted);
        let gone = strays.iter().filter(|(_, since)| now.since(**since) >= delay).map(|(key, _)| key.clone());
        for key in gone.collect::<Vec<_>>() {
            self.effects.push(NimbusEffect::Code(CodeRequest::Remove { key }));
        }
        self.code.strays = strays;
    }
}
