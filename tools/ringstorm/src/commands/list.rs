//! `list`: the topologies that there are.

use ringstorm_conf::Conf;
use ringstorm_records::nimbus::GetTopologySummaries;
use ringstorm_records::records::TopologySummary;
use ringstorm_records::render;
use serde_json::{Value, json};

use crate::asking::ask;
use crate::failure::{Failure, Status};
use crate::output;
use crate::table::Side::{Left, Right};
use crate::table::{Table, span};

/// Shows all topologies; for programs with the names of Storm's record.
pub(crate) fn list(conf: &Conf, json: bool) -> Result<Status, Failure> {
    let topologies = ask(conf, &GetTopologySummaries {})?;
    if json {
        let topologies: Vec<Value> = topologies.iter().map(render::record).collect();
        output::print_json(&json!({ "topologies": topologies }))?;
    } else {
        output::print(&text(&topologies))?;
    }
    Ok(Status::Done)
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
