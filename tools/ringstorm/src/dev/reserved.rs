//! Ports that a cluster of this machine has for itself, also while nobody listens there.
//!
//! The slot of a worker that does not run looks free to a second cluster, and both would start workers there. So each port
//! has a name among the abstract sockets of Linux, which belong to the same network as the ports: whoever has bound it has
//! the port. Nothing lies on a disk, and the kernel lets go of it with the process, whatever ends that.
//!
//! Threading: belongs to one thread. Errors: a name that cannot be had is taken.

use std::cell::RefCell;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Ports that this process has, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Reserved(RefCell<Vec<UnixDatagram>>);

impl Reserved {
    /// Whether this process has the port from now on; false if another cluster has it.
    pub(super) fn take(&self, port: u16) -> bool {
        let name = format!("ringstorm-dev-port-{port}");
        let bound = SocketAddr::from_abstract_name(name).and_then(|address| UnixDatagram::bind_addr(&address));
        bound.map(|socket| self.0.borrow_mut().push(socket)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_belongs_to_one_cluster_until_that_ends() {
        // No port of a cluster: those end at 30000.
        let port = 30_001;
        let (first, second) = (Reserved::default(), Reserved::default());
        assert!(first.take(port));
        assert!(!second.take(port) && second.take(port + 1));
        drop(first);
        assert!(second.take(port));
    }
}
