//! Ports for the servers of tests, which nobody else takes before they listen there, or between two of their lives.
//!
//! The kernel gives connections that go out, and listeners that ask for any port, numbers of a range of their own; so a port
//! of that range may be gone when a server comes to listen on it. Those given out here lie below that range, and are the
//! test's for as long as it runs: each has a name among the abstract sockets of Linux, which the kernel lets go of with the
//! process that has bound it.
//!
//! Threading: any thread. Errors: panics where there are too few.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};

/// Below what Linux gives out by itself (`net.ipv4.ip_local_port_range`, from 32768 on by default), and above what
/// `ringstorm dev` uses.
const PORTS: Range<u16> = 30_100..32_768;

/// Names of this process, until it ends.
static RESERVED: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());

/// Different ports that nobody listens on, and that no other test is given while this process runs.
///
/// # Panics
/// There are fewer than so many.
pub fn free_ports(count: usize) -> Vec<u16> {
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut free = PORTS.filter(|port| {
        let name = SocketAddr::from_abstract_name(format!("ringstorm-test-port-{port}"));
        let Ok(socket) = name.and_then(|name| UnixDatagram::bind_addr(&name)) else { return false };
        let is_free = TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok();
        // One that somebody else listens on is not looked at again either.
        reserved.push(socket);
        is_free
    });
    let ports: Vec<u16> = free.by_ref().take(count).collect();
    assert_eq!(ports.len(), count, "there are not so many free ports in {PORTS:?}");
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_out_twice_and_none_that_the_kernel_may_give_out() {
        let (first, second) = (free_ports(20), free_ports(20));
        let listeners: Vec<_> = first.iter().map(|port| TcpListener::bind(("127.0.0.1", *port)).unwrap()).collect();
        let third = free_ports(1);
        assert!(first.iter().all(|port| !second.contains(port) && !third.contains(port)));
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let from: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
        assert!(first.iter().chain(&second).all(|port| *port < from), "{range}");
        drop(listeners);
    }
}
