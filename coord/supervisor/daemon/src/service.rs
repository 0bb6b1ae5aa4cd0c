//! Whether a host is in service, as an operator wants it: told to its supervisor, and looked after.
//!
//! A supervisor saves what it was told before it acts on it, so that its local state shows that it was heard. Of one that
//! does not run, the state is changed here, under the lock of the daemon, and it finds that when it is back.
//!
//! Threading: whoever calls waits. Errors: [`NotTold`].

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringstorm_daemon::{DirectoryLock, LockError};
use ringstorm_launch::{Datagram, OperatorSays};
use ringstorm_supervisor::LocalState;

use crate::disk;
use crate::layout::Layout;
use crate::state;

/// Between two looks at the state.
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// Between two looks whether it is one's turn.
const TURN_PERIOD: Duration = Duration::from_millis(2);

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The supervisor has taken it up.
    TakenUp,
    /// None runs; the next one takes it up.
    Noted,
    /// The supervisor was told, and has not taken it up in the time that there was.
    NotYet,
}

/// Why a supervisor cannot be told: nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum NotTold {
    /// Its socket takes nothing.
    #[error("the supervisor of this host cannot be told at {}: {why}; look whether it runs, as which user, and with which \
             storm.local.dir", .socket.display())]
    Socket {
        /// The socket.
        socket: PathBuf,
        /// Why.
        why: String,
    },
    /// None runs, and it cannot be noted for the next one.
    #[error(
        "no supervisor runs on this host, and its local state, by which the next one would know, cannot be changed: \
             {0}; mend that, and say it again"
    )]
    State(String),
    /// Other commands tell it something, one after the other.
    #[error(
        "the supervisor of this host was not told: other such commands were being taken up meanwhile; say it again, \
             if it is still wanted"
    )]
    Busy,
}

/// Tells the supervisor below this `storm.local.dir`, and waits for at most this long until it has taken it up, once it is
/// this one's turn, which is waited for as long at most.
///
/// Commands take turns, so that none is overtaken by one that says the opposite, and waits for what has come and gone.
///
/// # Errors
/// It cannot be told, and none has ever run there, or what the last one has left cannot be changed.
pub fn tell_service(local_dir: &Path, says: OperatorSays, limit: Duration) -> Result<Told, NotTold> {
    let layout = Layout::new(local_dir, local_dir);
    let socket = layout.control_socket();
    let failed = |why: String| NotTold::Socket { socket: socket.clone(), why };
    let is_out = says == OperatorSays::OutOfService;
    let _turn = turn(&layout.supervisor(), Instant::now() + limit)?;
    let deadline = Instant::now() + limit;
    while let Err(error) = send(&socket, says) {
        let is_away = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused);
        if !is_away || !layout.local_state().exists() {
            return Err(failed(error.to_string()));
        }
        match DirectoryLock::take(local_dir, "supervisor") {
            Ok(_lock) => return note(&layout, is_out).map(|()| Told::Noted).map_err(NotTold::State),
            // It is starting, or ending.
            Err(LockError::Held { .. }) if Instant::now() < deadline => std::thread::sleep(LOOK_PERIOD),
            Err(other) => return Err(failed(format!("{error}, and {other}"))),
        }
    }
    loop {
        if read(&layout).is_ok_and(|state| state.is_out_of_service == is_out) {
            return Ok(Told::TakenUp);
        }
        if Instant::now() >= deadline {
            return Ok(Told::NotYet);
        }
        std::thread::sleep(LOOK_PERIOD);
    }
}

/// The turn of one who tells, for as long as the file is open: a lock of the folder, which takes no room on a full disk.
/// `None` where it cannot be locked; whoever tells goes on without.
fn turn(folder: &Path, deadline: Instant) -> Result<Option<File>, NotTold> {
    let Ok(folder) = File::open(folder) else { return Ok(None) };
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(NotTold::Busy),
            Err(TryLockError::WouldBlock) => std::thread::sleep(TURN_PERIOD),
        }
    }
}

fn send(socket: &Path, says: OperatorSays) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    // One that reads nothing is not waited for here.
    sender.set_nonblocking(true)?;
    sender.send_to(&Datagram::Operator(says).to_bytes(), socket).map(drop)
}

