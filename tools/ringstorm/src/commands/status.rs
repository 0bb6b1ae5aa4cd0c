//! `status`: a topology with the figures of its components, its workers, its errors, and what became of its workers on this
//! host.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use ringstorm_conf::Conf;
use ringstorm_records::nimbus::{GetTopologyInfoByNameWithOpts, GetTopologyPageInfo};
use ringstorm_records::records::{
    ComponentAggregateStats, ErrorInfo, GetInfoOptions, NumErrorsChoice, SpecificAggregateStats, TopologyPageInfo,
    TopologyStats, TopologySummary,
};
use ringstorm_records::render;
use ringstorm_supervisor_daemon::history::{self, Entry, What};
use serde_json::{Map, Value, json};

use super::errors::{self, now_secs};
use super::supervisor_folders;
use crate::asking::{ask_once, topology};
use crate::failure::{Failure, Status};
use crate::output;
use crate::table::Side::{Left, Right};
use crate::table::{Table, milliseconds, number, one_line, span};

/// The window of the figures of components: everything since the start.
const ALL_TIME: &str = ":all-time";
/// How many of the last events of workers are shown.
const EVENTS_SHOWN: usize = 20;

/// Shows a topology.
pub(crate) fn status(conf: &Conf, name: &str, json: bool) -> Result<Status, Failure> {
    let mut summary = topology(conf, name)?;
    let method = GetTopologyPageInfo {
        id: Some(summary.id.clone()),
        window: Some(ALL_TIME.into()),
        is_include_sys: Some(false),
    };
    let (events, unreadable) = events_here(&conf.local_dir(), &summary.id);
    unreadable
        .iter()
        .for_each(|why| output::say(&format!("note: what became of workers on this host is not shown: {why}")));
    let now = now_secs();
    let page = match ask_once(conf, &method) {
        Ok(page) => page,
        Err(failure) => {
            let known = page_of(&summary);
            if json {
                output::print_json(&json_of(&known, &summary, &events, &[]))?;
            } else {
                output::print(&text(&known, &summary, &[], &events, now))?;
            }
            return Err(Failure { text: format!("nothing more is known of {name}: {}", failure.text), ..failure });
        }
    };
    if !are_of_one_placement(&page, &summary) {
        // It was placed anew between the two questions.
        summary = topology(conf, name)?;
    }
    let errors = newest_errors(conf, name, &page);
    if json {
        output::print_json(&json_of(&page, &summary, &events, &errors))?;
    } else {
        output::print(&text(&page, &summary, &errors, &events, now))?;
    }
    Ok(Status::Done)
}

fn are_of_one_placement(page: &TopologyPageInfo, summary: &TopologySummary) -> bool {
    page.num_workers.is_none_or(|workers| workers == summary.num_workers)
        && page.num_executors.is_none_or(|executors| executors == summary.num_executors)
}

/// What the list says of a topology whose page cannot be had.
fn page_of(summary: &TopologySummary) -> TopologyPageInfo {
    TopologyPageInfo {
        id: summary.id.clone(),
        name: Some(summary.name.clone()),
        status: Some(summary.status.clone()),
        uptime_secs: Some(summary.uptime_secs),
        owner: summary.owner.clone(),
        replication_count: summary.replication_count,
        sched_status: summary.sched_status.clone(),
        ..TopologyPageInfo::default()
    }
}

/// The newest error of each component, of those as well that have not beaten, which are on no page: their workers may be
/// what does not start.
fn newest_errors(conf: &Conf, name: &str, page: &TopologyPageInfo) -> Vec<(String, ErrorInfo)> {
    let options = GetInfoOptions { num_err_choice: Some(NumErrorsChoice::One) };
    let method = GetTopologyInfoByNameWithOpts { name: Some(name.to_owned()), options: Some(options) };
    match ask_once(conf, &method) {
        Ok(info) => info.errors.into_iter().filter_map(|(of, errors)| Some((of, errors.into_iter().next()?))).collect(),
        Err(_) => {
            let all = page.id_to_spout_agg_stats.iter().chain(&page.id_to_bolt_agg_stats).flatten();
            all.filter_map(|(component, stats)| Some((component.clone(), stats.last_error.clone()?))).collect()
        }
    }
}

