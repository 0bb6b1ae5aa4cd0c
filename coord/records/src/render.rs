//! Records and nodes for people, as JSON.
//!
//! Fields and enumerations have Storm's names. A map whose keys are texts is an object, any other a list of objects
//! with `key` and `value`. Bytes are Base64. What the definition does not know is shown by its number, and a record
//! that lacks a required field is shown all the same: whoever looks at a broken node wants to see what is there.
//!
//! What is secret is shown too (credentials, keys): who prints it decides whether it may be seen.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::payload::{self, NimbusAddress, NimbusInfo, PayloadError, PayloadKind};
use crate::thrift::{Kind, Record, Schema, Tree, Type};
use crate::znode::Node;

/// A record, with Storm's names.
pub fn record<R: Record>(record: &R) -> Value {
    let tree = Tree::of_struct(&record.to_bytes()).expect("what was written as a record is one");
    value(&tree, Some(Type::Record(R::SCHEMA)))
}

/// What lies at a node: null for a node without data, a record as an object, and so on.
///
/// # Errors
/// The bytes are not what lies there.
pub fn node(node: &Node, bytes: &[u8]) -> Result<Value, PayloadError> {
    Ok(match node.payload() {
        PayloadKind::Empty | PayloadKind::Container => match bytes {
            [] => Value::Null,
            [byte] if [*byte] == payload::CONTAINER => Value::Null,
            bytes => return Err(PayloadError::Length { found: bytes.len(), expected: 0 }),
        },
        // In the short time between the creation of some of Storm's nodes and their first record they are containers.
        PayloadKind::Record(_) if bytes == payload::CONTAINER => Value::Null,
        PayloadKind::Record(of) => bare_record(of.schema, &payload::bare(bytes)?)?,
        PayloadKind::Number => json!(payload::decode_number(bytes)?),
        PayloadKind::Timestamp => json!(payload::decode_timestamp(bytes)?),
        PayloadKind::Address => {
            let text = String::from_utf8_lossy(bytes);
            json!(text.parse::<NimbusAddress>()?.to_string())
        }
        PayloadKind::NimbusInfo => {
            let info = NimbusInfo::from_bytes(bytes)?;
            let address = info.address;
            json!({
                "host": address.host(),
                "port": address.port(),
                "tlsPort": address.tls_port(),
                "isLeader": info.is_leader,
            })
        }
    })
}

/// The bytes of a record, with the names of its definition.
///
/// # Errors
/// The bytes are no struct.
pub fn bare_record(schema: &'static Schema, bytes: &[u8]) -> Result<Value, PayloadError> {
    Ok(value(&Tree::of_struct(bytes)?, Some(Type::Record(schema))))
}

/// A value; its type is used where it fits what came.
fn value(tree: &Tree, of: Option<Type>) -> Value {
    let of = of.filter(|of| of.kind() == tree.kind());
    match tree {
        Tree::Bool(value) => json!(value),
        Tree::Byte(value) => json!(value.cast_signed()),
        Tree::I16(value) => json!(value),
        Tree::I32(number) => match of {
            Some(Type::Enum(schema)) => schema.name_of(*number).map_or_else(|| json!(number), |name| json!(name)),
            _ => json!(number),
        },
        Tree::I64(value) => json!(value),
        Tree::Double(bits) => double(f64::from_bits(*bits)),
        Tree::Bytes(bytes) => match (of, std::str::from_utf8(bytes)) {
            // Of what is not known, text is shown as text.
            (Some(Type::String) | None, Ok(text)) => json!(text),
            _ => json!(BASE64_STANDARD.encode(bytes)),
        },
        Tree::Uuid(bytes) => json!(BASE64_STANDARD.encode(bytes)),
        Tree::Struct(fields) => {
            let schema = if let Some(Type::Record(schema)) = of { Some(schema) } else { None };
            let fields = fields.iter().map(|(id, _, field)| {
                let known = schema.and_then(|schema| schema.field(*id));
                let name = known.map_or_else(|| id.to_string(), |known| known.name.to_owned());
                (name, value(field, known.map(|known| known.holds)))
            });
            Value::Object(fields.collect())
        }
        Tree::List(elements) | Tree::Set(elements) => {
            let of = match of {
                Some(Type::List(of) | Type::Set(of)) => Some(*of),
                _ => None,
            };
            elements.iter().map(|element| value(element, of)).collect()
        }
        Tree::Map(pairs) => {
            let (key_of, value_of) = match of {
                Some(Type::Map(key_of, value_of)) => (Some(*key_of), Some(*value_of)),
                _ => (None, None),
            };
            map(pairs, key_of, value_of)
        }
    }
}

fn map(pairs: &[(Tree, Tree)], key_of: Option<Type>, value_of: Option<Type>) -> Value {
    let is_object = match key_of {
        Some(of) => of == Type::String,
        None => pairs.iter().all(|(key, _)| key.kind() == Kind::String),
    };
    let rendered = pairs.iter().map(|(key, of)| (value(key, key_of), value(of, value_of)));
    if is_object {
        let text = |key: Value| if let Value::String(key) = key { key } else { key.to_string() };
        let object: Map<String, Value> = rendered.map(|(key, value)| (text(key), value)).collect();
        return Value::Object(object);
    }
    rendered.map(|(key, value)| json!({"key": key, "value": value})).collect()
}

/// JSON has no number for the last two.
fn double(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { json!(number.to_string()) }
}

#[cfg(test)]
mod tests;
