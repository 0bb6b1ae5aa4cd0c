//! `cluster`: who leads, who stands by, which supervisors there are with which slots, and what waits for a slot.

use ringstorm_conf::Conf;
use ringstorm_records::nimbus::{GetClusterInfo, GetTopologyPageInfo};
use ringstorm_records::records::{ClusterSummary, NimbusSummary, SupervisorSummary, TopologySummary};
use ringstorm_records::render;
use serde_json::{Value, json};

use super::list::{says_a_lack, unreadable};
use crate::asking::{ask, ask_once};
use crate::failure::{Failure, Status};
use crate::output;
use crate::table::Side::{Left, Right};
use crate::table::{Table, one_line, span};

/// A topology that does not have all that it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) name: String,
    pub(crate) status: String,
    /// Tasks without a slot, if that is known.
    pub(crate) tasks: Option<i32>,
    pub(crate) reason: String,
}

/// Shows the cluster; for programs with the names of Storm's records.
pub(crate) fn cluster(conf: &Conf, json: bool) -> Result<Status, Failure> {
    let cluster = ask(conf, &GetClusterInfo {})?;
    let waiting = waiting(&cluster, |topology| tasks_wanted(conf, topology));
    unreadable(&cluster).iter().for_each(|remark| output::say(&format!("note: {remark}")));
    if json {
        output::print_json(&json_of(&cluster, &waiting))?;
    } else {
        output::print(&text(&cluster, &waiting))?;
    }
    Ok(Status::Done)
}

/// How many tasks a topology has, placed or not. One that ends meanwhile has none.
fn tasks_wanted(conf: &Conf, topology: &TopologySummary) -> Option<i32> {
    let id = Some(topology.id.clone());
    let page = GetTopologyPageInfo { id, window: Some(":all-time".into()), is_include_sys: Some(false) };
    ask_once(conf, &page).ok()?.num_tasks
}

/// The topologies that lack slots, and why.
pub(crate) fn waiting(
    cluster: &ClusterSummary,
    mut tasks_wanted: impl FnMut(&TopologySummary) -> Option<i32>,
) -> Vec<Waiting> {
    let free = free_slots(cluster);
    let mut waiting = Vec::new();
    for topology in &cluster.topologies {
        if topology.status == "KILLED" {
            continue;
        }
        let said = topology.sched_status.clone().filter(|words| says_a_lack(words));
        let tasks = tasks_wanted(topology).map(|wanted| wanted.saturating_sub(topology.num_tasks).max(0));
        if said.is_none() && tasks == Some(0) {
            continue;
        }
        let reason = said.unwrap_or_else(|| {
            match (cluster.supervisors.len(), free) {
                (0, _) => "there is no supervisor; start one with `ringstorm supervisor`",
                (_, 0) => "no slot is free; add a supervisor or slots (supervisor.slots.ports), or kill a topology",
                _ => "nimbus has not placed them yet; its log says why if that lasts",
            }
            .to_owned()
        });
        waiting.push(Waiting { name: topology.name.clone(), status: topology.status.clone(), tasks, reason });
    }
    waiting
}

fn free_slots(cluster: &ClusterSummary) -> i32 {
    cluster.supervisors.iter().map(free_slots_of).sum()
}

/// None of a supervisor that offers fewer slots than it has workers, as one out of service does.
fn free_slots_of(supervisor: &SupervisorSummary) -> i32 {
    supervisor.num_workers.saturating_sub(supervisor.num_used_workers).max(0)
}

fn leader(cluster: &ClusterSummary) -> Option<&NimbusSummary> {
    cluster.nimbuses.iter().find(|nimbus| nimbus.is_leader)
}

