//! `nimbus`, `supervisor`, `log-writer`: the daemons, which are libraries of their own.
//!
//! A daemon that `dev` has started ends with it, whatever ends that.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ringstorm_conf::Conf;
use ringstorm_launch::{CONTROL_SOCKET, OperatorSays};
use ringstorm_supervisor_daemon::{DaemonSettings, Told, log_writer as writer, tell_service};
use serde_json::json;

use super::supervisors_of_dev;
use crate::command_line::{LOG_WRITER, SupervisorWord};
use crate::dev;
use crate::failure::{Failure, Status};
use crate::output;

/// How long a supervisor may take to take up what it is told.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(5);

/// `nimbus`.
pub(crate) fn nimbus(conf: &Conf, version: &str) -> Result<ExitCode, Failure> {
    dev::end_with_parent();
    let settings = ringstorm_nimbus_daemon::DaemonSettings::of_conf(conf, version);
    settings.and_then(ringstorm_nimbus_daemon::run).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// `supervisor`.
pub(crate) fn supervisor(conf: &Conf, version: &str) -> Result<ExitCode, Failure> {
    dev::end_with_parent();
    is_no_folder_of_dev(conf, "")?;
    // The program that runs here, also after its file was replaced.
    let log_writer = vec![PathBuf::from("/proc/self/exe"), PathBuf::from(LOG_WRITER)];
    let mut settings = DaemonSettings::of(conf, log_writer).map_err(|error| Failure::new(error.to_string()))?;
    settings.supervisor.version = version.to_owned();
    ringstorm_supervisor_daemon::run(settings).map_err(|failure| Failure::new(failure.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// `supervisor out-of-service` and `supervisor in-service`, by the socket of the supervisor of this host.
pub(crate) fn tell_supervisor(conf: &Conf, word: &SupervisorWord, json: bool) -> Result<Status, Failure> {
    let says = match word {
        SupervisorWord::OutOfService => OperatorSays::OutOfService,
        SupervisorWord::InService => OperatorSays::InService,
    };
    let own = conf.local_dir();
    let path = own.join(CONTROL_SOCKET);
    is_no_folder_of_dev(conf, word.typed())?;
    let told = tell_service(&own, says, TAKEN_UP_WITHIN).map_err(|error| Failure::new(error.to_string()))?;
    let state = match told {
        Told::TakenUp => "taken up",
        Told::Noted => "noted",
        Told::NotYet => {
            return Err(Failure {
                text: format!(
                    "the supervisor was told at {}, and has not taken it up within {} s: it may be stopped or held up; it does \
                     so when it goes on. Say it again if it is ended before, and see whether `ringstorm cluster` names it",
                    path.display(),
                    TAKEN_UP_WITHIN.as_secs()
                ),
                status: Status::InDoubt,
            });
        }
    };
    if json {
        output::print_json(&json!({ "told": word.typed(), "state": state, "socket": path }))?;
        return Ok(Status::Done);
    }
    output::print(match (says, told) {
        (OperatorSays::OutOfService, Told::Noted) => {
            "noted: no supervisor runs here; the next one is out of service from its start on\n"
        }
        (OperatorSays::InService, Told::Noted) => {
            "noted: no supervisor runs here; the next one is in service from its start on\n"
        }
        (OperatorSays::OutOfService, _) => {
            "the supervisor is out of service: it takes no new work; `ringstorm cluster` shows when its work is elsewhere\n"
        }
        (OperatorSays::InService, _) => "the supervisor is in service\n",
    })?;
    Ok(Status::Done)
}

/// In the folder of `dev` no other supervisor is meant than one of its own: one more would offer slots that they have.
fn is_no_folder_of_dev(conf: &Conf, word: &str) -> Result<(), Failure> {
    let own = conf.local_dir();
    let of_dev = supervisors_of_dev(&own);
    if of_dev.is_empty() {
        return Ok(());
    }
    let command =
        |of: &PathBuf| format!("\n  ringstorm --config {} supervisor {word}", of.display()).trim_end().to_owned();
    let commands: String = of_dev.iter().map(command).collect();
    Err(Failure::new(format!(
        "{} is the folder of `ringstorm dev`, which has several supervisors; say which one:{commands}",
        own.display(),
    )))
}

/// `log-writer FILE BYTES FILES`: writes standard input to a log file that is rotated.
pub(crate) fn log_writer(words: &[OsString]) -> Result<Status, Failure> {
    let (file, rotation) = writer::parse(words.iter().cloned()).map_err(|error| Failure::usage(error.to_string()))?;
    writer::run(&file, rotation).map_err(|error| Failure::new(format!("the log writer ends: {error}")))?;
    Ok(Status::Done)
}
