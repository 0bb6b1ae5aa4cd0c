//! A submission, from what the client sent to what is stored. Source: `Nimbus.submitTopologyWithOpts` of Storm 2.8.2.
//!
//! Nimbus does the rest around it, in this order: it is the leader; the caller may do that; [`accept`]; blobs that
//! `topology.blobstore.map` names are there; credentials, blobs, folders for heartbeats and errors, and last the base, by
//! which the topology lives.
//!
//! Errors: every reason against the submission at once. Only a name that is not allowed, and a configuration that is no
//! JSON object, stand alone.

use std::collections::BTreeSet;

use ringstorm_records::records::{StormBase, StormTopology, TopologyInitialStatus, TopologyStatus};
use ringstorm_records::thrift::UnknownFields;
use ringstorm_types::config::keys::TOPOLOGY_WORKERS;
use serde_json::Value;

use crate::Refusal;
use crate::conf::{self, Conf, WORKER_SECRET};
use crate::executors::first_executors;
use crate::id::{check_name, topology_id};
use crate::refusal::Reasons;
use crate::system::{components_mut, system_topology};
use crate::validate;

const STORM_ID: &str = "storm.id";
const TOPOLOGY_NAME: &str = "topology.name";
const TOPOLOGY_USERS: &str = "topology.users";
const TOPOLOGY_VERSION: &str = "topology.version";
const SUBMITTER_PRINCIPAL: &str = "topology.submitter.principal";
const SUBMITTER_USER: &str = "topology.submitter.user";
const ZOOKEEPER_SUPER_ACL: &str = "storm.zookeeper.superACL";
const ZOOKEEPER_AUTH_SCHEME: &str = "storm.zookeeper.auth.scheme";
const ZOOKEEPER_TOPOLOGY_AUTH: [&str; 2] =
    ["storm.zookeeper.topology.auth.scheme", "storm.zookeeper.topology.auth.payload"];
const CLASSPATH_BEGINNING: &str = "topology.classpath.beginning";
const CLASSPATH_BEGINNING_ENABLED: &str = "storm.topology.classpath.beginning.enabled";
const LOCAL_HOSTNAME: &str = "storm.local.hostname";

/// What a client sent, and what nimbus adds.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// The name of the topology.
    pub name: &'a str,
    /// Its configuration, as JSON text.
    pub json_conf: &'a str,
    /// Its components.
    pub topology: &'a StormTopology,
    /// What it is at first.
    pub initial_status: TopologyInitialStatus,
    /// The authenticated name of the caller; `None` for an anonymous one.
    pub principal: Option<&'a str>,
    /// The user that nimbus runs as, who owns the topologies of anonymous callers.
    pub nimbus_user: &'a str,
    /// Counts the submissions of this process of nimbus, from 1. A refused one may use a number up, as in Storm.
    pub number: u64,
    /// Seconds since 1970.
    pub now_secs: i64,
    /// A random text that cannot be guessed, made for this submission alone.
    pub worker_secret: &'a str,
}

/// What is stored of a topology.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// Its id.
    pub id: String,
    /// The blob `stormconf.ser`, with [`encode`](conf::encode).
    pub conf: Conf,
    /// The blob `stormcode.ser`, with [`payload::encode`](ringstorm_records::payload::encode).
    pub topology: StormTopology,
    /// The base.
    pub base: StormBase,
}

/// Decides whether a topology is taken, and makes of it what is stored. Whether its name is free is for
/// [`check_free`](crate::id::check_free), before this and again before the base is written.
///
/// # Errors
/// [`Refusal::Invalid`].
pub fn accept(daemon: &Conf, submission: &Submission<'_>) -> Result<Accepted, Refusal> {
    check_name(submission.name)?;
    let status = match submission.initial_status {
        TopologyInitialStatus::Active => TopologyStatus::Active,
        TopologyInitialStatus::Inactive => TopologyStatus::Inactive,
        other => return Err(Refusal::invalid(format!("Inital Status of {other} is not allowed."))),
    };
    let mut sent = conf::parse(submission.json_conf, "The configuration of the topology")?;
    // What is wrong so far is put aside, so that the rest can be looked at.
    let mut reasons = Reasons::default();
    for (key, reason) in validate::faults(&sent) {
        reasons.add(|| reason);
        sent.shift_remove(&key);
    }
    let mut topology = submission.topology.clone();
    for (id, common) in components_mut(&mut topology) {
        if let Err(refusal) = conf::check_component(id, common) {
            reasons.add(|| format!("Component: [{id}]: {refusal}"));
            common.json_conf = None;
        }
    }
    let completed = complete(daemon, sent, &topology, status, submission);
    if let Err(refusal) = &completed {
        reasons.add_refusal(refusal.clone());
    }
    reasons.check()?;
    completed
}

