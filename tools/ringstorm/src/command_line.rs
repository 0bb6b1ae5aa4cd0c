//! The command line: Storm's verbs with Storm's options, and those that only Ringstorm has.
//!
//! Source of the verbs: `bin/storm.py` of Storm 2.8.2 and the classes of `org.apache.storm.command`.
//!
//! Threading: plain data. Errors: those of the command line, for whoever typed it.

mod other_words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use other_words::in_other_words;

/// The version, as nodes in ZooKeeper and nimbus say it.
pub(crate) const VERSION: &str = concat!("2.8.2-ringstorm.", env!("CARGO_PKG_VERSION"));

/// The first word by which supervisors start the writers of logs. It is no verb, since it is for nobody else.
pub(crate) const LOG_WRITER: &str = "log-writer";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "ringstorm",
    bin_name = "ringstorm",
    about = "A cluster of Ringstorm: submit topologies, look at them, run the daemons",
    version = VERSION,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 it was done; 1 it failed or was refused; 2 the command line is wrong, or names a file that \
                  is not there; 3 nobody knows whether it was done.\n\
                  With --json, what was asked for is JSON on standard output, one object a line; what goes wrong is one \
                  object on standard error, {\"error\": TEXT, \"exitCode\": NUMBER}. Lines there that begin with \"note: \" \
                  tell what happens meanwhile."
)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

// What every command takes, before its verb and behind it. No doc comment: it would take the place of what each command
// says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[group(skip)]
pub(crate) struct Common {
    /// A configuration file in place of storm.yaml
    #[arg(id = "common.config", long = "config", value_name = "FILE", help_heading = "Configuration")]
    pub(crate) config: Option<PathBuf>,
    /// A setting that goes before all others; may be given many times
    #[arg(id = "common.settings", short = 'c', value_name = "KEY=VALUE", help_heading = "Configuration")]
    pub(crate) settings: Vec<String>,
    /// Print JSON for programs
    #[arg(id = "common.json", long = "json")]
    pub(crate) json: bool,
}

impl CommandLine {
    /// Reads a command line, program name first.
    ///
    /// What every command takes is added to each of them, since what clap calls global is taken from one place alone when it
    /// stands in several.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let matches = with_common(Self::command()).try_get_matches_from(words)?;
        let mut line = Self::from_arg_matches(&matches)?;
        let mut level = &matches;
        while let Some((_, inner)) = level.subcommand() {
            let common = Common::from_arg_matches(inner)?;
            line.common.config = common.config.or(line.common.config);
            line.common.settings.extend(common.settings);
            line.common.json |= common.json;
            level = inner;
        }
        Ok(line)
    }
}

fn with_common(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|verb| with_common(Common::augment_args(verb)))
}

/// A duration in whole seconds, as Storm takes them.
fn seconds(text: &str) -> Result<i32, String> {
    let seconds = text.parse::<i32>().ok().filter(|seconds| *seconds >= 0);
    seconds.ok_or_else(|| "give a whole number of seconds from 0 to 2147483647".to_owned())
}

/// A name or a key: neither is empty, and neither could pass for something else where it is repeated.
fn plain(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("it has control characters, which no name and no key has".to_owned());
    }
    Ok(text.to_owned())
}

/// A number of something, at least one.
fn positive(text: &str) -> Result<i32, String> {
    text.parse::<i32>().ok().filter(|number| *number > 0).ok_or_else(|| "give a whole number from 1".to_owned())
}

fn lines(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "give a whole number of lines from 0".to_owned())
}

fn port(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| "give a port from 1 to 65535".to_owned())
}

fn supervisors(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|number| (1..=16).contains(number)).ok_or_else(|| "give a number from 1 to 16".to_owned())
}

fn executors(text: &str) -> Result<(String, i32), String> {
    let wanted = || "give COMPONENT=NUMBER with a whole number from 1, such as count=4".to_owned();
    let (component, number) = text.rsplit_once('=').ok_or_else(wanted)?;
    let number = number.parse::<i32>().ok().filter(|number| *number > 0).ok_or_else(wanted)?;
    if component.is_empty() { Err(wanted()) } else { Ok((component.to_owned(), number)) }
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Submit a topology: run its executable, which submits itself under NAME
    #[command(visible_alias = "jar")]
    Submit(Submit),
    /// Run a topology on this machine, without a cluster
    Local(Local),
    /// List topologies
    List,
    /// Kill topologies: their spouts take nothing new, and after a while everything of them ends
    Kill(Kill),
    /// Let the spouts of a topology emit again
    Activate(Name),
    /// Stop the spouts of a topology
    Deactivate(Name),
    /// Spread a topology anew, with other numbers of workers and executors
    Rebalance(Rebalance),
    /// Show a topology: components with figures, workers, errors
    Status(Name),
    /// Show the cluster: leader, standbys, supervisors, slots, and what waits for a slot
    Cluster,
    /// Show the newest error of each component of a topology
    #[command(name = "get-errors")]
    GetErrors(Name),
    /// Show what the workers of a topology wrote on this host
    Logs(Logs),
    /// Set the levels of loggers of a topology
    #[command(name = "set_log_level")]
    SetLogLevel(SetLogLevel),
    /// Show the value of a key on this host
    Localconfvalue(Key),
    /// Show the value of a key on the nimbus that leads
    Remoteconfvalue(Key),
    /// Look at the configuration
    #[command(subcommand)]
    Config(Config),
    /// Look at the tree in ZooKeeper
    #[command(subcommand)]
    Zk(Zk),
    /// Check what this host and its configuration need: what would fail, and how to mend it
    Check(Check),
    /// Bring up a whole cluster on this machine: ZooKeeper, nimbus, two supervisors; Ctrl-C takes it down
    Dev(Dev),
    /// Run nimbus
    Nimbus,
    /// Run the supervisor of this host, or tell it something
    Supervisor(Supervisor),
    /// Kill the workers on this host; a supervisor that runs starts them again
    #[command(name = "kill_workers")]
    KillWorkers,
    /// Show the version
    Version,
}

