//! The project's own automation: every check, each alone or all together, and the longer runs around them.
//!
//! `cargo xtask ci` is what continuous integration runs and `cargo xtask check` the part of it to run before a commit.
//! Every step of both is a command of its own, so that what failed can be repeated alone. Nothing here is part of what
//! users run.
//!
//! Threading: one step after another, since each of them uses all CPUs by itself. Errors: a step that fails does not
//! keep the next ones from running; the summary names it and the exit status is 1.

mod command;
mod descendants;
mod long_run;
mod metadata;
mod report;
mod step;
mod steps;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use command::Shell;
use step::Step;

/// Checks, loom, Miri, fuzzing and benchmarks of the project, one command each.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,

    /// Print the commands and run none of them
    #[arg(long, global = true)]
    dry_run: bool,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum Task {
    /// Every check: what continuous integration runs
    Ci,
    /// The checks to run before a commit: fmt, tidy, clippy and test
    Check,
    #[command(flatten)]
    Step(Step),
    /// A long run of one fuzz target with cargo-fuzz (nightly); a find goes to the corpus as a regression
    Fuzz {
        /// The target: a file of a `fuzz/fuzz_targets` folder, such as `payload`
        target: String,
        /// How long
        #[arg(long, value_name = "SECONDS", default_value_t = 600)]
        seconds: u32,
    },
    /// The control plane under many seeds, or one with every step
    Simulate {
        /// How many
        #[arg(long, default_value_t = 10_000)]
        seeds: u64,
        /// The first one
        #[arg(long, default_value_t = 0)]
        first: u64,
        /// After how many that fail it ends
        #[arg(long, default_value_t = 1)]
        failures: u64,
        /// This one alone, with every step
        #[arg(long)]
        seed: Option<u64>,
    },
    /// The daemons and topologies of an older commit beside those of this one, under load
    Upgrade {
        /// The commit, as git names it; its executables are built in a folder of their own below `target`
        #[arg(long, value_name = "COMMIT")]
        from: String,
    },
    /// Rings, doorbells and parking against the real kernel with random pauses, for a long time
    Stress {
        /// How long
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        seconds: u32,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let shell = Shell { root: root(), dry_run: arguments.dry_run };
    match arguments.task {
        Task::Ci => report::run(&shell, Step::CI),
        Task::Check => report::run(&shell, Step::CHECK),
        Task::Step(step) => report::run(&shell, &[step]),
        Task::Fuzz { target, seconds } => report::exit(long_run::fuzz(&shell, &target, seconds)),
        Task::Simulate { seed: Some(seed), .. } => report::exit(long_run::simulate_one(&shell, seed)),
        Task::Simulate { seeds, first, failures, seed: None } => {
            report::exit(long_run::simulate(&shell, first, seeds, failures))
        }
        Task::Upgrade { from } => report::exit(long_run::upgrade(&shell, &from)),
        Task::Stress { seconds } => report::exit(long_run::stress(&shell, seconds)),
    }
}

/// The root of the workspace, two folders above this crate. Cargo says at each run where that is; a checkout that was
/// moved after it was built is found all the same.
fn root() -> PathBuf {
    let crate_folder =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    crate_folder.ancestors().nth(2).expect("this crate lies in tools/xtask").to_owned()
}

/// The names of all subcommands, for the check of commands in documents.
fn subcommand_names() -> Vec<String> {
    use clap::CommandFactory;
    Arguments::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed_and_each_step_has_the_name_that_reports_use() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
        for step in Step::CI {
            let parsed = Arguments::try_parse_from(["cargo xtask", step.name()]).unwrap();
            assert!(matches!(parsed.task, Task::Step(parsed) if parsed == *step), "{}", step.name());
        }
        assert!(Step::CHECK.iter().all(|step| Step::CI.contains(step)));
    }
}