/// What is stored for a configuration and a topology whose values can be read.
fn complete(
    daemon: &Conf,
    sent: Conf,
    topology: &StormTopology,
    status: TopologyStatus,
    submission: &Submission<'_>,
) -> Result<Accepted, Refusal> {
    let id = topology_id(submission.name, submission.number, submission.now_secs);
    let own = own_conf(daemon, sent, topology, submission, &id)?;
    let mut stored = conf::merged(daemon, &own);
    let total = stored.clone();
    stored.shift_remove(LOCAL_HOSTNAME);

    let topology = conf::normalize_topology(&total, topology)?;
    let mut reasons = Reasons::default();
    let found = validate::structure(&total, &topology).into_iter().chain(validate::size(daemon, &own, &topology));
    found.for_each(|reason| reasons.add(|| reason));
    if has_zookeeper_auth(daemon)? && conf::text(&own, ZOOKEEPER_TOPOLOGY_AUTH[0])?.is_none_or(str::is_empty) {
        let words = "The cluster is configured for zookeeper authentication, but no payload was provided.";
        reasons.add(|| words.to_owned());
    }
    reasons.check()?;
    let base = first_base(&stored, &topology, status, submission)?;
    Ok(Accepted { id, conf: stored, topology, base })
}

/// The topology's configuration with what is known of the submission, without what the client may not say.
fn own_conf(
    daemon: &Conf,
    mut sent: Conf,
    topology: &StormTopology,
    submission: &Submission<'_>,
    id: &str,
) -> Result<Conf, Refusal> {
    sent.insert(STORM_ID.to_owned(), id.into());
    sent.insert(TOPOLOGY_NAME.to_owned(), submission.name.into());
    let mut own = conf::normalize_conf(daemon, &sent, topology)?;
    let mut users = users(&own)?;
    let principal = submission.principal.map_or(Value::Null, Value::from);
    if !users.contains(&principal) {
        users.push(principal);
    }
    own.insert(TOPOLOGY_USERS.to_owned(), users.into());
    own.insert(SUBMITTER_PRINCIPAL.to_owned(), submission.principal.unwrap_or_default().into());
    own.insert(SUBMITTER_USER.to_owned(), submission.principal.unwrap_or(submission.nimbus_user).into());
    own.insert(ZOOKEEPER_SUPER_ACL.to_owned(), daemon.get(ZOOKEEPER_SUPER_ACL).cloned().unwrap_or_default());
    own.insert(WORKER_SECRET.to_owned(), submission.worker_secret.into());
    if !has_zookeeper_auth(daemon)? {
        for key in ZOOKEEPER_TOPOLOGY_AUTH {
            own.shift_remove(key);
        }
    }
    if !conf::flag(daemon, CLASSPATH_BEGINNING_ENABLED)? {
        own.shift_remove(CLASSPATH_BEGINNING);
    }
    Ok(own)
}

/// Those whom the client names, each once. One text counts as a list of it.
fn users(own: &Conf) -> Result<Vec<Value>, Refusal> {
    if let Some(user @ Value::String(_)) = own.get(TOPOLOGY_USERS) {
        return Ok(vec![user.clone()]);
    }
    let (mut users, mut seen) = (Vec::new(), BTreeSet::new());
    for user in conf::list(own, TOPOLOGY_USERS)?.iter().filter(|user| !user.is_null()) {
        if seen.insert(user.to_string()) {
            users.push(user.clone());
        }
    }
    Ok(users)
}

fn has_zookeeper_auth(daemon: &Conf) -> Result<bool, Refusal> {
    Ok(conf::text(daemon, ZOOKEEPER_AUTH_SCHEME)?.is_some_and(|scheme| !scheme.is_empty()))
}

fn first_base(
    stored: &Conf,
    topology: &StormTopology,
    status: TopologyStatus,
    submission: &Submission<'_>,
) -> Result<StormBase, Refusal> {
    let launch_time_secs = i32::try_from(submission.now_secs).map_err(|_| {
        Refusal::invalid("The clock of nimbus is past 2038, or before 1902, which StormBase cannot hold")
    })?;
    Ok(StormBase {
        name: submission.name.to_owned(),
        status,
        num_workers: conf::int(stored, TOPOLOGY_WORKERS)?.unwrap_or(0),
        component_executors: Some(first_executors(&system_topology(stored, topology)?)),
        launch_time_secs: Some(launch_time_secs),
        owner: Some(submission.principal.unwrap_or(submission.nimbus_user).to_owned()),
        topology_action_options: None,
        prev_status: None,
        component_debug: Some([].into()),
        principal: Some(submission.principal.unwrap_or_default().to_owned()),
        topology_version: conf::text(stored, TOPOLOGY_VERSION)?.map(str::to_owned),
        unknown: UnknownFields::default(),
    })
}

#[cfg(test)]
mod tests;
