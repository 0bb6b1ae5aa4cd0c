//! What later versions add is tolerated, anywhere and of any type; some records keep it.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ringstorm_records::records::{
    self, Grouping, NullStruct, ProfileAction, ProfileRequest, RebalanceOptions, StormBase,
};
use ringstorm_records::thrift::{Kind, Problem, Record, Schema, Tree, Type};

use crate::samples::{Foreign, bytes_of, record, sorted};

/// What should be left of a record: known fields, and unknown ones where they are kept; defaults are not known here.
fn kept(tree: &Tree, of: Option<Type>) -> Tree {
    match (tree, of) {
        (Tree::Struct(fields), Some(Type::Record(schema))) => {
            let left = fields.iter().filter_map(|(id, kind, value)| {
                let known = schema.field(*id).filter(|field| field.holds.kind() == *kind);
                match known {
                    Some(field) => Some((*id, *kind, kept(value, Some(field.holds)))),
                    None => schema.keeps_unknown.then(|| (*id, *kind, value.clone())),
                }
            });
            Tree::Struct(left.collect())
        }
        (Tree::List(elements), Some(Type::List(of))) => {
            Tree::List(elements.iter().map(|element| kept(element, Some(*of))).collect())
        }
        (Tree::Map(pairs), Some(Type::Map(_, of))) => {
            Tree::Map(pairs.iter().map(|(key, value)| (key.clone(), kept(value, Some(*of)))).collect())
        }
        (other, _) => other.clone(),
    }
}

#[test]
fn unknown_fields_of_any_type_anywhere_are_tolerated_and_kept_where_the_definition_says_so() {
    let cases = Config::default().cases.min(64);
    for of in records::all() {
        let law = |tree: Tree| {
            let written = (of.rewrite)(&bytes_of(&tree)).unwrap();
            let expected = (of.rewrite)(&bytes_of(&kept(&tree, Some(Type::Record(of.schema))))).unwrap();
            let content = |bytes: &[u8]| sorted(Tree::of_struct(bytes).unwrap());
            prop_assert_eq!(content(&written), content(&expected), "{}", of.schema.name);
            if of.schema.keeps_unknown {
                let count = |tree: &Tree| strangers(tree, of.schema);
                prop_assert_eq!(count(&content(&written)), count(&tree));
            }
            Ok(())
        };
        let mut runner = TestRunner::new(Config { cases, ..Config::default() });
        runner.run(&record(of.schema, Foreign::Some), law).unwrap();
    }
}

/// The unknown fields of the outermost struct.
fn strangers(tree: &Tree, schema: &Schema) -> usize {
    let Tree::Struct(fields) = tree else { return 0 };
    let is_known = |id: i16, kind: Kind| schema.field(id).is_some_and(|field| field.holds.kind() == kind);
    fields.iter().filter(|(id, kind, _)| !is_known(*id, *kind)).count()
}

#[test]
fn what_is_read_changed_and_written_back_keeps_unknown_fields() {
    let keeping: Vec<&str> =
        records::all().map(|of| of.schema).filter(|of| of.keeps_unknown).map(|of| of.name).collect();
    assert_eq!(
        keeping,
        ["StormBase", "Credentials", "KillOptions", "RebalanceOptions", "LogLevel", "LogConfig", "DebugOptions"]
    );
    // A base with a field of a later version, and a rebalance with one.
    let later = |id: i16| (id, Kind::String, Tree::Bytes(b"later".to_vec()));
    let options = Tree::Struct(vec![(1, Kind::I32, Tree::I32(8)), later(1002)]);
    let base = Tree::Struct(vec![
        (1, Kind::String, Tree::Bytes(b"words".to_vec())),
        (2, Kind::I32, Tree::I32(3)),
        (3, Kind::I32, Tree::I32(2)),
        (7, Kind::Struct, Tree::Struct(vec![(2, Kind::Struct, options)])),
        later(1003),
    ]);
    let mut read = StormBase::from_bytes(&bytes_of(&base)).unwrap();
    assert_eq!(read.unknown.iter().map(|field| (field.id(), field.kind())).collect::<Vec<_>>(), [(1003, Kind::String)]);
    read.num_workers = 5;
    let written = Tree::of_struct(&read.to_bytes()).unwrap();
    let Tree::Struct(mut expected) = base else { panic!("a base is a struct") };
    expected[2].2 = Tree::I32(5);
    assert_eq!(written, Tree::Struct(expected));
}

#[test]
fn of_a_field_that_comes_twice_the_last_counts() {
    let bytes = [8, 0, 1, 0, 0, 0, 1, 8, 0, 1, 0, 0, 0, 2, 0];
    assert_eq!(RebalanceOptions::from_bytes(&bytes).unwrap().wait_secs, Some(2));
}

#[test]
fn unknown_numbers_and_members_are_kept() {
    let node = vec![(1, Kind::String, Tree::Bytes(b"h".to_vec())), (2, Kind::Set, Tree::Set(vec![Tree::I64(6700)]))];
    let request = Tree::Struct(vec![(1, Kind::Struct, Tree::Struct(node)), (2, Kind::I32, Tree::I32(99))]);
    let read = ProfileRequest::from_bytes(&bytes_of(&request)).unwrap();
    assert_eq!(read.action, ProfileAction::Unrecognized(99));
    assert_eq!(Tree::of_struct(&read.to_bytes()).unwrap(), request);

    let grouping = Tree::Struct(vec![(77, Kind::I64, Tree::I64(5))]);
    let read = Grouping::from_bytes(&bytes_of(&grouping)).unwrap();
    assert!(matches!(&read, Grouping::Unrecognized(field) if field.id() == 77));
    assert_eq!(Tree::of_struct(&read.to_bytes()).unwrap(), grouping);
    // Beside a member that is known it says nothing.
    let both = Tree::Struct(vec![(77, Kind::I64, Tree::I64(5)), (2, Kind::Struct, Tree::Struct(Vec::new()))]);
    assert_eq!(Grouping::from_bytes(&bytes_of(&both)), Ok(Grouping::Shuffle(NullStruct {})));
}

#[test]
fn a_union_has_one_member() {
    assert_eq!(Grouping::from_bytes(&[0]).unwrap_err().problem, Problem::EmptyUnion("Grouping"));
    let two = [12, 0, 2, 0, 12, 0, 3, 0, 0];
    assert_eq!(Grouping::from_bytes(&two).unwrap_err().problem, Problem::CrowdedUnion("Grouping"));
}
