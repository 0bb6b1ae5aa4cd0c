//! What operators ask of topologies, and waits that end.
//!
//! What becomes of a topology is decided by [`lifecycle`](ringstorm_lifecycle::transition) from the base as it is when it
//! is written. A wait is only a status and options in the base, so that it survives every nimbus: a new leader finds it,
//! and so does every round of a leader that has lost it.
//!
//! Invariants: a topology has at most one wait of each kind, the one that ends first. Errors: refusals go to the operator;
//! troubles are tried again.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ringstorm_control::time::Moment;
use ringstorm_lifecycle as lifecycle;
use ringstorm_lifecycle::CODE_IS_LOST;
use ringstorm_lifecycle::base::anew;
use ringstorm_lifecycle::id::{find, is_of_name};
use ringstorm_lifecycle::rebalance;
use ringstorm_lifecycle::system::message_timeout_secs;
use ringstorm_lifecycle::transition::{Action, DelayedAction, Effect, Transition, transition};
use ringstorm_records::records::{RebalanceOptions, StormBase, TopologyActionOptions, TopologyStatus};
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::{Leadership, Listing, Reading, Skipped, Tree, Trouble};

use super::Nimbus;
use super::acts::{Act, ActSaid};
use super::leadership::bases;
use super::rebalance::{Looked, Rebalancing, look};
use super::said::TermSaid;
use crate::interface::{Refusal, Reply, RequestId};

/// What an operator asked for.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) request: RequestId,
    name: String,
    action: Action,
    /// Whether an attempt may have written already.
    pub(super) is_in_doubt: bool,
    is_changing: bool,
}

/// A wait for an action of a topology.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wait {
    pub(super) topology: NodeName,
    pub(super) action: DelayedAction,
}

/// The waits of a term, with when they end.
#[derive(Debug, Default)]
pub(super) struct Delays {
    waits: BTreeMap<Wait, Moment>,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum TransitionSaid {
    Found(Result<Listing<(NodeName, StormBase)>, Trouble>),
    /// What was looked at before a rebalance is taken.
    Looked {
        topology: NodeName,
        result: Result<Looked, Trouble>,
    },
    Changed {
        topology: NodeName,
        result: Result<Option<Decision>, Trouble>,
    },
    Removed {
        topology: NodeName,
        result: Result<(), Trouble>,
    },
}

/// What came of an action.
type Decision = Result<Effect, lifecycle::Refusal>;

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.action {
            Action::Kill { .. } => "killing",
            Action::Activate => "activating",
            Action::Deactivate => "deactivating",
            _ => "rebalancing",
        };
        write!(formatter, "{what} {}", self.name)
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            DelayedAction::Remove => write!(formatter, "the end of {}, which was killed,", self.topology),
            DelayedAction::DoRebalance => write!(formatter, "the rebalance of {}", self.topology),
        }
    }
}

impl Operation {
    /// Whether it is being written.
    pub(super) fn is_changing(&self) -> bool {
        self.is_changing
    }
}

impl Delays {
    pub(super) fn due(&self) -> Option<Moment> {
        self.waits.values().min().copied()
    }

    /// Whether anything is waited for of a topology.
    pub(super) fn has(&self, topology: &NodeName, action: DelayedAction) -> bool {
        self.waits.contains_key(&Wait { topology: topology.clone(), action })
    }

    fn add(&mut self, wait: Wait, at: Moment) {
        let end = self.waits.entry(wait).or_insert(at);
        *end = at.min(*end);
    }

    fn take_ended(&mut self, now: Moment) -> Vec<Wait> {
        let ended: Vec<Wait> = self.waits.iter().filter(|(_, at)| **at <= now).map(|(wait, _)| wait.clone()).collect();
        for wait in &ended {
            self.waits.remove(wait);
        }
        ended
    }
}

impl Nimbus {
    pub(super) fn take_action(&mut self, request: RequestId, name: String, action: Action) {
        if self.term().is_some_and(|term| term.acts.is_full()) {
            self.reply(request, Err(Refusal::TryAgain("too many requests are waiting".into())));
            return;
        }
        self.add_act(Act::Operation(Operation { request, name, action, is_in_doubt: false, is_changing: false }));
    }

