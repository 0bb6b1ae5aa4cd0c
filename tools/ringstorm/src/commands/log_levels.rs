//! `set_log_level`: levels of loggers of a topology.

use std::collections::BTreeMap;

use ringstorm_conf::Conf;
use ringstorm_nimbus::interface::Request;
use ringstorm_records::records::{LogConfig, LogLevel, LogLevelAction};
use serde_json::json;

use crate::asking::{request, topology};
use crate::command_line::SetLogLevel;
use crate::failure::{Failure, Status};
use crate::output;

/// The levels that Storm's loggers have.
const LEVELS: [&str; 8] = ["ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"];

/// Sets and takes back levels.
pub(crate) fn set_log_level(conf: &Conf, arguments: &SetLogLevel, json: bool) -> Result<Status, Failure> {
    let levels = levels(arguments)?;
    let id = topology(conf, &arguments.name)?.id;
    request(conf, Request::SetLogConfig { topology: id, levels })?;
    if json {
        output::print_json(&json!({ "name": arguments.name, "result": "levels set" }))?;
    } else {
        output::print(&format!("the levels of {} are set\n", arguments.name))?;
    }
    Ok(Status::Done)
}

/// What is asked for.
pub(crate) fn levels(arguments: &SetLogLevel) -> Result<LogConfig, Failure> {
    let mut levels = BTreeMap::new();
    for setting in &arguments.set {
        let (logger, level) = level(setting)?;
        levels.insert(logger, level);
    }
    for logger in &arguments.remove {
        levels.insert(logger.clone(), of(LogLevelAction::Remove, None, None));
    }
    if levels.is_empty() {
        return Err(Failure::usage("no level is given; give -l ROOT=DEBUG:60, or -r ROOT to take one back"));
    }
    Ok(LogConfig { named_logger_level: Some(levels), ..LogConfig::default() })
}

fn level(setting: &str) -> Result<(String, LogLevel), Failure> {
    let wrong = || {
        Failure::usage(format!(
            "{setting:?} is no level; give LOGGER=LEVEL or LOGGER=LEVEL:SECONDS, with one of {}",
            LEVELS.join(", ")
        ))
    };
    let (logger, rest) = setting.split_once('=').filter(|(logger, _)| !logger.is_empty()).ok_or_else(wrong)?;
    let (level, seconds) = match rest.split_once(':') {
        Some((level, seconds)) => (level, seconds.parse::<i32>().ok().filter(|it| *it >= 0).ok_or_else(wrong)?),
        None => (rest, 0),
    };
    let level = level.to_ascii_uppercase();
    if !LEVELS.contains(&level.as_str()) {
        return Err(wrong());
    }
    Ok((logger.to_owned(), of(LogLevelAction::Update, Some(level), Some(seconds))))
}

fn of(action: LogLevelAction, level: Option<String>, seconds: Option<i32>) -> LogLevel {
    LogLevel {
        action,
        target_log_level: level,
        reset_log_level_timeout_secs: seconds,
        reset_log_level_timeout_epoch: None,
        reset_log_level: None,
        unknown: Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(set: &[&str], remove: &[&str]) -> SetLogLevel {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        SetLogLevel { set: owned(set), remove: owned(remove), name: "words".into() }
    }

    #[test]
    fn levels_are_read_as_storm_reads_them() {
        let levels = levels(&arguments(&["ROOT=debug:30", "org.example=WARN"], &["old"])).unwrap();
        let levels = levels.named_logger_level.unwrap();
        let root = &levels["ROOT"];
        assert_eq!((root.target_log_level.as_deref(), root.reset_log_level_timeout_secs), (Some("DEBUG"), Some(30)));
        assert_eq!(levels["org.example"].reset_log_level_timeout_secs, Some(0));
        assert_eq!(levels["old"].action, LogLevelAction::Remove);
    }

    #[test]
    fn what_is_no_level_is_refused_with_an_example() {
        for wrong in ["ROOT", "=DEBUG", "ROOT=LOUD", "ROOT=DEBUG:soon", "ROOT=DEBUG:-1"] {
            assert!(levels(&arguments(&[wrong], &[])).unwrap_err().text.contains("give LOGGER=LEVEL"), "{wrong}");
        }
        assert!(levels(&arguments(&[], &[])).unwrap_err().text.contains("no level is given"));
    }
}
