//! Typed tuples: written, checked, viewed, shown as fields, and read from dynamic ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ringstorm_tuple::{
    EncodeError, FieldRef, LayoutHash, Schema, Tuple, TupleField, ValidateError, Value, Values, ViewError, values,
};

#[derive(Tuple, Debug)]
#[tuple(crate = ringstorm_tuple)]
struct Fixed {
    sequence: u64,
    body: [u8; 56],
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Word<'a> {
    word: &'a str,
    count: u64,
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct OwnedWord {
    word: String,
    count: u64,
}

#[derive(TupleField, Clone, Copy, Debug, PartialEq)]
#[tuple(crate = ringstorm_tuple)]
enum Color {
    Red,
    Green,
    r#Blue,
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Everything<'a> {
    yes: bool,
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    f32: f32,
    f64: f64,
    text: &'a str,
    owned: String,
    bytes: &'a [u8],
    owned_bytes: Vec<u8>,
    fixed: [u8; 3],
    none: Option<u32>,
    some: Option<&'a str>,
    numbers: Vec<u32>,
    words: &'a [&'a str],
    nested: Vec<Vec<Option<String>>>,
    any: Value,
    color: Color,
    colors: Vec<Color>,
    r#type: u8,
}

/// Its fields are named like methods that every view has.
#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Shadows {
    fmt: u8,
    clone: bool,
    get: u16,
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Nothing {}

fn everything() -> Everything<'static> {
    Everything {
        yes: true,
        i8: i8::MIN,
        i16: i16::MIN,
        i32: i32::MIN,
        i64: i64::MIN,
        u8: u8::MAX,
        u16: u16::MAX,
        u32: u32::MAX,
        u64: u64::MAX,
        f32: 0.5,
        f64: -0.1,
        text: "a text that is longer than eight bytes",
        owned: "short".to_owned(),
        bytes: b"bytes",
        owned_bytes: vec![0, 255],
        fixed: [1, 2, 3],
        none: None,
        some: Some("a text that is longer than eight bytes"),
        numbers: vec![1, 2, 3],
        words: &["", "short", "a text that is longer than eight bytes"],
        nested: vec![vec![], vec![None, Some("x".to_owned()), Some("longer than eight bytes".to_owned())]],
        any: Value::List(vec![Value::from("x"), Value::Map(vec![("key".to_owned(), Value::Float(1.5))])]),
        color: Color::Green,
        colors: vec![Color::Red, Color::Blue],
        r#type: 7,
    }
}

fn payload_of(tuple: &impl Tuple) -> Vec<u8> {
    // Bytes in front, as in a frame: an address that is not aligned, and positions that do not start at zero.
    let mut out = vec![0xee; 3];
    tuple.serialize(&mut out).unwrap();
    out.split_off(3)
}

