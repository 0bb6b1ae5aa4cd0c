//! The commands and options that every topology's executable has, and the topology's own beside them.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use ringstorm_file::{is_wrong_path, read_regular};
use ringstorm_types::config::{Config, Origin, keys};
use ringstorm_types::validate::validate_topology_name;

use super::own_words;
use super::verdict::Failure;

/// The name of the command that submits.
const SUBMIT: &str = "submit";
/// More processes than this on one machine are a slip of the finger.
const WORKERS_MAX: usize = 256;
/// A file of settings that is larger is a slip, too.
const CONFIG_BYTES_MAX: usize = 16 << 20;

/// What `worker --help` says of the file. README.md has an example, `ringstorm_types::assignment` the rules.
pub(super) const ASSIGNMENT_HELP: &str = "\
The assignment file is one JSON object, the same for all workers of a topology:

  topology_id      text, the same for as long as the topology lives
  version          whole number, grows with every change of who runs what
  secret           text of at least 32 bytes that only these workers know
  acker_executors  executors of __acker, unless topology.acker.executors says
  active           true or false: whether spouts are asked for tuples
  workers          list of objects:
    number         whole number of the worker, --ringstorm-worker
    incarnation    whole number; a process of a lower one is out of date
    address        \"host:port\" where it listens and others dial it
    cores          its cores, 1 to 1024
    executors      pairs of first and last task: [[1,1],[4,5]]

Each executor of the topology (`describe` shows them) runs in exactly one
worker. Rename another file over this one to change it: workers take in who has
moved, and end if their own work has changed. Without the file they end; at the
end of input they do not, and no component is asked to finish.
Ctrl-C or SIGTERM: it takes nothing new, drains and ends; twice: at once.";

/// What `submit --help` says besides.
pub(super) const SUBMIT_HELP: &str = "\
The cluster is the one that storm.yaml names by nimbus.seeds: the file in
~/.storm, $STORM_CONF_DIR or /etc/storm, as for the command ringstorm. What -c
or --config say goes before it.

This file is sent as it is, with the options that stand here: each worker builds
the topology from them anew, on its own host. Files that they name must be
there. Every setting reaches the components, those of your own as well.

The id of the topology is written to standard output.
Exit code: 0 it is submitted; 1 it is not, or that is not known; 2 the command
line is wrong: a setting that is none, a misspelled key, a file that is not
there. What a file of --config holds is no matter of the command line: 1.";

/// The whole command line. The topology's own options are read by the same command and handed on apart.
#[derive(Debug, Parser)]
#[command(name = "topology", subcommand_required = true, arg_required_else_help = true)]
struct CommandLine<A: Args> {
    #[command(subcommand)]
    command: Choice<A>,
}

#[derive(Debug, Subcommand)]
enum Choice<A: Args> {
    /// Run here until the input ends, or until Ctrl-C
    Local(WithOwn<LocalArguments, A>),
    /// Be one of several processes, led by a file; `local --workers` starts its own
    #[command(after_long_help = ASSIGNMENT_HELP)]
    Worker(WithOwn<WorkerArguments, A>),
    /// Send this topology to a cluster, under a name
    #[command(after_long_help = SUBMIT_HELP)]
    Submit(SubmitWithOwn<A>),
    /// Show components, streams, groupings, tasks and the core of each executor
    Describe(WithOwn<DescribeArguments, A>),
}

#[derive(Debug, Args)]
#[group(skip)]
struct WithOwn<C: Args, A: Args> {
    #[command(flatten)]
    own: A,
    #[command(flatten)]
    common: C,
}

/// As [`WithOwn`], with the name before the topology's own positional values.
#[derive(Debug, Args)]
#[group(skip)]
struct SubmitWithOwn<A: Args> {
    #[command(flatten)]
    common: SubmitArguments,
    #[command(flatten)]
    own: A,
}

/// Settings of the topology.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Settings")]
pub(super) struct SettingArguments {
    /// A setting, such as topology.max.spout.pending=1000; may be given many times
    #[arg(id = "ringstorm.setting", short = 'c', value_name = "KEY=VALUE", action = clap::ArgAction::Append)]
    settings: Vec<String>,
    /// A file with settings as a JSON object; -c goes before it
    #[arg(id = "ringstorm.config", long = "config", value_name = "FILE")]
    config_file: Option<PathBuf>,
    /// Cores to run on [default: as many as there are usable CPUs]
    #[arg(
        id = "ringstorm.cores", long = "workers-cores", value_name = "NUMBER", value_parser = cores,
        allow_negative_numbers = true
    )]
    cores: Option<u64>,
}

