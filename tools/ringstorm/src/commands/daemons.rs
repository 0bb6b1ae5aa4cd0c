//! `nimbus`, `supervisor`, `log-writer`: the daemons, which are libraries of their own.
//!
//! A daemon that `dev` has started ends with it, whatever ends that.

use std::ffi::OsString;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::ExitCode;

use ringstorm_conf::Conf;
use ringstorm_launch::{CONTROL_SOCKET, Datagram, OperatorSays};
use ringstorm_supervisor_daemon::{DaemonSettings, log_writer as writer};
use serde_json::json;

use super::supervisors_of_dev;
use crate::command_line::{LOG_WRITER, SupervisorWord};
use crate::dev;
use crate::failure::{Failure, Status};
use crate::output;

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
    let of_dev = supervisors_of_dev(&own);
    if !of_dev.is_empty() {
        let commands =
            of_dev.iter().map(|conf| format!("\n  ringstorm --config {} supervisor {}", conf.display(), word.typed()));
        return Err(Failure::new(format!(
            "{} is the folder of `ringstorm dev`, which has several supervisors; say which one:{}",
            own.display(),
            commands.collect::<String>()
        )));
    }
    let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to(&Datagram::Operator(says).to_bytes(), &path));
    sent.map_err(|error| {
        Failure::new(format!(
            "the supervisor of this host cannot be told at {}: {error}; look whether it runs, as which user, and with which \
             storm.local.dir",
            path.display()
        ))
    })?;
    if json {
        output::print_json(&json!({ "told": word.typed(), "socket": path }))?;
        return Ok(Status::Done);
    }
    output::print(match says {
        OperatorSays::OutOfService => {
            "the supervisor is told that this host is out of service; `ringstorm cluster` shows when its work is elsewhere\n"
        }
        OperatorSays::InService => "the supervisor is told that this host is in service\n",
    })?;
    Ok(Status::Done)
}

/// `log-writer FILE BYTES FILES`: writes standard input to a log file that is rotated.
pub(crate) fn log_writer(words: &[OsString]) -> Result<Status, Failure> {
    let (file, rotation) = writer::parse(words.iter().cloned()).map_err(|error| Failure::usage(error.to_string()))?;
    writer::run(&file, rotation).map_err(|error| Failure::new(format!("the log writer ends: {error}")))?;
    Ok(Status::Done)
}
