//! `set_log_level`: levels of loggers of a topology.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_conf::Conf;
use ringstorm_nimbus::interface::Request;
use ringstorm_records::nimbus::GetLogConfig;
use ringstorm_records::records::{LogConfig, LogLevel, LogLevelAction};
use serde_json::json;

use crate::asking::{ask, request, topology};
use crate::command_line::SetLogLevel;
use crate::failure::{Failure, Status};
use crate::output;

/// The levels that Storm's loggers have.
const LEVELS: [&str; 8] = ["ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"];

/// Sets and takes back levels.
pub(crate) fn set_log_level(conf: &Conf, arguments: &SetLogLevel, json: bool) -> Result<Status, Failure> {
    let levels = levels(arguments)?;
    let id = topology(conf, &arguments.name)?.id;
    if !arguments.remove.is_empty() {
        let current = ask(conf, &GetLogConfig { name: Some(id.clone()) })?;
        check_removals(&arguments.name, &arguments.remove, &current)?;
    }
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
        if levels.contains_key(logger) {
            return Err(Failure::usage(format!(
                "the level of {logger:?} is both set and taken back; give one of -l and -r"
            )));
        }
        levels.insert(logger.clone(), of(LogLevelAction::Remove, None, None));
    }
    if levels.is_empty() {
        return Err(Failure::usage("no level is given; give -l ROOT=DEBUG:60, or -r ROOT to take one back"));
    }
    Ok(LogConfig { named_logger_level: Some(levels), ..LogConfig::default() })
}

/// Whether each level that is to be taken back is there. Nimbus would say nothing of one that is not.
fn check_removals(name: &str, loggers: &[String], current: &LogConfig) -> Result<(), Failure> {
    let set: BTreeSet<&str> = current.named_logger_level.iter().flatten().map(|(logger, _)| logger.as_str()).collect();
    let missing: Vec<String> =
        loggers.iter().filter(|logger| !set.contains(logger.as_str())).map(|logger| format!("{logger:?}")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let there = match set.len() {
        0 => "none is set".to_owned(),
        _ => format!("set are those of {}", set.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join(", ")),
    };
    Err(Failure::new(format!(
        "{name} has no level of {} that could be taken back: {there}; nothing was changed",
        missing.join(", ")
    )))
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
        let both = levels(&arguments(&["ROOT=INFO"], &["ROOT"])).unwrap_err();
        assert!(both.text.contains("both set and taken back"), "{both:?}");
    }

    #[test]
    fn only_what_is_set_can_be_taken_back() {
        let current = |loggers: &[&str]| {
            let set: Vec<String> = loggers.iter().map(|logger| format!("{logger}=INFO")).collect();
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            levels(&arguments(&set, &["unused"])).map(|mut levels| {
                levels.named_logger_level.as_mut().unwrap().remove("unused");
                levels
            })
        };
        let removed = |loggers: &[&str], current: &LogConfig| {
            let loggers: Vec<String> = loggers.iter().map(|logger| (*logger).to_owned()).collect();
            check_removals("words", &loggers, current).map_err(|failure| failure.text)
        };
        let two = current(&["ROOT", "a::b"]).unwrap();
        assert_eq!(removed(&["ROOT", "a::b"], &two), Ok(()));
        let said = removed(&["ROOT", "no", "nor"], &two).unwrap_err();
        assert!(said.contains("no level of \"no\", \"nor\"") && said.contains("those of \"ROOT\", \"a::b\""), "{said}");
        assert!(removed(&["ROOT"], &LogConfig::default()).unwrap_err().contains("none is set"));
    }
}
