//! Values as text, as Java's `toString` writes them.
//!
//! Storm's partial-key grouping without fields hashes this text of the first value. Numbers follow the same rule as their
//! hashes: every integer is a `Long` (`u64` by its bits), every float a `Double`. The text of a `Double` is that of Java
//! 19 and later, the shortest that reads back as the same number; earlier versions write more digits of a few numbers.
//! Lists are those of `java.util`, maps `LinkedHashMap`s. What has no such text in Java gets one that depends on contents
//! alone: nothing is `null` there, bytes are as by `Arrays.toString`.
//!
//! Invariants: a text depends on the value alone, and not on the type that it came in; nothing is allocated. Threading: pure. Errors: those of the writer.

use std::fmt::{self, Write};

use super::MAX_HASH_DEPTH;
use crate::FieldRef;

/// Appends the text of a value.
pub(super) fn write_text(out: &mut impl Write, value: FieldRef<'_>) -> fmt::Result {
    write_nested(out, value, 0)
}

fn write_nested(out: &mut impl Write, value: FieldRef<'_>, depth: usize) -> fmt::Result {
    match value {
        FieldRef::Null => out.write_str("null"),
        FieldRef::List(_) | FieldRef::Map(_) if depth == MAX_HASH_DEPTH => out.write_str("null"),
        FieldRef::Bool(value) => write!(out, "{value}"),
        FieldRef::Int(value) => write!(out, "{value}"),
        FieldRef::UInt(value) => write!(out, "{}", value.cast_signed()),
        FieldRef::Float(value) => write_double(out, value),
        FieldRef::Str(text) => out.write_str(text),
        FieldRef::Bytes(bytes) => {
            write_items(out, ['[', ']'], bytes.iter(), |out, byte| write!(out, "{}", byte.cast_signed()))
        }
        FieldRef::List(items) => {
            write_items(out, ['[', ']'], items.iter(), |out, item| write_nested(out, item, depth + 1))
        }
        FieldRef::Map(entries) => write_items(out, ['{', '}'], entries.iter(), |out, (key, value)| {
            write!(out, "{key}=")?;
            write_nested(out, value, depth + 1)
        }),
    }
}

fn write_items<W: Write, I>(
    out: &mut W,
    [open, close]: [char; 2],
    items: impl Iterator<Item = I>,
    mut write_item: impl FnMut(&mut W, I) -> fmt::Result,
) -> fmt::Result {
    out.write_char(open)?;
    for (index, item) in items.enumerate() {
        out.write_str(if index == 0 { "" } else { ", " })?;
        write_item(out, item)?;
    }
    out.write_char(close)
}

/// `Double.toString`.
fn write_double(out: &mut impl Write, value: f64) -> fmt::Result {
    if value.is_nan() {
        return out.write_str("NaN");
    }
    if value.is_sign_negative() {
        out.write_char('-')?;
    }
    if value.is_infinite() {
        return out.write_str("Infinity");
    }
    let Decimal { digits, exponent } = &Decimal::of(value.abs())?;
    let digits = digits.as_str();
    match *exponent {
        _ if value == 0.0 => out.write_str("0.0"),
        // 0.00123
        exponent @ -3..0 => {
            out.write_str("0.")?;
            (1..-exponent).try_for_each(|_| out.write_char('0'))?;
            out.write_str(digits)
        }
        // 123.0, 1200.0, 1.5
        exponent @ 0..7 => {
            let whole = exponent as usize + 1;
            let (before, after) = digits.split_at(whole.min(digits.len()));
            out.write_str(before)?;
            (before.len()..whole).try_for_each(|_| out.write_char('0'))?;
            write!(out, ".{}", if after.is_empty() { "0" } else { after })
        }
        // 1.5E-7
        exponent => {
            let (first, after) = digits.split_at(1);
            write!(out, "{first}.{}E{exponent}", if after.is_empty() { "0" } else { after })
        }
    }
}

/// A number as its digits, the first of which stands before the point, times a power of ten.
struct Decimal {
    /// Without zeros at the end.
    digits: Text,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that reads back as the number. Of those of one digit Java takes the nearest of two digits
    /// instead; it differs only where numbers are so far apart that one digit tells them apart.
    fn of(value: f64) -> Result<Self, fmt::Error> {
        let shortest = Self::parse(format_args!("{value:e}"))?;
        if shortest.digits.as_str().len() > 1 { Ok(shortest) } else { Self::parse(format_args!("{value:.1e}")) }
    }

    /// Takes `d.ddde-dd` apart.
    fn parse(scientific: fmt::Arguments<'_>) -> Result<Self, fmt::Error> {
        let mut text = Text::default();
        text.write_fmt(scientific)?;
        let (mantissa, exponent) = text.as_str().split_once('e').ok_or(fmt::Error)?;
        let mut digits = Text::default();
        mantissa.trim_end_matches('0').split('.').try_for_each(|part| digits.write_str(part))?;
        Ok(Self { digits, exponent: exponent.parse().map_err(|_| fmt::Error)? })
    }
}

/// A short text on the stack. The longest in use is `2.2250738585072014e-308`.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl Text {
    fn as_str(&self) -> &str {
        // Only whole texts are appended.
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let space = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(fmt::Error)?;
        space.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn text(value: impl Into<Value>) -> String {
        let mut text = String::new();
        write_text(&mut text, value.into().field_ref()).expect("a string takes everything");
        text
    }

    /// The examples and limits of the documentation of `Double.toString`, and of the note on its change in Java 19.
    #[test]
    fn doubles_are_written_as_java_writes_them() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (123_456.789, "123456.789"),
            (1_200_000.0, "1200000.0"),
            (9_999_999.999, "9999999.999"),
            (1e7, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (0.001, "0.001"),
            (0.001_23, "0.00123"),
            (0.25, "0.25"),
            (0.000_999, "9.99E-4"),
            (1e-5, "1.0E-5"),
            (2e23, "2.0E23"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::from_bits(2), "9.9E-324"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (-f64::NAN, "NaN"),
        ] {
            assert_eq!(text(value), expected, "{value:e}");
        }
    }

    #[test]
    fn the_text_of_a_double_reads_back_as_the_same_number() {
        let mut bits: u64 = 1;
        // Under Miri as many would take an hour.
        for _ in 0..if cfg!(miri) { 100 } else { 100_000 } {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(bits);
            if value.is_finite() {
                assert_eq!(text(value).parse::<f64>().map(f64::to_bits), Ok(bits), "{value:e}");
            }
        }
    }

    #[test]
    fn what_java_has_no_text_for_has_one_by_its_contents() {
        assert_eq!(text(Value::Null), "null");
        assert_eq!(text(Value::Bytes(vec![1, 255])), "[1, -1]");
        assert_eq!(text(u64::MAX), "-1");
        let deep = (0..2 * MAX_HASH_DEPTH).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        assert_eq!(text(deep), format!("{}null{}", "[".repeat(MAX_HASH_DEPTH), "]".repeat(MAX_HASH_DEPTH)));
    }
}
