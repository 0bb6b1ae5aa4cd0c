//! Words to the bolt that counts them, grouped by word. After storm-perf's `SimplifiedWordCountTopo`.

use std::process::ExitCode;

use clap::Parser;
use ringstorm::TopologyBuilder;
use ringstorm_benches::arguments::Arguments;
use ringstorm_benches::engine::{CountBolt, EngineLeg, Measure, MeasuredSpout, Words};
use ringstorm_benches::harness;

const NAME: &str = "word_count";

fn main() -> ExitCode {
    harness::main(NAME, &Arguments::parse(), &mut EngineLeg::new(NAME, declare))
}

fn declare(topology: &mut TopologyBuilder, measure: &Measure) {
    let (at_spout, at_bolt) = (measure.clone(), measure.clone());
    topology.spout("spout", move || MeasuredSpout::new(&at_spout, Words::default()));
    topology.simple_bolt("counter", move || CountBolt::new(&at_bolt)).fields_grouping("spout", ["word"]);
}
