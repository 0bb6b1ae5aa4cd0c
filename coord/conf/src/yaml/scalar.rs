//! What a word of YAML means.
//!
//! Storm reads with SnakeYAML, which follows YAML 1.1; so does this, but for numbers to the base of sixty, which nobody
//! means. Source: `org.yaml.snakeyaml.resolver.Resolver`.
//!
//! Threading: pure functions. Errors: in words, for whoever knows the line.

use saphyr_parser::{ScalarStyle, Tag};
use serde_json::{Number, Value};

/// The value of a scalar.
pub(super) fn value(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    match tag {
        None if style == ScalarStyle::Plain => plain(text),
        None => Ok(Value::String(text.to_owned())),
        Some(tag) => tagged(text, tag),
    }
}

/// Whether a list or map may have this tag.
pub(super) fn collection(tag: Option<&Tag>, own: &str) -> Result<(), String> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == own => Ok(()),
        Some(tag) => Err(unknown(tag)),
    }
}

fn tagged(text: &str, tag: &Tag) -> Result<Value, String> {
    let fits = |wanted: fn(&Value) -> bool| {
        plain(text)?.take_if_fits(wanted).ok_or_else(|| format!("{text:?} is not what its tag !!{} says", tag.suffix))
    };
    if matches!((tag.handle.as_str(), tag.suffix.as_str()), ("!", "") | ("", "!")) {
        return Ok(Value::String(text.to_owned()));
    }
    match tag.suffix.as_str() {
        _ if !tag.is_yaml_core_schema() => Err(unknown(tag)),
        "str" => Ok(Value::String(text.to_owned())),
        "int" => fits(|value| value.is_i64() || value.is_u64()),
        "float" => fits(Value::is_number),
        "bool" => fits(Value::is_boolean),
        "null" => fits(Value::is_null),
        _ => Err(unknown(tag)),
    }
}

fn unknown(tag: &Tag) -> String {
    format!("the tag {}{} means nothing here; leave it out", tag.handle, tag.suffix)
}

trait TakeIfFits: Sized {
    fn take_if_fits(self, wanted: fn(&Self) -> bool) -> Option<Self>;
}

impl TakeIfFits for Value {
    fn take_if_fits(self, wanted: fn(&Self) -> bool) -> Option<Self> {
        wanted(&self).then_some(self)
    }
}

fn plain(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Ok(Value::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(format!("{text} is a number that settings cannot have; write one that is finite, or quote it"));
    }
    if let Some((digits, radix)) = integer(unsigned) {
        return whole(&digits, radix, text);
    }
    if is_decimal(unsigned) {
        let number = text.replace('_', "").parse::<f64>().ok().and_then(Number::from_f64);
        return number
            .map(Value::Number)
            .ok_or_else(|| format!("{text} is too large for a number; correct or quote it"));
    }
    Ok(Value::String(text.to_owned()))
}

/// The digits of a whole number without its sign, and their base.
fn integer(text: &str) -> Option<(String, u32)> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x', ..] => (&text[2..], 16),
        [b'0', b'b', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        [b'0'..=b'9', ..] => (text, 10),
        _ => return None,
    };
    let digits: String = digits.chars().filter(|character| *character != '_').collect();
    (!digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))).then_some((digits, radix))
}

fn whole(digits: &str, radix: u32, text: &str) -> Result<Value, String> {
    let too_large = || format!("{text} is too large for a number; correct or quote it");
    let number = i128::from_str_radix(digits, radix).map_err(|_| too_large())?;
    let number = if text.starts_with('-') { -number } else { number };
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => Ok(number.into()),
        (_, Ok(number)) => Ok(number.into()),
        _ => Err(too_large()),
    }
}

/// Whether a text without its sign is a number with a point or an exponent: digits, a point, digits, an exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (text, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let Some((whole, fraction)) = mantissa.split_once('.') else { return false };
    let has_digit = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    let exponent_fits =
        exponent.is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    has_digit && are_digits(whole) && are_digits(fraction) && exponent_fits
}
