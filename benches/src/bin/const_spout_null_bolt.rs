//! One hop: a spout that emits 64 bytes, a bolt that reads them. After storm-perf's `ConstSpoutNullBoltTopo`.

use std::process::ExitCode;

use clap::Parser;
use ringstorm::TopologyBuilder;
use ringstorm_benches::arguments::Arguments;
use ringstorm_benches::engine::{Bodies, EngineLeg, Measure, MeasuredSpout, NullBolt};
use ringstorm_benches::harness;

const NAME: &str = "const_spout_null_bolt";

fn main() -> ExitCode {
    harness::main(NAME, &Arguments::parse(), &mut EngineLeg::new(NAME, declare))
}

fn declare(topology: &mut TopologyBuilder, measure: &Measure) {
    let (at_spout, at_bolt) = (measure.clone(), measure.clone());
    topology.spout("spout", move || MeasuredSpout::new(&at_spout, Bodies));
    topology.simple_bolt("null-bolt", move || NullBolt::new(&at_bolt)).local_or_shuffle_grouping("spout");
}
