//! Steps that run tests through cargo.
//!
//! A filter that matches nothing passes in cargo's eyes; here a run of no test is a failure.

use std::time::Duration;

use crate::command::{CommandError, Run, Shell};
use crate::step::Outcome;

/// The tests that replay the corpora of the fuzzers, one for each `fuzz` folder: package, test program, test.
pub(crate) const CORPUS_TESTS: &[(&str, &str, &str)] = &[
    ("ringstorm-tuple", "hostile", "the_corpus_of_the_fuzzers_still_passes"),
    ("ringstorm-protocol", "fuzz_replay", "the_corpus_of_the_fuzzers_still_passes"),
    ("ringstorm-records", "fuzz_replay", "the_corpus_of_the_fuzzers_still_passes"),
];

/// The packages whose tests break rules on purpose. A build for all of them at once is a fifth of one for each.
const PLANTED: &[&str] = &["ringstorm-nimbus", "ringstorm-supervisor", "ringstorm-worker", "ringstorm-simulator"];

/// The tests of the whole workspace have to be done by then, on two CPUs that others use as well.
const TESTS_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Unit and integration tests of the whole workspace. They are built first, so that the time they may take is theirs.
///
/// # Errors
/// One does not build, or fails.
pub(crate) fn tests(shell: &Shell) -> Result<Outcome, CommandError> {
    let what = ["test", "--workspace", "--lib", "--bins", "--tests", "--locked"];
    shell.cargo(what.into_iter().chain(["--no-run"])).run()?;
    counted(&shell.cargo(what.into_iter().chain(["--no-fail-fast"])).limit(TESTS_LIMIT))
}

/// Rules of the control plane, broken on purpose, each in a build that can break them.
///
/// # Errors
/// One is not found.
pub(crate) fn planted(shell: &Shell) -> Result<Outcome, CommandError> {
    let packages = PLANTED.iter().flat_map(|package| ["-p", *package]);
    let what =
        ["--features", "ringstorm-simulator/planted-bugs", "--test", "suite", "--test", "laws", "--locked", "planted"];
    counted(&shell.cargo(["test"].into_iter().chain(packages).chain(what)))
}

/// The examples in the documentation.
///
/// # Errors
/// One does not compile or fails.
pub(crate) fn doctests(shell: &Shell) -> Result<Outcome, CommandError> {
    counted(&shell.cargo(["test", "--workspace", "--doc", "--locked", "--no-fail-fast"]))
}

/// The model-checked protocols. They are compiled with other atomics, so in a target folder of their own.
///
/// # Errors
/// A schedule breaks an assertion or deadlocks.
pub(crate) fn loom(shell: &Shell) -> Result<Outcome, CommandError> {
    let arguments = ["test", "-p", "ringstorm-ring", "--release", "--test", "loom_*", "--locked"];
    let run =
        shell.cargo(arguments).environment("RUSTFLAGS", "--cfg loom").environment("CARGO_TARGET_DIR", "target/loom");
    counted(&run.limit(Duration::from_secs(25 * 60)))
}

/// The corpora of the fuzzers, by themselves.
///
/// # Errors
/// An input is no longer handled.
pub(crate) fn fuzz_replay(shell: &Shell) -> Result<Outcome, CommandError> {
    let mut counts = TestCounts::default();
    for (package, program, test) in CORPUS_TESTS {
        let arguments = ["test", "-p", package, "--test", program, "--locked", test, "--", "--exact"];
        counts.add(run_counted(&shell.cargo(arguments))?);
    }
    Ok(Outcome::Passed(counts.to_string()))
}

/// Runs tests; passes when some ran and all passed.
pub(crate) fn counted(run: &Run<'_>) -> Result<Outcome, CommandError> {
    Ok(Outcome::Passed(run_counted(run)?.to_string()))
}

/// As [`counted`], for the numbers.
fn run_counted(run: &Run<'_>) -> Result<TestCounts, CommandError> {
    let counts = TestCounts::of(&run.run_and_keep()?);
    if run.is_dry() { Ok(counts) } else { counts.some(&run.to_string()) }
}

/// What the summary lines of test programs add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl TestCounts {
    fn of(output: &str) -> Self {
        let mut counts = Self::default();
        for line in output.lines().filter_map(|line| line.trim_start().strip_prefix("test result: ")) {
            let count = |what: &str| -> u64 {
                let words = line.split([' ', ';']).filter(|word| !word.is_empty());
                let pairs = words.clone().zip(words.skip(1));
                pairs.filter(|(_, word)| *word == what).find_map(|(number, _)| number.parse().ok()).unwrap_or(0)
            };
            counts.add(Self { passed: count("passed"), failed: count("failed"), ignored: count("ignored") });
        }
        counts
    }

    /// Refuses a run of no test: its filter matches nothing any more.
    fn some(self, command: &str) -> Result<Self, CommandError> {
        if self.passed + self.failed > 0 {
            return Ok(self);
        }
        Err(CommandError::Found(format!("`{command}` ran no test; its filter matches nothing any more")))
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

impl std::fmt::Display for TestCounts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} tests passed, {} failed", self.passed, self.failed)?;
        if self.ignored > 0 {
            write!(formatter, ", {} ignored", self.ignored)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_lines_of_all_programs_are_added() {
        let output = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished \
                      in 0.00s\n\ntest result: FAILED. 40 passed; 1 failed; 3 ignored; 0 measured; 0 filtered out\n";
        let counts = TestCounts::of(output);
        assert_eq!(counts, TestCounts { passed: 42, failed: 1, ignored: 3 });
        assert_eq!(counts.to_string(), "42 tests passed, 1 failed, 3 ignored");
        assert_eq!(TestCounts::of("test result of nothing"), TestCounts::default());
    }

    #[test]
    fn a_filter_that_matches_nothing_is_a_failure() {
        assert!(matches!(TestCounts::of("test result: ok. 0 passed; 0 failed").some("x"), Err(CommandError::Found(_))));
        TestCounts::of("test result: ok. 1 passed; 0 failed").some("x").unwrap();
    }
}