fn json_of(cluster: &ClusterSummary, waiting: &[Waiting]) -> Value {
    let standbys: Vec<Value> = cluster.nimbuses.iter().filter(|nimbus| !nimbus.is_leader).map(render::record).collect();
    let supervisors: Vec<Value> = cluster.supervisors.iter().map(render::record).collect();
    let topologies: Vec<Value> = cluster.topologies.iter().map(render::record).collect();
    let waiting: Vec<Value> = waiting
        .iter()
        .map(|it| json!({ "topology": it.name, "status": it.status, "tasks": it.tasks, "reason": it.reason }))
        .collect();
    let all: i32 = cluster.supervisors.iter().map(|it| it.num_workers).sum();
    let used: i32 = cluster.supervisors.iter().map(|it| it.num_used_workers).sum();
    json!({
        "leader": leader(cluster).map(render::record),
        "standbys": standbys,
        "supervisors": supervisors,
        "slots": { "all": all, "used": used, "free": free_slots(cluster) },
        "topologies": topologies,
        "unassigned": waiting,
        "unreadable": cluster.unreadable.clone().unwrap_or_default(),
    })
}

/// For people.
pub(crate) fn text(cluster: &ClusterSummary, waiting: &[Waiting]) -> String {
    let mut text = String::new();
    let mut nimbuses = Table::new(&[("NIMBUS", Left), ("ROLE", Left), ("UPTIME", Right), ("VERSION", Left)]);
    let mut sorted: Vec<&NimbusSummary> = cluster.nimbuses.iter().collect();
    sorted.sort_by_key(|nimbus| (!nimbus.is_leader, &nimbus.host, nimbus.port));
    for nimbus in sorted {
        nimbuses.row([
            format!("{}:{}", nimbus.host, nimbus.port),
            if nimbus.is_leader { "leader" } else { "standby" }.to_owned(),
            span(nimbus.uptime_secs.into()),
            nimbus.version.clone(),
        ]);
    }
    text.push_str(&nimbuses.text());
    if leader(cluster).is_none() {
        text.push_str(match cluster.nimbuses.len() {
            0 => "No nimbus leads at present.\n",
            _ => {
                "No nimbus leads at present. The first one takes the lead in a moment, or waits for code that it lacks, or for \
                 the end of the session of a process that has ended (storm.zookeeper.session.timeout): nimbus.log says so, \
                 and each command that changes something.\n"
            }
        });
    }
    text.push('\n');
    text.push_str(&supervisors(cluster));
    text.push('\n');
    text.push_str(&super::list::text(&cluster.topologies));
    if !waiting.is_empty() {
        text.push_str("\nLacking something:\n");
        for it in waiting {
            let tasks = it.tasks.filter(|tasks| *tasks > 0).map_or_else(String::new, |it| format!(", {it} tasks"));
            text.push_str(&format!("  {}{tasks}: {}\n", one_line(&it.name), one_line(&it.reason)));
        }
    }
    text
}

fn supervisors(cluster: &ClusterSummary) -> String {
    if cluster.supervisors.is_empty() {
        return "No supervisors.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("SUPERVISOR", Left),
        ("SLOTS", Right),
        ("USED", Right),
        ("FREE", Right),
        ("UPTIME", Right),
        ("VERSION", Left),
        ("ID", Left),
    ]);
    let mut sorted: Vec<_> = cluster.supervisors.iter().collect();
    sorted.sort_by_key(|supervisor| (&supervisor.host, &supervisor.supervisor_id));
    for supervisor in sorted {
        let free = free_slots_of(supervisor);
        table.row([
            supervisor.host.clone(),
            supervisor.num_workers.to_string(),
            supervisor.num_used_workers.to_string(),
            free.to_string(),
            span(supervisor.uptime_secs.into()),
            supervisor.version.clone(),
            supervisor.supervisor_id.clone(),
        ]);
    }
    let mut text = table.text();
    for supervisor in sorted_out_of_service(cluster) {
        text.push_str(&format!(
            "{} is out of service ({}): it takes no new work until `ringstorm supervisor in-service` on that host.\n",
            one_line(&supervisor.host),
            one_line(&supervisor.supervisor_id)
        ));
    }
    text
}

/// Nimbus says of one that an operator has taken out of service that it is on Storm's black list.
fn sorted_out_of_service(cluster: &ClusterSummary) -> Vec<&SupervisorSummary> {
    let mut out: Vec<_> = cluster.supervisors.iter().filter(|it| it.blacklisted == Some(true)).collect();
    out.sort_by_key(|supervisor| (&supervisor.host, &supervisor.supervisor_id));
    out
}

#[cfg(test)]
mod tests;
