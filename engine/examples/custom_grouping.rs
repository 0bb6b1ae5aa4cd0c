//! A grouping of one's own: orders go to the task that serves their region, large ones to the first task as well.
//!
//! ```text
//! cargo run --release -p ringstorm --example custom_grouping -- local
//! ```
//!
//! prints on standard output what each of three tasks got, in the order in which they end:
//!
//! ```text
//! desk 0: 365 orders, 365 of them above 950 or from the north
//! desk 1: 333 orders, 16 of them above 950 or from the north
//! desk 2: 333 orders, 15 of them above 950 or from the north
//! ```

use ringstorm::prelude::*;
use ringstorm::{CustomGrouping, FieldRef, GroupedTuple, TaskId};

#[derive(Tuple)]
struct Order<'a> {
    region: &'a str,
    amount: u64,
}

struct Orders {
    next: u64,
}

impl Spout for Orders {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Order>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        const REGIONS: [&str; 3] = ["north", "south", "west"];
        if self.next == 1000 {
            return Ok(Next::Finished);
        }
        let region = REGIONS[self.next as usize % REGIONS.len()];
        collector.emit_with_id(self.next, &Order { region, amount: (self.next * 7919) % 1000 });
        self.next += 1;
        Ok(Next::Emitted)
    }
}

/// Chooses among as many tasks as there are, by position.
#[derive(Default)]
struct ByRegion {
    task_count: usize,
}

impl CustomGrouping for ByRegion {
    fn prepare(&mut self, targets: &[TaskId]) {
        self.task_count = targets.len();
    }
    fn choose(&mut self, order: &GroupedTuple<'_>, targets: &mut Vec<usize>) {
        // Fields come in the order in which `Order` declares them.
        let region = match order.get(0) {
            FieldRef::Str("north") => 0,
            FieldRef::Str("south") => 1,
            _ => 2,
        };
        targets.push(region % self.task_count);
        if matches!(order.get(1), FieldRef::UInt(amount) if amount > 950) && region != 0 {
            targets.push(0);
        }
    }
}

#[derive(Default)]
struct Desk {
    index: usize,
    orders: u64,
    important: u64,
}

impl SimpleBolt for Desk {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.index = context.task_index();
        Ok(())
    }
    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        let order = input.view::<Order>()?;
        self.orders += 1;
        self.important += u64::from(order.amount() > 950 || order.region() == "north");
        Ok(())
    }
    fn cleanup(&mut self) {
        let Self { index, orders, important } = self;
        println!("desk {index}: {orders} orders, {important} of them above 950 or from the north");
    }
}

fn build(_: NoOptions) -> Result<TopologyBuilder> {
    let mut topology = TopologyBuilder::new();
    topology.spout("orders", || Orders { next: 0 });
    topology.simple_bolt("desks", Desk::default).parallelism(3).custom_grouping(
        "orders",
        "by region",
        ByRegion::default,
    );
    Ok(topology)
}

fn main() -> ExitCode {
    ringstorm::main("custom_grouping", build)
}
