//! Values of a configuration, read as Storm's `ObjectReader` reads them.

use serde_json::Value;

use super::{Conf, shown};
use crate::Refusal;

/// A whole number that fits Java's `int`; a text of digits counts. `None` when it is not set.
///
/// # Errors
/// [`Refusal::Invalid`]: it is something else.
pub fn int(conf: &Conf, key: &str) -> Result<Option<i32>, Refusal> {
    let value = match conf.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    let number = match value {
        Value::Number(number) => number.as_i64().and_then(|number| i32::try_from(number).ok()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.map(Some).ok_or_else(|| wrong(key, value, "a whole number of 32 bits"))
}

/// True or false; false when it is not set.
///
/// # Errors
/// [`Refusal::Invalid`]: it is something else.
pub fn flag(conf: &Conf, key: &str) -> Result<bool, Refusal> {
    match conf.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(wrong(key, other, "true or false")),
    }
}

/// A text; `None` when it is not set.
///
/// # Errors
/// [`Refusal::Invalid`]: it is something else.
pub fn text<'a>(conf: &'a Conf, key: &str) -> Result<Option<&'a str>, Refusal> {
    match conf.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(key, other, "a text")),
    }
}

/// A list; an empty one when it is not set.
///
/// # Errors
/// [`Refusal::Invalid`]: it is something else.
pub fn list<'a>(conf: &'a Conf, key: &str) -> Result<&'a [Value], Refusal> {
    match conf.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(other) => Err(wrong(key, other, "a list")),
    }
}

pub(super) fn wrong(key: &str, value: &Value, wanted: &str) -> Refusal {
    Refusal::invalid(format!("{key} is {}, which is not {wanted}", shown(key, value)))
}
