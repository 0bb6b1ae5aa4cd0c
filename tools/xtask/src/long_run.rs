//! Runs that take as long as they are given and that are no part of a full check.

use std::time::Duration;

use crate::command::{CommandError, Shell};
use crate::tidy::files::fuzz_folders;

/// Time beyond the asked one, for building.
const BUILD_TIME: Duration = Duration::from_secs(20 * 60);

/// Time for as many seeds as anybody runs at once.
const SIMULATOR_TIME: Duration = Duration::from_secs(6 * 3600);

/// Runs one fuzz target.
///
/// # Errors
/// There is no such target, cargo-fuzz is missing, or the target found a fault.
pub(crate) fn fuzz(shell: &Shell, target: &str, seconds: u32) -> Result<(), CommandError> {
    let folders = fuzz_folders(&shell.root);
    let file = format!("fuzz_targets/{target}.rs");
    let Some(folder) = folders.iter().find(|folder| shell.root.join(folder).join(&file).is_file()) else {
        return Err(CommandError::Found(format!("there is no fuzz target {target:?} in {}", folders.join(", "))));
    };
    if shell.cargo(["fuzz", "--version"]).ask().is_none() && !shell.dry_run {
        return Err(CommandError::Found("cargo-fuzz is missing; install it with `cargo install cargo-fuzz`".into()));
    }
    let arguments = ["run", "nightly", "cargo", "fuzz", "run", "--fuzz-dir", folder, target, "--"];
    let time = format!("-max_total_time={seconds}");
    let run = shell.program("rustup", arguments.iter().copied().chain([time.as_str()]));
    run.limit(Duration::from_secs(seconds.into()) + BUILD_TIME).run()
}

/// Stresses the rings.
///
/// # Errors
/// A wake-up or an item was lost.
pub(crate) fn stress(shell: &Shell, seconds: u32) -> Result<(), CommandError> {
    let seconds_text = seconds.to_string();
    let arguments = ["run", "--release", "-p", "ringstorm-ring", "--example", "stress", "--", &seconds_text];
    shell.cargo(arguments).limit(Duration::from_secs(seconds.into()) + BUILD_TIME).run()
}

/// Runs many seeds of the simulator, until so many have failed.
///
/// # Errors
/// A seed broke a law.
pub(crate) fn simulate(shell: &Shell, first: u64, seeds: u64, failures: u64) -> Result<(), CommandError> {
    let (first, seeds, failures) = (first.to_string(), seeds.to_string(), failures.to_string());
    simulator(shell, &["many", &seeds, "--first", &first, "--failures", &failures])
}

/// Runs one seed of the simulator, and shows every step.
///
/// # Errors
/// The seed broke a law.
pub(crate) fn simulate_one(shell: &Shell, seed: u64) -> Result<(), CommandError> {
    simulator(shell, &["one", &seed.to_string()])
}

fn simulator(shell: &Shell, arguments: &[&str]) -> Result<(), CommandError> {
    let run = ["run", "--release", "-p", "ringstorm-simulator", "--"];
    let run = shell.cargo(run.iter().chain(arguments).copied());
    run.limit(SIMULATOR_TIME).run()
}
