//! The entry point of a topology's executable: commands, options, running here, telling how it went.
//!
//! A topology is an executable. Its `main` hands a name and a function that builds the topology to [`main()`], which
//! reads the command line and does the rest.
//!
//! Invariants: the process ends by itself, whatever happens; its exit code tells the truth (see [`main()`]); what is
//! wrong is said once, on standard error, with what to do next. Standard output belongs to the topology, apart from
//! `describe`.
//!
//! Threading: `main` waits for the run; one thread watches signals, one reads counters. Errors: for whoever typed the
//! command.

mod cluster_worker;
mod command_line;
mod live;
mod local;
mod own_words;
mod remarks;
mod screen;
mod signals;
mod submit;
mod verdict;
mod workers;

use std::io::Write;
use std::process::ExitCode;

use ringstorm_runtime::describe::describe;
use ringstorm_runtime::{BuiltTopology, Result, TopologyBuilder};
use ringstorm_types::screen::one_line;
use ringstorm_types::validate::validate_topology_name;

use command_line::{Command, DescribeArguments};
use verdict::{Failure, Status};

/// A topology without options of its own: `|_: NoOptions| ...`.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[group(skip)]
pub struct NoOptions {}

/// Runs a topology's executable: reads the command line, builds the topology, and does what was asked.
///
/// `A` holds the topology's own options (`#[derive(clap::Args)]`); they stand behind the command, beside those of
/// Ringstorm. `build` is called once with what was given.
///
/// The commands:
///
/// - `local` runs the topology in this process until its input ends, or until Ctrl-C, SIGTERM or `--duration`; then
///   nothing new is taken, what is under way is drained, and the metrics are shown. A second Ctrl-C ends it at once.
/// - `worker` is one of several processes, which a file leads; see its `--help`.
/// - `submit NAME` sends this file to a cluster, which makes its workers of it; see its `--help`. What `build` does, it does
///   in each worker again, from the same options: it should do nothing but build.
/// - `describe` shows components, streams, groupings, tasks and the core of each executor; `--json` for programs.
///
/// Settings go in this order, the later before the earlier: [`TopologyBuilder::set`], the file of `--config`, `-c`.
///
/// The exit code:
///
/// | code | means |
/// |---|---|
/// | 0 | the input ended, or the run was stopped from outside, and everything was drained without an error |
/// | 1 | it could not start, or could not go on |
/// | 2 | the command line is wrong: an option, a key or a value of `-c`, a file that is named and not there |
/// | 3 | it ended with messages neither acked nor failed, or tuples not executed, or a worker did not say |
/// | 4 | it ended and was drained, but components reported errors or workers died: the result may be incomplete |
/// | 5 | a worker of a cluster: its port is taken, or its address is not one of this host |
/// | 6 | a worker of a cluster: a newer process has taken its place |
/// | 130, 143 | it was ended at once by a second Ctrl-C or SIGTERM |
///
/// What is wrong within a file, or cannot be read there, is 1, and so is what `build` finds wrong with its own options.
/// A message that failed is done with: whether it is emitted again is for its spout to decide. How many failed is said at
/// the end.
///
/// ```no_run
/// use ringstorm::prelude::*;
///
/// #[derive(clap::Args)]
/// struct Options {
///     /// How many numbers
///     #[arg(long, default_value_t = 10)]
///     count: u64,
/// }
///
/// # struct Numbers(u64);
/// # impl Spout for Numbers {
/// #     fn declare(&self, _: &mut Declarer) {}
/// #     fn next_tuple(&mut self, _: &mut SpoutCollector<'_>) -> Result<Next> { Ok(Next::Finished) }
/// # }
/// fn build(Options { count }: Options) -> Result<TopologyBuilder> {
///     let mut topology = TopologyBuilder::new();
///     topology.spout("numbers", move || Numbers(count));
///     Ok(topology)
/// }
///
/// fn main() -> ExitCode {
///     ringstorm::main("numbers", build)
/// }
/// ```
pub fn main<A: clap::Args>(name: &str, build: impl FnOnce(A) -> Result<TopologyBuilder>) -> ExitCode {
    ringstorm_note::keep();
    let status = run(name, build, std::env::args_os()).unwrap_or_else(|failure| {
        screen::print(&format!("error: {}", failure.text));
        failure.status
    });
    status.into()
}

fn run<A: clap::Args>(
    name: &str,
    build: impl FnOnce(A) -> Result<TopologyBuilder>,
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<Status, Failure> {
    refuse_aborts(cfg!(panic = "abort"))?;
    validate_topology_name(name).map_err(|error| error.to_string())?;
    let arguments: Vec<std::ffi::OsString> = arguments.into_iter().collect();
    if let Some(launch) = cluster_worker::launch_file(&arguments) {
        return Ok(cluster_worker::run(name, build, &launch?)?);
    }
    let parsed = match command_line::parse::<A>(name, arguments) {
        Ok(parsed) => parsed,
        Err(command_line::Refusal::Clash(text)) => return Err(text.into()),
        Err(command_line::Refusal::NoWords(text)) => return Err(Failure::of(text, true)),
        Err(command_line::Refusal::Usage(error)) => {
            screen::print_usage(&error);
            // Help counts as success.
            return Ok(if error.use_stderr() { Status::Usage } else { Status::Done });
        }
    };
    let config = parsed.command.settings().config()?;
    let builder = build(parsed.own).map_err(|error| format!("{name} cannot be built: {}", one_line(&error)))?;
    let topology = builder.build(&config).map_err(|error| {
        let is_typed = error.is_of_command_line();
        Failure::of(if is_typed { error.to_string() } else { format!("{name} cannot be built: {error}") }, is_typed)
    })?;
    Ok(match parsed.command {
        Command::Local(arguments) => local::run(name, topology, &arguments)?,
        Command::Worker(arguments) => workers::be_one(name, topology, &arguments)?,
        Command::Submit(arguments, words) => submit::run(&topology, &arguments, &words)?,
        Command::Describe(arguments) => show(name, &topology, &arguments)?,
    })
}

/// A panic must fail one tuple, for which it has to unwind.
fn refuse_aborts(panics_abort: bool) -> Result<(), String> {
    if !panics_abort {
        return Ok(());
    }
    let text = "this executable was built with panic = \"abort\", so that one panic of a component would end the whole \
                process; remove that line from the profile in Cargo.toml and build again";
    Err(text.to_owned())
}

fn show(name: &str, topology: &BuiltTopology, arguments: &DescribeArguments) -> Result<Status, String> {
    let description = describe(name, topology).map_err(|error| error.to_string())?;
    let text = if arguments.json { format!("{:#}\n", description.json) } else { description.text };
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(Status::Done),
        // Whoever reads has read enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Status::Done),
        Err(error) => {
            Err(format!("the description cannot be written to standard output: {error}; redirect it elsewhere"))
        }
    }
}

#[cfg(test)]
mod tests;
