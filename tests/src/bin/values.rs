//! Tuples that are hard on whatever carries them: nulls, a value that is changed after its emit, and blocks of megabytes.
//!
//! `--what` says which; the bolts note in `--notes` what came.

use std::path::PathBuf;

use ringstorm::Value;
use ringstorm::prelude::*;
use ringstorm_tests::journal::Journal;

#[derive(clap::Args, Clone)]
struct Options {
    /// The directory of the notes
    #[arg(long)]
    notes: PathBuf,
    /// What to emit
    #[arg(long)]
    what: What,
}

#[derive(clap::ValueEnum, Clone, Copy)]
enum What {
    Nulls,
    Changed,
    Blocks,
}

/// Tuples by key, of which every other is null.
const KEYED_COUNT: i64 = 60;
/// In the order in which they are emitted.
const BLOCK_BYTES: [usize; 3] = [1 << 20, 10 << 20, 50 << 20];
/// Small ones that follow.
const SMALL_BLOCKS: u64 = 1000;

/// Emits what there is, one tuple for each call.
struct Emit {
    what: What,
    next: u64,
    journal: Journal,
}

impl Emit {
    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn nulls(&mut self, collector: &mut SpoutCollector<'_>) -> Next {
        let number = self.next();
        let id = Some(MessageId(number));
        match number {
            0 => collector.emit_to("one", id, &values![()]),
            1 => collector.emit_to("two", id, &values!["a", ()]),
            2 => collector.emit_to("one", id, &values![Value::List(vec![Value::Null])]),
            _ if number < 3 + KEYED_COUNT as u64 => {
                let number = number as i64 - 3;
                let key = if number % 2 == 0 { Value::Null } else { Value::Int(number) };
                collector.emit_to("keyed", id, &values![key, number]);
            }
            _ => return Next::Finished,
        }
        Next::Emitted
    }

    fn block(&mut self, collector: &mut SpoutCollector<'_>) -> Next {
        let number = self.next();
        let bytes = match BLOCK_BYTES.get(number as usize) {
            Some(bytes) => *bytes,
            None if number < BLOCK_BYTES.len() as u64 + SMALL_BLOCKS => 10,
            None => return Next::Finished,
        };
        collector.emit_with_id(MessageId(number), &Block { number, bytes: &bytes_of(number, bytes) });
        Next::Emitted
    }
}

impl Spout for Emit {
    fn declare(&self, declarer: &mut Declarer) {
        match self.what {
            What::Nulls => {
                declarer.fields_to("one", ["value"]).fields_to("two", ["first", "second"]);
                declarer.fields_to("keyed", ["key", "number"]);
            }
            What::Changed => {
                declarer.fields(["number"]);
            }
            What::Blocks => {
                declarer.emits::<Block>();
            }
        }
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        Ok(match self.what {
            What::Nulls => self.nulls(collector),
            What::Blocks => self.block(collector),
            What::Changed if self.next < 10 => {
                let number = self.next();
                collector.emit_with_id(MessageId(number), &values![number]);
                Next::Emitted
            }
            What::Changed => Next::Finished,
        })
    }

    fn ack(&mut self, id: MessageId) {
        self.journal.note(&format!("ack {}", id.0));
    }

    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.journal.note(&format!("fail {} {reason}", id.0));
    }
}

/// Emits a map to two streams, changes it, and emits it to the first once more.
#[derive(Default)]
struct Change;

impl SimpleBolt for Change {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.fields_to("left", ["map"]).fields_to("right", ["map"]);
    }

    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        let number = input.field("number")?.to_value();
        let list = Value::List(vec![number.clone(), Value::Str("as it was".into())]);
        let mut map = values![Value::Map(vec![("number".into(), number), ("list".into(), list)])];
        emitter.emit_to("left", &map);
        emitter.emit_to("right", &map);
        if let Value::Map(entries) = &mut map.0[0] {
            entries[1].1 = Value::Str("changed".into());
        }
        emitter.emit_to("left", &map);
        Ok(())
    }
}

/// Notes every tuple.
struct Echo {
    notes: PathBuf,
    journal: Option<Journal>,
}

impl SimpleBolt for Echo {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        let writer = format!("{}-{}", context.component(), context.task_index());
        self.journal = Some(Journal::open(&self.notes, &writer));
        Ok(())
    }

    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        let mut values = Vec::new();
        for index in 0..input.fields().len() {
            values.push(input.get(index)?.to_value());
        }
        if let Some(journal) = &mut self.journal {
            journal.note(&format!("{} {values:?}", input.source_stream()));
        }
        Ok(())
    }
}

#[derive(Tuple)]
struct Block<'a> {
    number: u64,
    bytes: &'a [u8],
}

/// What nobody would make up: the bytes of a block are those of its number and of their place.
fn bytes_of(number: u64, count: usize) -> Vec<u8> {
    (0..count).map(|place| (place as u64 ^ (place as u64 >> 9) ^ number) as u8).collect()
}

/// Checks every byte of a block.
struct Check {
    notes: PathBuf,
    journal: Option<Journal>,
}

impl SimpleBolt for Check {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.reads::<Block>();
    }

    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.journal = Some(Journal::open(&self.notes, &format!("check-{}", context.task_index())));
        Ok(())
    }

    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        let view = input.view::<Block>()?;
        let (number, bytes) = (view.number(), view.bytes());
        let is_intact = bytes == bytes_of(number, bytes.len());
        if let Some(journal) = &mut self.journal {
            journal.note(&format!("block {number} bytes {} intact {}", bytes.len(), u8::from(is_intact)));
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    ringstorm::main("values", |Options { notes, what }: Options| {
        let mut topology = TopologyBuilder::new();
        let of_spout = notes.clone();
        topology.spout("emit", move || Emit { what, next: 0, journal: Journal::open(&of_spout, "emit") });
        let of_echo = notes.clone();
        let echo = move || Echo { notes: of_echo.clone(), journal: None };
        match what {
            What::Nulls => {
                let all = topology.simple_bolt("all", echo.clone()).parallelism(2);
                all.all_grouping(("emit", "one")).all_grouping(("emit", "two"));
                topology.simple_bolt("keyed", echo).parallelism(4).fields_grouping(("emit", "keyed"), ["key"]);
            }
            What::Changed => {
                topology.simple_bolt("change", Change::default).shuffle_grouping("emit");
                topology.simple_bolt("left", echo.clone()).parallelism(2).shuffle_grouping(("change", "left"));
                topology.simple_bolt("right", echo).parallelism(2).all_grouping(("change", "right"));
            }
            What::Blocks => {
                let check = move || Check { notes: notes.clone(), journal: None };
                topology.simple_bolt("check", check).shuffle_grouping("emit");
            }
        }
        Ok(topology)
    })
}
