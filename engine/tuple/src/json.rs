//! Values as JSON, and back.
//!
//! What JSON has no form for goes as in the JSON mapping of Protocol Buffers: bytes as base64, floats that are not
//! finite as the strings `NaN`, `Infinity` and `-Infinity`. Both therefore come back as strings. Integers keep all 64
//! bits; those beyond `u64` become floats, as `serde_json` reads them.

use serde_json::{Map, Number, Value as Json};

use crate::{FieldRef, MAX_DEPTH, Value, Values, base64};

/// Deeper than this, `null` stands for the rest. It is beyond what can be written, and keeps the stack safe when a
/// tuple is shown before it is written (and then refused).
const MAX_JSON_DEPTH: usize = 2 * MAX_DEPTH;

impl FieldRef<'_> {
    /// The value as JSON. Of entries with the same name in a map the last stays.
    #[must_use]
    pub fn to_json(self) -> Json {
        to_json(self, 0)
    }
}

fn to_json(field: FieldRef<'_>, depth: usize) -> Json {
    match field {
        FieldRef::Null => Json::Null,
        FieldRef::Bool(value) => Json::Bool(value),
        FieldRef::Int(value) => Json::from(value),
        FieldRef::UInt(value) => Json::from(value),
        FieldRef::Float(value) => Number::from_f64(value).map_or_else(|| Json::from(not_finite(value)), Json::Number),
        FieldRef::Str(text) => Json::from(text),
        FieldRef::Bytes(bytes) => Json::from(base64::encode(bytes)),
        FieldRef::List(_) | FieldRef::Map(_) if depth == MAX_JSON_DEPTH => Json::Null,
        FieldRef::List(list) => list.iter().map(|item| to_json(item, depth + 1)).collect(),
        FieldRef::Map(map) => {
            map.iter().map(|(key, value)| (key.to_owned(), to_json(value, depth + 1))).collect::<Map<_, _>>().into()
        }
    }
}

fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

impl Value {
    /// The value as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        self.field_ref().to_json()
    }
}

impl From<Json> for Value {
    /// Recurses as deep as the JSON nests; `serde_json` parses at most 128 levels.
    fn from(json: Json) -> Self {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => number
                .as_i64()
                .map(Value::Int)
                .or_else(|| number.as_u64().map(Value::UInt))
                .or_else(|| number.as_f64().map(Value::Float))
                .unwrap_or(Value::Null),
            Json::String(text) => Value::Str(text),
            Json::Array(items) => Value::List(items.into_iter().map(Value::from).collect()),
            Json::Object(entries) => {
                Value::Map(entries.into_iter().map(|(key, value)| (key, Value::from(value))).collect())
            }
        }
    }
}

impl Values {
    /// The values as a JSON array.
    #[must_use]
    pub fn to_json(&self) -> Json {
        self.0.iter().map(Value::to_json).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_survives_the_way_there_and_back() {
        let json = json!({
            "text": "storm ⛈", "int": i64::MIN, "uint": u64::MAX, "float": 0.1, "none": null, "yes": true,
            "list": [1, [2, {"deep": []}]], "order": {"z": 1, "a": 2},
        });
        let value = Value::from(json.clone());
        assert_eq!(value.to_json(), json);
        assert_eq!(value.to_json().to_string(), json.to_string(), "the order of the keys");
    }

    #[test]
    fn what_json_lacks_goes_as_in_protocol_buffers() {
        assert_eq!(Value::Bytes(vec![0xff, 0xfe, 0xfd]).to_json(), json!("//79"));
        assert_eq!(Value::Float(f64::NAN).to_json(), json!("NaN"));
        assert_eq!(Value::Float(f64::INFINITY).to_json(), json!("Infinity"));
        assert_eq!(Value::Float(f64::NEG_INFINITY).to_json(), json!("-Infinity"));
    }

    #[test]
    fn integers_beyond_64_bits_become_floats() {
        let json: Json = serde_json::from_str("18446744073709551616").unwrap();
        assert_eq!(Value::from(json), Value::Float(18446744073709551616.0));
    }
}