/// What `local` takes.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Running")]
pub(super) struct LocalArguments {
    /// Stop and drain after this many seconds
    #[arg(
        id = "ringstorm.duration", long = "duration", value_name = "SECONDS", value_parser = seconds,
        allow_negative_numbers = true
    )]
    pub(super) duration: Option<Duration>,
    /// Run in this many processes, joined by connections on the loopback address [default: in this one]
    #[arg(
        id = "ringstorm.workers", long = "workers", value_name = "NUMBER", value_parser = workers,
        allow_negative_numbers = true
    )]
    pub(super) workers: Option<NonZeroUsize>,
    /// Write the metrics to this file as JSON at the end
    #[arg(id = "ringstorm.metrics", long = "metrics-json", value_name = "FILE")]
    pub(super) metrics_json: Option<PathBuf>,
    /// Say nothing but what went wrong
    #[arg(id = "ringstorm.quiet", long = "quiet")]
    pub(super) quiet: bool,
    #[command(flatten)]
    settings: SettingArguments,
}

/// What `submit` takes.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Submitting")]
pub(super) struct SubmitArguments {
    /// The name of the topology in the cluster
    #[arg(id = "ringstorm.name", value_name = "NAME", value_parser = topology_name)]
    pub(super) name: String,
    /// Its spouts emit nothing before `ringstorm activate NAME`
    #[arg(id = "ringstorm.inactive", long = "inactive")]
    pub(super) inactive: bool,
    /// Say nothing but what went wrong
    #[arg(id = "ringstorm.quiet", long = "quiet")]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) settings: SettingArguments,
}

/// Who says what a worker does.
#[derive(Debug, Args)]
#[group(id = "ringstorm.place", required = true, multiple = false)]
pub(super) struct WorkerPlace {
    /// The socket of the process that leads: for workers that `local --workers` starts
    #[arg(hide = true, id = "ringstorm.leader", long = "ringstorm-leader", value_name = "PATH")]
    pub(super) leader: Option<PathBuf>,
    /// The file of the assignment, looked at ten times a second; see below
    #[arg(
        id = "ringstorm.assignment",
        long = "ringstorm-assignment",
        value_name = "FILE",
        conflicts_with_all = ["ringstorm.duration", "ringstorm.workers", "ringstorm.metrics"]
    )]
    pub(super) assignment: Option<PathBuf>,
}

/// What `worker` takes: all that `local` was given, and whose worker it is.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct WorkerArguments {
    #[command(flatten)]
    pub(super) place: WorkerPlace,
    /// The number of this worker in the assignment
    #[arg(
        id = "ringstorm.worker", long = "ringstorm-worker", value_name = "NUMBER", value_parser = worker,
        allow_negative_numbers = true
    )]
    pub(super) worker: usize,
    #[command(flatten)]
    pub(super) local: LocalArguments,
}

/// What `describe` takes.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct DescribeArguments {
    #[command(flatten)]
    settings: SettingArguments,
    /// Describe as JSON
    #[arg(id = "ringstorm.json", long = "json")]
    pub(super) json: bool,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Command {
    Local(LocalArguments),
    Worker(WorkerArguments),
    /// With the words of the topology's own options.
    Submit(SubmitArguments, Vec<String>),
    Describe(DescribeArguments),
}

impl Command {
    pub(super) fn settings(&self) -> &SettingArguments {
        match self {
            Self::Local(arguments) => &arguments.settings,
            Self::Worker(arguments) => &arguments.local.settings,
            Self::Submit(arguments, _) => &arguments.settings,
            Self::Describe(arguments) => &arguments.settings,
        }
    }
}

/// A command line that was understood.
#[derive(Debug)]
pub(super) struct Parsed<A> {
    pub(super) command: Command,
    pub(super) own: A,
}

/// Why a command line was not understood.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Clap's error, or help.
    Usage(clap::Error),
    /// The topology's own options clash with those of Ringstorm: for its author.
    Clash(String),
    /// What was given cannot be submitted.
    NoWords(String),
}

