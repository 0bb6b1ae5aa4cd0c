//! Runs that take as long as they are given and that are no part of a full check.

use std::time::Duration;

use crate::command::{CommandError, Shell};
use crate::tidy::files::fuzz_folders;

/// Time beyond the asked one, for building.
const BUILD_TIME: Duration = Duration::from_secs(20 * 60);

/// Time to build the whole project and what it needs, in optimised builds, on a machine that has other things to do.
const WHOLE_BUILD_TIME: Duration = Duration::from_secs(90 * 60);

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

/// Builds the executables of an older commit, and runs the tests of versions with them. The source of that commit lies in
/// a worktree that goes at the end; what was built of it stays for the next time.
///
/// # Errors
/// There is no such commit, it cannot be built, or its builds and those of this one do not get along.
pub(crate) fn upgrade(shell: &Shell, from: &str) -> Result<(), CommandError> {
    let folder = shell.root.join("target/upgrade");
    let (tree, built) = (folder.join("tree").display().to_string(), folder.join("built").display().to_string());
    // One that was left there by a run that was ended is of no use.
    let remove = || shell.program("git", ["worktree", "remove", "--force", &tree]);
    if std::path::Path::new(&tree).exists() {
        remove().run()?;
    }
    shell.program("git", ["worktree", "add", "--detach", &tree, from]).run()?;
    let manifest = format!("{tree}/Cargo.toml");
    let arguments = ["build", "--locked", "--manifest-path", &manifest, "-p", "ringstorm-tests", "--bins"];
    let build = shell.cargo(arguments).environment("CARGO_TARGET_DIR", &built).limit(WHOLE_BUILD_TIME).run();
    remove().run()?;
    build?;
    let test = shell.cargo([
        "test",
        "--locked",
        "-p",
        "ringstorm-tests",
        "--test",
        "cluster",
        "versions",
        "--",
        "--nocapture",
    ]);
    test.environment("RINGSTORM_OLDER_BUILD", format!("{built}/debug")).limit(WHOLE_BUILD_TIME).run()
}

fn simulator(shell: &Shell, arguments: &[&str]) -> Result<(), CommandError> {
    let run = ["run", "--release", "-p", "ringstorm-simulator", "--"];
    let run = shell.cargo(run.iter().chain(arguments).copied());
    run.limit(SIMULATOR_TIME).run()
}
