//! The worker processes as the system knows them, and the socket at which they reach this one.
//!
//! Invariants: the directory of the socket goes with it; processes that nobody takes are killed.
//!
//! Threading: none of its own. Errors: the system's, with what was to be done.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::error::StartError;
use crate::worker::talk::{self, FromWorker};

/// How long one that has connected may take to say hello.
const HELLO_READ_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn system(what: &str) -> impl FnOnce(io::Error) -> StartError {
    let what = what.to_owned();
    move |source| StartError::System { what, source }
}

/// The directory of the socket, which goes with it.
pub(super) struct SocketPath(PathBuf);

impl SocketPath {
    pub(super) fn socket(&self) -> PathBuf {
        self.0.join("leader")
    }

    pub(super) fn remove(&self) {
        // Whoever cleans the directory of temporary files may have been faster.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A socket in a directory of its own, which nobody else has.
pub(super) fn listen(seed: u64) -> Result<(SocketPath, UnixListener), StartError> {
    let temporary = std::env::temp_dir();
    let directory = temporary.join(format!("ringstorm-{seed:016x}"));
    let refused = |source| StartError::TemporaryDirectory { path: temporary.clone(), source };
    std::fs::create_dir(&directory).map_err(refused)?;
    let path = SocketPath(directory);
    let listener = UnixListener::bind(path.socket()).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    Ok((path, listener))
}

/// The next worker that has connected and said hello, its number and where it listens; `None` if there is none now.
pub(super) fn accept(listener: &UnixListener) -> io::Result<Option<(UnixStream, usize, String)>> {
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(HELLO_READ_TIMEOUT))?;
        let hello = talk::read(&mut stream);
        stream.set_read_timeout(None)?;
        // Whoever dies in the middle of it is noticed by its end.
        if let Ok(Some(FromWorker::Hello { worker, address })) = hello {
            return Ok(Some((stream, worker, address)));
        }
    }
}

/// Starts a process; an error names what could not be started.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    command.spawn().map_err(|error| io::Error::new(error.kind(), format!("{:?}: {error}", command.get_program())))
}

/// Waits for a process until then, and kills it. How it ended, if that can be known.
pub(super) fn end(process: &mut Child, until: Instant) -> Option<ExitStatus> {
    while matches!(process.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            let _ = process.kill();
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    process.wait().ok()
}

/// Processes that are killed unless they are taken.
pub(super) struct Processes(pub(super) Vec<Child>);

impl Processes {
    pub(super) fn take(&mut self) -> Vec<Child> {
        std::mem::take(&mut self.0)
    }

    /// Whether all of them still run.
    pub(super) fn check(&mut self) -> Result<(), StartError> {
        for (worker, process) in self.0.iter_mut().enumerate() {
            if let Some(status) = process.try_wait().map_err(system("asking for a worker process"))? {
                return Err(StartError::Worker(format!("worker {worker} ended before it was ready: {status}")));
            }
        }
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
