//! `get-errors`: the newest error of each component.

use ringstorm_conf::Conf;
use ringstorm_records::nimbus::GetTopologyInfoByNameWithOpts;
use ringstorm_records::records::{ErrorInfo, GetInfoOptions, NumErrorsChoice};
use serde_json::{Map, Value, json};

use crate::asking::ask;
use crate::failure::{Failure, Status};
use crate::output;
use crate::table::Side::Left;
use crate::table::{Table, one_line, span};

/// Shows them; for programs with the names that Storm's command prints.
pub(crate) fn get_errors(conf: &Conf, name: &str, json: bool) -> Result<Status, Failure> {
    let options = GetInfoOptions { num_err_choice: Some(NumErrorsChoice::One) };
    let method = GetTopologyInfoByNameWithOpts { name: Some(name.to_owned()), options: Some(options) };
    let info = ask(conf, &method)?;
    let newest = || info.errors.iter().filter_map(|(component, errors)| Some((component, errors.first()?)));
    if json {
        let errors: Map<String, Value> =
            newest().map(|(component, error)| (component.clone(), json!(error.error))).collect();
        output::print_json(&json!({ "Topology Name": info.name, "Comp-Errors": errors }))?;
    } else {
        let errors: Vec<_> = newest().collect();
        output::print(&text(&info.name, &errors, now_secs()))?;
    }
    Ok(Status::Done)
}

/// The newest error of each component: a line that says where and when, then the error itself.
pub(crate) fn text(name: &str, errors: &[(&String, &ErrorInfo)], now_secs: i64) -> String {
    if errors.is_empty() {
        return format!("No component of {name} has reported an error.\n");
    }
    let mut text = String::new();
    for (component, error) in errors {
        let place = place(error);
        let age = span(now_secs - i64::from(error.error_time_secs));
        text.push_str(&format!("{}, {age} ago, on {place}:\n", one_line(component)));
        for line in error.error.lines() {
            text.push_str(&format!("  {}\n", one_line(line)));
        }
    }
    text
}

/// The table of errors, the first line of each.
pub(crate) fn table(errors: &[(&String, &ErrorInfo)], now_secs: i64) -> String {
    let mut table = Table::new(&[("ERRORS OF", Left), ("WHEN", Left), ("WHERE", Left), ("ERROR", Left)]);
    for (component, error) in errors {
        let age = format!("{} ago", span(now_secs - i64::from(error.error_time_secs)));
        let first = error.error.lines().next().unwrap_or_default().to_owned();
        table.row([(*component).clone(), age, place(error), first]);
    }
    table.text()
}

fn place(error: &ErrorInfo) -> String {
    let port = error.port.map_or_else(String::new, |port| format!(":{port}"));
    format!("{}{port}", one_line(error.host.as_deref().unwrap_or("an unknown host")))
}

/// The second since 1970.
pub(crate) fn now_secs() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
