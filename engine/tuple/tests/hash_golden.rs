//! The hashes that place keys, against a table that Java computed (`golden/HashGolden.java`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ringstorm_tuple::{FieldRef, Value, hash};
use serde_json::Value as Json;

const TABLE: &str = include_str!("../golden/hash_golden.txt");

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The notation of the table.
fn value(json: &Json) -> Value {
    match json {
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(tagged) => match tagged.iter().next().map(|(tag, content)| (tag.as_str(), content)).unwrap() {
            ("double", bits) => Value::Float(f64::from_bits(u64::from_str_radix(bits.as_str().unwrap(), 16).unwrap())),
            ("bytes", bytes) => Value::Bytes(hex(bytes.as_str().unwrap())),
            ("map", entries) => Value::Map(
                entries
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|entry| (entry[0].as_str().unwrap().to_owned(), value(&entry[1])))
                    .collect(),
            ),
            (tag, _) => panic!("unknown tag {tag}"),
        },
        plain => Value::from(plain.clone()),
    }
}

/// The lines of one kind: their numbers and their input.
fn lines(kind: &str, numbers: usize) -> impl Iterator<Item = (Vec<i64>, Json)> {
    TABLE.lines().filter_map(move |line| {
        let mut parts = line.splitn(numbers + 2, ' ');
        (parts.next() == Some(kind)).then(|| {
            let numbers = (0..numbers).map(|_| parts.next().unwrap().parse().unwrap()).collect();
            (numbers, serde_json::from_str(parts.next().unwrap()).unwrap())
        })
    })
}

fn fields(values: &Value) -> impl Iterator<Item = FieldRef<'_>> {
    values.field_ref().as_list().unwrap().iter()
}

#[test]
fn fields_hash_as_in_java() {
    let mut count = 0;
    for (numbers, json) in lines("fields", 1) {
        let values = value(&json);
        assert_eq!(i64::from(hash::fields_hash(fields(&values))), numbers[0], "{json}");
        count += 1;
    }
    assert!(count > 350, "{count}");
}

#[test]
fn partial_keys_choose_as_in_storm() {
    let mut count = 0;
    for (numbers, json) in lines("choices", 3) {
        let (first, second) = hash::partial_key_choices(fields(&value(&json)), numbers[0] as usize);
        assert_eq!([first as i64, second as i64], numbers[1..], "{numbers:?} {json}");
        count += 1;
    }
    for (numbers, json) in lines("text", 3) {
        let (first, second) = hash::partial_key_choices_of_first(value(&json).field_ref(), numbers[0] as usize);
        assert_eq!([first as i64, second as i64], numbers[1..], "{numbers:?} {json}");
        count += 1;
    }
    assert!(count > 650, "{count}");
}

#[test]
fn every_integer_is_a_long_and_every_float_a_double() {
    for (field, same) in [
        (FieldRef::UInt(u64::MAX), FieldRef::Int(-1)),
        (FieldRef::UInt(7), FieldRef::Int(7)),
        (FieldRef::Float(f64::from_bits(0xfff8_0000_0000_0001)), FieldRef::Float(f64::NAN)),
    ] {
        assert_eq!(hash::java_hash(field), hash::java_hash(same), "{field:?}");
    }
    assert_ne!(hash::java_hash(FieldRef::Float(0.0)), hash::java_hash(FieldRef::Float(-0.0)));
    assert_ne!(hash::java_hash(FieldRef::Float(1.0)), hash::java_hash(FieldRef::Int(1)));
    // Bytes in a list hash by content, where Java would take the identity of the array.
    let bytes = Value::List(vec![Value::Bytes(vec![1, 2])]);
    assert_eq!(hash::java_hash(bytes.field_ref()), 31 + hash::java_hash(FieldRef::Bytes(&[1, 2])));
}

#[test]
fn the_task_index_is_never_negative() {
    assert_eq!(hash::fields_task_index(-1, 3), 2);
    assert_eq!(hash::fields_task_index(i32::MIN, 7), (i64::from(i32::MIN)).rem_euclid(7) as usize);
    assert_eq!(hash::fields_task_index(5, 1), 0);
    assert_eq!(hash::fields_task_index(5, 0), 0);
    assert_eq!(hash::partial_key_choices([], 0), (0, 0));
    assert_eq!(hash::partial_key_choices([], 1), (0, 0));
}
