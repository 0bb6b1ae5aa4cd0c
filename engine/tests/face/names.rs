//! Whatever the interface returns can be named with the one crate that a topology depends on.

use std::sync::{Arc, Mutex};

use ringstorm::library::{Emission, Fetched, ReplayingSpout, Source};
use ringstorm::prelude::*;
use ringstorm::{
    ComponentId, EncodeError, Field, FieldRef, Fields, Kind, ListRef, ListView, MapRef, Schema, StreamId,
    ValidateError, Value, ValuesView, ViewError,
};

#[derive(Tuple)]
struct Texts {
    texts: Vec<String>,
}

/// One message, with a list and a map.
struct Once(Option<Values>);

impl Source for Once {
    type Message = Values;
    fn declare(&self, declarer: &mut Declarer) {
        declarer.fields(["list", "map"]);
    }
    fn fetch(&mut self) -> Result<Fetched<Values>> {
        Ok(self.0.take().map_or(Fetched::Ended, Fetched::Message))
    }
    fn emit(&mut self, message: &Values, emission: Emission<'_, '_>) {
        emission.emit(message);
    }
}

fn any<'a>(tuple: &TupleRef<'a>) -> Result<ValuesView<'a>, ViewError> {
    tuple.view::<Values>()
}

fn list(field: FieldRef<'_>) -> Option<ListRef<'_>> {
    if let FieldRef::List(list) = field { Some(list) } else { None }
}

fn map(field: FieldRef<'_>) -> Option<MapRef<'_>> {
    if let FieldRef::Map(map) = field { Some(map) } else { None }
}

fn origin<'a>(tuple: &TupleRef<'a>) -> (&'a ComponentId, &'a StreamId, &'a Fields) {
    (tuple.source_component(), tuple.source_stream(), tuple.fields())
}

fn count_of<T: Field>(list: ListView<'_, T>) -> usize {
    list.iter().count()
}

#[test]
fn what_a_bolt_reads_can_be_named() {
    #[derive(Clone)]
    struct Note(Arc<Mutex<Vec<String>>>);
    impl SimpleBolt for Note {
        fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
            let view = any(input)?;
            let (Some(list), Some(map)) = (view.get(0).and_then(list), view.get(1).and_then(map)) else {
                return Err("the fields are a list and a map".into());
            };
            let (component, stream, fields) = origin(input);
            let line = format!("{component} {stream} {fields}: {} {}", list.iter().count(), map.iter().count());
            self.0.lock().unwrap().push(line);
            Ok(())
        }
    }
    let note = Note(Arc::default());
    let shared = note.clone();
    let mut topology = TopologyBuilder::new();
    let message = || values![vec![Value::Null, Value::from(1)], Value::Map(vec![("a".to_owned(), Value::Null)])];
    topology.spout("once", move || ReplayingSpout::new(Once(Some(message()))));
    topology.simple_bolt("note", move || shared.clone()).shuffle_grouping("once");
    let report = LocalCluster::new().run("names", topology.build(&Config::new()).unwrap()).unwrap();
    assert!(report.is_clean() && report.errors.is_empty(), "{report:?}");
    assert_eq!(*note.0.lock().unwrap(), ["once default [list, map]: 2 1"]);
}

#[test]
fn what_a_tuple_says_of_itself_can_be_named() {
    let write = |tuple: &Texts| -> Result<Vec<u8>, EncodeError> {
        let mut payload = Vec::new();
        tuple.serialize(&mut payload).map(|()| payload)
    };
    let check = |payload: &[u8]| -> Result<(), ValidateError> { Texts::validate(payload) };
    let payload = write(&Texts { texts: vec![String::new(); 3] }).unwrap();
    assert_eq!(check(&payload), Ok(()));
    // SAFETY: validated just now.
    let view = unsafe { Texts::view(&payload) };
    assert_eq!(count_of(view.texts()), 3);
    let schema: Schema = Texts::schema();
    assert_eq!(schema.kinds(), [Kind::List(&Kind::Str)]);
}