/// The state that the daemon has saved last.
fn read(layout: &Layout) -> Result<LocalState, String> {
    let bytes = disk::read_bounded(&layout.local_state(), state::BYTES_MAX).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    LocalState::from_text(&text).map_err(|error| error.to_string())
}

/// Only to be called with the daemon's lock.
fn note(layout: &Layout, is_out: bool) -> Result<(), String> {
    let state = LocalState { is_out_of_service: is_out, ..read(layout)? };
    state::save(layout, &state).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(state: &LocalState) -> (tempfile::TempDir, Layout) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), folder.path());
        disk::make_folder(&layout.supervisor()).unwrap();
        state::save(&layout, state).unwrap();
        (folder, layout)
    }

    #[test]
    fn one_that_does_not_run_finds_it_when_it_is_back() {
        let before = LocalState { supervisor: Some("id".into()), ..LocalState::default() };
        let (folder, layout) = folder_with(&before);
        for (says, is_out) in [(OperatorSays::OutOfService, true), (OperatorSays::InService, false)] {
            assert_eq!(tell_service(folder.path(), says, Duration::ZERO).unwrap(), Told::Noted);
            assert_eq!(read(&layout).unwrap(), LocalState { is_out_of_service: is_out, ..before.clone() });
        }
    }

    #[test]
    fn one_that_hears_and_does_not_act_has_not_taken_it_up() {
        let (folder, layout) = folder_with(&LocalState::default());
        let socket = UnixDatagram::bind(layout.control_socket()).unwrap();
        let says = OperatorSays::OutOfService;
        assert_eq!(tell_service(folder.path(), says, Duration::from_millis(50)).unwrap(), Told::NotYet);
        let mut bytes = [0; 512];
        let count = socket.recv(&mut bytes).unwrap();
        assert_eq!(Datagram::from_bytes(&bytes[..count]), Ok(Datagram::Operator(says)));
        state::save(&layout, &LocalState { is_out_of_service: true, ..LocalState::default() }).unwrap();
        assert_eq!(tell_service(folder.path(), says, Duration::from_millis(50)).unwrap(), Told::TakenUp);
    }

    #[test]
    fn opposite_orders_take_turns_and_each_is_taken_up() {
        let (folder, layout) = folder_with(&LocalState::default());
        let socket = UnixDatagram::bind(layout.control_socket()).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let tell = |says| tell_service(folder.path(), says, Duration::from_secs(20)).unwrap();
        std::thread::scope(|scope| {
            let orders: Vec<_> = (0..30)
                .map(|at| if at % 2 == 0 { OperatorSays::OutOfService } else { OperatorSays::InService })
                .map(|says| scope.spawn(move || tell(says)))
                .collect();
            let mut bytes = [0; 512];
            while orders.iter().any(|order| !order.is_finished()) {
                // As a supervisor does that takes up what has come, and saves once.
                let mut last = None;
                while let Ok(count) = socket.recv(&mut bytes) {
                    last = Some(
                        Datagram::from_bytes(&bytes[..count]) == Ok(Datagram::Operator(OperatorSays::OutOfService)),
                    );
                }
                if let Some(is_out_of_service) = last {
                    state::save(&layout, &LocalState { is_out_of_service, ..LocalState::default() }).unwrap();
                }
            }
            for order in orders {
                assert_eq!(order.join().unwrap(), Told::TakenUp);
            }
        });
        let _turn = turn(&layout.supervisor(), Instant::now()).unwrap();
        let error = tell_service(folder.path(), OperatorSays::InService, Duration::from_millis(10)).unwrap_err();
        assert!(error.to_string().contains("was not told: other such commands"), "{error}");
    }

    #[test]
    fn a_state_that_cannot_be_changed_is_what_the_error_speaks_of() {
        let (folder, layout) = folder_with(&LocalState::default());
        std::fs::write(layout.local_state(), "{").unwrap();
        let error = tell_service(folder.path(), OperatorSays::OutOfService, Duration::ZERO).unwrap_err().to_string();
        assert!(error.starts_with("no supervisor runs on this host, and its local state"), "{error}");
        assert!(!error.contains("control.sock"), "{error}");
    }

    #[test]
    fn where_none_was_ever_nobody_can_be_told() {
        let folder = tempfile::tempdir().unwrap();
        let error = tell_service(folder.path(), OperatorSays::InService, Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("cannot be told") && !folder.path().join("supervisor.lock").exists());
    }
}
