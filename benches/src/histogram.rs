//! Latency histograms: three significant digits, the percentiles of a report, and `.hgrm` files.
//!
//! Values are nanoseconds. Percentiles are never averaged: histograms of several legs are added and read once.
//! Threading: each recorder owns its histogram. Errors: writing a file fails with the operating system's reason.

use std::io::{self, Write};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Latencies in nanoseconds.
pub type LatencyHistogram = Histogram<u64>;

/// The longest latency told apart: 1,000 seconds. Longer ones are recorded as this.
const HIGHEST_NS: u64 = 1_000_000_000_000;

/// Significant decimal digits.
const DIGITS: u8 = 3;

/// Sub-buckets of a histogram of three digits: the power of two that holds 2 * 10^3 (as in HdrHistogram).
const SUB_BUCKETS: u32 = 2048;

/// Reporting steps for each halving of the distance to 100 %, as in HdrHistogram's own tools.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// The percentiles of every report: name and quantile.
pub const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// An empty histogram. All its memory is allocated here, none while recording.
pub fn empty() -> LatencyHistogram {
    Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS).expect("the bounds are constants that the unit tests use")
}

/// Adds the counts of `other` to `sum`.
pub fn add(sum: &mut LatencyHistogram, other: &LatencyHistogram) {
    sum.add(other).expect("all histograms come from `empty`, so their bounds are the same");
}

/// The percentiles as a JSON object in nanoseconds; of an empty histogram all are null and the count is zero.
pub fn to_json(histogram: &LatencyHistogram) -> Value {
    let filled = !histogram.is_empty();
    let mut object = serde_json::Map::new();
    for (name, quantile) in PERCENTILES {
        object.insert(name.to_owned(), json!(filled.then(|| histogram.value_at_quantile(quantile))));
    }
    object.insert("max".to_owned(), json!(filled.then(|| histogram.max())));
    object.insert("count".to_owned(), json!(histogram.len()));
    Value::Object(object)
}

/// Writes the percentile table in HdrHistogram's `.hgrm` text format: value in nanoseconds, percentile, running count,
/// 1/(1 - percentile), then the trailer. Plotters of that format read it as it is.
///
/// # Errors
/// Those of `output`.
pub fn write_hgrm(histogram: &LatencyHistogram, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut running = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        running += step.count_since_last_iteration();
        let (value, quantile) = (step.value_iterated_to() as f64, step.quantile_iterated_to());
        if quantile < 1.0 {
            writeln!(output, "{value:12.3} {quantile:2.12} {running:10} {:14.2}", 1.0 / (1.0 - quantile))?;
        } else {
            writeln!(output, "{value:12.3} {quantile:2.12} {running:10}")?;
        }
    }
    let (mean, deviation) = (histogram.mean(), histogram.stdev());
    writeln!(output, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    let (max, count) = (histogram.max() as f64, histogram.len());
    writeln!(output, "#[Max     = {max:12.3}, Total count    = {count:12}]")?;
    let buckets = histogram.buckets();
    writeln!(output, "#[Buckets = {buckets:12}, SubBuckets     = {SUB_BUCKETS:12}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hgrm(histogram: &LatencyHistogram) -> String {
        let mut text = Vec::new();
        write_hgrm(histogram, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn percentiles_have_three_digits_and_longer_values_are_kept_at_the_limit() {
        let mut histogram = empty();
        (1..=100_000_u64).for_each(|value| histogram.saturating_record(value));
        let report = to_json(&histogram);
        for (name, wanted) in [("p50", 50_000.0), ("p90", 90_000.0), ("p99", 99_000.0), ("p99_99", 99_990.0)] {
            let value = report[name].as_f64().unwrap();
            assert!((value - wanted).abs() / wanted < 0.001, "{name}: {value}");
        }
        assert_eq!(report["count"], 100_000);
        histogram.saturating_record(u64::MAX);
        assert!(histogram.max() >= HIGHEST_NS);
        assert_eq!(histogram.len(), 100_001);
    }

    #[test]
    fn an_empty_histogram_has_no_percentiles() {
        let report = to_json(&empty());
        assert!(report["p50"].is_null() && report["max"].is_null());
        assert_eq!(report["count"], 0);
        assert!(hgrm(&empty()).contains("Total count    =            0]"));
    }

    #[test]
    fn the_table_is_the_format_of_hdr_histogram() {
        let mut histogram = empty();
        (1..=1000_u64).for_each(|value| histogram.saturating_record(value));
        let text = hgrm(&histogram);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0].split_whitespace().collect::<Vec<_>>(),
            ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
        );
        assert_eq!(lines[1], "");
        assert_eq!(lines[2], "       1.000 0.000000000000          1           1.00");
        let middle = lines.iter().find(|line| line.contains(" 0.500000000000 ")).unwrap();
        assert_eq!(middle.split_whitespace().collect::<Vec<_>>(), ["500.000", "0.500000000000", "500", "2.00"]);
        let last = lines.iter().rfind(|line| !line.starts_with("#[")).unwrap();
        assert_eq!(last.split_whitespace().collect::<Vec<_>>(), ["1000.000", "1.000000000000", "1000"]);
        assert!(lines[lines.len() - 3].starts_with("#[Mean    =      500.500, StdDeviation   =      288.675]"));
        assert!(lines[lines.len() - 2].starts_with("#[Max     =     1000.000, Total count    =         1000]"));
        assert!(lines[lines.len() - 1].starts_with("#[Buckets ="));
    }

    #[test]
    fn sub_buckets_are_those_of_the_crate() {
        // Values below the number of sub-buckets are told apart one by one, those above in twos.
        let histogram = empty();
        assert_eq!(histogram.equivalent_range(u64::from(SUB_BUCKETS) - 1), 1);
        assert_eq!(histogram.equivalent_range(u64::from(SUB_BUCKETS)), 2);
    }

    #[test]
    fn addition_keeps_every_count() {
        let (mut sum, mut other) = (empty(), empty());
        sum.saturating_record(10);
        other.saturating_record(1_000_000);
        add(&mut sum, &other);
        assert_eq!((sum.len(), sum.min()), (2, 10));
    }
}
