//! One hop between two processes: 64 bytes, fields grouping, beside raw TCP.

use std::process::ExitCode;

use ringstorm_benches::process::harness::{self, Kind};
use ringstorm_benches::process::hop;

fn main() -> ExitCode {
    harness::main("process_hop", Kind::Hop, hop::build)
}
