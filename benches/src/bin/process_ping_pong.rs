//! A tuple of 64 bytes there and back between two processes, beside an echo over glommio's `TcpStream`.

use std::process::ExitCode;

use ringstorm_benches::process::harness::{self, Kind};
use ringstorm_benches::process::ping_pong;

fn main() -> ExitCode {
    harness::main("process_ping_pong", Kind::PingPong, ping_pong::build)
}
