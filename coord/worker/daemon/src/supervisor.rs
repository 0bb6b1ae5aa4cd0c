//! What is said to the supervisor, by datagrams to its control socket.
//!
//! A supervisor that is not there hears nothing, and is not waited for: it binds its socket anew when it is back, and the
//! next beat reaches it. Threading: belongs to the control thread; never waits. Errors: none; what is lost is said again.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use ringstorm_launch::{Datagram, Launch, SlotTrouble, WorkerSays};

/// The way to the supervisor.
#[derive(Debug)]
pub(crate) struct Supervisor {
    socket: Option<UnixDatagram>,
    path: PathBuf,
    port: u16,
    incarnation: u64,
}

impl Supervisor {
    /// To the one that wrote the launch file.
    pub(crate) fn new(launch: &Launch) -> Self {
        let socket = UnixDatagram::unbound().and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let (port, incarnation) = (launch.port, launch.incarnation);
        Self { socket: socket.ok(), path: launch.control_socket.clone(), port, incarnation }
    }

    pub(crate) fn ready(&self) {
        self.say(WorkerSays::Ready { port: self.port, incarnation: self.incarnation });
    }

    pub(crate) fn beat(&self) {
        self.say(WorkerSays::Beat { port: self.port, incarnation: self.incarnation });
    }

    pub(crate) fn stale(&self, newest: u64) {
        self.say(WorkerSays::Stale { port: self.port, incarnation: self.incarnation, newest });
    }

    pub(crate) fn cannot_use_slot(&self, kind: SlotTrouble, why: &str) {
        let (port, incarnation, why) = (self.port, self.incarnation, why.to_owned());
        self.say(WorkerSays::CannotUseSlot { port, incarnation, kind, why });
    }

    pub(crate) fn leaves(&self, why: &str) {
        self.say(WorkerSays::Leaves { port: self.port, incarnation: self.incarnation, why: why.to_owned() });
    }

    fn say(&self, says: WorkerSays) {
        if let Some(socket) = &self.socket {
            // One that is away, or whose socket is full, hears of the next.
            let _ = socket.send_to(&Datagram::from(says).to_bytes(), &self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::tests::launch;

    #[test]
    fn a_supervisor_that_is_away_costs_nothing_and_hears_again_when_it_is_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control.sock");
        let supervisor = Supervisor::new(&Launch { control_socket: path.clone(), ..launch() });
        supervisor.ready();
        for _ in 0..2 {
            let socket = UnixDatagram::bind(&path).unwrap();
            supervisor.beat();
            let mut bytes = [0; 512];
            let count = socket.recv(&mut bytes).unwrap();
            let Ok(Datagram::Worker(says)) = Datagram::from_bytes(&bytes[..count]) else { panic!() };
            assert_eq!(says, WorkerSays::Beat { port: 6700, incarnation: 7 });
            std::fs::remove_file(&path).unwrap();
        }
    }
}
