//! A spout that counts and a bolt that takes what it emits, with the accidents that its options ask for.
//!
//! Both note in `--notes` what they did and heard. The bolt's executors are dealt out behind the spout's, so that with two
//! workers and one executor each they live in different processes.

mod sink;
mod spout;

use std::path::PathBuf;
use std::time::Duration;

use ringstorm::prelude::*;

use sink::Sink;
use spout::Count;

/// What is asked for.
#[derive(clap::Args, Clone)]
pub(crate) struct Options {
    /// The directory of the notes
    #[arg(long)]
    pub(crate) notes: PathBuf,
    /// Numbers to emit, from 0
    #[arg(long, default_value_t = 20)]
    pub(crate) count: u64,
    /// Between two of them
    #[arg(long, value_parser = milliseconds, default_value = "0")]
    pub(crate) pace_ms: Duration,
    /// Emit again what failed
    #[arg(long)]
    pub(crate) replay: bool,
    /// The spout emits to a stream that it does not have, which is refused
    #[arg(long)]
    pub(crate) refuse: bool,
    /// The spout does not note its fails
    #[arg(long)]
    pub(crate) mute: bool,
    /// Executors of the bolt, each on a thread of its own if there are several
    #[arg(long, default_value_t = 1)]
    pub(crate) executors: u32,
    /// How long the bolt takes for each tuple, in the process of the spout
    #[arg(long, value_parser = milliseconds, default_value = "0")]
    pub(crate) here_ms: Duration,
    /// The same in other processes
    #[arg(long, value_parser = milliseconds, default_value = "0")]
    pub(crate) elsewhere_ms: Duration,
    /// The bolt panics on this number when it comes for the first time in the run
    #[arg(long)]
    pub(crate) panic_once_on: Option<u64>,
    /// The bolt exits its process whenever this number comes
    #[arg(long)]
    pub(crate) exit_on: Option<u64>,
    /// The bolt exits its process with this code when it is prepared
    #[arg(long)]
    pub(crate) exit_in_prepare: Option<i32>,
    /// How long the bolt takes to prepare
    #[arg(long, value_parser = milliseconds, default_value = "0")]
    pub(crate) prepare_ms: Duration,
    /// How long the bolt takes to finish
    #[arg(long, value_parser = milliseconds, default_value = "0")]
    pub(crate) finish_ms: Duration,
    /// How long the bolt takes to clean up
    #[arg(long, value_parser = milliseconds, default_value = "0")]
    pub(crate) cleanup_ms: Duration,
    /// The bolt keeps what the first process of the spout emits until the next one emits too, and then acks half of it and
    /// fails the rest
    #[arg(long)]
    pub(crate) settle_late: bool,
}

/// A number, and the process whose spout emitted it.
#[derive(Tuple)]
pub(crate) struct Number {
    pub(crate) value: u64,
    pub(crate) process: u32,
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let milliseconds: f64 = text.parse().map_err(|_| "not a number of milliseconds".to_owned())?;
    Duration::try_from_secs_f64(milliseconds / 1e3).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    ringstorm::main("sequence", |options: Options| {
        let mut topology = TopologyBuilder::new();
        let of_spout = options.clone();
        topology.spout("count", move || Count::new(&of_spout));
        let executors = options.executors;
        let sink = topology.bolt("sink", move || Sink::new(&options)).parallelism(executors).shuffle_grouping("count");
        if executors > 1 {
            sink.blocking();
        }
        Ok(topology)
    })
}
