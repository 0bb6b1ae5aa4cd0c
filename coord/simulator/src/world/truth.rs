//! What users were told, and what was the case.
//!
//! Invariants: whoever was told that something was done can find that it was; whoever was told that it was not will
//! never find that it was.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_nimbus::interface::{Content, Refusal, Reply, Request, SUBMISSION_TOKEN};
use ringstorm_records::records::{StormBase, TopologyStatus};
use ringstorm_records::znode::NodeName;

use super::World;
use super::process::ProcessId;
use crate::actor::{At, Input, News, Verdict};
use crate::checks::{Mirror, Violation};

const LAW: &str = "users are told the truth";

/// What was wished, and what happened to topologies.
#[derive(Debug, Default)]
pub struct Truth {
    wishes: BTreeMap<u64, Wish>,
    /// Topologies by the token of their submission.
    created: BTreeMap<String, Vec<Created>>,
    /// Who has said of the submission with a token, as the last word so far, that nothing was done.
    refused: BTreeSet<(String, ProcessId, u64)>,
    /// When a nimbus has last said of the submission with a token that it was done.
    submitted: BTreeMap<(String, ProcessId), At>,
    /// When a topology of a name was last seen in a state; those that are in it now are not here.
    seen: BTreeMap<(String, State), At>,
}

/// A topology that came to be.
#[derive(Clone, Debug)]
struct Created {
    topology: NodeName,
    writer: ProcessId,
    at: At,
}

/// What a topology of a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Active,
    Inactive,
    Rebalancing,
    Killed,
    Gone,
}

/// What a user wants.
#[derive(Clone, Debug)]
struct Wish {
    client: ProcessId,
    client_life: u64,
    begun: At,
    what: Request,
    verdict: Option<Verdict>,
}

fn state_of(base: Option<&StormBase>) -> State {
    match base.map(|base| &base.status) {
        Some(TopologyStatus::Active) => State::Active,
        Some(TopologyStatus::Inactive) => State::Inactive,
        Some(TopologyStatus::Rebalancing) => State::Rebalancing,
        Some(TopologyStatus::Killed) => State::Killed,
        _ => State::Gone,
    }
}

impl World {
    /// A user of a client wants something now.
    pub(crate) fn wish(&mut self, client: ProcessId, wish: u64, request: Request) -> Result<(), Violation> {
        if !self.processes[client.0].is_up() {
            return Ok(());
        }
        let client_life = self.processes[client.0].life;
        let made = Wish { client, client_life, begun: self.now, what: request.clone(), verdict: None };
        self.truth.wishes.insert(wish, made);
        self.give(client, Input::Client(Box::new(News::Wanted { wish, request })))
    }

    /// A user is told what became of a wish.
    pub(crate) fn told(&mut self, wish: u64, verdict: Verdict) -> Result<(), Violation> {
        let Some(made) = self.truth.wishes.get_mut(&wish) else { return Ok(()) };
        if let Some(before) = made.verdict.replace(verdict.clone()) {
            let message = format!("wish {wish} got {verdict:?} after {before:?}");
            return Err(Violation::new("each wish gets one verdict", message));
        }
        self.coverage.hit(match (&made.what, &verdict) {
            (Request::Submit(_), Verdict::Done(_)) => "submit done",
            (Request::Submit(_), Verdict::NotDone(_)) => "submit not done",
            (Request::Kill { .. }, Verdict::Done(_)) => "kill done",
            (Request::Rebalance { .. }, Verdict::Done(_)) => "rebalance done",
            (Request::Activate { .. } | Request::Deactivate { .. }, Verdict::Done(_)) => "(de)activate done",
            (_, Verdict::NotDone(_) | Verdict::NotAlive) => "wish not done",
            (_, Verdict::FoundKilled | Verdict::FoundRebalancing | Verdict::FoundActive | Verdict::FoundInactive) => {
                "wish found done"
            }
            (_, Verdict::Unknown(_)) => "wish of unknown outcome",
            (_, Verdict::Done(_)) => "wish done",
        });
        let made = made.clone();
        self.judge(wish, &made, &verdict)
    }

