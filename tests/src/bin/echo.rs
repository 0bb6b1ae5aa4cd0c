//! A topology that notes what it was given: each task writes the words of its options and its configuration into a file.

use std::path::PathBuf;

use ringstorm::prelude::*;
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
struct Options {
    /// The file
    #[arg(long)]
    into: PathBuf,
    /// Bytes of a setting of the spout, which make the definition of the topology as large
    #[arg(long, default_value_t = 0)]
    padding_bytes: usize,
    /// Any words
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

struct Note {
    into: PathBuf,
    words: Vec<String>,
}

impl Spout for Note {
    fn declare(&self, _: &mut Declarer) {}

    fn open(&mut self, context: &TopologyContext) -> Result {
        let config: Map<String, Value> =
            context.config().iter().map(|(key, value, _)| (key.to_owned(), value.clone())).collect();
        let new = self.into.with_extension("new");
        std::fs::write(&new, json!({ "words": self.words, "config": config }).to_string())?;
        std::fs::rename(new, &self.into)?;
        Ok(())
    }

    fn next_tuple(&mut self, _: &mut SpoutCollector<'_>) -> Result<Next> {
        Ok(Next::Finished)
    }
}

fn main() -> ExitCode {
    ringstorm::main("echo", |Options { into, padding_bytes, words }: Options| {
        let mut topology = TopologyBuilder::new();
        let note = move || Note { into: into.clone(), words: words.clone() };
        topology.spout("note", note).set("own.padding", "x".repeat(padding_bytes));
        Ok(topology)
    })
}