/// Reads a command line, program name first.
pub(super) fn parse<A: Args>(name: &str, arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed<A>, Refusal> {
    find_clash::<A>()?;
    let command = CommandLine::<A>::command().about(format!("The topology {name}"));
    let matches = command.try_get_matches_from(arguments).map_err(Refusal::Usage)?;
    let line = CommandLine::<A>::from_arg_matches(&matches).map_err(Refusal::Usage)?;
    Ok(match line.command {
        Choice::Local(WithOwn { own, common }) => Parsed { command: Command::Local(common), own },
        Choice::Worker(WithOwn { own, common }) => Parsed { command: Command::Worker(common), own },
        Choice::Submit(SubmitWithOwn { own, common }) => {
            let given = matches.subcommand_matches(SUBMIT);
            let words = given.map_or_else(|| Ok(Vec::new()), own_words::of::<A>).map_err(Refusal::NoWords)?;
            Parsed { command: Command::Submit(common, words), own }
        }
        Choice::Describe(WithOwn { own, common }) => Parsed { command: Command::Describe(common), own },
    })
}

/// Clap finds such a clash in debug builds only, and panics then.
fn find_clash<A: Args>() -> Result<(), Refusal> {
    let ours = SubmitArguments::augment_args(DescribeArguments::augment_args(clap::Command::new("ours")));
    let ours = WorkerArguments::augment_args(ours);
    let own = A::augment_args(clap::Command::new("own"));
    for argument in own.get_arguments() {
        let long = argument
            .get_long()
            .filter(|long| *long == "help" || ours.get_arguments().any(|reserved| reserved.get_long() == Some(long)));
        let short = argument
            .get_short()
            .filter(|short| *short == 'h' || ours.get_arguments().any(|reserved| reserved.get_short() == Some(*short)));
        let taken = long.map(|long| format!("--{long}")).or_else(|| short.map(|short| format!("-{short}")));
        if let Some(taken) = taken {
            return Err(Refusal::Clash(format!(
                "the topology has an option {taken} of its own, which every Ringstorm topology has; rename it in the \
                 topology's code"
            )));
        }
    }
    Ok(())
}

impl SettingArguments {
    /// What was set: the file first, `-c` over it. What the file holds was not typed; that it is there was.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let mut config = Config::new();
        if let Some(path) = &self.config_file {
            let text = read_regular(path, CONFIG_BYTES_MAX).map_err(|error| {
                let text =
                    format!("the configuration file {path:?} cannot be read: {error}; check its path and permissions");
                Failure::of(text, is_wrong_path(&error))
            })?;
            if text.len() > CONFIG_BYTES_MAX {
                return Err(format!(
                    "the configuration file {path:?} has more than {CONFIG_BYTES_MAX} bytes; is it the right one?"
                )
                .into());
            }
            let origin = Origin::file(&path.to_string_lossy());
            config = Config::from_json_text(&text, &origin).map_err(|error| error.to_string())?;
        }
        for setting in &self.settings {
            let set = config.set_from_text(setting, Origin::COMMAND_LINE);
            set.map_err(|error| Failure::of(error.to_string(), error.is_of_command_line()))?;
        }
        if let Some(cores) = self.cores {
            config.set(keys::WORKER_CORES, cores, Origin::other("--workers-cores"));
        }
        Ok(config)
    }
}

/// Reads the name of a topology. Nimbus would refuse what is none, once everything is there.
fn topology_name(text: &str) -> Result<String, String> {
    validate_topology_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// Reads a number of cores. None and too many are found with the other settings.
fn cores(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give a whole number from 1".to_owned())
}

/// Reads the number of a worker.
fn worker(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "give a whole number from 0, as the assignment has it".to_owned())
}

/// Reads a number of worker processes.
fn workers(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number| (1..=WORKERS_MAX).contains(number)).and_then(NonZeroUsize::new);
    number.ok_or_else(|| format!("give a whole number from 1 to {WORKERS_MAX}"))
}

/// Reads a positive number of seconds; fractions are fine.
fn seconds(text: &str) -> Result<Duration, String> {
    let duration = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.filter(|it| !it.is_zero()).ok_or_else(|| "give a number of seconds above 0, such as 30 or 0.5".to_owned())
}