    fn judge(&self, wish: u64, made: &Wish, verdict: &Verdict) -> Result<(), Violation> {
        let lie = |why: String| Err(Violation::new(LAW, format!("wish {wish} got {verdict:?}, and {why}")));
        match (&made.what, verdict) {
            (Request::Submit(submission), Verdict::Done(Reply::Submitted { topology })) => {
                let created = token_in(&submission.conf).and_then(|token| self.truth.created.get(&token));
                if !created.is_some_and(|created| created.iter().any(|it| it.topology == *topology)) {
                    return lie(format!("what its token has made is {created:?}"));
                }
            }
            (Request::Submit(submission), Verdict::NotDone(_)) => {
                let created = token_in(&submission.conf).and_then(|token| self.truth.created.get(&token));
                // One that came of an earlier try and was killed since is not there any more.
                let there =
                    created.and_then(|created| created.iter().find(|it| self.mirror.bases.contains_key(&it.topology)));
                if let Some(Created { topology: there, .. }) = there {
                    return lie(format!("its token has made {there}"));
                }
            }
            (Request::Submit(_), _) => {}
            (what, Verdict::NotAlive) => {
                if let Some(name) = name_in(what).filter(|name| !self.was(name, &[State::Gone], made.begun)) {
                    return lie(format!("{name} was there all the time"));
                }
            }
            (what, verdict) => {
                let states: &[State] = match (what, verdict) {
                    (Request::Kill { .. }, Verdict::Done(_) | Verdict::FoundKilled) => &[State::Killed, State::Gone],
                    (Request::Rebalance { .. }, Verdict::Done(_)) => &[State::Rebalancing],
                    (Request::Activate { .. }, Verdict::Done(_)) => &[State::Active, State::Rebalancing],
                    (Request::Deactivate { .. }, Verdict::Done(_)) => &[State::Inactive, State::Rebalancing],
                    (_, Verdict::FoundRebalancing) => &[State::Rebalancing],
                    (_, Verdict::FoundActive) => &[State::Active],
                    (_, Verdict::FoundInactive) => &[State::Inactive],
                    _ => return Ok(()),
                };
                if let Some(name) = name_in(what).filter(|name| !self.was(name, states, made.begun)) {
                    return lie(format!("{name} was none of {states:?} since"));
                }
            }
        }
        Ok(())
    }

    /// Whether a topology of a name was in any of these states at some time since.
    fn was(&self, name: &str, any: &[State], since: At) -> bool {
        any.iter().any(|state| self.was_in(name, *state, since))
    }

    fn was_in(&self, name: &str, state: State, since: At) -> bool {
        let now = self.mirror.bases.values().filter(|base| base.name == name).map(|base| state_of(Some(base)));
        let states: Vec<State> = now.collect();
        let is_now = if states.is_empty() { state == State::Gone } else { states.contains(&state) };
        is_now || self.truth.seen.get(&(name.to_owned(), state)).is_some_and(|last| *last >= since)
    }

    /// A base has changed.
    pub(crate) fn note_base(
        &mut self,
        topology: &NodeName,
        before: Option<&StormBase>,
        after: Option<&StormBase>,
        writer: Option<ProcessId>,
    ) -> Result<(), Violation> {
        let Some(name) = before.or(after).map(|base| base.name.clone()) else { return Ok(()) };
        self.truth.seen.insert((name.clone(), state_of(before)), self.now);
        if after.is_some() && before.is_none() {
            let others = self.mirror.bases.iter().filter(|(id, base)| *id != topology && base.name == name);
            if let Some((other, _)) = others.into_iter().next() {
                let message = format!("{topology} comes while {other} is there");
                if !self.damage.is_any() {
                    return Err(Violation::new("no two topologies have one name", message));
                }
            }
            // One that comes killed was there, and could not be read.
            let is_made = after.is_some_and(|base| state_of(Some(base)) != State::Killed);
            if let Some(writer) = writer.filter(|_| is_made) {
                return self.note_created(topology, writer);
            }
        }
        Ok(())
    }

    /// Every base may have changed: a topology of the same name may be another one, and the one of before is gone.
    pub(crate) fn note_exchanged_bases(&mut self, before: &Mirror) {
        let same = |topology: &NodeName, base: &StormBase| self.mirror.bases.get(topology) == Some(base);
        let exchanged = before.bases.iter().filter(|(topology, base)| !same(topology, base));
        let exchanged: Vec<_> = exchanged.map(|(topology, base)| (topology.clone(), base.clone())).collect();
        for (topology, base) in exchanged {
            self.truth.seen.insert((base.name.clone(), state_of(Some(&base))), self.now);
            if !self.mirror.bases.contains_key(&topology) {
                self.truth.seen.insert((base.name, State::Gone), self.now);
            }
        }
        let come = self.mirror.bases.iter().filter(|(topology, _)| !before.bases.contains_key(topology));
        let come: Vec<String> = come.map(|(_, base)| base.name.clone()).collect();
        for name in come {
            self.truth.seen.insert((name, State::Gone), self.now);
        }
    }