fn json_of(
    page: &TopologyPageInfo,
    summary: &TopologySummary,
    events: &[Entry],
    errors: &[(String, ErrorInfo)],
) -> Value {
    let mut value = render::record(page);
    if let Value::Object(members) = &mut value {
        // Of no use to whoever looks at figures, and long.
        members.remove("topology_conf");
        members.insert("assigned_tasks".into(), summary.num_tasks.into());
        members.insert("assigned_workers".into(), summary.num_workers.into());
        members.insert("workers_history".into(), serde_json::to_value(events).unwrap_or_else(|_| json!([])));
        let errors: Map<String, Value> = errors.iter().map(|(of, error)| (of.clone(), render::record(error))).collect();
        members.insert("errors".into(), errors.into());
    }
    value
}

/// What became of workers of a topology on this host: of its supervisor, or of those that `dev` has below its folder; and
/// which files cannot be read.
fn events_here(local_dir: &Path, topology: &str) -> (Vec<Entry>, Vec<io::Error>) {
    let (mut events, mut unreadable) = (Vec::new(), Vec::new());
    for folder in supervisor_folders(local_dir) {
        let (found, errors) = history::look(&folder);
        events.extend(found);
        unreadable.extend(errors);
    }
    events.retain(|event| event.topology == topology);
    events.sort_by_key(|event| event.time_ms);
    (events, unreadable)
}

/// For people.
pub(crate) fn text(
    page: &TopologyPageInfo,
    summary: &TopologySummary,
    errors: &[(String, ErrorInfo)],
    events: &[Entry],
    now_secs: i64,
) -> String {
    let name = one_line(page.name.as_deref().unwrap_or(&page.id));
    let known = |value: &Option<String>| one_line(value.as_deref().unwrap_or("-"));
    let mut text = format!(
        "{name}  {}  up {}  owner {}\nid {}\n{} workers, {} executors, {} of {} tasks placed; code on {} \
         nimbus\n",
        known(&page.status),
        span(page.uptime_secs.unwrap_or(0).into()),
        known(&page.owner),
        one_line(&page.id),
        summary.num_workers,
        summary.num_executors,
        summary.num_tasks,
        number(page.num_tasks.map(i64::from)),
        number(page.replication_count.map(i64::from)),
    );
    if let Some(words) = page.sched_status.as_deref().filter(|words| !words.is_empty()) {
        text.push_str(&format!("placing: {}\n", one_line(words)));
    }
    if let Some(remark) = remark(page) {
        text.push_str(&format!("note: {remark}\n"));
    }
    for part in
        [windows(page), components(page), workers(page), errors_text(errors, now_secs), history_text(events, now_secs)]
    {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text
}

/// What has to be known to read the figures.
fn remark(page: &TopologyPageInfo) -> Option<&'static str> {
    let has_figures = |stats: &TopologyStats| {
        [&stats.window_to_emitted, &stats.window_to_acked].into_iter().flatten().any(|windows| !windows.is_empty())
    };
    match page.status.as_deref() {
        Some("REBALANCING") => Some("it is about to be placed anew; workers and figures are those of before"),
        Some("ACTIVE" | "INACTIVE")
            if page.workers.as_ref().is_some_and(|workers| !workers.is_empty())
                && !page.topology_stats.as_ref().is_some_and(has_figures) =>
        {
            Some("there are no figures yet: its workers have counted nothing since they were placed here")
        }
        _ => None,
    }
}

/// What the spouts counted, by window.
fn windows(page: &TopologyPageInfo) -> String {
    let Some(stats) = &page.topology_stats else { return String::new() };
    let names = [("600", "10 minutes"), ("10800", "3 hours"), ("86400", "a day"), (ALL_TIME, "all time")];
    let mut table = Table::new(&[
        ("WINDOW", Left),
        ("EMITTED", Right),
        ("TRANSFERRED", Right),
        ("ACKED", Right),
        ("FAILED", Right),
        ("COMPLETE MS", Right),
    ]);
    let count = |of: &Option<BTreeMap<String, i64>>, window: &str| {
        number(of.as_ref().and_then(|windows| windows.get(window)).copied())
    };
    for (window, words) in names {
        let latency = stats.window_to_complete_latencies_ms.as_ref().and_then(|of| of.get(window)).copied();
        table.row([
            words.to_owned(),
            count(&stats.window_to_emitted, window),
            count(&stats.window_to_transferred, window),
            count(&stats.window_to_acked, window),
            count(&stats.window_to_failed, window),
            milliseconds(latency),
        ]);
    }
    table.text()
}