    /// Looks for the topology of the name.
    pub(super) fn begin_operation(&mut self) {
        if let Some(Act::Operation(operation)) = self.term().and_then(|term| term.acts.act()) {
            operation.is_changing = false;
        }
        self.say_in_term(|tree| async move {
            TermSaid::Act(ActSaid::Transition(TransitionSaid::Found(bases(&tree, false).await)))
        });
    }

    pub(super) fn begin_waited(&mut self, wait: Wait) {
        self.change(wait.topology, wait.action.into());
    }

    /// The time-out of messages of a topology, which is the wait where none is given.
    pub(super) fn message_timeout_secs(&self, topology: &NodeName) -> i32 {
        let conf = self.code.conf(topology).map_or(&self.settings.conf, |conf| conf.as_ref());
        message_timeout_secs(conf).unwrap_or(DEFAULT_MESSAGE_TIMEOUT_SECS)
    }

    /// Writes what an action makes of a topology.
    pub(super) fn change(&mut self, topology: NodeName, action: Action) {
        let timeout = self.message_timeout_secs(&topology);
        let Some(term) = self.term() else { return };
        let leader = term.leadership.clone();
        self.say_in_term(|tree| async move {
            let result = change(&tree, &leader, &topology, action, timeout).await;
            TermSaid::Act(ActSaid::Transition(TransitionSaid::Changed { topology, result }))
        });
    }

    pub(super) fn hear_transition(&mut self, said: TransitionSaid) {
        match said {
            TransitionSaid::Found(Ok(listing)) => self.take_found(listing),
            TransitionSaid::Looked { topology, result: Ok(looked) } => self.take_looked(topology, &looked),
            TransitionSaid::Changed { topology, result: Ok(decision) } => self.take_decision(topology, decision),
            TransitionSaid::Removed { topology, result: Ok(()) } => {
                self.note(format_args!("topology {topology} is gone"));
                self.finish_act();
                self.want_round();
            }
            TransitionSaid::Found(Err(trouble))
            | TransitionSaid::Looked { result: Err(trouble), .. }
            | TransitionSaid::Removed { result: Err(trouble), .. } => {
                self.act_trouble(&trouble);
            }
            TransitionSaid::Changed { result: Err(trouble), .. } => {
                if let Some(Act::Operation(operation)) = self.term().and_then(|term| term.acts.act()) {
                    operation.is_in_doubt |= matches!(trouble, Trouble::Unknown { .. });
                    operation.is_changing = false;
                }
                self.act_trouble(&trouble);
            }
        }
    }

    fn take_found(&mut self, listing: Listing<(NodeName, StormBase)>) {
        self.note_skipped(listing.skipped.iter().cloned());
        let Some(Act::Operation(operation)) = self.term().and_then(|term| term.acts.act()) else { return };
        let (name, action) = (operation.name.clone(), operation.action.clone());
        let found = find(&name, listing.found.iter().map(|(topology, base)| (topology.as_str(), base)));
        let unread = listing.skipped.iter().find(|skipped| is_of_name(skipped.path.name(), &name));
        let node = |id: &str| NodeName::new(id).map_err(|error| Refusal::IllegalState(error.to_string()));
        let action = match (found, unread) {
            (Ok(id), _) => node(id).map(|topology| (action, topology)),
            // Whether it can be read now is seen when it is changed.
            (Err(_), Some(skipped)) if matches!(action, Action::Kill { .. }) => {
                node(skipped.path.name()).map(|topology| (action, topology))
            }
            (Err(_), Some(skipped)) => Err(unreadable(skipped).into()),
            (Err(refusal), None) => Err(refusal.into()),
        };
        match action {
            Ok((Action::Rebalance(_), topology)) => self.look_before_rebalance(topology),
            action => self.go_on_with_operation(action),
        }
    }

    /// Reads what a rebalance needs besides the base, before it is taken: it could not be done after its wait either.
    fn look_before_rebalance(&mut self, topology: NodeName) {
        let (own, lacking) = (self.address().clone(), self.definition_lacking(&topology));
        self.say_in_term(|tree| async move {
            let result = look(&tree, &topology, lacking, &own).await;
            TermSaid::Act(ActSaid::Transition(TransitionSaid::Looked { topology, result }))
        });
    }

