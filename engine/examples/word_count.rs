//! Counts the words of a file, or of standard input, on all cores.
//!
//! ```text
//! cargo run --release -p ringstorm --example word_count -- local --input README.md --output counts.tsv
//! ```
//!
//! writes one line for each word to `counts.tsv`, such as `the<TAB>42`, in no particular order, and prints the metrics of
//! the run. Words are what `str::split_whitespace` makes of a line; bytes that are not UTF-8 count as U+FFFD.

use std::{collections::HashMap, io::Write, path::PathBuf};

use ringstorm::library::{Line, LineSpout, LineWriter};
use ringstorm::prelude::*;

#[derive(clap::Args)]
struct Options {
    /// The file to read; - for standard input
    #[arg(long, default_value = "-")]
    input: PathBuf,
    /// The file to write; - for standard output
    #[arg(long, default_value = "-")]
    output: PathBuf,
}

#[derive(Tuple)]
struct Word<'a> {
    word: &'a str,
    count: u64,
}

fn split(line: TupleRef<'_>) -> Result<impl Iterator<Item = Word<'_>>> {
    Ok(line.view::<Line>()?.line().split_whitespace().map(|word| Word { word, count: 1 }))
}

#[derive(Default)]
struct Count(HashMap<String, u64>);

impl SimpleBolt for Count {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Word>().reads::<Word>();
    }
    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        let word = input.view::<Word>()?;
        *self.0.entry(word.word().to_owned()).or_default() += word.count();
        Ok(())
    }
    fn finish(&mut self, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        self.0.iter().for_each(|(word, count)| emitter.emit(&Word { word, count: *count }));
        Ok(())
    }
}

fn write(word: TupleRef<'_>, line: &mut Vec<u8>) -> Result {
    let word = word.view::<Word>()?;
    Ok(write!(line, "{}\t{}", word.word(), word.count())?)
}

fn main() -> ExitCode {
    ringstorm::main("word_count", |Options { input, output }| {
        let mut topology = TopologyBuilder::new();
        topology.spout("lines", move || LineSpout::new(&input));
        topology.flat_map_fn("split", split).parallelism(2).shuffle_grouping("lines");
        topology.simple_bolt("count", Count::default).parallelism(2).fields_grouping("split", ["word"]);
        topology.bolt("output", move || LineWriter::new(&output).replace().format(write)).global_grouping("count");
        Ok(topology)
    })
}
