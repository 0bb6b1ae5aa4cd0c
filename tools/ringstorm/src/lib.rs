//! The command `ringstorm`: submit topologies, look at a cluster, run its daemons, bring up a whole one on this machine.
//!
//! - `command_line`: verbs and options, Storm's where it has them.
//! - `commands`: what each does. Those that ask go through `asking` to a nimbus.
//! - `check`: what a host and its configuration need, and what is wrong with it.
//! - `dev`: a whole cluster on this machine, as processes of this one.
//! - `table`, `output`: for people, for programs.
//!
//! Invariants: standard output has what was asked for and nothing else, all of it text for people or all of it JSON; what
//! goes wrong is said on standard error, with what to do next, as one JSON object where JSON was asked for; the exit code
//! tells the truth (see `failure`).
//! Threading: one thread, but for `dev` and the daemons. Errors: for whoever typed the command.
#![forbid(unsafe_code)]

mod asking;
mod check;
mod command_line;
mod commands;
mod dev;
mod failure;
mod output;
mod table;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use ringstorm_conf::{Conf, ConfSources, Role};

use command_line::{Command, CommandLine, Common, LOG_WRITER};
use failure::{Failure, Status};
use table::one_line;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    run(command_line::VERSION, std::env::args_os())
}

/// Runs a command line, program name first, with daemons that say that they are of this version: that of this build, or
/// another one for those who try how versions get along.
pub fn run(version: &str, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = arguments.into_iter().collect();
    if words.get(1).is_some_and(|word| word == LOG_WRITER) {
        // For supervisors alone: no verb that anybody is told of.
        return ended(commands::daemons::log_writer(&words[2..]).map(Into::into), false);
    }
    // As long as the line is not understood, it says no more than this.
    let is_json = words.iter().any(|word| word == "--json");
    let line = match CommandLine::read(words.clone()) {
        Ok(line) => line,
        Err(error) => return refuse(&error, &words, is_json).into(),
    };
    ended(do_command(version, &line.common, line.command), line.common.json)
}

/// The exit code of what was done, or why it was not.
fn ended(done: Result<ExitCode, Failure>, is_json: bool) -> ExitCode {
    done.unwrap_or_else(|failure| {
        failure.say(is_json);
        failure.status.into()
    })
}

/// Help and the version go to standard output and count as success; what is wrong goes to standard error.
fn refuse(error: &clap::Error, words: &[OsString], is_json: bool) -> Status {
    if error.kind() == ErrorKind::DisplayVersion && is_json {
        return commands::version(true).unwrap_or(Status::Failed);
    }
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Without clap's colours: what was typed is repeated there, and may have some of its own.
        let mut text = command_line::in_other_words(error).unwrap_or_else(|| error.render().to_string());
        if !is_json {
            // It has lines of its own, and what is repeated is on one of them.
            let words = words.iter().filter_map(|word| word.to_str()).filter(|word| word.contains(char::is_control));
            words.for_each(|word| text = text.replace(word, &one_line(word)));
        }
        Failure::usage(text.trim().trim_start_matches("error: ")).say(is_json);
        return Status::Usage;
    }
    // A closed output is nobody's fault.
    let _ = error.print();
    if error.use_stderr() { Status::Usage } else { Status::Done }
}

/// The configuration, with a remark for each reason for which something that was set has no effect.
fn conf(common: &Common, role: Role) -> Result<Conf, Failure> {
    let conf = Conf::find(&ConfSources::of_process(role, common.config.clone(), common.settings.clone()))?;
    for note in conf.notes() {
        output::say(&format!("note: {note}"));
    }
    Ok(conf)
}

fn do_command(version: &str, common: &Common, command: Command) -> Result<ExitCode, Failure> {
    let client = || conf(common, Role::Client);
    let daemon = || conf(common, Role::Daemon);
    let json = common.json;
    let status = match command {
        Command::Submit(arguments) => return commands::executable::submit(common, &arguments),
        Command::Local(arguments) => return commands::executable::local(common, &arguments),
        Command::List => commands::list::list(&client()?, json)?,
        Command::Kill(arguments) => commands::changes::kill(&client()?, &arguments, json)?,
        Command::Activate(arguments) => commands::changes::activate(&client()?, &arguments.name, json)?,
        Command::Deactivate(arguments) => commands::changes::deactivate(&client()?, &arguments.name, json)?,
        Command::Rebalance(arguments) => commands::changes::rebalance(&client()?, &arguments, &common.settings, json)?,
        Command::Status(arguments) => commands::status::status(&client()?, &arguments.name, json)?,
        Command::Cluster => commands::cluster::cluster(&client()?, json)?,
        Command::GetErrors(arguments) => commands::errors::get_errors(&client()?, &arguments.name, json)?,
        Command::Logs(arguments) => commands::logs::logs(&client()?, &arguments, json)?,
        Command::SetLogLevel(arguments) => commands::log_levels::set_log_level(&client()?, &arguments, json)?,
        Command::Localconfvalue(arguments) => commands::config::local_value(&client()?, &arguments.key, json)?,
        Command::Remoteconfvalue(arguments) => commands::config::remote_value(&client()?, &arguments.key, json)?,
        Command::Config(command_line::Config::Show { set }) => commands::config::show(&client()?, set, json)?,
        Command::Zk(command) => commands::zk::zk(&client()?, &command, json)?,
        Command::Check(arguments) => check::check(common, arguments.role, json)?,
        Command::Dev(arguments) => dev::dev(common, &arguments)?,
        Command::Nimbus => return commands::daemons::nimbus(&daemon()?, version),
        Command::Supervisor(arguments) => match arguments.word {
            None => return commands::daemons::supervisor(&daemon()?, version),
            Some(word) => commands::daemons::tell_supervisor(&daemon()?, &word, json)?,
        },
        Command::KillWorkers => commands::kill_workers::kill_workers(&daemon()?, json)?,
        Command::Version => commands::version(json)?,
    };
    Ok(status.into())
}