    fn take_looked(&mut self, topology: NodeName, looked: &Looked) {
        let Some(Act::Operation(operation)) = self.term().and_then(|term| term.acts.act()) else { return };
        let (name, action) = (operation.name.clone(), operation.action.clone());
        let checked = self.checked(&name, &topology, action, looked);
        self.go_on_with_operation(checked.map(|action| (action, topology)));
    }

    fn go_on_with_operation(&mut self, action: Result<(Action, NodeName), Refusal>) {
        match action {
            Ok((action, topology)) => {
                if let Some(Act::Operation(operation)) = self.term().and_then(|term| term.acts.act()) {
                    operation.is_changing = true;
                }
                // Before anything becomes of it: a topology that is killed must not be made again.
                self.submission_is_seen(&topology);
                self.change(topology, action);
            }
            Err(refusal) => {
                self.answer_operator(Err(refusal));
                self.finish_act();
            }
        }
    }

    /// An action as it is stored: the options of a rebalance are looked at.
    fn checked(&self, name: &str, topology: &NodeName, action: Action, looked: &Looked) -> Result<Action, Refusal> {
        let Action::Rebalance(options) = action else { return Ok(action) };
        if let Some(assignment) = &looked.damaged_assignment {
            return Err(unreadable(assignment).into());
        }
        let (Some(code), Some(conf)) = (self.code.topology(topology), self.code.conf(topology)) else {
            let is_lost = looked.is_code_nowhere && self.is_known_who_holds_code();
            return Err(match is_lost {
                true => Refusal::IllegalState(format!("topology {topology} cannot be rebalanced: {CODE_IS_LOST}")),
                false => Refusal::TryAgain(format!("the code of {topology} is not here yet")),
            });
        };
        Ok(Action::Rebalance(rebalance::check(name, code, conf, &options, None)?))
    }

    /// What becomes of a topology by what is being done, for the log.
    fn tell_change(&mut self, topology: &NodeName) {
        let what = match self.term().and_then(|term| term.acts.act()) {
            Some(Act::Operation(Operation { action: Action::Activate, .. })) => "is active",
            Some(Act::Operation(Operation { action: Action::Deactivate, .. })) => "is inactive",
            Some(Act::Rebalance(_)) => "is rebalanced",
            _ => return,
        };
        self.note(format_args!("topology {topology} {what}"));
    }

    fn take_decision(&mut self, topology: NodeName, decision: Option<Decision>) {
        let effect = match decision {
            None => {
                let gone = Refusal::NotAlive(format!("{topology} is not alive"));
                self.answer_operator(Err(gone));
                self.finish_act();
                return;
            }
            Some(Err(refusal)) => {
                self.answer_operator(Err(refusal.into()));
                self.finish_act();
                return;
            }
            Some(Ok(effect)) => effect,
        };
        match effect {
            Effect::Nothing => {
                self.tell_change(&topology);
                self.answer_operator(Ok(Reply::Done));
                self.finish_act();
            }
            Effect::Wait { action, secs } => {
                self.add_wait(Wait { topology, action }, secs);
                self.answer_operator(Ok(Reply::Done));
                self.finish_act();
            }
            Effect::Remove => self.remove_topology(topology),
            Effect::Rebalance(options) => self.replace_act(Act::Rebalance(Rebalancing::new(topology, *options))),
        }
    }

    fn add_wait(&mut self, wait: Wait, secs: u32) {
        let at = self.now.moment + Duration::from_secs(secs.into());
        let topology = &wait.topology;
        let line = match wait.action {
            DelayedAction::Remove => format!("topology {topology} is killed, and removed in {secs} s"),
            DelayedAction::DoRebalance => format!("topology {topology} is rebalancing, and placed anew in {secs} s"),
        };
        self.note(line);
        if let Some(term) = self.term() {
            term.delays.add(wait, at);
        }
    }

    fn remove_topology(&mut self, topology: NodeName) {
        let Some(term) = self.term() else { return };
        let leader = term.leadership.clone();
        self.say_in_term(|tree| async move {
            let result = tree.remove_topology(&leader, &topology).await;
            TermSaid::Act(ActSaid::Transition(TransitionSaid::Removed { topology, result }))
        });
    }

