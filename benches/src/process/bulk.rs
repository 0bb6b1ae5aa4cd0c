//! Raw sockets between two processes: bytes as fast as they go, and 64 bytes at a time under an open loop.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::result::Seen;
use super::{now_ns, pin};
use crate::error::BenchError;
use crate::placement::CpuPair;

/// Bytes of one write of the bulk sender; the best is the control.
pub const WRITE_BYTES: [usize; 3] = [16 << 10, 64 << 10, 256 << 10];
/// Bytes of one read.
const READ_BYTES: usize = 128 << 10;
/// Bytes of one message of the open loop: a number, when it was due, and a rest.
const MESSAGE_BYTES: usize = 64;

fn failed(what: &str) -> impl FnOnce(std::io::Error) -> BenchError {
    let what = what.to_owned();
    move |error| BenchError::Engine(format!("the control failed at {what}: {error}"))
}

/// The far end: this executable again, with the word `far-end`, an address, a CPU and what to do.
struct FarEnd(Child);

impl FarEnd {
    fn start(work: &str, address: SocketAddr, cpu: usize) -> Result<Self, BenchError> {
        let executable = std::env::current_exe().map_err(failed("finding its executable"))?;
        let mut command = Command::new(executable);
        command.args(["far-end", work, &address.to_string(), &cpu.to_string()]).stdout(Stdio::piped());
        Ok(Self(command.spawn().map_err(failed("starting the far end"))?))
    }

    /// What it printed: one number a line.
    fn numbers(mut self) -> Result<Vec<u64>, BenchError> {
        let mut text = String::new();
        if let Some(mut output) = self.0.stdout.take() {
            output.read_to_string(&mut text).map_err(failed("reading from the far end"))?;
        }
        self.0.wait().map_err(failed("waiting for the far end"))?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }
}

fn connect(work: &str, cpus: CpuPair) -> Result<(TcpStream, FarEnd), BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed("listening"))?;
    let address = listener.local_addr().map_err(failed("listening"))?;
    let far_end = FarEnd::start(work, address, cpus.sink)?;
    let (stream, _) = listener.accept().map_err(failed("accepting"))?;
    stream.set_nodelay(true).map_err(failed("setting up a socket"))?;
    Ok((stream, far_end))
}

/// Bytes per second from one process to another.
///
/// # Errors
/// [`BenchError`] of the system.
pub fn bulk(cpus: CpuPair, write_bytes: usize, time: Duration) -> Result<f64, BenchError> {
    let (mut stream, far_end) = connect("bulk", cpus)?;
    std::thread::scope(|scope| {
        scope
            .spawn(move || {
                pin(cpus.source)?;
                let bytes = vec![7; write_bytes];
                let until_ns = now_ns() + time.as_nanos() as u64;
                while now_ns() < until_ns {
                    stream.write_all(&bytes).map_err(failed("sending"))?;
                }
                Ok(())
            })
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    match far_end.numbers()?[..] {
        [bytes, nanoseconds] if nanoseconds > 0 => Ok(bytes as f64 * 1e9 / nanoseconds as f64),
        _ => Err(BenchError::NothingMeasured { what: "the bulk control".into() }),
    }
}

/// One way latencies of 64 bytes under an open loop, both ends spinning.
///
/// # Errors
/// [`BenchError`] of the system.
pub fn open_loop(cpus: CpuPair, rate: u64, time: Duration) -> Result<Seen, BenchError> {
    let (mut stream, far_end) = connect("open-loop", cpus)?;
    std::thread::scope(|scope| {
        scope
            .spawn(move || {
                pin(cpus.source)?;
                let (start_ns, mut message) = (now_ns(), [7; MESSAGE_BYTES]);
                let count = (time.as_secs_f64() * rate as f64) as u64;
                for number in 0..count {
                    let due_ns = start_ns + (u128::from(number) * 1_000_000_000 / u128::from(rate)) as u64;
                    while now_ns() < due_ns {
                        std::hint::spin_loop();
                    }
                    message[..8].copy_from_slice(&due_ns.to_le_bytes());
                    stream.write_all(&message).map_err(failed("sending"))?;
                }
                Ok(())
            })
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let mut seen = Seen::default();
    for latency_ns in far_end.numbers()? {
        seen.latency.saturating_record(latency_ns);
        seen.tuples += 1;
    }
    Ok(seen)
}

/// The `main` of the far end of a control.
///
/// # Errors
/// [`BenchError`] of the system.
pub fn far_end(work: &str, address: &str, cpu: &str) -> Result<(), BenchError> {
    pin(cpu.parse().unwrap_or_default())?;
    let mut stream = TcpStream::connect(address).map_err(failed("connecting"))?;
    stream.set_nodelay(true).map_err(failed("setting up a socket"))?;
    match work {
        "bulk" => {
            let (mut buffer, mut bytes, mut first_ns, mut last_ns) = (vec![0; READ_BYTES], 0_u64, 0, 0);
            loop {
                let count = stream.read(&mut buffer).map_err(failed("receiving"))?;
                if count == 0 {
                    break;
                }
                last_ns = now_ns();
                if first_ns == 0 {
                    first_ns = last_ns;
                } else {
                    bytes += count as u64;
                }
            }
            println!("{bytes}\n{}", last_ns - first_ns);
        }
        _ => {
            stream.set_nonblocking(true).map_err(failed("setting up a socket"))?;
            let (mut buffer, mut filled, mut latencies) = ([0; 4096], 0, Vec::new());
            loop {
                match stream.read(&mut buffer[filled..]) {
                    Ok(0) => break,
                    Ok(count) => filled += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        std::hint::spin_loop();
                        continue;
                    }
                    Err(error) => return Err(failed("receiving")(error)),
                }
                let now_ns = now_ns();
                let (messages, _) = buffer[..filled].as_chunks::<MESSAGE_BYTES>();
                for message in messages {
                    let due_ns = message.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                    latencies.push(now_ns.saturating_sub(due_ns));
                }
                let whole = messages.len() * MESSAGE_BYTES;
                buffer.copy_within(whole..filled, 0);
                filled -= whole;
            }
            latencies.iter().for_each(|latency_ns| println!("{latency_ns}"));
        }
    }
    Ok(())
}
