//! What one end of a leg saw, as files that the benchmark reads when the leg is over.

use std::path::Path;

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde_json::{Value, json};

use crate::error::BenchError;
use crate::histogram::{self, LatencyHistogram};

/// What one end saw.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Tuples in all.
    pub tuples: u64,
    /// Tuples in the measured window.
    pub window_tuples: u64,
    /// The window, in nanoseconds.
    pub window_ns: u64,
    /// Heap allocations of the process in the window.
    pub allocations: u64,
    /// Every byte came as it was sent.
    pub intact: bool,
    /// Latencies in nanoseconds.
    pub latency: LatencyHistogram,
}

impl Default for Seen {
    fn default() -> Self {
        let latency = histogram::empty();
        Self { tuples: 0, window_tuples: 0, window_ns: 0, allocations: 0, intact: true, latency }
    }
}

impl Seen {
    /// Writes the files of `end`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn write(&self, directory: &Path, end: &str) -> std::io::Result<()> {
        let Self { tuples, window_tuples, window_ns, allocations, intact, latency } = self;
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(latency, &mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        std::fs::write(directory.join(format!("{end}.histogram")), bytes)?;
        let numbers = json!({
            "tuples": tuples,
            "window_tuples": window_tuples,
            "window_ns": window_ns,
            "allocations": allocations,
            "intact": intact,
        });
        std::fs::write(directory.join(format!("{end}.json")), numbers.to_string())
    }

    /// Reads the files of `end`.
    ///
    /// # Errors
    /// [`BenchError::Engine`] when the end has not written them.
    pub fn read(directory: &Path, end: &str) -> Result<Self, BenchError> {
        let missing = |what: &dyn std::fmt::Display| BenchError::Engine(format!("the {end} left no result: {what}"));
        let text = std::fs::read_to_string(directory.join(format!("{end}.json"))).map_err(|error| missing(&error))?;
        let numbers: Value = serde_json::from_str(&text).map_err(|error| missing(&error))?;
        let bytes = std::fs::read(directory.join(format!("{end}.histogram"))).map_err(|error| missing(&error))?;
        let latency = Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| missing(&error))?;
        let number = |name: &str| numbers[name].as_u64().unwrap_or_default();
        Ok(Self {
            tuples: number("tuples"),
            window_tuples: number("window_tuples"),
            window_ns: number("window_ns"),
            allocations: number("allocations"),
            intact: numbers["intact"] == true,
            latency,
        })
    }
}

/// The measured window of one end, which begins some time after its first tuple.
#[derive(Debug)]
pub struct Window {
    warm_up_ns: u64,
    measured_ns: u64,
    begin_ns: u64,
    allocations_before: u64,
    tuples_before: u64,
    is_over: bool,
    /// What was seen.
    pub seen: Seen,
}

impl Window {
    /// A window that has not begun.
    pub fn new(warm_up_ms: u64, measured_ms: u64) -> Self {
        Self {
            warm_up_ns: warm_up_ms * 1_000_000,
            measured_ns: measured_ms * 1_000_000,
            begin_ns: 0,
            allocations_before: 0,
            tuples_before: 0,
            is_over: false,
            seen: Seen::default(),
        }
    }

    /// The time is `now_ns`, and so many tuples have been seen in all. Returns whether the window is open.
    pub fn look(&mut self, now_ns: u64, tuples: u64) -> bool {
        if self.begin_ns == 0 {
            self.begin_ns = now_ns + self.warm_up_ns;
        }
        if self.is_over || now_ns < self.begin_ns {
            return false;
        }
        if self.seen.window_ns == 0 && self.tuples_before == 0 {
            self.begin_ns = now_ns;
            self.tuples_before = tuples.max(1);
            self.allocations_before = crate::allocations::total();
        }
        self.seen.window_ns = now_ns - self.begin_ns;
        self.seen.window_tuples = tuples.saturating_sub(self.tuples_before);
        if self.seen.window_ns >= self.measured_ns {
            self.is_over = true;
            self.seen.allocations = crate::allocations::total() - self.allocations_before;
        }
        true
    }

    /// Whether the window is over.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}
