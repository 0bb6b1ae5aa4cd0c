//! The state machine of a topology: what an action makes of its `StormBase`, and what is to be done now or later. Source:
//! the table of transitions in `Nimbus` of Storm 2.8.2.
//!
//! | status | activate | deactivate | rebalance | kill | gain leadership | remove | do rebalance | finish rebalance |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | ACTIVE | nothing | INACTIVE | REBALANCING | KILLED | nothing | nothing | nothing | nothing |
//! | INACTIVE | ACTIVE | nothing | REBALANCING | KILLED | nothing | nothing | nothing | nothing |
//! | REBALANCING | refused | refused | refused | KILLED | waits again | nothing | new counts | as before it |
//! | KILLED | refused | refused | refused | KILLED | waits again | removed | nothing | nothing |
//!
//! A kill and a rebalance take effect after a wait, in which they are only a status and options in the base. So they
//! survive every nimbus: a new leader asks each base it finds with [`Action::GainLeadership`], and the wait starts over,
//! whatever had passed of it, as in Storm. An action that comes late or twice does nothing, since it is looked at in the
//! state that it finds. Several waits may be under way for one topology, after a second kill; the first that ends decides,
//! as in Storm.
//!
//! Unlike Storm, the status to come back to stays in the base until the rebalance has its assignment. Storm drops it when
//! it writes the new counts; if it dies right then, the topology stays REBALANCING for ever. Where Storm has left such a
//! base behind, the rebalance ends in ACTIVE.
//!
//! Errors: [`Refusal`] for what operators ask; what nimbus asks itself is never refused.

use ringstorm_records::records::{KillOptions, RebalanceOptions, StormBase, TopologyActionOptions, TopologyStatus};

use crate::Refusal;
use crate::base::{Changes, changed};

/// What is to become of a topology. The first four are asked for by operators, the others by nimbus itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Spouts emit.
    Activate,
    /// Spouts emit nothing.
    Deactivate,
    /// Rebalance after a wait. The options as [`check`](crate::rebalance::check) gives them.
    Rebalance(RebalanceOptions),
    /// Remove after a wait; `None` stands for the time-out of messages.
    Kill {
        /// The wait, in seconds.
        wait_secs: Option<i32>,
    },
    /// This nimbus has become the leader and found the base.
    GainLeadership,
    /// The wait of a kill is over.
    Remove,
    /// The wait of a rebalance is over.
    DoRebalance,
    /// The assignment of a rebalance is written.
    FinishRebalance,
}

/// What nimbus asks itself when a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DelayedAction {
    /// [`Action::Remove`].
    Remove,
    /// [`Action::DoRebalance`].
    DoRebalance,
}

impl From<DelayedAction> for Action {
    fn from(delayed: DelayedAction) -> Self {
        match delayed {
            DelayedAction::Remove => Self::Remove,
            DelayedAction::DoRebalance => Self::DoRebalance,
        }
    }
}

impl Action {
    /// Storm's name of the action. The last is none of Storm's.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Activate => "ACTIVATE",
            Self::Deactivate => "INACTIVATE",
            Self::Rebalance(_) => "REBALANCE",
            Self::Kill { .. } => "KILL",
            Self::GainLeadership => "GAIN_LEADERSHIP",
            Self::Remove => "REMOVE",
            Self::DoRebalance => "DO_REBALANCE",
            Self::FinishRebalance => "FINISH_REBALANCE",
        }
    }

    /// Whether an operator asks for it, who is told when it cannot be.
    pub const fn is_an_operators(&self) -> bool {
        matches!(self, Self::Activate | Self::Deactivate | Self::Rebalance(_) | Self::Kill { .. })
    }
}

/// What comes of an action: first the base is written, if it changes, then the effect follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// The new base; `None` when it stays as it is.
    pub base: Option<StormBase>,
    /// What else is to be done.
    pub effect: Effect,
}

/// What is to be done besides writing the base.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nothing.
    Nothing,
    /// An action, after a wait.
    Wait {
        /// The action.
        action: DelayedAction,
        /// The wait, in seconds.
        secs: u32,
    },
    /// Remove the topology: assignment, credentials, levels of loggers, requests to profile, and then its base; tell its
    /// supervisors. The rest is left to [`clean_up`](crate::clean_up).
    Remove,
    /// Change code and configuration as the options say, with [`overridden`](crate::rebalance::overridden) and
    /// [`with_resources`](crate::rebalance::with_resources), then schedule the topology from scratch, and when the
    /// assignment is written, ask for [`Action::FinishRebalance`]. All of it may be done again if nimbus dies meanwhile.
    Rebalance(Box<RebalanceOptions>),
}

impl Transition {
    const NOTHING: Self = Self { base: None, effect: Effect::Nothing };

    fn to(base: StormBase) -> Self {
        Self { base: Some(base), effect: Effect::Nothing }
    }
}