    fn note_created(&mut self, topology: &NodeName, writer: ProcessId) -> Result<(), Violation> {
        self.coverage.hit("topology created");
        let Some(token) = self.token_of(topology) else {
            let message = format!("{topology} comes, and no nimbus has its configuration");
            return Err(Violation::new("a topology comes behind its code", message));
        };
        let refused = self.truth.wishes.values().find(|wish| {
            matches!(&wish.what, Request::Submit(it) if token_in(&it.conf).as_deref() == Some(&token))
                && matches!(wish.verdict, Some(Verdict::NotDone(_)))
        });
        if let Some(wish) = refused {
            return Err(Violation::new(LAW, format!("{topology} comes after {:?}", wish.verdict)));
        }
        let life = self.processes[writer.0].life;
        if self.truth.refused.contains(&(token.clone(), writer, life)) && !self.is_submitting(writer, &token) {
            let who = &self.processes[writer.0].name;
            let message = format!("{who} makes {topology} after it has said that nothing was done");
            return Err(Violation::new(LAW, message));
        }
        let created = self.truth.created.entry(token).or_default();
        let other = created.iter().find(|other| self.mirror.bases.contains_key(&other.topology));
        if let Some(Created { topology: other, .. }) = other {
            let message = format!("one has made {other}, and makes {topology}");
            return Err(Violation::new("a submission makes one topology", message));
        }
        created.push(Created { topology: topology.clone(), writer, at: self.now });
        Ok(())
    }

    /// A nimbus says of a submission that it was done.
    pub(crate) fn note_submitted(&mut self, token: &str, nimbus: ProcessId) {
        self.truth.submitted.insert((token.to_owned(), nimbus), self.now);
    }

    /// A nimbus says of a submission that it may have been done: what it said of an earlier call holds no longer.
    pub(crate) fn note_in_doubt(&mut self, token: &str, nimbus: ProcessId) {
        self.truth.refused.remove(&(token.to_owned(), nimbus, self.processes[nimbus.0].life));
    }

    /// A nimbus says of a submission that nothing was done.
    pub(crate) fn note_refused(
        &mut self,
        token: &str,
        nimbus: ProcessId,
        asked_at: At,
        refusal: &Refusal,
    ) -> Result<(), Violation> {
        // What an earlier call has made is for that one to tell, also when it was told while this one waited.
        let told = self.truth.submitted.get(&(token.to_owned(), nimbus));
        let made = self.truth.created.get(token).and_then(|all| {
            all.iter()
                .find(|it| it.writer == nimbus && it.at >= asked_at && self.mirror.bases.contains_key(&it.topology))
        });
        let is_a_claim = matches!(refusal, Refusal::TryAgain(_) | Refusal::AlreadyAlive(_) | Refusal::NoUpload(_));
        let is_told = told.is_some_and(|told| *told >= asked_at);
        let lie = made.filter(|_| is_a_claim && !is_told && !self.is_submitting(nimbus, token));
        if let Some(Created { topology, .. }) = lie {
            let who = &self.processes[nimbus.0].name;
            return Err(Violation::new(LAW, format!("{who} says {refusal:?}, and {topology} is there")));
        }
        self.truth.refused.insert((token.to_owned(), nimbus, self.processes[nimbus.0].life));
        Ok(())
    }

    fn token_of(&self, topology: &NodeName) -> Option<String> {
        let key = NodeName::new(&TopologyBlob::Conf.key(topology.as_str())).ok()?;
        let blob = self.processes.iter().find_map(|process| process.disk.blobs.get(&key))?;
        match &blob.content {
            Content::Conf(conf) => conf.get(SUBMISSION_TOKEN)?.as_str().map(str::to_owned),
            _ => None,
        }
    }

    /// What the user of a wish was told.
    pub fn verdict(&self, wish: u64) -> Option<&Verdict> {
        self.truth.wishes.get(&wish)?.verdict.as_ref()
    }

    /// A wish that nobody was told the end of, though its client lives.
    pub(crate) fn open_wish(&self) -> Option<String> {
        let open = self
            .truth
            .wishes
            .iter()
            .find(|(_, wish)| wish.verdict.is_none() && self.processes[wish.client.0].life == wish.client_life);
        open.map(|(number, wish)| format!("wish {number} of {:?} has no verdict", wish.begun))
    }
}

fn name_in(request: &Request) -> Option<&str> {
    match request {
        Request::Kill { name, .. }
        | Request::Rebalance { name, .. }
        | Request::Activate { name }
        | Request::Deactivate { name } => Some(name),
        _ => None,
    }
}

/// The token of a submission, in its configuration as a client sends it.
pub(crate) fn token_in(conf: &str) -> Option<String> {
    let conf: serde_json::Value = serde_json::from_str(conf).ok()?;
    conf.get(SUBMISSION_TOKEN)?.as_str().map(str::to_owned)
}
