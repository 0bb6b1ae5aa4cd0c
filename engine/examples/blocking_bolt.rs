//! A bolt that waits: it is declared blocking, gets a thread for each executor, and holds nobody up.
//!
//! ```text
//! cargo run --release -p ringstorm --example blocking_bolt -- local
//! ```
//!
//! runs 1,000 calls of 5 ms on four threads and prints `sum 499500` on standard output after about 1.3 s. The metrics
//! on standard error show an execute latency of 5 ms for `slow`, and the spout waiting for it.

use std::time::Duration;

use ringstorm::prelude::*;

#[derive(clap::Args)]
struct Options {
    /// How many calls
    #[arg(long, default_value_t = 1000)]
    calls: u64,
    /// How long each of them waits, in milliseconds
    #[arg(long, default_value_t = 5)]
    wait_ms: u64,
}

#[derive(Tuple)]
struct Number {
    value: u64,
}

struct Numbers {
    next: u64,
    end: u64,
}

impl Spout for Numbers {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.next == self.end {
            return Ok(Next::Finished);
        }
        collector.emit_with_id(self.next, &Number { value: self.next });
        self.next += 1;
        Ok(Next::Emitted)
    }
}

/// Stands for a call of a data base, a file system, a library that waits.
struct Slow {
    wait: Duration,
}

impl SimpleBolt for Slow {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        std::thread::sleep(self.wait);
        emitter.emit(&Number { value: input.view::<Number>()?.value() });
        Ok(())
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

fn build(Options { calls, wait_ms }: Options) -> Result<TopologyBuilder> {
    let wait = Duration::from_millis(wait_ms);
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", move || Numbers { next: 0, end: calls });
    topology.simple_bolt("slow", move || Slow { wait }).parallelism(4).shuffle_grouping("numbers").blocking();
    topology.simple_bolt("sum", Sum::default).global_grouping("slow");
    Ok(topology)
}

fn main() -> ExitCode {
    ringstorm::main("blocking_bolt", build)
}
