//! `list`: the topologies that there are, and remarks on those of which something is missing.

use ringstorm_conf::Conf;
use ringstorm_records::nimbus::GetClusterInfo;
use ringstorm_records::records::{ClusterSummary, TopologySummary};
use ringstorm_records::render;
use serde_json::{Value, json};

use crate::asking::ask;
use crate::failure::{Failure, Status};
use crate::output;
use crate::table::Side::{Left, Right};
use crate::table::{Table, one_line, span};

/// Shows all topologies; for programs with the names of Storm's record.
pub(crate) fn list(conf: &Conf, json: bool) -> Result<Status, Failure> {
    let cluster = ask(conf, &GetClusterInfo {})?;
    remarks(&cluster).iter().for_each(|remark| output::say(&format!("note: {remark}")));
    if json {
        let topologies: Vec<Value> = cluster.topologies.iter().map(render::record).collect();
        let unreadable = cluster.unreadable.unwrap_or_default();
        output::print_json(&json!({ "topologies": topologies, "unreadable": unreadable }))?;
    } else {
        output::print(&text(&cluster.topologies))?;
    }
    Ok(Status::Done)
}

/// What a list does not show: topologies that cannot be read, and why some do not have all that they want.
fn remarks(cluster: &ClusterSummary) -> Vec<String> {
    let lacking = cluster.topologies.iter().filter_map(|topology| {
        let words = topology.sched_status.as_deref().filter(|words| says_a_lack(words))?;
        Some(format!("{}: {}", one_line(&topology.name), one_line(words)))
    });
    unreadable(cluster).into_iter().chain(lacking).collect()
}

/// A remark for each topology that cannot be read.
pub(crate) fn unreadable(cluster: &ClusterSummary) -> Vec<String> {
    let ids = cluster.unreadable.iter().flatten();
    ids.map(|(id, why)| {
        format!(
            "the topology {} is there and cannot be read, so that it is not listed: {}; `ringstorm zk tree storms` shows \
             its node: put back what it held, or kill the topology and submit it again",
            one_line(id),
            one_line(why)
        )
    })
    .collect()
}

/// Whether what nimbus says of placing tells of something that is missing.
pub(crate) fn says_a_lack(words: &str) -> bool {
    !words.is_empty() && !words.to_ascii_lowercase().contains("fully scheduled")
}

/// The table of topologies.
pub(crate) fn text(topologies: &[TopologySummary]) -> String {
    if topologies.is_empty() {
        return "No topologies running.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("NAME", Left),
        ("STATUS", Left),
        ("TASKS", Right),
        ("EXECUTORS", Right),
        ("WORKERS", Right),
        ("UPTIME", Right),
        ("OWNER", Left),
        ("ID", Left),
    ]);
    for topology in topologies {
        table.row([
            topology.name.clone(),
            topology.status.clone(),
            topology.num_tasks.to_string(),
            topology.num_executors.to_string(),
            topology.num_workers.to_string(),
            span(topology.uptime_secs.into()),
            topology.owner.clone().unwrap_or_default(),
            topology.id.clone(),
        ]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_list_does_not_show_is_remarked() {
        let topology = |name: &str, words: Option<&str>| TopologySummary {
            name: name.into(),
            sched_status: words.map(str::to_owned),
            ..Default::default()
        };
        let cluster = ClusterSummary {
            topologies: vec![
                topology("good", None),
                topology("placed", Some("Running - Fully Scheduled by DefaultResourceAwareStrategy")),
                topology("poor", Some("0 of 5 tasks are placed: no slot is free")),
            ],
            unreadable: Some([("words-1-7".to_owned(), "it is damaged".to_owned())].into()),
            ..Default::default()
        };
        let remarks = remarks(&cluster);
        assert_eq!(remarks.len(), 2);
        assert!(remarks[0].starts_with("the topology words-1-7 is there and cannot be read"), "{remarks:?}");
        assert!(remarks[0].ends_with("or kill the topology and submit it again"), "{remarks:?}");
        assert_eq!(remarks[1], "poor: 0 of 5 tasks are placed: no slot is free");
    }
}
