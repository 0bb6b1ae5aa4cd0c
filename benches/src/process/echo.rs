//! 64 bytes there and back between two processes over glommio's own `TcpStream`, as it comes.

use std::io;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use glommio::net::{TcpListener, TcpStream};
use glommio::{LocalExecutorBuilder, Placement};

use super::now_ns;
use super::result::Seen;
use crate::error::BenchError;
use crate::placement::CpuPair;

const BALL_BYTES: usize = 64;

fn failed(what: impl std::fmt::Display) -> BenchError {
    BenchError::Engine(format!("the control failed: {what}"))
}

/// Round trips for some time.
///
/// # Errors
/// [`BenchError`] of the system.
pub fn round_trips(cpus: CpuPair, warm_up: Duration, time: Duration) -> Result<Seen, BenchError> {
    let executable = std::env::current_exe().map_err(failed)?;
    let (address_sender, addresses) = std::sync::mpsc::channel::<SocketAddr>();
    let thread = std::thread::spawn(move || {
        let executor = LocalExecutorBuilder::new(Placement::Fixed(cpus.source)).make().map_err(failed)?;
        executor.run(async move {
            let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
            let _ = address_sender.send(listener.local_addr().map_err(failed)?);
            let mut stream = listener.accept().await.map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            let (mut seen, mut ball) = (Seen::default(), [7; BALL_BYTES]);
            let begin_ns = now_ns() + warm_up.as_nanos() as u64;
            let until_ns = begin_ns + time.as_nanos() as u64;
            loop {
                let sent_ns = now_ns();
                stream.write_all(&ball).await.map_err(failed)?;
                stream.read_exact(&mut ball).await.map_err(failed)?;
                let back_ns = now_ns();
                if back_ns >= begin_ns {
                    seen.latency.saturating_record(back_ns - sent_ns);
                    seen.tuples += 1;
                }
                if back_ns >= until_ns {
                    return Ok(seen);
                }
            }
        })
    });
    let address = addresses.recv().map_err(failed)?;
    let mut far_end = Command::new(executable);
    far_end.args(["far-end", "echo", &address.to_string(), &cpus.sink.to_string()]).stdout(Stdio::null());
    let mut far_end = far_end.spawn().map_err(failed)?;
    let seen = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    far_end.wait().map_err(failed)?;
    seen
}

/// The far end: sends back what comes.
///
/// # Errors
/// [`BenchError`] of the system.
pub fn far_end(address: &str, cpu: &str) -> Result<(), BenchError> {
    let placement = Placement::Fixed(cpu.parse().unwrap_or_default());
    let executor = LocalExecutorBuilder::new(placement).make().map_err(failed)?;
    let address: SocketAddr = address.parse().map_err(failed)?;
    executor.run(async move {
        let mut stream = TcpStream::connect(address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let mut ball = [0; BALL_BYTES];
        loop {
            match stream.read_exact(&mut ball).await {
                Ok(()) => stream.write_all(&ball).await.map_err(failed)?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
    })
}
