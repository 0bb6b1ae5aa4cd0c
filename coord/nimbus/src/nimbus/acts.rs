//! What a leader does one after another: what operators ask for, what waits have ended, rounds, clean-ups.
//!
//! One act at a time, each from its first read to its last write, so that none decides on what another is about to change.
//! An act that meets trouble goes behind the others and begins again after a pause; each can be done again, whatever of it
//! was done. Submissions have a line of their own, since they wait for other nimbuses; what they add is one base.
//!
//! Invariants: the answer to a request says so when a write of it may have been done. Errors: tried again; requests up to a
//! limit, everything else as long as the term lasts.

use std::collections::VecDeque;
use std::time::Duration;

use ringstorm_control::time::Moment;
use ringstorm_records::znode::Node;
use ringstorm_store::cluster::Trouble;

use super::Nimbus;
use super::amendments::Amendment;
use super::clean_up::CleanUpSaid;
use super::rebalance::{RebalanceSaid, Rebalancing};
use super::rounds::RoundSaid;
use super::said::TermSaid;
use super::transitions::{Operation, TransitionSaid, Wait};
use crate::interface::{Refusal, Reply, RequestId};

/// How many acts may wait.
pub(super) const WAITING_MAX: usize = 1000;

/// The acts of a term.
#[derive(Debug, Default)]
pub(super) struct Acts {
    waiting: VecDeque<Pending>,
    pub(super) current: Option<Pending>,
    /// Whether the last act was one that waited, so that a round that is due comes next.
    is_rounds_turn: bool,
}

/// An act that is waiting, or being done.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) act: Act,
    /// When it was asked for.
    since: Moment,
    not_before: Moment,
    troubles: u32,
}

/// Something that a leader does.
#[derive(Debug)]
pub(super) enum Act {
    /// It says where Storm says who leads.
    LeaderInfo,
    /// An operator asked for it.
    Operation(Operation),
    /// An operator wants something set beside a topology.
    Amendment(Amendment),
    /// A wait has ended.
    Waited(Wait),
    /// A rebalance that has begun.
    Rebalance(Rebalancing),
    Round,
    CleanUp,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum ActSaid {
    LeaderInfo(Result<(), Trouble>),
    Transition(TransitionSaid),
    Amended(Result<Result<(), Refusal>, Trouble>),
    Rebalance(RebalanceSaid),
    Round(RoundSaid),
    CleanUp(CleanUpSaid),
}

impl Act {
    /// The request that it is for, and whether an attempt at it may have written.
    fn asked_by(&self) -> Option<(RequestId, bool)> {
        match self {
            Self::Operation(operation) => Some((operation.request, operation.is_in_doubt)),
            Self::Amendment(amendment) => Some((amendment.request, amendment.is_in_doubt)),
            _ => None,
        }
    }

    /// Whether it may be writing while it is being done.
    fn is_changing(&self) -> bool {
        match self {
            Self::Operation(operation) => operation.is_changing(),
            _ => true,
        }
    }
}

impl Acts {
    /// Whether nothing is being done.
    pub(super) fn is_free(&self) -> bool {
        self.current.is_none()
    }

    pub(super) fn due(&self) -> Option<Moment> {
        if self.is_free() { self.waiting.iter().map(|pending| pending.not_before).min() } else { None }
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX
    }

    /// The act that is being done.
    pub(super) fn act(&mut self) -> Option<&mut Act> {
        self.current.as_mut().map(|pending| &mut pending.act)
    }

    /// Whether a wait has ended and its action is not done yet.
    pub(super) fn is_about(&self, wait: &Wait) -> bool {
        let is_it = |pending: &Pending| match &pending.act {
            Act::Waited(ended) => ended == wait,
            Act::Rebalance(rebalancing) => rebalancing.topology == wait.topology,
            _ => false,
        };
        self.waiting.iter().chain(&self.current).any(is_it)
    }

    fn next(&mut self, now: Moment) -> Option<Pending> {
        let index = self.waiting.iter().position(|pending| pending.not_before <= now)?;
        self.waiting.remove(index)
    }
}

impl Nimbus {
    /// Puts an act behind the others.
    pub(super) fn add_act(&mut self, act: Act) {
        let now = self.now.moment;
        if let Some(term) = self.term() {
            term.acts.waiting.push_back(Pending { act, since: now, not_before: now, troubles: 0 });
        }
    }

    pub(super) fn tell_who_leads(&mut self) {
        self.add_act(Act::LeaderInfo);
    }

    /// The node that says who leads is damaged or gone, without which nobody but this nimbus knows that it leads.
    pub(super) fn tell_again_who_leads(&mut self, why: &str) {
        let is_told = |pending: &Pending| matches!(pending.act, Act::LeaderInfo);
        if self.term().is_none_or(|term| term.acts.waiting.iter().any(is_told)) {
            return;
        }
        let path = self.cluster.root().path(&Node::LeaderInfo {});
        self.note(format_args!("{path} should say that this nimbus leads: {why}; it is written anew"));
        self.tell_who_leads();
    }

    /// Begins the next act, if none is being done.
    pub(super) fn wake_acts(&mut self) {
        let now = self.now.moment;
        let Some(term) = self.term() else { return };
        if !term.acts.is_free() {
            return;
        }
        let is_round_due = term.rounds.is_due(now);
        let is_first = term.acts.is_rounds_turn && is_round_due;
        let waiting = if is_first { None } else { term.acts.next(now) };
        term.acts.is_rounds_turn = waiting.is_some();
        let own = |act| Pending { act, since: now, not_before: now, troubles: 0 };
        let pending = match waiting {
            Some(pending) => pending,
            None if is_round_due => own(Act::Round),
            None if term.clean_ups.is_due(now) => own(Act::CleanUp),
            None => return,
        };
        term.acts.current = Some(pending);
        self.begin_act();
    }

