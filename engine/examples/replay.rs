//! A bolt that fails tuples by hand, and a spout that emits them again; dynamic tuples.
//!
//! ```text
//! cargo run --release -p ringstorm --example replay -- local
//! ```
//!
//! prints `7 orders shipped, 2 of them at the second attempt` on standard output. The metrics on standard error show the
//! two messages that failed, and nine that were emitted.

use std::collections::BTreeSet;

use ringstorm::library::{Emission, Fetched, ReplayingSpout, Source};
use ringstorm::prelude::*;

struct Orders(std::ops::RangeInclusive<u64>);

impl Source for Orders {
    type Message = u64;
    fn declare(&self, declarer: &mut Declarer) {
        declarer.fields(["order", "item"]);
    }
    fn fetch(&mut self) -> Result<Fetched<u64>> {
        Ok(self.0.next().map_or(Fetched::Ended, Fetched::Message))
    }
    fn emit(&mut self, order: &u64, emission: Emission<'_, '_>) {
        emission.emit(&values![*order, "tea"]);
    }
}

/// Is out of tea at every third order, once.
#[derive(Default)]
struct Ship {
    refused: BTreeSet<u64>,
    shipped: u64,
}

impl Bolt for Ship {
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        let order = input.field("order")?.as_u64().ok_or("an order is a number")?;
        if order % 3 == 0 && self.refused.insert(order) {
            collector.fail(input);
        } else {
            self.shipped += 1;
            collector.ack(input);
        }
        Ok(())
    }
    fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
        println!("{} orders shipped, {} of them at the second attempt", self.shipped, self.refused.len());
        Ok(())
    }
}

fn main() -> ExitCode {
    ringstorm::main("replay", |_: NoOptions| {
        let mut topology = TopologyBuilder::new();
        topology.spout("orders", || ReplayingSpout::new(Orders(1..=7)));
        topology.bolt("ship", Ship::default).fields_grouping("orders", ["order"]);
        Ok(topology)
    })
}
