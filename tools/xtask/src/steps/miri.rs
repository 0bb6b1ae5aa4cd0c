//! Undefined behaviour, under Miri: in the crate with `unsafe` that does no I/O, and lightly in three others.
//!
//! Miri is some hundred times slower than the machine and knows neither io_uring nor eventfd. So it runs chosen tests
//! with few cases; the rest of the unsafe code is attacked where it can run: rings by `cargo xtask stress` and loom,
//! the runtime by its own tests.

use std::time::Duration;

use crate::command::{CommandError, Shell};
use crate::step::Outcome;
use crate::steps::test::counted;

/// What runs: the arguments of one `cargo miri test` each. Tests take fewer cases under Miri by themselves.
const RUNS: &[&[&str]] = &[
    // Every read, check and view of payloads, every way to write them, and bytes that mean harm.
    &["-p", "ringstorm-tuple", "--lib", "--test", "typed", "--test", "hostile", "--test", "properties"],
    // Others, without unsafe code: one pass each, in case that changes. Their exhaustive tests would take hours.
    &["-p", "ringstorm-frame", "--test", "model", "a_frame_lies_as_specified"],
    &["-p", "ringstorm-acking", "--lib", "ledger"],
    // Writes, packs, unpacks and reads records of most types.
    &["-p", "ringstorm-records", "--lib", "render"],
];

/// Property tests look for files of old failures. rkyv's relative pointers need Tree Borrows, see `ringstorm-tuple`.
const FLAGS: &str = "-Zmiri-disable-isolation -Zmiri-tree-borrows";

/// Runs them with the newest installed nightly.
///
/// # Errors
/// Miri finds something, or a test fails.
pub(crate) fn run(shell: &Shell) -> Result<Outcome, CommandError> {
    if !is_ready(shell) && !shell.dry_run {
        install(shell);
        if !is_ready(shell) {
            return Ok(Outcome::Skipped(
                "no nightly toolchain with Miri; install it with `rustup toolchain install nightly --profile minimal \
                 --component miri,rust-src`"
                    .into(),
            ));
        }
    }
    let mut remarks = Vec::new();
    for arguments in RUNS {
        let run = shell.program(
            "rustup",
            ["run", "nightly", "cargo", "miri", "test", "--locked"].iter().chain(*arguments).copied(),
        );
        // Property tests take these few cases unless they say otherwise.
        let run =
            run.environment("MIRIFLAGS", FLAGS).environment("PROPTEST_CASES", "2").environment("RUST_BACKTRACE", "0");
        let outcome = counted(&run.environment("CARGO_TARGET_DIR", "target/miri").limit(Duration::from_secs(15 * 60)))?;
        if let Outcome::Passed(remark) = outcome {
            remarks.push(remark);
        }
    }
    Ok(Outcome::Passed(remarks.join("; ")))
}

fn is_ready(shell: &Shell) -> bool {
    let has_source = || {
        let root = shell.program("rustup", ["run", "nightly", "rustc", "--print", "sysroot"]).ask()?;
        std::path::Path::new(root.trim()).join("lib/rustlib/src/rust/library/std").is_dir().then_some(())
    };
    shell.program("rustup", ["run", "nightly", "cargo", "miri", "--version"]).ask().is_some() && has_source().is_some()
}

/// Tries to install what is missing; whether it worked is looked at afterwards.
fn install(shell: &Shell) {
    let arguments = ["toolchain", "install", "nightly", "--profile", "minimal", "--component", "miri,rust-src"];
    if let Err(error) = shell.program("rustup", arguments).run() {
        println!("{error}");
    }
}
