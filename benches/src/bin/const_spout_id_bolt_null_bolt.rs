//! Two hops: as `const_spout_null_bolt`, with a bolt between that emits what it receives. After storm-perf's
//! `ConstSpoutIdBoltNullBoltTopo`.

use std::process::ExitCode;

use clap::Parser;
use ringstorm::TopologyBuilder;
use ringstorm_benches::arguments::Arguments;
use ringstorm_benches::engine::{Bodies, EngineLeg, IdBolt, Measure, MeasuredSpout, NullBolt};
use ringstorm_benches::harness;

const NAME: &str = "const_spout_id_bolt_null_bolt";

fn main() -> ExitCode {
    harness::main(NAME, &Arguments::parse(), &mut EngineLeg::new(NAME, declare))
}

fn declare(topology: &mut TopologyBuilder, measure: &Measure) {
    let (at_spout, at_bolt) = (measure.clone(), measure.clone());
    topology.spout("spout", move || MeasuredSpout::new(&at_spout, Bodies));
    topology.bolt("id-bolt", || IdBolt).local_or_shuffle_grouping("spout");
    topology.simple_bolt("null-bolt", move || NullBolt::new(&at_bolt)).local_or_shuffle_grouping("id-bolt");
}
