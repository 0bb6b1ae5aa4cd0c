//! The bodies of the fuzz targets in `fuzz/`, as plain functions, so that the tests can replay inputs with them.
//!
//! Each panics, or worse, if it finds a fault, and returns otherwise.

use crate::{FieldRef, Schema, Tuple, TupleField, Value, Values, hash};

/// A variant by name.
#[derive(TupleField, Debug, Clone, Copy, PartialEq)]
#[tuple(crate = crate)]
#[allow(missing_docs, reason = "only their number matters")]
pub enum Level {
    Low,
    Middle,
    High,
}

/// A tuple with a field of every kind whose bytes can be wrong.
#[derive(Tuple, Debug)]
#[tuple(crate = crate)]
#[allow(missing_docs, reason = "named by their kinds")]
pub struct Sample<'a> {
    pub yes: bool,
    pub number: u64,
    pub fixed: [u8; 5],
    pub text: &'a str,
    pub bytes: &'a [u8],
    pub maybe: Option<&'a str>,
    pub numbers: Vec<i32>,
    pub texts: Vec<Option<String>>,
    pub nested: Vec<Vec<Level>>,
    pub level: Level,
    pub any: Value,
}

/// A tuple of fixed size.
#[derive(Tuple, Debug)]
#[tuple(crate = crate)]
#[allow(missing_docs, reason = "named by their kinds")]
pub struct FixedSample {
    pub yes: bool,
    pub number: Option<u32>,
    pub level: Level,
}

/// Untrusted bytes as the payload of several schemas: what is accepted can be read in every way.
pub fn payload(bytes: &[u8]) {
    let Some((count, bytes)) = bytes.split_first() else { return };
    walk::<Sample<'_>>(&Sample::schema(), bytes);
    walk::<FixedSample>(&FixedSample::schema(), bytes);
    walk::<Values>(&Schema::dynamic((0..*count).map(|index| index.to_string())), bytes);
    walk::<Sample<'_>>(&Schema::dynamic(Sample::FIELDS.iter().copied()), bytes);
}

fn walk<T: Tuple>(schema: &Schema, payload: &[u8]) {
    if let Err(error) = schema.validate(payload) {
        assert!(!error.to_string().is_empty());
        return;
    }
    for index in 0..=schema.fields().len() {
        // SAFETY: validated just now.
        let field = unsafe { schema.field(payload, index) };
        // Each of these visits all of the field.
        let copy = field.to_value();
        assert_eq!(hash::java_hash(copy.field_ref()), hash::java_hash(field));
        assert_eq!(copy.to_json(), field.to_json());
    }
    // SAFETY: validated just now.
    unsafe {
        match schema.view::<T>(payload) {
            // The text of a view reads every native value.
            Ok(view) => assert!(!format!("{view:?}").is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        if let Ok(view) = schema.view::<Values>(payload) {
            assert_eq!(view.len(), schema.fields().len());
            let copy = view.to_values();
            let mut again = Vec::new();
            // What nests one level too deep is accepted, but cannot be written again.
            if copy.serialize(&mut again).is_ok() {
                let dynamic = Schema::dynamic(schema.fields().iter());
                dynamic.validate(&again).expect("what was written is valid");
                let view = dynamic.view::<Values>(&again).expect("any tuple can be read as values");
                assert_same(&view.to_values(), &copy);
            }
        }
    }
}

/// Any JSON as the value of a tuple: it is written, checked and read back as it was.
pub fn json(bytes: &[u8]) {
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    let values = Values(vec![Value::from(json.clone()), Value::Bytes(bytes.to_owned())]);
    assert_eq!(values.0[0].to_json(), json);
    let mut out = vec![1, 2, 3];
    let schema = Schema::dynamic(["json", "bytes"]);
    if values.serialize(&mut out).is_err() {
        assert_eq!(out, [1, 2, 3], "a tuple that is refused leaves the output alone");
        return;
    }
    let payload = &out[3..];
    assert!(payload.len() >= values.size_hint());
    schema.validate(payload).expect("what was written is valid");
    for (index, value) in values.0.iter().enumerate() {
        // SAFETY: validated just now.
        let field: FieldRef<'_> = unsafe { schema.field(payload, index) };
        assert_eq!(field.to_value(), *value);
        assert_eq!(hash::java_hash(field), hash::java_hash(value.field_ref()));
    }
}

/// Equality by text, because NaN differs from itself.
fn assert_same(one: &Values, two: &Values) {
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
}
