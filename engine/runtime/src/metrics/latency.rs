//! Latencies of many cores, merged.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::core::stats::new_histogram;

/// How long something took, each time: a histogram with two significant digits (values are at most 0.8 % off).
#[derive(Debug, Clone, PartialEq)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        Self(new_histogram())
    }
}

impl Latency {
    /// Adds what another histogram recorded, in nanoseconds. Values above one hour count as one hour.
    pub fn add(&mut self, histogram: &Histogram<u64>) {
        if self.0.add(histogram).is_err() {
            // Only a histogram with wider bounds than the runtime's own comes here.
            for value in histogram.iter_recorded() {
                self.0.saturating_record_n(value.value_iterated_to(), value.count_since_last_iteration());
            }
        }
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The average; zero when nothing was recorded.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.0.mean() as u64)
    }

    /// The value that this share of all values (0 to 1) does not exceed; zero when nothing was recorded.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_quantile(share).min(self.0.max()))
    }

    /// The largest value, within the histogram's precision; zero when nothing was recorded.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }

    /// The whole histogram, in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// Count, mean and percentiles in milliseconds.
    pub(super) fn to_json(&self) -> Value {
        let ms = |duration: Duration| duration.as_nanos() as f64 / 1e6;
        json!({
            "count": self.count(),
            "mean_ms": ms(self.mean()),
            "min_ms": if self.count() == 0 { 0.0 } else { self.0.min() as f64 / 1e6 },
            "p50_ms": ms(self.quantile(0.5)),
            "p90_ms": ms(self.quantile(0.9)),
            "p99_ms": ms(self.quantile(0.99)),
            "p99_9_ms": ms(self.quantile(0.999)),
            "p99_99_ms": ms(self.quantile(0.9999)),
            "max_ms": ms(self.max()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_exactly() {
        let (mut one, mut other) = (new_histogram(), new_histogram());
        (1..=500).for_each(|value| one.record(value * 1000).unwrap());
        (501..=1000).for_each(|value| other.record(value * 1000).unwrap());
        let mut latency = Latency::default();
        latency.add(&one);
        latency.add(&other);
        assert_eq!(latency.count(), 1000);
        let near = |duration: Duration, us: f64| (duration.as_nanos() as f64 / 1e3 / us - 1.0).abs() < 0.01;
        assert!(near(latency.quantile(0.5), 500.0) && near(latency.quantile(0.99), 990.0));
        assert!(near(latency.mean(), 500.0) && near(latency.max(), 1000.0));
    }

    #[test]
    fn nothing_recorded_is_all_zero() {
        let latency = Latency::default();
        assert_eq!((latency.count(), latency.mean(), latency.max()), (0, Duration::ZERO, Duration::ZERO));
        assert_eq!(latency.quantile(0.999), Duration::ZERO);
        assert_eq!(latency.to_json()["min_ms"], 0.0);
    }

    #[test]
    fn foreign_bounds_are_taken_in() {
        let mut wide = Histogram::<u64>::new(3).unwrap();
        wide.record(u64::MAX / 2).unwrap();
        let mut latency = Latency::default();
        latency.add(&wide);
        assert_eq!(latency.count(), 1);
        assert!(latency.max() >= Duration::from_secs(3590));
    }
}
