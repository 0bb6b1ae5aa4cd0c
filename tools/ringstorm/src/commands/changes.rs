//! `kill`, `activate`, `deactivate`, `rebalance`.

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_caller::{ClientSettings, Success, read};
use ringstorm_conf::Conf;
use ringstorm_lifecycle::rebalance::check_overrides;
use ringstorm_nimbus::interface::Request;
use ringstorm_records::nimbus::{GetClusterInfo, GetTopologyConf, GetTopologySummaries};
use ringstorm_records::records::{KillOptions, RebalanceOptions};
use ringstorm_types::config::Config;
use ringstorm_types::config::keys::TOPOLOGY_MESSAGE_TIMEOUT_SECS;
use serde_json::{Map, Value, json};

use crate::asking::request;
use crate::command_line::{Kill, Rebalance};
use crate::failure::{Failure, Status};
use crate::output;

/// How long a question may take that is only for better words.
const QUESTION_LIMIT: Duration = Duration::from_secs(5);

/// `kill`.
pub(crate) fn kill(conf: &Conf, arguments: &Kill, json: bool) -> Result<Status, Failure> {
    let mut status = Status::Done;
    for name in &arguments.names {
        let options = KillOptions { wait_secs: arguments.wait, ..KillOptions::default() };
        let killed = request(conf, Request::Kill { name: name.clone(), options });
        match killed {
            Ok(success) => {
                let words = || format!("is killed: it ends {}", after(conf, name, arguments.wait));
                done(name, "killed", words, &success, json)?;
            }
            Err(failure) if arguments.ignore_errors => {
                failure.say(json);
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
    done(name, "activated", || "is active".into(), &success, json)?;
    Ok(Status::Done)
}

/// `deactivate`.
pub(crate) fn deactivate(conf: &Conf, name: &str, json: bool) -> Result<Status, Failure> {
    let success = request(conf, Request::Deactivate { name: name.to_owned() })?;
    done(name, "deactivated", || "is inactive".into(), &success, json)?;
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
    let words = || format!("is rebalancing: it is placed anew {}", after(conf, &arguments.name, arguments.wait));
    done(&arguments.name, "rebalancing", words, &success, json)?;
    if let Some(remark) = too_many(conf, arguments) {
        output::say(&format!("note: {remark}"));
    }
    Ok(Status::Done)
}

/// A remark if a topology is to have more workers than it can. Asked for once; without an answer there is none.
fn too_many(conf: &Conf, arguments: &Rebalance) -> Option<String> {
    let (name, wanted) = (&arguments.name, arguments.workers?);
    let cluster = read(&quickly(conf), &GetClusterInfo {}).ok()?;
    let slots: i64 = cluster.supervisors.iter().map(|supervisor| i64::from(supervisor.num_workers)).sum();
    let found = cluster.topologies.iter().find(|it| it.name == *name);
    // With other numbers of executors it may have more than now.
    let executors = found.filter(|_| arguments.executors.is_empty()).map(|it| i64::from(it.num_executors));
    beyond(name, i64::from(wanted), slots, executors)
}

/// The remark, by how many slots the cluster has, and how many executors the topology has so far.
fn beyond(name: &str, wanted: i64, slots: i64, executors: Option<i64>) -> Option<String> {
    let executors = executors.filter(|executors| *executors > 0 && wanted > *executors);
    let limits = [
        (wanted > slots).then(|| format!("the cluster has {slots} slots in all")),
        executors.map(|executors| format!("it has {executors} executors so far, and a worker runs one at least")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    (!limits.is_empty()).then(|| {
        format!(
            "{wanted} workers for {name} are more than it can have: {}; it gets as many as there can be",
            limits.join(", and ")
        )
    })
}

/// For questions that are only for better words.
fn quickly(conf: &Conf) -> ClientSettings {
    let mut settings = conf.client_settings();
    settings.retry_times = 0;
    settings.timeouts.answer = settings.timeouts.answer.min(QUESTION_LIMIT);
    settings
}

/// What is asked for. As in Storm, settings of the topology that are given by `-c` are changed too.
pub(crate) fn rebalance_options(arguments: &Rebalance, settings: &[String]) -> Result<RebalanceOptions, Failure> {
    let executors: BTreeMap<String, i32> = arguments.executors.iter().cloned().collect();
    let mut overrides = match &arguments.conf {
        Some(text) => object(text, "--topology-conf", r#"{"topology.max.spout.pending": 1000}"#)?,
        None => Map::new(),
    };
    for setting in settings {
        let (key, value) = Config::parse_setting(setting).map_err(|error| Failure::usage(error.to_string()))?;
        if key.starts_with("topology.") {
            overrides.insert(key, value);
        }
    }
    check_overrides(&overrides).map_err(|refusal| Failure::usage(refusal.to_string()))?;
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
        .map_err(|error| Failure::usage(format!("{option} is no JSON object: {error}; write one such as {example}")))
}

fn resources(text: &str) -> Result<BTreeMap<String, BTreeMap<String, f64>>, Failure> {
    let example = r#"{"count": {"cpu.pcore.percent": 50}}"#;
    serde_json::from_str(text).map_err(|error| {
        Failure::usage(format!(
            "--resources names no amounts of components: {error}; write an object such as {example}"
        ))
    })
}

/// How long the wait is, in words: as it was given, or as the topology's configuration says. That is asked for once, and
/// without it the words say less: what was asked for is done.
fn after(conf: &Conf, name: &str, given: Option<i32>) -> String {
    let wait = given.map(i64::from).or_else(|| {
        let settings = quickly(conf);
        let topology = read(&settings, &GetTopologySummaries {}).ok()?.into_iter().find(|it| it.name == name)?;
        let text = read(&settings, &GetTopologyConf { id: Some(topology.id) }).ok()?;
        let topology: Value = serde_json::from_str(&text).ok()?;
        topology.get(TOPOLOGY_MESSAGE_TIMEOUT_SECS)?.as_i64()
    });
    match wait {
        Some(seconds) => format!("after its wait of {seconds} s"),
        None => format!("after its wait, which is its {TOPOLOGY_MESSAGE_TIMEOUT_SECS} (-w says another)"),
    }
}

/// Says what was done; or what was found, where an answer was lost.
fn done(name: &str, word: &str, words: impl FnOnce() -> String, success: &Success, json: bool) -> Result<(), Failure> {
    if json {
        let mut said = json!({ "name": name, "result": word });
        if let Success::Found(finding) = success {
            said["found"] = finding.to_string().into();
        }
        return output::print_json(&said);
    }
    match success {
        Success::Answered(_) => output::print(&format!("{name} {}\n", words())),
        Success::Found(finding) => output::print(&format!("{finding}\n")),
    }
}

#[cfg(test)]
mod tests;
