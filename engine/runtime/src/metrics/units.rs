//! Numbers with units, short enough for a column.

use std::time::Duration;

/// A whole number with a comma between groups of three digits.
pub fn count_text(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration with three significant digits: `870 ns`, `1.23 us`, `45.6 ms`, `7.80 s`, `125 s`.
pub fn duration_text(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos() as f64;
    if nanoseconds < 999.5 {
        format!("{nanoseconds:.0} ns")
    } else if nanoseconds < 999.5e3 {
        format!("{} us", three_digits(nanoseconds / 1e3))
    } else if nanoseconds < 999.5e6 {
        format!("{} ms", three_digits(nanoseconds / 1e6))
    } else {
        format!("{} s", three_digits(nanoseconds / 1e9))
    }
}

/// Bytes in the binary unit that fits: `512 B`, `1.50 KiB`, `64.0 MiB`.
pub fn bytes_text(bytes: usize) -> String {
    let mut number = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if number < 999.5 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{} {unit}", three_digits(number)) };
        }
        number /= 1024.0;
    }
    format!("{} TiB", three_digits(number))
}

/// Something per second with three significant digits: `0.25/s`, `120/s`, `95.3 k/s`, `1.20 M/s`.
pub fn rate_text(per_second: f64) -> String {
    if per_second < 999.5 {
        format!("{}/s", three_digits(per_second))
    } else if per_second < 999.5e3 {
        format!("{} k/s", three_digits(per_second / 1e3))
    } else {
        format!("{} M/s", three_digits(per_second / 1e6))
    }
}

fn three_digits(number: f64) -> String {
    if number < 9.995 {
        format!("{number:.2}")
    } else if number < 99.95 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_groups() {
        let texts = [0, 999, 1000, 12_345, 1_234_567].map(count_text);
        assert_eq!(texts, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn durations_keep_three_digits() {
        let texts = [0, 870, 999, 1_234, 45_600, 999_700, 45_600_000, 7_800_000_000, 125_000_000_000];
        let texts = texts.map(|nanoseconds| duration_text(Duration::from_nanos(nanoseconds)));
        assert_eq!(texts, ["0 ns", "870 ns", "999 ns", "1.23 us", "45.6 us", "1.00 ms", "45.6 ms", "7.80 s", "125 s"]);
    }

    #[test]
    fn bytes_and_rates() {
        assert_eq!([512, 1536, 64 << 20].map(bytes_text), ["512 B", "1.50 KiB", "64.0 MiB"]);
        assert_eq!(
            [0.0, 0.25, 120.0, 95_300.0, 1.2e6].map(rate_text),
            ["0.00/s", "0.25/s", "120/s", "95.3 k/s", "1.20 M/s"]
        );
    }
}
