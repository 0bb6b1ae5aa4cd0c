//! The command line: Storm's verbs with Storm's options, and those that only Ringstorm has.
//!
//! Source of the verbs: `bin/storm.py` of Storm 2.8.2 and the classes of `org.apache.storm.command`.
//!
//! Threading: plain data. Errors: those of the command line, for whoever typed it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

/// What Storm has and Ringstorm has not, with the reason or what takes its place.
const NOT_HERE: &[(&str, &str)] = &[
    ("ui", "there is no web interface; look with `ringstorm cluster` and `ringstorm status NAME`"),
    ("logviewer", "there is no log viewer; look with `ringstorm logs NAME` on the host of a worker"),
    ("drpc", "there is no DRPC"),
    ("drpc-client", "there is no DRPC"),
    ("sql", "there is no SQL"),
    ("shell", "topologies in other languages are not run"),
    ("repl", "there is no Java to type into"),
    ("pacemaker", "there is no Pacemaker; workers beat in ZooKeeper"),
    ("heartbeats", "workers beat in ZooKeeper; look with `ringstorm zk tree workerbeats`"),
    ("blobstore", "code is the only blob; look with `ringstorm zk tree blobstore`"),
    ("upload-credentials", "credentials cannot be replaced from here"),
    ("node-health-check", "look with `ringstorm check`"),
    ("admin", "look with `ringstorm zk tree`; what nobody uses is removed by nimbus itself"),
    ("dev-zookeeper", "`ringstorm dev` brings up a whole cluster, ZooKeeper included"),
    ("monitor", "look with `ringstorm status NAME`"),
    ("classpath", "there is no class path"),
    ("server_classpath", "there is no class path"),
];

/// Why a verb of Storm is not here, if it is one.
pub(crate) fn not_here(verb: &str) -> Option<&'static str> {
    NOT_HERE.iter().find(|(name, _)| *name == verb).map(|(_, why)| *why)
}

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "ringstorm",
    about = "A cluster of Ringstorm: submit topologies, look at them, run the daemons",
    version = concat!("2.8.2-ringstorm.", env!("CARGO_PKG_VERSION")),
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 it was done; 1 it failed or was refused; 2 the command line is wrong; 3 nobody knows \
                  whether it was done.\n\
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
        let words: Vec<OsString> = words.into_iter().collect();
        let matches = with_common(Self::command()).try_get_matches_from(&words)?;
        let mut line = Self::from_arg_matches(&matches)?;
        if let Command::Submit(Submit { arguments, .. }) | Command::Local(Local { arguments, .. }) = &mut line.command {
            // One in front of them is taken for this command line's, and is the topology's.
            let before = words.len().checked_sub(arguments.len() + 1).and_then(|at| words.get(at));
            if before.is_some_and(|word| word == "--") {
                arguments.insert(0, "--".into());
            }
        }
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

/// A number of something, at least one.
fn positive(text: &str) -> Result<i32, String> {
    text.parse::<i32>().ok().filter(|number| *number > 0).ok_or_else(|| "give a whole number from 1".to_owned())
}

fn executors(text: &str) -> Result<(String, i32), String> {
    let wanted = || "give COMPONENT=NUMBER, such as count=4".to_owned();
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
    /// Kill topologies: their spouts stop at once, and after a while everything of them ends
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
    /// Write standard input to a log file that is rotated: started by supervisors
    #[command(name = "log-writer", hide = true)]
    LogWriter(LogWriter),
}

#[derive(Debug, Args)]
pub(crate) struct Name {
    /// The name of the topology
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Key {
    /// The key, such as nimbus.seeds
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The topology's executable
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// The name of the topology
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// The topology's own options
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Local {
    /// Stop after this many seconds, at least 1 [default: at the end of the input]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub(crate) local_ttl: Option<i32>,
    /// The topology's executable
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// The topology's own options
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Kill {
    /// Seconds between the stop of the spouts and the end [default: the topology's time-out of messages]
    #[arg(short = 'w', long = "wait-time-secs", alias = "wait", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<i32>,
    /// Go on with the next topology when one cannot be killed
    #[arg(short = 'i', long = "ignore-errors")]
    pub(crate) ignore_errors: bool,
    /// The names of the topologies
    #[arg(value_name = "NAME", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Rebalance {
    /// The name of the topology
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// Seconds between the stop of the spouts and the new placing [default: the topology's time-out of messages]
    #[arg(short = 'w', long = "wait-time-secs", alias = "wait", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<i32>,
    /// Workers that it has then
    #[arg(short = 'n', long = "num-workers", value_name = "NUMBER", value_parser = positive)]
    pub(crate) workers: Option<i32>,
    /// Executors that a component has then; may be given many times
    #[arg(short = 'e', long = "executor", value_name = "COMPONENT=NUMBER", value_parser = executors)]
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
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// Go on with what is written from now on, until Ctrl-C
    #[arg(short = 'f', long)]
    pub(crate) follow: bool,
    /// How many of the last lines of each worker are shown
    #[arg(short = 'n', long, default_value_t = 100)]
    pub(crate) lines: usize,
    /// Only the worker of this port
    #[arg(long)]
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
    #[arg(value_parser = NonEmptyStringValueParser::new())]
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
        /// The path, whole or below the root
        #[arg(default_value = "")]
        path: String,
    },
    /// Show what a node holds
    Get {
        /// The path, whole or below the root
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
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=16))]
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

#[derive(Debug, Args)]
pub(crate) struct LogWriter {
    /// The file, and how large it may become
    #[arg(value_name = "FILE BYTES FILES")]
    pub(crate) words: Vec<OsString>,
}

#[cfg(test)]
mod tests;