#[derive(Debug, Args)]
pub(crate) struct Name {
    /// The name of the topology
    #[arg(value_parser = plain)]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Key {
    /// The key, such as nimbus.seeds
    #[arg(value_name = "KEY", value_parser = plain)]
    pub(crate) key: String,
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// Say nothing but what went wrong
    #[arg(long, overrides_with = "quiet")]
    pub(crate) quiet: bool,
    /// Its spouts emit nothing before `ringstorm activate NAME`
    #[arg(long, overrides_with = "inactive")]
    pub(crate) inactive: bool,
    /// The topology's executable
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// The name of the topology
    #[arg(value_parser = plain)]
    pub(crate) name: String,
    /// What the topology's executable takes: its own options, and -c, --config, --workers-cores. A `--` in front of them is
    /// not passed on
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Local {
    /// Say nothing but what went wrong
    #[arg(long, overrides_with = "quiet")]
    pub(crate) quiet: bool,
    /// Stop after this many seconds, at least 1 [default: at the end of the input]
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) local_ttl: Option<i32>,
    /// The topology's executable
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// What the topology's executable takes: its own options, and -c, --config, --workers-cores. A `--` in front of them is
    /// not passed on
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Kill {
    /// Seconds between the stop of the spouts and the end [default: the topology's time-out of messages]
    #[arg(short = 'w', long = "wait-time-secs", alias = "wait", value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) wait: Option<i32>,
    /// Go on with the next topology when one cannot be killed
    #[arg(short = 'i', long = "ignore-errors")]
    pub(crate) ignore_errors: bool,
    /// The names of the topologies
    #[arg(value_name = "NAME", required = true, value_parser = plain)]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Rebalance {
    /// The name of the topology
    #[arg(value_parser = plain)]
    pub(crate) name: String,
    /// Seconds between the stop of the spouts and the new placing [default: the topology's time-out of messages]
    #[arg(short = 'w', long = "wait-time-secs", alias = "wait", value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) wait: Option<i32>,
    /// Workers that it has then
    #[arg(short = 'n', long = "num-workers", value_name = "NUMBER", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) workers: Option<i32>,
    /// Executors that a component has then; may be given many times
    #[arg(short = 'e', long = "executor", value_name = "COMPONENT=NUMBER", value_parser = executors, allow_negative_numbers = true)]
    pub(crate) executors: Vec<(String, i32)>,
    /// Resources of components, as JSON: {"COMPONENT": {"RESOURCE": AMOUNT}}
    #[arg(short = 'r', long = "resources", value_name = "JSON")]
    pub(crate) resources: Option<String>,
    /// Settings of the topology that it has then, as a JSON object; -c topology.KEY=VALUE does the same for one
    #[arg(short = 't', long = "topology-conf", value_name = "JSON")]
    pub(crate) conf: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The name of the topology, or its id
    #[arg(value_parser = plain)]
    pub(crate) name: String,
    /// Go on with what is written from now on, until Ctrl-C
    #[arg(short = 'f', long)]
    pub(crate) follow: bool,
    /// How many of the last lines of each worker are shown
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 100, value_parser = lines, allow_negative_numbers = true)]
    pub(crate) lines: usize,
    /// Only the worker of this port
    #[arg(long, value_parser = port, allow_negative_numbers = true)]
    pub(crate) port: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct SetLogLevel {
    /// A level: LOGGER=LEVEL, for so many seconds with :SECONDS; may be given many times
    #[arg(short = 'l', long = "log-setting", value_name = "LOGGER=LEVEL[:SECONDS]")]
    pub(crate) set: Vec<String>,
    /// A logger whose level is taken back; may be given many times
    #[arg(short = 'r', long = "remove-log-setting", value_name = "LOGGER")]
    pub(crate) remove: Vec<String>,
    /// The name of the topology
    #[arg(value_parser = plain)]
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show every value and where it came from
    Show {
        /// Only values that somebody set
        #[arg(long)]
        set: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Zk {
    /// Show the nodes below a path
    Tree {
        /// The path: /whole, or below storm.zookeeper.root [default: that root]
        path: Option<String>,
    },
    /// Show what a node holds
    Get {
        /// The path: /whole, or below storm.zookeeper.root
        path: String,
        /// Show secrets as well
        #[arg(long)]
        secrets: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// What this host will run; everything by default
    #[arg(value_enum)]
    pub(crate) role: Option<CheckRole>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CheckRole {
    /// A nimbus
    Nimbus,
    /// A supervisor with its workers
    Supervisor,
    /// Commands only
    Client,
}

#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// Where everything is kept, also afterwards [default: a temporary folder, removed at the end]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
    /// A ZooKeeper that runs already, in place of one of its own
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) zookeeper: Option<String>,
    /// How many supervisors, with four slots each
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = supervisors, allow_negative_numbers = true)]
    pub(crate) supervisors: u16,
}

#[derive(Debug, Args)]
pub(crate) struct Supervisor {
    #[command(subcommand)]
    pub(crate) word: Option<SupervisorWord>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SupervisorWord {
    /// Take this host out of service: its work goes elsewhere, and nothing new comes
    OutOfService,
    /// Take this host into service again
    InService,
}

impl SupervisorWord {
    /// As it is typed.
    pub(crate) fn typed(&self) -> &'static str {
        match self {
            Self::OutOfService => "out-of-service",
            Self::InService => "in-service",
        }
    }
}

#[cfg(test)]
mod tests;