#[test]
fn fixed_tuples_are_their_fields_side_by_side() {
    let tuple = Fixed { sequence: 0x0102_0304_0506_0708, body: [9; 56] };
    let payload = payload_of(&tuple);
    assert_eq!(Fixed::FIXED_SIZE, Some(64));
    assert_eq!(Fixed::schema().fixed_size(), Some(64));
    assert_eq!(tuple.size_hint(), 64);
    assert_eq!(payload[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(payload[8..], [9; 56]);
    Fixed::schema().validate(&payload).unwrap();
    // SAFETY: written just now.
    let view = unsafe { Fixed::view(&payload) };
    assert_eq!((view.sequence(), view.body()), (0x0102_0304_0506_0708, &[9; 56]));
    let longer = [&[0], &payload[..]].concat();
    assert_eq!(Fixed::schema().validate(&longer), Err(ValidateError::Size { wanted: 64, found: 65 }));
    assert_eq!(Fixed::schema().validate(&payload[1..]), Err(ValidateError::Size { wanted: 64, found: 63 }));
}

#[test]
fn every_kind_of_field_comes_back() {
    let tuple = everything();
    let payload = payload_of(&tuple);
    let schema = Everything::schema();
    schema.validate(&payload).unwrap();
    assert!(payload.len() >= tuple.size_hint(), "{} {}", payload.len(), tuple.size_hint());
    assert_eq!(Everything::FIXED_SIZE, None);
    // SAFETY: validated just now.
    let view = unsafe { schema.view::<Everything<'_>>(&payload) }.unwrap();
    assert_view(view);
    for index in 0..=schema.fields().len() {
        // SAFETY: validated just now.
        assert_eq!(unsafe { schema.field(&payload, index) }, tuple.field(index), "{:?}", schema.fields().get(index));
    }
    assert_eq!(schema.index_of("type"), Some(24));
    assert!(tuple.field(99).is_null());
}

fn assert_view(view: EverythingView<'_>) {
    assert!(view.yes());
    assert_eq!(view.i8(), i8::MIN);
    assert_eq!(view.i16(), i16::MIN);
    assert_eq!(view.i32(), i32::MIN);
    assert_eq!(view.i64(), i64::MIN);
    assert_eq!(view.u8(), u8::MAX);
    assert_eq!(view.u16(), u16::MAX);
    assert_eq!(view.u32(), u32::MAX);
    assert_eq!(view.u64(), u64::MAX);
    assert_eq!(view.f32(), 0.5);
    assert_eq!(view.f64(), -0.1);
    assert_eq!(view.text(), "a text that is longer than eight bytes");
    assert_eq!(view.owned(), "short");
    assert_eq!(view.bytes(), b"bytes");
    assert_eq!(view.owned_bytes(), [0, 255]);
    assert_eq!(view.fixed(), &[1, 2, 3]);
    assert_eq!(view.none(), None);
    assert_eq!(view.some(), Some("a text that is longer than eight bytes"));
    assert_eq!(view.numbers().iter().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(view.words().get(2), Some("a text that is longer than eight bytes"));
    assert_eq!(view.words().get(3), None);
    assert_eq!(
        view.nested().get(1).unwrap().iter().collect::<Vec<_>>(),
        [None, Some("x"), Some("longer than eight bytes")]
    );
    assert_eq!(view.any(), everything().any.field_ref());
    assert_eq!(view.color(), Color::Green);
    assert_eq!(view.colors().iter().collect::<Vec<_>>(), [Color::Red, Color::Blue]);
    assert_eq!(view.r#type(), 7);
    assert!(format!("{view:?}").starts_with("Everything { yes: true, i8: -128"), "{view:?}");
}

#[test]
fn a_dynamic_tuple_is_read_as_a_typed_one() {
    let tuple = everything();
    let values: Values = (0..Everything::FIELDS.len()).map(|index| tuple.field(index)).collect();
    let payload = payload_of(&values);
    let schema = Schema::dynamic(Everything::FIELDS.iter().copied());
    schema.validate(&payload).unwrap();
    // SAFETY: validated just now.
    assert_view(unsafe { schema.view::<Everything<'_>>(&payload) }.unwrap());
}

#[test]
fn any_tuple_is_read_by_name() {
    let payload = payload_of(&Word { word: "storm", count: 3 });
    let schema = Word::schema();
    // SAFETY: written just now.
    let view = unsafe { schema.view::<Values>(&payload) }.unwrap();
    assert_eq!(view.by_name("word"), Some(FieldRef::Str("storm")));
    assert_eq!(view.by_name("count"), Some(FieldRef::Int(3)));
    assert_eq!(view.by_name("nothing"), None);
    assert_eq!(view.get(2), None);
    assert_eq!(view.to_values(), values!["storm", 3]);
    assert_eq!(format!("{view:?}"), r#"{"word": Str("storm"), "count": UInt(3)}"#);

    let payload = payload_of(&values!["storm", 3]);
    let schema = Schema::dynamic(["word", "count"]);
    // SAFETY: written just now.
    let view = unsafe { schema.view::<Values>(&payload) }.unwrap();
    assert_eq!(view.by_name("count"), Some(FieldRef::Int(3)));
    // SAFETY: written just now.
    let nameless = unsafe { Values::view(&payload) };
    assert_eq!(nameless.by_name("count"), None);
    assert_eq!(nameless.iter().collect::<Vec<_>>(), [FieldRef::Str("storm"), FieldRef::Int(3)]);
}

#[test]
fn owned_and_borrowed_structs_share_one_layout() {
    assert_eq!(Word::LAYOUT, OwnedWord::LAYOUT);
    assert_ne!(Word::LAYOUT, Fixed::LAYOUT);
    assert_ne!(Nothing::LAYOUT, LayoutHash::DYNAMIC);
    let payload = payload_of(&OwnedWord { word: "storm".to_owned(), count: 3 });
    let schema = OwnedWord::schema();
    // SAFETY: written just now.
    let view = unsafe { schema.view::<Word<'_>>(&payload) }.unwrap();
    assert_eq!((view.word(), view.count()), ("storm", 3));
}

#[test]
fn fields_may_be_named_like_methods() {
    let payload = payload_of(&Shadows { fmt: 1, clone: true, get: 2 });
    // SAFETY: written just now.
    let view = unsafe { Shadows::view(&payload) };
    assert_eq!((view.fmt(), view.clone(), view.get()), (1, true, 2));
    assert_eq!(format!("{view:?}"), "Shadows { fmt: 1, clone: true, get: 2 }");
}

#[test]
fn schemas_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Schema>();
    shared::<ringstorm_tuple::Fields>();
    shared::<Values>();
}

#[test]
fn a_tuple_may_have_no_fields() {
    let payload = payload_of(&Nothing {});
    assert!(payload.is_empty());
    assert_eq!(Nothing::FIXED_SIZE, Some(0));
    Nothing::schema().validate(&payload).unwrap();
    // SAFETY: written just now.
    let _: NothingView<'_> = unsafe { Nothing::view(&payload) };
    let payload = payload_of(&values![]);
    Schema::dynamic(Vec::<String>::new()).validate(&payload).unwrap();
}

#[test]
fn a_stream_takes_its_own_tuples_only() {
    let typed = Word::schema();
    let dynamic = Schema::dynamic(["word", "count"]);
    typed.check(&Word { word: "", count: 0 }).unwrap();
    dynamic.check(&values!["", 0]).unwrap();
    assert_eq!(dynamic.check(&values![""]), Err(EncodeError::Count { wanted: 2, found: 1 }));
    let wrong = EncodeError::Layout { wanted: typed.layout(), found: LayoutHash::DYNAMIC };
    assert_eq!(typed.check(&values!["", 0]), Err(wrong));
}

#[test]
fn another_typed_layout_is_refused_with_the_fields_that_differ() {
    let payload = payload_of(&Word { word: "storm", count: 3 });
    let schema = Word::schema();
    // SAFETY: written just now.
    let error = unsafe { schema.view::<Fixed>(&payload) }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stream carries another type: field 0 is `word: string` where `sequence: u64` is read; field 1 is \
         `count: u64` where `body: 56 bytes` is read: read the type that is emitted, or its fields by name"
    );
    // SAFETY: written just now.
    let error = unsafe { schema.view::<Nothing>(&payload) }.unwrap_err();
    assert!(error.to_string().contains("field 1, `count: u64`, is not read"), "{error}");
}

#[test]
fn a_dynamic_tuple_that_does_not_fit_is_refused_with_field_and_kinds() {
    let schema = Schema::dynamic(["word", "count"]);
    let read = |values: Values| {
        let payload = payload_of(&values);
        // SAFETY: written just now, by a tuple of this layout.
        unsafe { schema.view::<Word<'_>>(&payload) }.map(|view| (view.word().to_owned(), view.count()))
    };
    assert_eq!(read(values!["storm", 3]), Ok(("storm".to_owned(), 3)));
    assert_eq!(read(values!["storm", u64::MAX]), Ok(("storm".to_owned(), u64::MAX)));
    assert_eq!(read(values!["storm"]), Err(ViewError::Count { wanted: 2, found: 1 }));
    assert_eq!(read(values!["storm", 1, 2]), Err(ViewError::Count { wanted: 2, found: 3 }));
    let error = read(values!["storm", "3"]).unwrap_err().to_string();
    assert_eq!(error, "field 1 (count) holds a string, but the type reads u64: emit that kind or read another");
    for (value, found) in [
        (Value::Null, "null"),
        (Value::Bool(true), "a bool"),
        (Value::Int(-1), "an integer"),
        (Value::Float(1.0), "a float"),
        (Value::Bytes(vec![]), "bytes"),
        (Value::List(vec![]), "a list"),
        (Value::Map(vec![]), "a map"),
    ] {
        let error = read(values!["storm", value]).unwrap_err();
        assert!(
            matches!(&error, ViewError::Field { index: 1, name: "count", found: in_words, .. } if *in_words == found)
        );
    }
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Transfer {
    from: u64,
    to: u64,
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Reversed {
    to: u64,
    from: u64,
}

#[test]
fn a_dynamic_stream_is_read_as_a_type_of_its_names_in_their_order_only() {
    let payload = payload_of(&values![1, 2]);
    let schema = Schema::dynamic(["from", "to"]);
    // Again and again, since the schema remembers who read it last.
    for _ in 0..3 {
        // SAFETY: written just now, by a tuple of this layout.
        let view = unsafe { schema.view::<Transfer>(&payload) }.unwrap();
        assert_eq!((view.from(), view.to()), (1, 2));
        // SAFETY: as above.
        let error = unsafe { schema.view::<Reversed>(&payload) }.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the stream declares the fields [from, to], but the type reads [to, from]: declare the same names in the \
             same order on both sides, or read the fields by name or by index"
        );
        // SAFETY: as above.
        assert!(matches!(unsafe { schema.view::<Word<'_>>(&payload) }, Err(ViewError::Names { .. })));
        // SAFETY: as above.
        let values = unsafe { schema.view::<Values>(&payload) }.unwrap();
        assert_eq!(values.by_name("to").unwrap().as_u64(), Some(2));
    }
}

#[test]
fn one_is_no_plural() {
    let count = EncodeError::Count { wanted: 2, found: 1 }.to_string();
    assert!(count.starts_with("the tuple has 1 value, but its stream declares 2 fields"), "{count}");
    let count = ViewError::Count { wanted: 1, found: 0 }.to_string();
    assert!(count.starts_with("the tuple has 0 values, but the type reads 1 field:"), "{count}");
}
