//! Whether two records say the same: what has no order in any order, and means of figures but for the last digits, since
//! they were added in another order.

use ringstorm_records::thrift::{Record, Tree};

/// Relative.
const TOLERANCE: f64 = 1e-12;

/// Fails where they differ, and says where that is.
#[track_caller]
pub(crate) fn assert_same<R: Record>(ours: &R, theirs: &R) {
    let content = |record: &R| {
        let mut tree = Tree::of_struct(&record.to_bytes()).unwrap();
        tree.sort();
        tree
    };
    compare("", &content(ours), &content(theirs));
}

#[track_caller]
fn compare(place: &str, ours: &Tree, theirs: &Tree) {
    match (ours, theirs) {
        (Tree::Double(ours), Tree::Double(theirs)) => {
            let (ours, theirs) = (f64::from_bits(*ours), f64::from_bits(*theirs));
            let is_near = (ours - theirs).abs() <= TOLERANCE * ours.abs().max(theirs.abs());
            assert!(is_near || ours.to_bits() == theirs.to_bits(), "{place}: {ours} here, {theirs} in Storm");
        }
        (Tree::Struct(ours), Tree::Struct(theirs)) => {
            let ids = |fields: &[(i16, _, Tree)]| fields.iter().map(|(id, _, _)| *id).collect::<Vec<_>>();
            assert_eq!(ids(ours), ids(theirs), "{place}: which fields are set");
            for ((id, _, ours), (_, _, theirs)) in ours.iter().zip(theirs) {
                compare(&format!("{place}.{id}"), ours, theirs);
            }
        }
        (Tree::List(ours), Tree::List(theirs)) | (Tree::Set(ours), Tree::Set(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{place}: how many there are");
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                compare(&format!("{place}[{at}]"), ours, theirs);
            }
        }
        (Tree::Map(ours), Tree::Map(theirs)) => {
            let keys = |map: &[(Tree, Tree)]| map.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
            assert_eq!(keys(ours), keys(theirs), "{place}: which keys are there");
            for ((key, ours), (_, theirs)) in ours.iter().zip(theirs) {
                compare(&format!("{place}{{{}}}", shown(key)), ours, theirs);
            }
        }
        (ours, theirs) => assert_eq!(ours, theirs, "{place}"),
    }
}

fn shown(key: &Tree) -> String {
    match key {
        Tree::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}
