//! Storm's first example: names, with three exclamation marks after each of two bolts.
//!
//! ```text
//! cargo run --release -p ringstorm --example exclamation -- local
//! ```
//!
//! prints ten names on standard output, such as `nathan!!!!!!`, and the metrics of the run on standard error.

use ringstorm::prelude::*;

#[derive(clap::Args)]
struct Options {
    /// How many names
    #[arg(long, default_value_t = 10)]
    count: usize,
}

#[derive(Tuple)]
struct Word<'a> {
    word: &'a str,
}

struct Names {
    left: usize,
}

impl Spout for Names {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Word>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        const NAMES: [&str; 5] = ["nathan", "mike", "jackson", "golda", "bertels"];
        if self.left == 0 {
            return Ok(Next::Finished);
        }
        self.left -= 1;
        collector.emit_with_id(self.left as u64, &Word { word: NAMES[self.left % NAMES.len()] });
        Ok(Next::Emitted)
    }
}

/// Adds three exclamation marks.
#[derive(Default)]
struct Exclaim {
    word: String,
}

impl SimpleBolt for Exclaim {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Word>().reads::<Word>();
    }
    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        self.word.clear();
        self.word.extend([input.view::<Word>()?.word(), "!!!"]);
        emitter.emit(&Word { word: &self.word });
        Ok(())
    }
}

struct Print;

impl SimpleBolt for Print {
    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        println!("{}", input.view::<Word>()?.word());
        Ok(())
    }
}

fn build(Options { count }: Options) -> Result<TopologyBuilder> {
    let mut topology = TopologyBuilder::new();
    topology.spout("words", move || Names { left: count });
    topology.simple_bolt("exclaim1", Exclaim::default).parallelism(3).shuffle_grouping("words");
    topology.simple_bolt("exclaim2", Exclaim::default).parallelism(2).shuffle_grouping("exclaim1");
    // Standard output may make a writer wait, which must not hold a core.
    topology.simple_bolt("print", || Print).global_grouping("exclaim2").blocking();
    Ok(topology)
}

fn main() -> ExitCode {
    ringstorm::main("exclamation", build)
}
