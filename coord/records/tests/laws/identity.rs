//! What is read is written with the same content.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ringstorm_records::nimbus::{METHODS, MethodType, NimbusCall};
use ringstorm_records::records;
use ringstorm_records::thrift::message::{Head, MessageKind};
use ringstorm_records::thrift::{EnumSchema, FieldSchema, Schema, Tree, Type};

use crate::samples::{Foreign, bytes_of, full, full_members, record, sorted};

fn runner() -> TestRunner {
    let cases = Config::default().cases.min(64);
    TestRunner::new(Config { cases, ..Config::default() })
}

/// Fields that are read as their default when they did not come, and written then.
fn with_defaults(tree: Tree, written: &Tree) -> Tree {
    let (Tree::Struct(fields), Tree::Struct(all)) = (&tree, written) else { return tree };
    let is_added = |id: i16| fields.iter().all(|(of, _, _)| *of != id);
    let added = all.iter().filter(|(id, _, value)| is_added(*id) && is_default(value)).cloned();
    sorted(Tree::Struct(fields.iter().cloned().chain(added).collect()))
}

fn is_default(value: &Tree) -> bool {
    *value == Tree::Map(Vec::new()) || *value == Tree::Bytes(b"VERSION_NOT_PROVIDED".to_vec())
}

#[test]
fn every_record_comes_back() {
    for of in records::all() {
        let law = |tree: Tree| {
            let written = (of.rewrite)(&bytes_of(&tree)).unwrap();
            let back = sorted(Tree::of_struct(&written).unwrap());
            // Records inside others have no defaults that may be left out, but for assignments.
            if !has_inner_defaults(of.schema) {
                prop_assert_eq!(&back, &with_defaults(sorted(tree), &back), "{}", of.schema.name);
            }
            prop_assert_eq!((of.rewrite)(&written), Ok(written), "equal records have equal bytes");
            Ok(())
        };
        runner().run(&record(of.schema, Foreign::None), law).unwrap();
    }
}

fn has_inner_defaults(schema: &Schema) -> bool {
    ["SupervisorAssignments", "ClusterSummary", "SupervisorPageInfo"].contains(&schema.name)
}

#[test]
fn every_record_with_all_fields_set_comes_back() {
    for of in records::all() {
        for tree in full_members(of.schema).into_iter().map(sorted) {
            let written = (of.rewrite)(&bytes_of(&tree)).unwrap();
            assert_eq!(sorted(Tree::of_struct(&written).unwrap()), tree, "{}", of.schema.name);
        }
    }
}

#[test]
fn every_call_comes_back() {
    for method in METHODS {
        let law = |(sequence, tree): (i32, Tree)| {
            let head = Head { kind: MessageKind::Call, method: method.name, sequence };
            let message = message(head, &tree);
            let (read, input) = Head::read(&message).unwrap();
            prop_assert_eq!(read, head);
            let call = NimbusCall::read(method.name, input).unwrap().unwrap();
            let written = call.to_message(sequence);
            let (read, input) = Head::read(&written).unwrap();
            prop_assert_eq!(read, head);
            prop_assert_eq!(NimbusCall::read(method.name, input), Ok(Some(call.clone())));
            prop_assert_eq!(call.to_message(sequence), written);
            Ok(())
        };
        // Doubles that are no numbers differ from themselves, but not in their bytes.
        let arguments = record(method.arguments, Foreign::None).prop_filter("no NaN", |tree| !has_nan(tree));
        runner().run(&(any::<i32>(), arguments), law).unwrap();
    }
}

fn has_nan(tree: &Tree) -> bool {
    match tree {
        Tree::Double(bits) => f64::from_bits(*bits).is_nan(),
        Tree::Struct(fields) => fields.iter().any(|(_, _, value)| has_nan(value)),
        Tree::List(elements) | Tree::Set(elements) => elements.iter().any(has_nan),
        Tree::Map(pairs) => pairs.iter().any(|(key, value)| has_nan(key) || has_nan(value)),
        _ => false,
    }
}

fn message(head: Head<'_>, tree: &Tree) -> Vec<u8> {
    let mut message = head.write().into_bytes();
    message.extend(bytes_of(tree));
    message
}

/// What a method may answer: its result, or one of its exceptions.
fn results(method: &MethodType) -> Vec<Tree> {
    let success = method.success.map_or(Tree::Struct(Vec::new()), |of| {
        let field: &'static [FieldSchema] =
            Box::leak(Box::new([FieldSchema { id: 0, name: "success", is_required: true, holds: of }]));
        let result = Schema { name: "result", is_union: false, keeps_unknown: false, fields: field };
        full(Box::leak(Box::new(result)))
    });
    let exceptions = method.exceptions.iter().map(|(id, name)| {
        let schema = records::named(name).unwrap().schema;
        Tree::Struct(vec![(*id, Type::Record(schema).kind(), full(schema))])
    });
    std::iter::once(success).chain(exceptions).collect()
}

#[test]
fn every_answer_comes_back() {
    for method in METHODS {
        for result in results(method) {
            let head = Head { kind: MessageKind::Reply, method: method.name, sequence: -3 };
            let message = message(head, &result);
            let written = (method.rewrite_reply)(-3, &message).unwrap();
            let (read, input) = Head::read(&written).unwrap();
            assert_eq!(read, head);
            let back = Tree::of_struct(&written[input.position()..]).unwrap();
            assert_eq!(sorted(back), sorted(result), "{}", method.name);
            assert!((method.rewrite_reply)(4, &message).is_err(), "it answers another call");
        }
    }
}

#[test]
fn ids_names_and_numbers_are_unique_and_ascend() {
    fn check(schema: &Schema) {
        assert!(schema.fields.is_sorted_by(|left, right| left.id < right.id), "{}", schema.name);
        for field in schema.fields {
            assert_eq!(schema.fields.iter().filter(|other| other.name == field.name).count(), 1, "{}", schema.name);
            check_type(field.holds);
        }
    }
    fn check_type(of: Type) {
        match of {
            Type::Enum(EnumSchema { name, values }) => {
                assert!(values.is_sorted_by(|left, right| left.0 < right.0), "{name}");
            }
            Type::Record(schema) => check(schema),
            Type::List(of) | Type::Set(of) => check_type(*of),
            Type::Map(key, of) => [key, of].into_iter().for_each(|of| check_type(*of)),
            _ => {}
        }
    }
    records::all().for_each(|of| check(of.schema));
    METHODS.iter().for_each(|method| check(method.arguments));
    assert_eq!((records::all().count(), METHODS.len()), (74, 55));
}
