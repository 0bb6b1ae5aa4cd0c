//! The control socket: what workers and operators say to the supervisor, as datagrams.
//!
//! Invariants: what a worker says is heard only for a process that is known, and no more often than
//! [`HEARD_PER_SECOND`]; so that no worker can fill the daemon's memory. What is passed over is counted and said, no more
//! often than [`SAID_AFTER`]. Threading: a thread of its own reads. Errors: of the start, returned; datagrams that make no
//! sense cost a line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use ringstorm_launch::says::DATAGRAM_BYTES_MAX;
use ringstorm_launch::{Datagram, OperatorSays, WorkerSays};
use ringstorm_supervisor::SupervisorInput;
use ringstorm_supervisor::events::{OperatorEvent, ProcessEvent};

use crate::disk;
use crate::processes::{Id, Processes};

/// What is heard of one worker in a second; one of ours says one thing.
const HEARD_PER_SECOND: u32 = 20;

/// Between two lines about what was passed over.
const SAID_AFTER: Duration = Duration::from_secs(10);

/// The longest path of a socket, in bytes (`sun_path` of Linux, with its end).
const PATH_BYTES_MAX: usize = 107;

/// Binds the socket, in place of what an earlier daemon has left there.
///
/// # Errors
/// Its path is too long, or it cannot be made.
pub(crate) fn bind(path: &Path) -> io::Result<UnixDatagram> {
    if path.as_os_str().len() > PATH_BYTES_MAX {
        let why = format!(
            "the control socket {} has a path of more than {PATH_BYTES_MAX} bytes, which no socket can have; set \
             storm.local.dir to a shorter one",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, why));
    }
    disk::remove_file(path)?;
    let failed = |error: io::Error| {
        io::Error::new(error.kind(), format!("the control socket {} cannot be made: {error}", path.display()))
    };
    let socket = UnixDatagram::bind(path).map_err(failed)?;
    // Only this user's processes are workers.
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(socket)
}

/// Reads the socket for as long as the process lives.
///
/// # Errors
/// No thread can be started.
pub(crate) fn listen(
    socket: UnixDatagram,
    processes: Processes,
    tell: impl Fn(SupervisorInput) + Send + 'static,
    note: impl Fn(&str) + Send + 'static,
) -> io::Result<()> {
    let mut ear = Ear::default();
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX + 1];
    let hear = move || {
        loop {
            let heard = match socket.recv(&mut buffer) {
                Ok(count) => ear.hear(Instant::now(), &buffer[..count], &processes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                Err(error) => {
                    // Not to spin, should it stay so.
                    std::thread::sleep(Duration::from_secs(1));
                    Err(format!("the control socket cannot be read: {error}"))
                }
            };
            match heard {
                Ok(input) => input.into_iter().for_each(&tell),
                Err(why) => ear.pass_over(Instant::now(), &why).into_iter().for_each(|line| note(&line)),
            }
        }
    };
    std::thread::Builder::new().name("control".into()).spawn(hear).map(drop)
}

/// What decides which words are heard.
#[derive(Default)]
struct Ear {
    /// When a second began, and how much was heard in it, by process.
    heard: BTreeMap<Id, (Instant, u32)>,
    passed_over: u64,
    said: Option<Instant>,
}

impl Ear {
    fn hear(&mut self, now: Instant, bytes: &[u8], processes: &Processes) -> Result<Option<SupervisorInput>, String> {
        let says = match Datagram::from_bytes(bytes).map_err(|error| error.to_string())? {
            Datagram::Operator(says) => {
                return Ok(Some(SupervisorInput::Operator(match says {
                    OperatorSays::OutOfService => OperatorEvent::OutOfService,
                    OperatorSays::InService => OperatorEvent::InService,
                })));
            }
            Datagram::Worker(says) => says,
        };
        let id = says.process();
        if !processes.knows(id) {
            self.heard.remove(&id);
            return Err(format!("slot {} has no process with incarnation {}", id.0, id.1));
        }
        self.is_heard(now, id, processes)?;
        let (port, incarnation) = id;
        let event = match says {
            WorkerSays::Ready { .. } => ProcessEvent::Ready { port, incarnation },
            WorkerSays::Beat { .. } => ProcessEvent::Beat { port, incarnation },
            WorkerSays::Stale { newest, .. } => ProcessEvent::Stale { port, incarnation, newest },
            WorkerSays::CannotUseSlot { kind, why, .. } => {
                processes.cannot_use_slot(id, kind, why);
                return Ok(None);
            }
            WorkerSays::Leaves { why, .. } => {
                processes.leaves(id, why);
                return Ok(None);
            }
        };
        Ok(Some(SupervisorInput::Process(event)))
    }

    fn is_heard(&mut self, now: Instant, id: Id, processes: &Processes) -> Result<(), String> {
        let (since, count) = self.heard.entry(id).or_insert((now, 0));
        if now.duration_since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        if *count > HEARD_PER_SECOND {
            return Err(format!("the worker in slot {} says more than {HEARD_PER_SECOND} things in a second", id.0));
        }
        // As many as there are processes, and not one for each that ever was.
        self.heard.retain(|other, _| *other == id || processes.knows(*other));
        Ok(())
    }

    /// A line, when it is time for one.
    fn pass_over(&mut self, now: Instant, why: &str) -> Option<String> {
        self.passed_over += 1;
        if self.said.is_some_and(|said| now.duration_since(said) < SAID_AFTER) {
            return None;
        }
        self.said = Some(now);
        let mut line = format!("passed over what was said by the control socket: {why}");
        let others = std::mem::take(&mut self.passed_over) - 1;
        if others > 0 {
            let _ = write!(line, " (and {others} times something else like it since the last such line)");
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_costs_a_line_from_time_to_time() {
        let mut ear = Ear::default();
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        assert!(ear.pass_over(at(0), "noise").unwrap().ends_with("noise"));
        assert!((1..10).all(|secs| ear.pass_over(at(secs), "noise").is_none()));
        assert!(ear.pass_over(at(10), "noise").unwrap().contains("and 9 times"));
    }

    #[test]
    fn the_socket_takes_the_place_of_an_earlier_one_and_is_only_this_users() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        drop(bind(&path).unwrap());
        let socket = bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        UnixDatagram::unbound().unwrap().send_to(b"x", &path).unwrap();
        assert_eq!(socket.recv(&mut [0; 4]).unwrap(), 1);
        let long = folder.path().join("x".repeat(120));
        assert!(bind(&long).unwrap_err().to_string().contains("shorter"));
    }
}
