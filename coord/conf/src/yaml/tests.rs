//! YAML: what is read as what, what is refused on which line, and what hostile texts cost.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(text: &str) -> Value {
    let members = mapping(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    Value::Object(members.into_iter().map(|entry| (entry.key, entry.value)).collect())
}

fn refused(text: &str) -> String {
    mapping(text).map(|entries| panic!("{text:?} is {entries:?}")).unwrap_err().to_string()
}

#[test]
fn words_mean_what_they_mean_to_storm() {
    for (text, value) in [
        ("yes", json!(true)),
        ("Off", json!(false)),
        ("~", json!(null)),
        ("", json!(null)),
        ("10_000", json!(10_000)),
        ("0x1F", json!(31)),
        ("0b101", json!(5)),
        ("010", json!(8)),
        ("08", json!("08")),
        ("-3", json!(-3)),
        ("+3", json!(3)),
        ("18446744073709551615", json!(u64::MAX)),
        ("128.0", json!(128.0)),
        ("1.5e3", json!(1500.0)),
        (".5", json!(0.5)),
        ("1e5", json!("1e5")),
        ("1.2.3", json!("1.2.3")),
        ("1:30", json!("1:30")),
        ("'yes'", json!("yes")),
        ("\"6627\"", json!("6627")),
        ("!!str 6627", json!("6627")),
        ("!!int 6627", json!(6627)),
        ("! 6627", json!("6627")),
        ("two words", json!("two words")),
        ("[ 6700, 6701 ]", json!([6700, 6701])),
        ("{ a: 1 }", json!({"a": 1})),
    ] {
        assert_eq!(read(&format!("key: {text}\n")), json!({ "key": value }), "{text}");
    }
}

#[test]
fn a_file_as_people_write_it_is_read_with_its_lines() {
    let text =
        "# of the cluster\n\nstorm.zookeeper.servers:\n     - \"zk1\"\n     - \"zk2\"\nnimbus.seeds : [\"n1\"]\n";
    let entries = mapping(text).unwrap();
    let seen: Vec<_> = entries.iter().map(|entry| (entry.key.as_str(), entry.line)).collect();
    assert_eq!(seen, [("storm.zookeeper.servers", 3), ("nimbus.seeds", 6)]);
    assert_eq!(entries[0].value, json!(["zk1", "zk2"]));
}

#[test]
fn an_empty_file_sets_nothing() {
    for text in ["", "\n\n", "# only words\n", "---\n", "---\n...\n", "{}", "null"] {
        assert_eq!(mapping(text), Ok(Vec::new()), "{text:?}");
    }
}

#[test]
fn aliases_stand_for_what_they_name() {
    assert_eq!(read("a: &ports [1, 2]\nb: *ports\n"), json!({"a": [1, 2], "b": [1, 2]}));
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_line() {
    for (text, wanted) in [
        ("a: 1\nb: [1, 2\n", "line 3, column 1: "),
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1: \"a\" is set a second time here"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: a second document begins here"),
        ("a: 1\n? [b]\n: 2\n", "line 2, column 3: a key must be a text"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "line 3, column 3: maps are not merged by <<"),
        ("a: 1\nb: *nobody\n", "line 2, column 4: "),
        ("a: &x [*x]\n", "this alias stands inside of what it stands for"),
        ("a: !thing 5\n", "line 1, column 4: the tag !thing means nothing here"),
        ("a: !!int five\n", "\"five\" is not what its tag !!int says"),
        ("a: .inf\n", "line 1, column 4: .inf is a number that settings cannot have"),
        ("a: 99999999999999999999\n", "is too large for a number"),
        ("- a\n- b\n", "line 1, column 1: this is no map of keys and values"),
        ("just words\n", "this is no map of keys and values"),
        ("a: 1\n\tb: 2\n", "found a tab"),
    ] {
        let error = refused(text);
        assert!(error.contains(wanted), "{text:?}: {error}");
        assert!(error.starts_with("line "), "{error}");
    }
}

#[test]
fn a_bomb_of_aliases_costs_one_error() {
    let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 8].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let before = Instant::now();
    assert!(refused(&text).contains("comes to more than is taken"));
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[test]
fn deep_nesting_costs_one_error() {
    let levels = 200_000;
    for text in [
        format!("a: {}", "[".repeat(levels)),
        format!("a: {}", "{a: ".repeat(levels)),
        format!("a:\n {}", "- ".repeat(levels)),
        format!("a: {}", "&b [".repeat(levels)),
        "? ".repeat(levels),
    ] {
        let before = Instant::now();
        refused(&text);
        assert!(before.elapsed() < Duration::from_secs(5), "{}", &text[..10]);
    }
}

#[test]
fn a_text_that_is_too_long_costs_one_error() {
    assert!(refused(&"#".repeat(TEXT_BYTES_MAX + 1)).contains("shorten it"));
}

#[test]
fn long_texts_of_one_kind_cost_seconds_at_most() {
    for part in [
        "a",
        "a: b\n",
        "- a\n",
        "'",
        "\"",
        "#\n",
        "&a ",
        "*a ",
        "!",
        "%",
        "|\n",
        "\t",
        "---\n",
        "a: [b, c]\n",
        "\u{feff}",
    ] {
        let text = part.repeat(TEXT_BYTES_MAX / 4 / part.len());
        let before = Instant::now();
        let _ = mapping(&text);
        assert!(before.elapsed() < Duration::from_secs(10), "{part:?} took {:?}", before.elapsed());
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::btree_map("[ -~]{1,8}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_is_yaml(members in proptest::collection::btree_map("[a-z.]{1,12}", any_value(), 0..5)) {
        let value = Value::Object(members.into_iter().collect());
        prop_assert_eq!(read(&value.to_string()), value);
    }

    #[test]
    fn whatever_is_read_costs_an_error_at_most(text in "[ -~\n\t]{0,200}") {
        let _ = mapping(&text);
    }

    #[test]
    fn whatever_looks_like_yaml_costs_an_error_at_most(text in "([a-c&*!|>{}\\[\\],:?'\"#%@`~<. 0-9\n-]|: |- ){0,80}") {
        let _ = mapping(&text);
    }
}
