//! What operators set beside a topology that lives: levels of its loggers, and its credentials.
//!
//! Each is one node of the topology's, in which nothing else is decided. They stand in the line of acts, so that none is
//! written for a topology that is being removed. Source: `Nimbus.setLogConfig` and `Nimbus.uploadNewCredentials` of Storm
//! 2.8.2.
//!
//! Invariants: written again they come to the same. Errors: refusals go to the operator; troubles are tried again, like
//! those of every other act.

use std::fmt;

use ringstorm_lifecycle::id::{find, is_of_name};
use ringstorm_records::records::{Credentials, LogConfig, LogLevelAction};
use ringstorm_records::znode::NodeName;
use ringstorm_store::cluster::{Leadership, Listing, Reading, Tree, Trouble};
use ringstorm_store::outcome::Condition;

use super::Nimbus;
use super::acts::{Act, ActSaid};
use super::leadership::bases;
use super::requests::sync;
use super::said::TermSaid;
use super::transitions::unreadable;
use crate::interface::{Refusal, Reply, RequestId};

/// Something that is set.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    /// Levels of loggers, on top of those that were set before. Of a topology by its id.
    Levels { topology: String, levels: LogConfig },
    /// Credentials, in the place of those that were there. Of a topology by its name.
    Credentials { name: String, credentials: Credentials },
}

/// What an operator wants set.
#[derive(Debug)]
pub(super) struct Amendment {
    pub(super) request: RequestId,
    setting: Setting,
    /// Whether an attempt may have written already.
    pub(super) is_in_doubt: bool,
}

impl fmt::Display for Amendment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.setting {
            Setting::Levels { topology, .. } => write!(formatter, "setting levels of loggers of {topology}"),
            Setting::Credentials { name, .. } => write!(formatter, "setting the credentials of {name}"),
        }
    }
}

impl Nimbus {
    pub(super) fn take_amendment(&mut self, request: RequestId, setting: Setting) {
        let refusal = match self.leads_or_why_not() {
            Err(why) => return self.refuse(request, why),
            Ok(()) if self.term().is_some_and(|term| term.acts.is_full()) => {
                Refusal::TryAgain("too many requests are waiting".into())
            }
            Ok(()) => {
                let amendment = Amendment { request, setting, is_in_doubt: false };
                return self.add_act(Act::Amendment(amendment));
            }
        };
        self.reply(request, Err(refusal));
    }

    pub(super) fn begin_amendment(&mut self) {
        let now_ms = i64::try_from(self.now.wall.as_millis()).unwrap_or(i64::MAX);
        let Some(term) = self.term() else { return };
        let leader = term.leadership.clone();
        let Some(Act::Amendment(Amendment { setting, .. })) = term.acts.act() else { return };
        let setting = setting.clone();
        self.say_in_term(|tree| async move {
            let result = match setting {
                Setting::Levels { topology, levels } => set_levels(&tree, &leader, &topology, &levels, now_ms).await,
                Setting::Credentials { name, credentials } => {
                    set_credentials(&tree, &leader, &name, &credentials).await
                }
            };
            TermSaid::Act(ActSaid::Amended(result))
        });
    }

    pub(super) fn hear_amended(&mut self, result: Result<Result<(), Refusal>, Trouble>) {
        let result = match result {
            Ok(result) => result,
            Err(trouble) if matches!(trouble.condition(), Some(Condition::TooLarge { .. })) => {
                Err(Refusal::IllegalState(format!("what is to be set is too large for ZooKeeper: {trouble}")))
            }
            Err(trouble) => {
                if let Some(Act::Amendment(amendment)) = self.term().and_then(|term| term.acts.act()) {
                    amendment.is_in_doubt |= matches!(trouble, Trouble::Unknown { .. });
                }
                return self.act_trouble(&trouble);
            }
        };
        if let Some(Act::Amendment(amendment)) = self.term().and_then(|term| term.acts.act()) {
            let (request, what) = (amendment.request, amendment.to_string());
            if result.is_ok() {
                self.note(format_args!("{what} is done"));
            }
            self.reply(request, result.map(|()| Reply::Done));
        }
        self.finish_act();
    }
}

/// The id of a topology that lives, as the text names it. Storm's refusal of an unknown id is the id itself.
async fn living(tree: &Tree, topology: &str) -> Result<Result<NodeName, Refusal>, Trouble> {
    let not_alive = || Refusal::NotAlive(topology.to_owned());
    let Ok(id) = NodeName::new(topology) else { return Ok(Err(not_alive())) };
    match tree.storm_base(&id, false).await? {
        Reading::Absent => Ok(Err(not_alive())),
        Reading::Found { .. } | Reading::Garbage { .. } => Ok(Ok(id)),
    }
}

/// The levels of a topology's loggers; of none that lives it is refused.
pub(super) async fn levels(tree: &Tree, topology: &str) -> Result<Result<Reply, Refusal>, Trouble> {
    sync(tree).await?;
    let topology = match living(tree, topology).await? {
        Ok(topology) => topology,
        Err(refusal) => return Ok(Err(refusal)),
    };
    Ok(current_levels(tree, &topology).await?.map(Reply::LogConfig))
}

async fn current_levels(tree: &Tree, topology: &NodeName) -> Result<Result<LogConfig, Refusal>, Trouble> {
    Ok(match tree.log_config(topology, false).await? {
        Reading::Absent => Ok(LogConfig::default()),
        Reading::Found { value, .. } => Ok(value),
        Reading::Garbage { why, .. } => Err(Refusal::IllegalState(format!(
            "the levels of loggers of {topology} in ZooKeeper cannot be read and are left alone: {why}"
        ))),
    })
}

