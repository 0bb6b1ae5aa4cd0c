//! A bolt that awaits: many tuples are under way at once on one core, and none of them holds it.
//!
//! ```text
//! cargo run --release -p ringstorm --example async_bolt -- local
//! ```
//!
//! looks up 2,000 numbers, each of which takes 20 ms, 200 at a time, and prints `sum 4000` on standard output after
//! about 0.2 s. The metrics on standard error show a process latency of 20 ms for `lookup`, but hardly any time executing.

use std::time::Duration;

use ringstorm::prelude::*;
use ringstorm::side_runtime::sleep;
use ringstorm::{AsyncBolt, AsyncEmitter, TupleCopy};

#[derive(clap::Args)]
struct Options {
    /// How many look-ups
    #[arg(long, default_value_t = 2000)]
    lookups: u64,
    /// How many at a time
    #[arg(long, default_value_t = 200)]
    concurrency: u32,
}

#[derive(Tuple)]
struct Number {
    value: u64,
}

struct Numbers {
    left: u64,
}

impl Spout for Numbers {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.left == 0 {
            return Ok(Next::Finished);
        }
        self.left -= 1;
        collector.emit_with_id(self.left, &Number { value: self.left });
        Ok(Next::Emitted)
    }
}

/// Asks somebody far away, who answers 1 or 3. Any future that is woken from anywhere will do for the wait, a client on
/// another thread for instance.
async fn ask(input: TupleCopy, emitter: AsyncEmitter) -> Result {
    let value = input.tuple().view::<Number>()?.value();
    sleep(Duration::from_millis(20)).await;
    emitter.emit(&Number { value: 1 + 2 * (value % 2) });
    Ok(())
}

struct Lookup;

impl AsyncBolt for Lookup {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>().reads::<Number>();
    }
    fn execute(&mut self, input: TupleCopy, emitter: AsyncEmitter) -> impl Future<Output = Result> + 'static {
        ask(input, emitter)
    }
}

#[derive(Default)]
struct Sum {
    sum: u64,
}

impl SimpleBolt for Sum {
    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        self.sum += input.view::<Number>()?.value();
        Ok(())
    }
    fn cleanup(&mut self) {
        println!("sum {}", self.sum);
    }
}

fn build(Options { lookups, concurrency }: Options) -> Result<TopologyBuilder> {
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", move || Numbers { left: lookups });
    topology.async_bolt("lookup", concurrency, || Lookup).shuffle_grouping("numbers");
    topology.simple_bolt("sum", Sum::default).global_grouping("lookup");
    Ok(topology)
}

fn main() -> ExitCode {
    ringstorm::main("async_bolt", build)
}
