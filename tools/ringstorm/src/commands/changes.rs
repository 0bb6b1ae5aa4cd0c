//! `kill`, `activate`, `deactivate`, `rebalance`.

use std::collections::BTreeMap;

use ringstorm_caller::Success;
use ringstorm_conf::Conf;
use ringstorm_nimbus::interface::Request;
use ringstorm_records::records::{KillOptions, RebalanceOptions};
use ringstorm_types::config::Config;
use serde_json::{Map, Value, json};

use crate::asking::request;
use crate::command_line::{Kill, Rebalance};
use crate::failure::{Failure, Status};
use crate::output;

/// `kill`.
pub(crate) fn kill(conf: &Conf, arguments: &Kill, json: bool) -> Result<Status, Failure> {
    let mut status = Status::Done;
    for name in &arguments.names {
        let options = KillOptions { wait_secs: arguments.wait, ..KillOptions::default() };
        let killed = request(conf, Request::Kill { name: name.clone(), options });
        match killed {
            Ok(success) => done(name, "killed", "is killed: it ends after its wait", &success, json)?,
            Err(failure) if arguments.ignore_errors => {
                output::say(&format!("error: {}", failure.text));
                status = Status::Failed;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(status)
}

/// `activate`.
pub(crate) fn activate(conf: &Conf, name: &str, json: bool) -> Result<Status, Failure> {
    let success = request(conf, Request::Activate { name: name.to_owned() })?;
    done(name, "activated", "is active", &success, json)?;
    Ok(Status::Done)
}

/// `deactivate`.
pub(crate) fn deactivate(conf: &Conf, name: &str, json: bool) -> Result<Status, Failure> {
    let success = request(conf, Request::Deactivate { name: name.to_owned() })?;
    done(name, "deactivated", "is inactive", &success, json)?;
    Ok(Status::Done)
}

/// `rebalance`.
pub(crate) fn rebalance(
    conf: &Conf,
    arguments: &Rebalance,
    settings: &[String],
    json: bool,
) -> Result<Status, Failure> {
    let options = rebalance_options(arguments, settings)?;
    let success = request(conf, Request::Rebalance { name: arguments.name.clone(), options })?;
    done(&arguments.name, "rebalancing", "is rebalancing: it is placed anew after its wait", &success, json)?;
    Ok(Status::Done)
}

/// What is asked for. As in Storm, settings of the topology that are given by `-c` are changed too.
pub(crate) fn rebalance_options(arguments: &Rebalance, settings: &[String]) -> Result<RebalanceOptions, Failure> {
    let executors: BTreeMap<String, i32> = arguments.executors.iter().cloned().collect();
    let mut overrides = match &arguments.conf {
        Some(text) => object(text, "--topology-conf", r#"{"topology.max.spout.pending": 1000}"#)?,
        None => Map::new(),
    };
    for setting in settings {
        let (key, value) = Config::parse_setting(setting).map_err(|error| Failure::new(error.to_string()))?;
        if key.starts_with("topology.") {
            overrides.insert(key, value);
        }
    }
    Ok(RebalanceOptions {
        wait_secs: arguments.wait,
        num_workers: arguments.workers,
        num_executors: (!executors.is_empty()).then_some(executors),
        topology_resources_overrides: arguments.resources.as_deref().map(resources).transpose()?,
        topology_conf_overrides: (!overrides.is_empty()).then(|| Value::Object(overrides).to_string()),
        ..RebalanceOptions::default()
    })
}

fn object(text: &str, option: &str, example: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::new(format!("{option} is no JSON object: {error}; write one such as {example}")))
}

fn resources(text: &str) -> Result<BTreeMap<String, BTreeMap<String, f64>>, Failure> {
    let example = r#"{"count": {"cpu.pcore.percent": 50}}"#;
    serde_json::from_str(text).map_err(|error| {
        Failure::new(format!("--resources names no amounts of components: {error}; write an object such as {example}"))
    })
}

/// Says what was done; or what was found, where an answer was lost.
fn done(name: &str, word: &str, words: &str, success: &Success, json: bool) -> Result<(), Failure> {
    if json {
        return output::print_json(
            &json!({ "name": name, "result": word, "isFound": matches!(success, Success::Found(_)) }),
        );
    }
    match success {
        Success::Answered(_) => output::print(&format!("{name} {words}\n")),
        Success::Found(finding) => output::print(&format!("{finding}\n")),
    }
}

#[cfg(test)]
mod tests;
