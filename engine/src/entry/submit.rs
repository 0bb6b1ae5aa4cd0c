//! `submit`: sends this executable and what its topology is made of to the cluster that `storm.yaml` names.
//!
//! Standard output gets one line, the id of the topology; everything else goes to standard error. Threading: the calling
//! thread, which waits. Errors: for whoever typed the command; they say what was done and what was not.

use std::io::Write;
use std::path::Path;

use ringstorm_caller::{Progress, Success, perform};
use ringstorm_conf::{Conf, ConfSources, Role};
use ringstorm_nimbus::interface::{Reply, Request, Submission, Upload};
use ringstorm_records::records::{SubmitOptions, TopologyInitialStatus};
use ringstorm_runtime::BuiltTopology;
use ringstorm_runtime::metrics::bytes_text;
use ringstorm_submission::{storm_topology, submitted_conf};
use ringstorm_types::screen::one_line;
use serde_json::Value;

use super::command_line::SubmitArguments;
use super::screen::Screen;
use super::verdict::{Failure, Status};

/// The file of which this process was made, also when another one has taken its place meanwhile.
const OWN_FILE: &str = "/proc/self/exe";
/// Characters of the bar.
const BAR: u64 = 30;

/// Submits the topology under a name, with the words of its own options.
pub(super) fn run(
    topology: &BuiltTopology,
    arguments: &SubmitArguments,
    own_words: &[String],
) -> Result<Status, Failure> {
    let screen = Screen::new(!arguments.quiet);
    if !arguments.quiet {
        topology.warnings_in_cluster().for_each(|warning| screen.print(&format!("warning: {}", one_line(&warning))));
    }
    let given = arguments.settings.config()?;
    // The client reads its own among them, such as `nimbus.seeds`.
    let conf = Conf::find_below(&ConfSources::of_process(Role::Client, None, Vec::new()), &given);
    let conf = conf.map_err(|error| Failure::of(error.to_string(), error.is_of_command_line()))?;
    let config = topology.config();
    let submission = Submission {
        name: arguments.name.clone(),
        topology: storm_topology(topology.topology(), config).map_err(|error| error.to_string())?,
        conf: Value::Object(submitted_conf(config, own_words)).to_string(),
        options: SubmitOptions { initial_status: arguments.initial_status(), creds: None },
        // Both are made by those who upload and store.
        upload: Upload { name: String::new(), checksum: String::new() },
        worker_secret: String::new(),
    };
    let mut progress = |progress| match progress {
        Progress::Uploading { sent_bytes, file_bytes } => screen.refresh(&bar(sent_bytes, file_bytes)),
        Progress::Note(_) if arguments.quiet => {}
        Progress::Note(text) => screen.print(&format!("note: {}", one_line(&text))),
    };
    let request = Request::Submit(Box::new(submission));
    let done = perform(&conf.client_settings(), request, Some(Path::new(OWN_FILE)), &mut progress);
    screen.clear();
    let done = done.map_err(|error| format!("{} is not submitted: {}", one_line(&arguments.name), one_line(&error)))?;
    if !arguments.quiet {
        screen.print(&format!("{} is submitted", one_line(&arguments.name)));
    }
    let id = match done {
        Success::Answered(Reply::Submitted { topology }) => topology.to_string(),
        // Nimbus has it and could not be asked for its id any more.
        _ => arguments.name.clone(),
    };
    // Whoever closed it has read enough.
    let _ = writeln!(std::io::stdout().lock(), "{id}");
    Ok(Status::Done)
}

impl SubmitArguments {
    fn initial_status(&self) -> TopologyInitialStatus {
        if self.inactive { TopologyInitialStatus::Inactive } else { TopologyInitialStatus::Active }
    }
}

/// How far an upload is.
fn bar(sent_bytes: u64, file_bytes: u64) -> String {
    let whole = file_bytes.max(1);
    let sent = sent_bytes.min(whole);
    let done = u128::from(BAR) * u128::from(sent) / u128::from(whole);
    let percent = 100 * u128::from(sent) / u128::from(whole);
    let filled = "#".repeat(done as usize);
    let (sent, whole) = (bytes_text(sent as usize), bytes_text(file_bytes as usize));
    format!("uploading [{filled:-<width$}] {percent:>3} %  {sent} of {whole}", width = BAR as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_grows_to_its_end_and_no_further() {
        assert!(bar(0, 100).contains("[------------------------------]   0 %"), "{}", bar(0, 100));
        assert!(bar(50, 100).contains("[###############---------------]  50 %"), "{}", bar(50, 100));
        assert!(bar(100, 100).contains("[##############################] 100 %"), "{}", bar(100, 100));
        for (sent, file) in [(0, 0), (200, 100), (u64::MAX, u64::MAX), (u64::MAX / 2, u64::MAX)] {
            assert!(bar(sent, file).chars().count() < 80, "{}", bar(sent, file));
        }
    }
}