/// What an action makes of a topology. `message_timeout_secs` is the wait where none is given, from the topology's stored
/// configuration (see [`message_timeout_secs`](crate::system::message_timeout_secs)). A negative wait ends at once.
///
/// # Errors
/// [`Refusal::NoTransition`] for an operator's action in a state that has no such transition.
pub fn transition(
    topology: &str,
    base: &StormBase,
    action: &Action,
    message_timeout_secs: i32,
) -> Result<Transition, Refusal> {
    use TopologyStatus::{Active, Inactive, Killed, Rebalancing};
    let transition = match (base.status, action) {
        (Active, Action::Deactivate) => Transition::to(changed(base, Changes::to(Inactive))),
        (Inactive, Action::Activate) => Transition::to(changed(base, Changes::to(Active))),
        (Active, Action::Activate) | (Inactive, Action::Deactivate) => Transition::NOTHING,
        (Active | Inactive, Action::Rebalance(options)) => rebalance(base, options, message_timeout_secs),
        (Active | Inactive | Rebalancing | Killed, Action::Kill { wait_secs }) => {
            kill(base, wait_secs.unwrap_or(message_timeout_secs))
        }
        (_, Action::GainLeadership) => {
            let pending = pending(base, message_timeout_secs);
            let effect = pending.map_or(Effect::Nothing, |(action, secs)| Effect::Wait { action, secs });
            Transition { base: None, effect }
        }
        (Killed, Action::Remove) => Transition { base: None, effect: Effect::Remove },
        (Rebalancing, Action::DoRebalance) => do_rebalance(base),
        (Rebalancing, Action::FinishRebalance) => {
            let status = base.prev_status.filter(|status| matches!(status, Active | Inactive)).unwrap_or(Active);
            Transition::to(changed(base, Changes::to(status)))
        }
        (status, action) if action.is_an_operators() => {
            return Err(Refusal::NoTransition { action: action.name(), status, topology: topology.to_owned() });
        }
        _ => Transition::NOTHING,
    };
    Ok(transition)
}

fn kill(base: &StormBase, wait_secs: i32) -> Transition {
    let options = KillOptions { wait_secs: Some(wait_secs), ..KillOptions::default() };
    let options = Some(TopologyActionOptions::KillOptions(options));
    let changes = Changes { topology_action_options: options, ..Changes::to(TopologyStatus::Killed) };
    let effect = Effect::Wait { action: DelayedAction::Remove, secs: seconds(wait_secs) };
    Transition { base: Some(changed(base, changes)), effect }
}

fn rebalance(base: &StormBase, options: &RebalanceOptions, message_timeout_secs: i32) -> Transition {
    let mut options = options.clone();
    let wait_secs = *options.wait_secs.get_or_insert(message_timeout_secs);
    options.num_executors.get_or_insert_default();
    let changes = Changes {
        prev_status: Some(base.status),
        topology_action_options: Some(TopologyActionOptions::RebalanceOptions(options)),
        ..Changes::to(TopologyStatus::Rebalancing)
    };
    let effect = Effect::Wait { action: DelayedAction::DoRebalance, secs: seconds(wait_secs) };
    Transition { base: Some(changed(base, changes)), effect }
}

fn do_rebalance(base: &StormBase) -> Transition {
    let options = match &base.topology_action_options {
        Some(TopologyActionOptions::RebalanceOptions(options)) => options.clone(),
        // Nobody writes that; a rebalance without options only schedules anew.
        _ => RebalanceOptions::default(),
    };
    let changes = Changes {
        prev_status: base.prev_status,
        num_workers: options.num_workers.unwrap_or(0),
        component_executors: options.num_executors.clone().unwrap_or_default(),
        ..Changes::default()
    };
    Transition { base: Some(changed(base, changes)), effect: Effect::Rebalance(Box::new(options)) }
}

/// What a base is waiting for, and for how long in seconds; `None` when it waits for nothing. When the wait began is not
/// known, so that it is the whole wait, also for a leader that comes in the middle of it.
pub fn pending(base: &StormBase, message_timeout_secs: i32) -> Option<(DelayedAction, u32)> {
    let action = match base.status {
        TopologyStatus::Killed => DelayedAction::Remove,
        TopologyStatus::Rebalancing => DelayedAction::DoRebalance,
        _ => return None,
    };
    let wait_secs = match (action, &base.topology_action_options) {
        (DelayedAction::Remove, Some(TopologyActionOptions::KillOptions(options))) => options.wait_secs,
        (DelayedAction::DoRebalance, Some(TopologyActionOptions::RebalanceOptions(options))) => options.wait_secs,
        _ => None,
    };
    Some((action, seconds(wait_secs.unwrap_or(message_timeout_secs))))
}

fn seconds(wait_secs: i32) -> u32 {
    u32::try_from(wait_secs).unwrap_or(0)
}

#[cfg(test)]
mod tests;
