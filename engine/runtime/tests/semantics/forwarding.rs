//! Passing tuples on without serialising them, and reading typed streams by name and dynamic ones as types.

use std::sync::Arc;

use ringstorm_runtime::{Bolt, Declarer, Next, Result, Spout, SpoutCollector, TopologyBuilder};
use ringstorm_tuple::{Tuple, Value, Values, ViewError, values};
use ringstorm_types::MessageId;

use crate::harness::*;

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Person<'a> {
    name: &'a str,
    age: u32,
    tags: Vec<&'a str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Typed,
    Dynamic,
}

struct People {
    kind: Kind,
    next: u64,
    journal: Arc<Journal>,
}

impl Spout for People {
    fn declare(&self, declarer: &mut Declarer) {
        match self.kind {
            Kind::Typed => declarer.emits::<Person<'_>>(),
            Kind::Dynamic => declarer.fields(["name", "age", "tags"]),
        };
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.next == 300 {
            return Ok(Next::Finished);
        }
        let name = format!("person {}", self.next);
        let age = self.next as u32;
        self.journal.emitted(self.next);
        match self.kind {
            Kind::Typed => {
                collector.emit_with_id(MessageId(self.next), &Person { name: &name, age, tags: vec!["a", &name] });
            }
            Kind::Dynamic => {
                let tags = vec![Value::from("a"), Value::from(name.as_str())];
                collector.emit_with_id(MessageId(self.next), &values![name.as_str(), age, tags]);
            }
        }
        self.next += 1;
        Ok(Next::Emitted)
    }
    fn ack(&mut self, id: MessageId) {
        self.journal.acked(id.0);
    }
}

/// Forwards to the default stream and to another, both declared like the spout's.
fn forwards(kind: Kind) -> impl Bolt {
    let declare = move |declarer: &mut Declarer| {
        match kind {
            Kind::Typed => declarer.emits::<Person<'_>>().emits_to::<Person<'_>>("copy"),
            Kind::Dynamic => declarer.fields(["name", "age", "tags"]).fields_to("copy", ["n", "a", "t"]),
        };
    };
    emits(declare, |input, collector| {
        collector.forward(input);
        collector.forward_to("copy", input);
        collector.ack(input);
        Ok(())
    })
}

fn forwarded(kind: Kind) {
    let (journal, seen) = (Arc::<Journal>::default(), Arc::<std::sync::Mutex<Vec<String>>>::default());
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.spout("people", move || People { kind, next: 0, journal: Arc::clone(&shared) });
    topology.bolt("forward", move || forwards(kind)).parallelism(2).fields_grouping("people", ["name"]);
    topology.bolt("again", move || forwards(kind)).fields_grouping("forward", ["age"]);
    let second = if kind == Kind::Typed { "name" } else { "n" };
    let shared = Arc::clone(&seen);
    let read = move || {
        let seen = Arc::clone(&shared);
        ends(move |input, collector| {
            // By index, by name, as JSON, and as a type of the same names: all agree, whatever the stream carries.
            let name = if input.source_stream().as_str() == "copy" { second } else { "name" };
            let (person, age) = (input.field(name)?.as_str().unwrap(), input.get(1)?.as_u64().unwrap());
            assert_eq!(input.get(0)?.as_str(), Some(person));
            assert_eq!(input.get(2)?.as_list().unwrap().get(1).unwrap().as_str(), Some(person));
            let values = input.view::<Values>()?.to_values();
            assert_eq!(values.0[1], Value::Int(age as i64));
            assert_eq!(input.to_json()[name], serde_json::json!(person));
            assert!(input.get(3).is_err() && input.field("ghost").unwrap_err().to_string().contains("ghost"));
            match input.view::<Person<'_>>() {
                Ok(view) => assert_eq!((name, view.name(), u64::from(view.age())), ("name", person, age)),
                Err(error) => assert!(name == "n" && matches!(error, ViewError::Names { .. }), "{name}: {error}"),
            }
            seen.lock().unwrap().push(person.to_owned());
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("read", read).parallelism(3).shuffle_grouping("again").fields_grouping(("again", "copy"), [second]);
    assert_clean(&run(topology, &config(&[])));
    journal.assert_all_acked_once(300);
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    let mut expected: Vec<String> = (0..300).flat_map(|number| vec![format!("person {number}"); 2]).collect();
    expected.sort();
    assert_eq!(seen, expected);
}

#[test]
fn typed_tuples_are_forwarded() {
    forwarded(Kind::Typed);
}

#[test]
fn dynamic_tuples_are_forwarded() {
    forwarded(Kind::Dynamic);
}

/// A stream that was declared otherwise refuses what is forwarded to it.
#[test]
fn forwarding_to_another_layout_fails_the_tuple() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(5, &journal);
    topology.spout("numbers", move || seq.clone());
    let wrong = || {
        let declare = |declarer: &mut Declarer| {
            declarer.fields(["value"]).emits_to::<Person<'static>>("people");
        };
        emits(declare, |input, collector| {
            match input.view::<Number>()?.value() {
                0 => collector.forward(input),
                1 => collector.forward_to("people", input),
                2 => collector.forward_to("ghost", input),
                _ => {}
            }
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("wrong", wrong).shuffle_grouping("numbers");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    assert_eq!((journal.acks(), journal.fails(), error_count(&report)), (2, 3, 3), "{:#?}", report.errors);
}

/// A tuple that does not fit the type which a bolt reads fails alone.
#[test]
fn a_dynamic_tuple_that_does_not_fit_the_reader_fails_alone() {
    struct Mixed(u64, Arc<Journal>);
    impl Spout for Mixed {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.fields(["value"]);
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
            let bad = [Value::Null, Value::from("text"), Value::Int(-1), Value::Float(0.5), Value::List(vec![])];
            let Some(bad) = bad.get(self.0 as usize / 2) else { return Ok(Next::Finished) };
            let value = if self.0.is_multiple_of(2) { bad.clone() } else { Value::from(self.0) };
            self.1.emitted(self.0);
            collector.emit_with_id(MessageId(self.0), &Values(vec![value]));
            self.0 += 1;
            Ok(Next::Emitted)
        }
        fn ack(&mut self, id: MessageId) {
            self.1.acked(id.0);
        }
        fn fail(&mut self, id: MessageId, reason: ringstorm_runtime::FailReason) {
            self.1.failed(id.0, reason);
        }
    }
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.spout("mixed", move || Mixed(0, Arc::clone(&shared)));
    let read = || {
        let declare = |declarer: &mut Declarer| {
            declarer.reads::<Number>();
        };
        emits(declare, |input, collector| {
            if let Err(error) = input.view::<Number>() {
                collector.report_error(&error);
                collector.fail(input);
            }
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("read", read).shuffle_grouping("mixed");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    assert_eq!((journal.acks(), journal.fails(), error_count(&report)), (5, 5, 5), "{:#?}", report.errors);
    assert!(errors(&report).iter().all(|error| error.text.contains("value")), "{:#?}", report.errors);
}

/// A typed stream that a bolt reads as another type is refused when the topology is built.
#[test]
fn a_reader_of_another_type_is_refused_at_build() {
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(1);
    topology.spout("numbers", move || seq.clone());
    let read = || {
        let declare = |declarer: &mut Declarer| {
            declarer.reads::<Person<'_>>();
        };
        emits(declare, |_, _| Ok(()))
    };
    topology.bolt("read", read).shuffle_grouping("numbers");
    let text = topology.build(&config(&[])).unwrap_err().to_string();
    assert!(["read", "numbers", "Person", "value"].iter().all(|part| text.contains(part)), "{text}");
}
