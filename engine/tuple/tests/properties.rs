//! What holds for all tuples: they come back as they were, and hash alike whichever way they are held.

// Miri spends minutes on making one case; `typed.rs` and `hostile.rs` show it the same code.
#![cfg(not(miri))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ringstorm_tuple::fuzz::{FixedSample, Level, Sample};
use ringstorm_tuple::{FieldRef, Schema, Tuple, Value, Values, ViewError, hash};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        vec(any::<u8>(), 0..20).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 8, |inner| {
        prop_oneof![vec(inner.clone(), 0..8).prop_map(Value::List), vec((".{0,12}", inner), 0..8).prop_map(Value::Map),]
    })
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Low), Just(Level::Middle), Just(Level::High)]
}

/// What a [`Sample`] borrows.
type Parts = ((bool, u64, [u8; 5], String, Vec<u8>, Option<String>), (Vec<i32>, Vec<Option<String>>), Level, Value);

fn parts() -> impl Strategy<Value = Parts> {
    (
        (any::<bool>(), any::<u64>(), any::<[u8; 5]>(), ".{0,20}", vec(any::<u8>(), 0..30), option::of(".{0,20}")),
        (vec(any::<i32>(), 0..9), vec(option::of(".{0,12}"), 0..9)),
        level(),
        any_value(),
    )
}

fn sample(parts: &Parts) -> Sample<'_> {
    let ((yes, number, fixed, text, bytes, maybe), (numbers, texts), level, any) = parts;
    Sample {
        yes: *yes,
        number: *number,
        fixed: *fixed,
        text,
        bytes,
        maybe: maybe.as_deref(),
        numbers: numbers.clone(),
        texts: texts.clone(),
        nested: vec![vec![], vec![*level, Level::Low]],
        level: *level,
        any: any.clone(),
    }
}

fn payload_of(tuple: &impl Tuple) -> Vec<u8> {
    let mut out = vec![0xee];
    tuple.serialize(&mut out).unwrap();
    out.split_off(1)
}

