//! The steps of a full check, in the order in which they run: quick ones first.

use crate::command::{CommandError, Shell};
use crate::{steps, tidy};

/// One check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Subcommand)]
pub(crate) enum Step {
    /// The formatting of every file
    Fmt,
    /// The rules of the project that no other tool knows: files, documents, direction of dependencies
    Tidy,
    /// Lints in all targets, none allowed
    Clippy,
    /// The documentation builds without a warning, that of private items included
    Doc,
    /// Unit and integration tests, dev profile
    Test,
    /// Rules of the control plane that are broken on purpose: its tests find each
    Planted,
    /// The examples in the documentation
    Doctest,
    /// The protocols of rings and doorbells under the loom model checker
    Loom,
    /// Undefined behaviour in the crates without I/O, under Miri (nightly)
    Miri,
    /// The corpora of the fuzzers, replayed by ordinary tests
    FuzzReplay,
    /// All examples build, and the first command of the README runs
    Examples,
    /// Each benchmark program for two seconds: it must run and report, no figure is judged
    Benches,
}

/// How a step that could be carried out ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All was well; with a remark for the summary, or an empty text.
    Passed(String),
    /// It could not be carried out here, and why. Not a failure, and never silent.
    Skipped(String),
}

impl Step {
    /// Everything, in order; but Miri, which interprets for longer than all the rest takes together, is run by itself, and
    /// what the tests replay is not replayed again.
    pub(crate) const CI: &[Self] = &[
        Self::Fmt,
        Self::Tidy,
        Self::Clippy,
        Self::Doc,
        Self::Test,
        Self::Planted,
        Self::Doctest,
        Self::Loom,
        Self::Examples,
        Self::Benches,
    ];

    /// What to run before a commit.
    pub(crate) const CHECK: &[Self] = &[Self::Fmt, Self::Tidy, Self::Clippy, Self::Test];

    /// The name of its command.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Tidy => "tidy",
            Self::Clippy => "clippy",
            Self::Doc => "doc",
            Self::Test => "test",
            Self::Planted => "planted",
            Self::Doctest => "doctest",
            Self::Loom => "loom",
            Self::Miri => "miri",
            Self::FuzzReplay => "fuzz-replay",
            Self::Examples => "examples",
            Self::Benches => "benches",
        }
    }

    /// Carries it out.
    ///
    /// # Errors
    /// What was found, or what could not be run.
    pub(crate) fn run(self, shell: &Shell) -> Result<Outcome, CommandError> {
        match self {
            Self::Fmt => steps::lint::fmt(shell),
            Self::Tidy => tidy::run(shell),
            Self::Clippy => steps::lint::clippy(shell),
            Self::Doc => steps::lint::doc(shell),
            Self::Test => steps::test::tests(shell),
            Self::Planted => steps::test::planted(shell),
            Self::Doctest => steps::test::doctests(shell),
            Self::Loom => steps::test::loom(shell),
            Self::Miri => steps::miri::run(shell),
            Self::FuzzReplay => steps::test::fuzz_replay(shell),
            Self::Examples => steps::programs::examples(shell),
            Self::Benches => steps::programs::benches(shell),
        }
    }
}
