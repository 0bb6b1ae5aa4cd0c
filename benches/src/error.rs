//! Why a benchmark could not run. Every error ends the run: `main` prints it and exits with a failure, and whoever
//! started the program does what the message says.

use std::path::PathBuf;

/// An error that ends a benchmark run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The process may use fewer than two CPUs.
    #[error(
        "a hop across cores needs two CPUs, but this process may only use {usable}; widen its affinity mask (taskset) or \
         its cpuset"
    )]
    TooFewCpus {
        /// CPUs in the affinity mask of the process.
        usable: usize,
    },
    /// The kernel refused to pin a thread.
    #[error("could not pin a thread to CPU {cpu}; check that it is online and in the cpuset of this process")]
    CannotPin {
        /// The CPU that was asked for.
        cpu: usize,
    },
    /// The consumer of a control ended before its producer.
    #[error("the sink of {what} ended before its source; this is a fault of the benchmark, please report it")]
    SinkGone {
        /// Which leg.
        what: &'static str,
    },
    /// A leg delivered nothing inside its window.
    #[error("{what} delivered no tuple in its measured window; use a longer --seconds or a higher --rate")]
    NothingMeasured {
        /// Which leg.
        what: String,
    },
    /// A thread could not be started.
    #[error("could not start a thread for {what}: {source}; check the process limits (ulimit -u)")]
    CannotStartThread {
        /// What the thread is for.
        what: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Kernel accounting could not be read.
    #[error("could not read {path}: {source}; the CPU figures need a mounted /proc")]
    Accounting {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A report could not be written.
    #[error("could not write the percentile table to {path}: {source}; choose a writable file")]
    CannotWriteReport {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The engine refused or failed the topology.
    #[error("the engine leg failed: {0}")]
    Engine(String),
}
