//! The command line that all benchmark programs share.
//!
//! Errors: clap prints what is wrong with an argument and ends the program. Threading: none.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::load::{Load, Rate};

/// Fewest pairs of a run: a median of fewer says little.
const FEWEST_PAIRS: u64 = 5;

/// Options of a benchmark program.
#[derive(Debug, Clone, Parser)]
#[command(
    version,
    about = "Runs the engine and a raw control in alternating legs and reports the ratio of their figures.",
    after_help = "Without --rate the source emits as fast as it can and the figures are tuples per second. With --rate \
                  tuple i is due at start + i / rate, latency counts from that moment, every tuple is recorded, and the \
                  figures are p50. --rate 0 leaves the topology idle and shows what it costs."
)]
pub struct Arguments {
    /// Engine time inside measured windows, in seconds, over all pairs together
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_seconds)]
    pub seconds: Duration,

    /// Track each tuple until it is acked; figures are then of completed roots
    #[arg(long)]
    pub acked: bool,

    /// Tuples per second of an open loop; 0 for an idle topology
    #[arg(long, value_name = "TUPLES_PER_SECOND", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub rate: Option<u64>,

    /// Print one JSON object as the last line of standard output instead of the table
    #[arg(long)]
    pub json: bool,

    /// Pairs of an engine leg and a control leg
    #[arg(long, default_value_t = FEWEST_PAIRS, value_parser = clap::value_parser!(u64).range(FEWEST_PAIRS..=200))]
    pub pairs: u64,

    /// Warm-up of each leg before its measured window, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(30..=60_000))]
    pub warm_up_ms: u64,

    /// Tell the engine never to park its cores, to see what parking costs
    #[arg(long)]
    pub always_spin: bool,

    /// Compare with the engine itself, told never to park, instead of with a raw control
    #[arg(long, conflicts_with = "always_spin")]
    pub against_always_spin: bool,

    /// Write the engine's percentile table to this file, in HdrHistogram's .hgrm format
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<PathBuf>,

    /// Write the control's percentile table to this file
    #[arg(long, value_name = "FILE")]
    pub control_hgrm: Option<PathBuf>,
}

impl Arguments {
    /// The load that `--rate` asks for.
    pub fn load(&self) -> Load {
        match self.rate.map(NonZeroU64::new) {
            None => Load::Saturating,
            Some(None) => Load::Idle,
            Some(Some(tuples_per_second)) => Load::Open(Rate::new(tuples_per_second)),
        }
    }

    /// The measured window of one leg.
    pub fn measured_per_leg(&self) -> Duration {
        self.seconds.div_f64(self.pairs as f64)
    }
}

/// Reads a length of time in seconds, 0.1 to a day.
///
/// # Errors
/// What is wrong with the text, for clap to print.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    if !(0.1..=86_400.0).contains(&seconds) {
        return Err(format!("{text} seconds are out of range; give 0.1 to 86400"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["program"], arguments].concat())
    }

    #[test]
    fn the_command_is_well_formed_and_its_defaults_are_as_documented() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
        let arguments = parse(&[]).unwrap();
        assert_eq!((arguments.seconds, arguments.pairs), (Duration::from_secs(5), 5));
        assert_eq!(arguments.measured_per_leg(), Duration::from_secs(1));
        assert_eq!(arguments.load(), Load::Saturating);
        assert!(!arguments.acked && !arguments.json && !arguments.always_spin);
    }

    #[test]
    fn the_rate_chooses_the_load() {
        assert_eq!(parse(&["--rate", "0"]).unwrap().load(), Load::Idle);
        let Load::Open(rate) = parse(&["--rate", "1000"]).unwrap().load() else { panic!("not an open loop") };
        assert_eq!(rate.tuples_per_second(), 1000);
    }

    #[test]
    fn bad_arguments_are_refused() {
        for bad in [
            ["--seconds", "0"],
            ["--seconds", "nan"],
            ["--seconds", "-1"],
            ["--seconds", "x"],
            ["--pairs", "4"],
            ["--rate", "-1"],
            ["--rate", "1000000001"],
            ["--warm-up-ms", "0"],
        ] {
            assert!(parse(&bad).is_err(), "{bad:?}");
        }
    }
}