fn components(page: &TopologyPageInfo) -> String {
    let mut table = Table::new(&[
        ("COMPONENT", Left),
        ("KIND", Left),
        ("EXECUTORS", Right),
        ("TASKS", Right),
        ("EMITTED", Right),
        ("TRANSFERRED", Right),
        ("EXECUTED", Right),
        ("ACKED", Right),
        ("FAILED", Right),
        ("EXECUTE MS", Right),
        ("PROCESS MS", Right),
        ("COMPLETE MS", Right),
        ("CAPACITY", Right),
    ]);
    for (kind, components) in [("spout", &page.id_to_spout_agg_stats), ("bolt", &page.id_to_bolt_agg_stats)] {
        for (component, stats) in components.iter().flatten() {
            table.row(component_row(component, kind, stats));
        }
    }
    if table.is_empty() { String::new() } else { table.text() }
}

fn component_row(component: &str, kind: &str, stats: &ComponentAggregateStats) -> Vec<String> {
    let common = stats.common_stats.clone().unwrap_or_default();
    let (mut executed, mut execute, mut process, mut complete, mut capacity) = (None, None, None, None, None);
    match &stats.specific_stats {
        Some(SpecificAggregateStats::Bolt(bolt)) => {
            (executed, execute, process) = (bolt.executed, bolt.execute_latency_ms, bolt.process_latency_ms);
            capacity = bolt.capacity;
        }
        Some(SpecificAggregateStats::Spout(spout)) => complete = spout.complete_latency_ms,
        _ => {}
    }
    vec![
        component.to_owned(),
        kind.to_owned(),
        number(common.num_executors.map(i64::from)),
        number(common.num_tasks.map(i64::from)),
        number(common.emitted),
        number(common.transferred),
        number(executed),
        number(common.acked),
        number(common.failed),
        milliseconds(execute),
        milliseconds(process),
        milliseconds(complete),
        milliseconds(capacity),
    ]
}

fn workers(page: &TopologyPageInfo) -> String {
    let mut table = Table::new(&[("WORKER", Left), ("EXECUTORS", Right), ("UPTIME", Right), ("SUPERVISOR", Left)]);
    for worker in page.workers.iter().flatten() {
        let host = worker.host.as_deref().unwrap_or("-");
        table.row([
            format!("{host}:{}", number(worker.port.map(i64::from))),
            number(worker.num_executors.map(i64::from)),
            span(worker.uptime_secs.unwrap_or(0).into()),
            worker.supervisor_id.clone().unwrap_or_default(),
        ]);
    }
    if table.is_empty() { "No workers.\n".to_owned() } else { table.text() }
}

fn errors_text(errors: &[(String, ErrorInfo)], now_secs: i64) -> String {
    let errors: Vec<(&String, &ErrorInfo)> = errors.iter().map(|(component, error)| (component, error)).collect();
    if errors.is_empty() { String::new() } else { errors::table(&errors, now_secs) }
}

/// What became of workers of the topology on this host.
fn history_text(events: &[Entry], now_secs: i64) -> String {
    let mut table = Table::new(&[("ON THIS HOST", Left), ("WHEN", Left), ("WHAT", Left)]);
    for event in events.iter().skip(events.len().saturating_sub(EVENTS_SHOWN)) {
        let second = i64::try_from(event.time_ms / 1000).unwrap_or(i64::MAX);
        table.row([
            format!("port {}", event.port),
            format!("{} ago", span(now_secs.saturating_sub(second))),
            what(&event.what),
        ]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}

fn what(what: &What) -> String {
    match what {
        What::Started { pid, assignment_version } => {
            format!("started as process {pid}, for assignment {assignment_version}")
        }
        What::NotStarted { why } => format!("not started: {why}"),
        What::Adopted { pid } => format!("process {pid} was found running by a supervisor that started anew"),
        What::Stopped { signal, why } => format!("{signal}: {why}"),
        What::Ended { how, why, orphans: 0 } => format!("{how}: {why}"),
        What::Ended { how, why, orphans } => format!("{how}: {why}; {orphans} processes that it left were killed"),
    }
}

#[cfg(test)]
mod tests;