fn fields_of<T: Tuple>(tuple: &T) -> Vec<FieldRef<'_>> {
    (0..tuple.count()).map(|index| tuple.field(index)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn typed_tuples_come_back(parts in parts()) {
        let tuple = sample(&parts);
        let payload = payload_of(&tuple);
        let schema = Sample::schema();
        schema.validate(&payload).unwrap();
        prop_assert!(payload.len() >= tuple.size_hint());
        // SAFETY: validated just now.
        let view = unsafe { schema.view::<Sample<'_>>(&payload) }.unwrap();
        prop_assert_eq!(view.yes(), tuple.yes);
        prop_assert_eq!(view.number(), tuple.number);
        prop_assert_eq!(view.fixed(), &tuple.fixed);
        prop_assert_eq!(view.text(), tuple.text);
        prop_assert_eq!(view.bytes(), tuple.bytes);
        prop_assert_eq!(view.maybe(), tuple.maybe);
        prop_assert_eq!(view.numbers().iter().collect::<Vec<_>>(), &tuple.numbers[..]);
        prop_assert_eq!(view.texts().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>(), &tuple.texts[..]);
        prop_assert_eq!(view.level(), tuple.level);
        prop_assert_eq!(format!("{:?}", view.any()), format!("{:?}", tuple.any.field_ref()));
    }

    #[test]
    fn dynamic_tuples_come_back(values in vec(any_value(), 0..12).prop_map(Values)) {
        let payload = payload_of(&values);
        prop_assert!(payload.len() >= values.size_hint());
        let schema = Schema::dynamic((0..values.0.len()).map(|index| index.to_string()));
        schema.validate(&payload).unwrap();
        // SAFETY: validated just now.
        let view = unsafe { schema.view::<Values>(&payload) }.unwrap();
        // By text, because NaN differs from itself.
        prop_assert_eq!(format!("{:?}", view.to_values()), format!("{:?}", values));
    }

    #[test]
    fn typed_and_dynamic_streams_group_alike(parts in parts(), choice in vec(0..Sample::FIELDS.len(), 1..4)) {
        let tuple = sample(&parts);
        let values = Values(fields_of(&tuple).into_iter().map(Value::from).collect());
        let (typed, dynamic) = (Sample::schema(), Schema::dynamic(Sample::FIELDS.iter().copied()));
        let (typed_payload, dynamic_payload) = (payload_of(&tuple), payload_of(&values));
        // SAFETY: written just now, for these schemas.
        let ways: [Vec<FieldRef<'_>>; 4] = unsafe {
            [
                choice.iter().map(|index| tuple.field(*index)).collect(),
                choice.iter().map(|index| values.field(*index)).collect(),
                choice.iter().map(|index| typed.field(&typed_payload, *index)).collect(),
                choice.iter().map(|index| dynamic.field(&dynamic_payload, *index)).collect(),
            ]
        };
        let hashes = ways.clone().map(hash::fields_hash);
        prop_assert_eq!(hashes, [hashes[0]; 4]);
        let choices = ways.map(|way| hash::partial_key_choices(way, 7));
        prop_assert_eq!(choices, [choices[0]; 4]);
    }

    #[test]
    fn a_dynamic_tuple_reads_as_the_typed_one_that_it_was_made_of(parts in parts()) {
        let tuple = sample(&parts);
        let values = Values(fields_of(&tuple).into_iter().map(Value::from).collect());
        let (typed, dynamic) = (Sample::schema(), Schema::dynamic(Sample::FIELDS.iter().copied()));
        let (typed_payload, dynamic_payload) = (payload_of(&tuple), payload_of(&values));
        // SAFETY: written just now, for these schemas.
        let texts = unsafe {
            [
                format!("{:?}", typed.view::<Sample<'_>>(&typed_payload).unwrap()),
                format!("{:?}", dynamic.view::<Sample<'_>>(&dynamic_payload).unwrap()),
            ]
        };
        // Integers beyond `i64` are the only values that change their variant on the way.
        prop_assert_eq!(&texts[0], &texts[1]);
    }

    #[test]
    fn fixed_tuples_always_have_their_size(yes: bool, number: Option<u32>, level in level()) {
        let payload = payload_of(&FixedSample { yes, number, level });
        prop_assert_eq!(Some(payload.len()), FixedSample::FIXED_SIZE);
        FixedSample::schema().validate(&payload).unwrap();
        // SAFETY: validated just now.
        let view = unsafe { FixedSample::view(&payload) };
        prop_assert_eq!((view.yes(), view.number(), view.level()), (yes, number, level));
    }

    /// Names decide whether a dynamic stream is read as a type, whoever else read it before.
    #[test]
    fn a_dynamic_stream_is_read_by_types_of_its_names_in_order(
        parts in parts(),
        fixed_names in any::<bool>(),
        swapped in option::of((0_usize..11, 0_usize..11)),
        reads in vec(any::<bool>(), 1..8),
    ) {
        let names = if fixed_names { FixedSample::FIELDS } else { Sample::FIELDS };
        let mut names = names.to_vec();
        if let Some((left, right)) = swapped {
            let count = names.len();
            names.swap(left % count, right % count);
        }
        let tuple = sample(&parts);
        let values: Values = (0..names.len()).map(|index| tuple.field(index).to_value()).collect();
        let mut payload = Vec::new();
        values.serialize(&mut payload).unwrap();
        let schema = Schema::dynamic(names.iter().copied());
        for as_sample in reads {
            // SAFETY: written just now, by a tuple of this layout.
            let (refused, same) = unsafe {
                if as_sample {
                    (is_refused_by_name(schema.view::<Sample<'_>>(&payload)), names == Sample::FIELDS)
                } else {
                    (is_refused_by_name(schema.view::<FixedSample>(&payload)), names == FixedSample::FIELDS)
                }
            };
            prop_assert_eq!(refused, !same);
        }
    }
}

fn is_refused_by_name<V>(view: Result<V, ViewError>) -> bool {
    matches!(view, Err(ViewError::Names { .. }))
}
