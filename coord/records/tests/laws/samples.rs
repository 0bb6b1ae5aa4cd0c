//! Values of a type, made from its definition and not by the code under test.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use ringstorm_records::thrift::{Encoder, FieldSchema, Kind, Schema, Tree, Type};

/// Ids from here on are nobody's.
pub(crate) const FOREIGN_IDS: std::ops::Range<i16> = 2000..i16::MAX;

/// Whether values hold fields that are in no definition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Foreign {
    None,
    Some,
}

/// A bare struct as bytes.
pub(crate) fn bytes_of(tree: &Tree) -> Vec<u8> {
    let mut output = Encoder::default();
    tree.write(&mut output);
    output.into_bytes()
}

/// A value without the order that Thrift does not have.
pub(crate) fn sorted(mut tree: Tree) -> Tree {
    tree.sort();
    tree
}

/// Any record of a definition.
pub(crate) fn record(schema: &'static Schema, foreign: Foreign) -> BoxedStrategy<Tree> {
    if schema.is_union {
        let members: Vec<_> = schema.fields.iter().map(|member| field(member, foreign).boxed()).collect();
        let member = proptest::strategy::Union::new(members);
        return (member, strangers(foreign)).prop_map(|(member, strangers)| with(vec![member], strangers)).boxed();
    }
    let fields: Vec<BoxedStrategy<Option<Field>>> = schema.fields.iter().map(|of| maybe(of, foreign)).collect();
    let fields = fields.prop_map(|fields| fields.into_iter().flatten().collect());
    (fields, strangers(foreign)).prop_map(|(fields, strangers)| with(fields, strangers)).boxed()
}

type Field = (i16, Kind, Tree);

/// The strangers go in front, between and behind, so that no place is special.
fn with(mut fields: Vec<Field>, strangers: Vec<Field>) -> Tree {
    for (index, stranger) in strangers.into_iter().enumerate() {
        let at = (index * 2).min(fields.len());
        fields.insert(at, stranger);
    }
    Tree::Struct(fields)
}

fn maybe(of: &'static FieldSchema, foreign: Foreign) -> BoxedStrategy<Option<Field>> {
    let known = field(of, foreign);
    if of.is_required {
        return known.prop_map(Some).boxed();
    }
    if foreign == Foreign::None {
        return proptest::option::of(known).boxed();
    }
    // Some other version may have another type under this number.
    let mistyped = anything().prop_filter_map("of another type", |tree| {
        (tree.kind() != of.holds.kind()).then_some((of.id, tree.kind(), tree))
    });
    prop_oneof![2 => known.prop_map(Some), 1 => Just(None), 1 => mistyped.prop_map(Some)].boxed()
}

fn field(of: &'static FieldSchema, foreign: Foreign) -> impl Strategy<Value = Field> + use<> {
    value(of.holds, foreign).prop_map(|value| (of.id, of.holds.kind(), value))
}

fn strangers(foreign: Foreign) -> BoxedStrategy<Vec<Field>> {
    match foreign {
        Foreign::None => Just(Vec::new()).boxed(),
        Foreign::Some => vec((FOREIGN_IDS, anything()).prop_map(|(id, tree)| (id, tree.kind(), tree)), 0..3).boxed(),
    }
}

fn value(of: Type, foreign: Foreign) -> BoxedStrategy<Tree> {
    match of {
        Type::Bool => any::<bool>().prop_map(Tree::Bool).boxed(),
        Type::I32 => any::<i32>().prop_map(Tree::I32).boxed(),
        Type::I64 => any::<i64>().prop_map(Tree::I64).boxed(),
        Type::Double => any::<u64>().prop_map(Tree::Double).boxed(),
        Type::String => any::<String>().prop_map(|text| Tree::Bytes(text.into_bytes())).boxed(),
        Type::Binary => vec(any::<u8>(), 0..20).prop_map(Tree::Bytes).boxed(),
        Type::Enum(schema) => {
            let numbers = schema.values.iter().map(|(number, _)| *number).collect::<Vec<_>>();
            prop_oneof![3 => proptest::sample::select(numbers), 1 => any::<i32>()].prop_map(Tree::I32).boxed()
        }
        Type::Record(schema) => record(schema, foreign),
        Type::List(of) => vec(value(*of, foreign), 0..3).prop_map(Tree::List).boxed(),
        // Keys with strangers may become equal when these are dropped.
        Type::Set(of) => {
            btree_set(value(*of, Foreign::None), 0..3).prop_map(|set| Tree::Set(set.into_iter().collect())).boxed()
        }
        Type::Map(key, of) => btree_map(value(*key, Foreign::None), value(*of, foreign), 0..3)
            .prop_map(|map| Tree::Map(map.into_iter().collect()))
            .boxed(),
    }
}

/// Any value of any type, nested a little.
pub(crate) fn anything() -> BoxedStrategy<Tree> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Tree::Bool),
        any::<u8>().prop_map(Tree::Byte),
        any::<i16>().prop_map(Tree::I16),
        any::<i32>().prop_map(Tree::I32),
        any::<i64>().prop_map(Tree::I64),
        any::<u64>().prop_map(Tree::Double),
        any::<[u8; 16]>().prop_map(Tree::Uuid),
        vec(any::<u8>(), 0..8).prop_map(Tree::Bytes),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let fields = vec((any::<i16>(), inner.clone()).prop_map(|(id, tree)| (id, tree.kind(), tree)), 0..3);
        // The elements of a container have one kind: copies of one value do.
        let elements = (inner.clone(), 0_usize..3).prop_map(|(element, count)| vec![element; count]);
        let pairs = (inner.clone(), inner, 0_usize..3).prop_map(|(key, of, count)| vec![(key, of); count]);
        prop_oneof![
            fields.prop_map(Tree::Struct),
            elements.clone().prop_map(Tree::List),
            elements.prop_map(Tree::Set),
            pairs.prop_map(Tree::Map),
        ]
    })
    .boxed()
}

/// A record with every field set, the same each time; of a union the first member.
pub(crate) fn full(schema: &'static Schema) -> Tree {
    if schema.is_union { full_members(schema).remove(0) } else { full_of(schema.fields) }
}

/// As [`full`], and for a union each of its members.
pub(crate) fn full_members(schema: &'static Schema) -> Vec<Tree> {
    if schema.is_union { schema.fields.chunks(1).map(full_of).collect() } else { vec![full_of(schema.fields)] }
}

fn full_of(fields: &'static [FieldSchema]) -> Tree {
    Tree::Struct(fields.iter().map(|field| (field.id, field.holds.kind(), full_value(field.holds))).collect())
}

fn full_value(of: Type) -> Tree {
    match of {
        Type::Bool => Tree::Bool(true),
        Type::I32 => Tree::I32(7),
        Type::I64 => Tree::I64(1 << 40),
        Type::Double => Tree::Double(1.5_f64.to_bits()),
        Type::String => Tree::Bytes(b"text".to_vec()),
        Type::Binary => Tree::Bytes(vec![0, 0xff]),
        Type::Enum(schema) => Tree::I32(schema.values[0].0),
        Type::Record(schema) => full(schema),
        Type::List(of) => Tree::List(vec![full_value(*of)]),
        Type::Set(of) => Tree::Set(vec![full_value(*of)]),
        Type::Map(key, of) => Tree::Map(vec![(full_value(*key), full_value(*of))]),
    }
}