    fn begin_act(&mut self) {
        let Some(term) = self.term() else { return };
        let leader = term.leadership.clone();
        match term.acts.act() {
            None => {}
            Some(Act::LeaderInfo) => {
                let address = self.address().clone();
                self.say_in_term(|tree| async move {
                    TermSaid::Act(ActSaid::LeaderInfo(tree.set_leader_info(&leader, &address).await))
                });
            }
            Some(Act::Operation(_)) => self.begin_operation(),
            Some(Act::Amendment(_)) => self.begin_amendment(),
            Some(Act::Waited(wait)) => {
                let wait = wait.clone();
                self.begin_waited(wait);
            }
            Some(Act::Rebalance(_)) => self.go_on_with_rebalance(),
            Some(Act::Round) => self.read_for_round(),
            Some(Act::CleanUp) => self.list_for_clean_up(),
        }
    }

    pub(super) fn hear_act(&mut self, said: ActSaid) {
        match said {
            ActSaid::LeaderInfo(Ok(())) => self.finish_act(),
            ActSaid::LeaderInfo(Err(trouble)) => self.act_trouble(&trouble),
            ActSaid::Transition(said) => self.hear_transition(said),
            ActSaid::Amended(result) => self.hear_amended(result),
            ActSaid::Rebalance(said) => self.hear_rebalance(said),
            ActSaid::Round(said) => self.hear_round(said),
            ActSaid::CleanUp(said) => self.hear_clean_up(said),
        }
    }

    /// The act that is being done has come to its end.
    pub(super) fn finish_act(&mut self) {
        if let Some(term) = self.term() {
            term.acts.current = None;
        }
    }

    /// Goes on with another act in the place of the one that is being done.
    pub(super) fn replace_act(&mut self, act: Act) {
        if let Some(pending) = self.term().and_then(|term| term.acts.current.as_mut()) {
            pending.act = act;
            pending.troubles = 0;
        }
        self.begin_act();
    }

    /// Answers an operator whose act is being done.
    pub(super) fn answer_operator(&mut self, reply: Result<Reply, Refusal>) {
        if let Some(Act::Operation(operation)) = self.term().and_then(|term| term.acts.act()) {
            let request = operation.request;
            self.reply(request, reply);
        }
    }

    /// The act that is being done has met trouble: it begins again later.
    pub(super) fn act_trouble(&mut self, trouble: &Trouble) {
        self.put_off(&trouble.to_string());
        self.heed(trouble);
    }

    /// Puts off what is being done, which waits for somebody else.
    pub(super) fn postpone(&mut self, pause: Duration) {
        let now = self.now.moment;
        let Some(term) = self.term() else { return };
        if let Some(pending) = term.acts.current.take() {
            term.acts.waiting.push_back(Pending { not_before: now + pause, troubles: 0, ..pending });
        }
    }

    /// Puts off what is being done after trouble.
    pub(super) fn put_off(&mut self, why: &str) {
        let now = self.now.moment;
        let limit = self.settings.give_up_after;
        let Some(mut pending) = self.term().and_then(|term| term.acts.current.take()) else { return };
        pending.troubles += 1;
        let at = now + self.settings.pause(pending.troubles);
        let what = match &pending.act {
            Act::LeaderInfo => "saying who leads".to_owned(),
            Act::Operation(operation) => operation.to_string(),
            Act::Amendment(amendment) => amendment.to_string(),
            Act::Waited(wait) => wait.to_string(),
            Act::Rebalance(rebalancing) => rebalancing.to_string(),
            Act::Round => {
                let troubles = self.term().map_or(1, |term| term.rounds.count_trouble());
                let at = now + self.settings.pause(troubles);
                self.note(format_args!("a round is put off: {why}"));
                if let Some(term) = self.term() {
                    term.rounds.put_off(at);
                }
                return;
            }
            Act::CleanUp => {
                self.note(format_args!("a clean-up is put off: {why}"));
                return;
            }
        };
        self.note(format_args!("{what} is put off: {why}"));
        match pending.act.asked_by() {
            Some((request, is_in_doubt)) if now.since(pending.since) >= limit => {
                let why = format!("{what} does not succeed: {why}");
                let refusal = if is_in_doubt { Refusal::Unknown(why) } else { Refusal::TryAgain(why) };
                self.reply(request, Err(refusal));
            }
            _ => {
                pending.not_before = at;
                if let Some(term) = self.term() {
                    term.acts.waiting.push_back(pending);
                }
            }
        }
    }

    pub(super) fn end_acts(&mut self, acts: Acts, why: &str) {
        let why = format!("this nimbus leads no longer: {why}");
        for (pending, is_current) in acts
            .current
            .into_iter()
            .map(|pending| (pending, true))
            .chain(acts.waiting.into_iter().map(|one| (one, false)))
        {
            if let Some((request, is_in_doubt)) = pending.act.asked_by() {
                let is_in_doubt = is_in_doubt || (is_current && pending.act.is_changing());
                let refusal = if is_in_doubt { Refusal::Unknown(why.clone()) } else { Refusal::TryAgain(why.clone()) };
                self.reply(request, Err(refusal));
            }
        }
    }
}