async fn set_levels(
    tree: &Tree,
    leader: &Leadership,
    topology: &str,
    sent: &LogConfig,
    now_ms: i64,
) -> Result<Result<(), Refusal>, Trouble> {
    let topology = match living(tree, topology).await? {
        Ok(topology) => topology,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let merged = current_levels(tree, &topology).await?.and_then(|current| merged(current, sent, now_ms));
    match merged {
        Ok(levels) => Ok(Ok(tree.set_log_config(leader, &topology, &levels).await?)),
        Err(refusal) => Ok(Err(refusal)),
    }
}

async fn set_credentials(
    tree: &Tree,
    leader: &Leadership,
    name: &str,
    credentials: &Credentials,
) -> Result<Result<(), Refusal>, Trouble> {
    let Listing { found: bases, skipped } = bases(tree, false).await?;
    let id = match find(name, bases.iter().map(|(topology, base)| (topology.as_str(), base))) {
        Ok(id) => id,
        Err(refusal) => {
            let unread = skipped.iter().find(|skipped| is_of_name(skipped.path.name(), name));
            return Ok(Err(unread.map_or(refusal, unreadable).into()));
        }
    };
    let Some((topology, base)) = bases.iter().find(|(topology, _)| topology.as_str() == id) else {
        return Ok(Err(Refusal::NotAlive(format!("{name} is not alive"))));
    };
    if let Some(expected) = credentials.topo_owner.as_ref().filter(|expected| base.owner.as_ref() != Some(expected)) {
        let owner = base.owner.as_deref().unwrap_or("nobody");
        let why = format!("the credentials are for a topology of {expected}, but {name} is one of {owner}");
        return Ok(Err(Refusal::InvalidTopology(why)));
    }
    Ok(Ok(tree.set_credentials(leader, topology, credentials).await?))
}

/// What is stored when levels are set on top of others: each that was set before stays unchanged, until it ends.
fn merged(mut current: LogConfig, sent: &LogConfig, now_ms: i64) -> Result<LogConfig, Refusal> {
    let levels = current.named_logger_level.get_or_insert_default();
    for level in levels.values_mut() {
        level.action = LogLevelAction::Unchanged;
    }
    for (logger, level) in sent.named_logger_level.iter().flatten() {
        if logger.is_empty() {
            let why = "Named loggers need a name. Use ROOT for the root logger";
            return Err(Refusal::IllegalState(why.into()));
        }
        match level.action {
            LogLevelAction::Update => {
                let mut level = level.clone();
                let timeout = level.reset_log_level_timeout_secs.filter(|secs| *secs > 0);
                level.reset_log_level_timeout_epoch =
                    timeout.map(|secs| now_ms.saturating_add(i64::from(secs).saturating_mul(1000)));
                levels.insert(logger.clone(), level);
            }
            LogLevelAction::Remove => {
                levels.remove(logger);
            }
            _ => {}
        }
    }
    Ok(current)
}

#[cfg(test)]
mod tests {
    use ringstorm_records::records::LogLevel;

    use super::*;

    fn level(action: LogLevelAction, target: &str, secs: Option<i32>) -> LogLevel {
        LogLevel {
            action,
            target_log_level: Some(target.into()),
            reset_log_level_timeout_secs: secs,
            reset_log_level_timeout_epoch: None,
            reset_log_level: None,
            unknown: Default::default(),
        }
    }

    fn config(levels: &[(&str, LogLevel)]) -> LogConfig {
        let levels = levels.iter().map(|(logger, level)| ((*logger).to_owned(), level.clone()));
        LogConfig { named_logger_level: Some(levels.collect()), ..LogConfig::default() }
    }

    #[test]
    fn a_level_ends_as_many_seconds_after_it_was_set_as_it_says() {
        // As in the records of a real cluster: 30 s.
        let sent = config(&[("peer", level(LogLevelAction::Update, "DEBUG", Some(30)))]);
        let stored = merged(LogConfig::default(), &sent, 1_795_973_005_515).unwrap();
        let stored = &stored.named_logger_level.unwrap()["peer"];
        assert_eq!(stored.reset_log_level_timeout_epoch, Some(1_795_973_035_515));
        assert_eq!((stored.action, stored.target_log_level.as_deref()), (LogLevelAction::Update, Some("DEBUG")));
    }

    #[test]
    fn what_was_set_before_stays_unchanged_and_what_is_removed_goes() {
        let before = config(&[
            ("a", level(LogLevelAction::Update, "WARN", None)),
            ("b", level(LogLevelAction::Update, "DEBUG", None)),
        ]);
        let sent = config(&[
            ("b", level(LogLevelAction::Remove, "", None)),
            ("c", level(LogLevelAction::Update, "INFO", Some(0))),
        ]);
        let stored = merged(before, &sent, 7).unwrap();
        assert_eq!(
            stored,
            config(&[
                ("a", level(LogLevelAction::Unchanged, "WARN", None)),
                ("c", level(LogLevelAction::Update, "INFO", Some(0))),
            ])
        );
    }

    #[test]
    fn a_logger_without_a_name_is_refused() {
        let sent = config(&[("", level(LogLevelAction::Update, "INFO", None))]);
        assert!(matches!(merged(LogConfig::default(), &sent, 0), Err(Refusal::IllegalState(_))));
    }
}
