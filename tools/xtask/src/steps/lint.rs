//! Steps that look at the code and run none of it.

use crate::command::{CommandError, Shell};
use crate::step::Outcome;

/// `cargo fmt` changes nothing.
///
/// # Errors
/// A file is formatted differently.
pub(crate) fn fmt(shell: &Shell) -> Result<Outcome, CommandError> {
    shell.cargo(["fmt", "--all", "--check"]).run()?;
    Ok(Outcome::Passed(String::new()))
}

/// Clippy has nothing to say, in any target. The helpers of tests may unwrap, since there a
/// panic is the report, and their visibility means nothing.
///
/// # Errors
/// It warns of something.
pub(crate) fn clippy(shell: &Shell) -> Result<Outcome, CommandError> {
    shell
        .cargo(["clippy", "--workspace", "--lib", "--bins", "--examples", "--locked", "--", "-D", "warnings"])
        .run()?;
    let allowed = ["-A", "clippy::unwrap_used", "-A", "unreachable_pub"];
    let tests = ["clippy", "--workspace", "--tests", "--locked", "--", "-D", "warnings"];
    shell.cargo(tests.into_iter().chain(allowed)).run()?;
    Ok(Outcome::Passed(String::new()))
}

/// The documentation builds without a warning. That of private items counts too, since it is where the design of each
/// module is written down.
///
/// # Errors
/// A link leads nowhere, or the like.
pub(crate) fn doc(shell: &Shell) -> Result<Outcome, CommandError> {
    shell
        .cargo(["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"])
        .environment("RUSTDOCFLAGS", "-D warnings")
        .run()?;
    Ok(Outcome::Passed(String::new()))
}