    pub(super) fn wake_delays(&mut self) {
        let now = self.now.moment;
        let ended = self.term().map(|term| term.delays.take_ended(now)).unwrap_or_default();
        for wait in ended {
            self.add_act(Act::Waited(wait));
        }
    }

    /// Finds what is being waited for of topologies whose waits this term does not know, and begins the waits anew, as
    /// Storm does when somebody else leads.
    pub(super) fn recover_delays(&mut self, bases: &[(NodeName, StormBase)]) {
        if self.plants.pending_rebalance_lost() {
            return;
        }
        for (topology, base) in bases {
            let timeout = self.message_timeout_secs(topology);
            let decided = transition(topology.as_str(), base, &Action::GainLeadership, timeout);
            if let Ok(Transition { effect: Effect::Wait { action, secs }, .. }) = decided {
                let wait = Wait { topology: topology.clone(), action };
                let is_known =
                    self.term().is_some_and(|term| term.delays.has(topology, action) || term.acts.is_about(&wait));
                if !is_known {
                    self.add_wait(wait, secs);
                }
            }
        }
    }
}

const DEFAULT_MESSAGE_TIMEOUT_SECS: i32 = 30;

/// Decides and writes; `None` when there is no such topology.
async fn change(
    tree: &Tree,
    leader: &Leadership,
    topology: &NodeName,
    action: Action,
    timeout: i32,
) -> Result<Option<Decision>, Trouble> {
    let last = Arc::new(Mutex::new(None));
    let decided = Arc::clone(&last);
    let id = topology.clone();
    let is_kill = matches!(action, Action::Kill { .. });
    let of_garbage = action.clone();
    let decide = move |base: &StormBase| {
        let decision = decide(id.as_str(), base, &action, timeout);
        let changed = decision.as_ref().ok().and_then(|transition| transition.base.clone());
        *decided.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision.map(|transition| transition.effect));
        // What is there already need not be written.
        changed.filter(|changed| changed != base)
    };
    match tree.change_storm_base(leader, topology, decide).await? {
        Reading::Absent => Ok(None),
        Reading::Garbage { stat, .. } if is_kill => {
            // All that is needed of it from here on: it has its name, and ends.
            let decision = transition(topology.as_str(), &anew(topology.as_str()), &of_garbage, timeout);
            if let Ok(Transition { base: Some(killed), .. }) = &decision {
                tree.replace_storm_base(leader, topology, killed, stat.version).await?;
            }
            Ok(Some(decision.map(|transition| transition.effect)))
        }
        Reading::Garbage { why, .. } => {
            let path = tree.path(&Node::Storm { topology: topology.clone() });
            Ok(Some(Err(unreadable(&Skipped { path, why }))))
        }
        Reading::Found { .. } => Ok(last.lock().unwrap_or_else(PoisonError::into_inner).take()),
    }
}

/// That a base cannot be read.
pub(super) fn unreadable(base: &Skipped) -> lifecycle::Refusal {
    let (topology, path) = (base.path.name().to_owned(), base.path.to_string());
    lifecycle::Refusal::Unreadable { topology, path, why: base.why.clone() }
}

/// What an action makes of a base. A rebalance that is asked for again while it is waited for, since nobody could say
/// whether it was taken, is the one that is there.
fn decide(topology: &str, base: &StormBase, action: &Action, timeout: i32) -> Result<Transition, lifecycle::Refusal> {
    if let (TopologyStatus::Rebalancing, Action::Rebalance(options)) = (base.status, action)
        && let Some(TopologyActionOptions::RebalanceOptions(pending)) = &base.topology_action_options
        && *pending == completed(options, timeout)
    {
        let action = Action::GainLeadership;
        return transition(topology, base, &action, timeout);
    }
    transition(topology, base, action, timeout)
}

/// Options as they are stored.
fn completed(options: &RebalanceOptions, timeout: i32) -> RebalanceOptions {
    let mut options = options.clone();
    options.wait_secs.get_or_insert(timeout);
    options.num_executors.get_or_insert_default();
    options
}
