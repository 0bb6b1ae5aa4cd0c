//! The port of a slot.
//!
//! Threading: none of its own. Errors: what is wrong with the slot, as the supervisor wants to know it.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};

use ringstorm_launch::{Launch, SlotTrouble};

/// Why a slot cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    pub(crate) kind: SlotTrouble,
    pub(crate) why: String,
}

/// Listens at the port of the slot.
pub(crate) fn bind(launch: &Launch) -> Result<TcpListener, Unusable> {
    let address = SocketAddr::new(launch.bind_address, launch.port);
    TcpListener::bind(address).map_err(|error| {
        let kind = trouble(&error);
        let advice = match kind {
            SlotTrouble::PortTaken => "end whatever has the port, or take it out of supervisor.slots.ports",
            SlotTrouble::AddressUnusable => "correct ringstorm.bind.address",
            SlotTrouble::ResourcesExhausted => "raise the limit of open files or give the host more memory",
            SlotTrouble::Other => "look whether this user may listen there",
        };
        Unusable { kind, why: format!("it cannot listen at {address}: {error}; {advice}") }
    })
}

/// What an error of the system says of the slot.
pub(crate) fn trouble(error: &io::Error) -> SlotTrouble {
    match error.kind() {
        ErrorKind::AddrInUse => SlotTrouble::PortTaken,
        ErrorKind::AddrNotAvailable => SlotTrouble::AddressUnusable,
        _ => match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS | libc::EAGAIN) => {
                SlotTrouble::ResourcesExhausted
            }
            Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => SlotTrouble::AddressUnusable,
            _ => SlotTrouble::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::tests::launch;

    #[test]
    fn a_port_that_is_taken_and_an_address_of_another_host_are_told_apart() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let of = |address: &str| Launch { bind_address: address.parse().unwrap(), port, ..launch() };
        let unusable = bind(&of("127.0.0.1")).unwrap_err();
        assert_eq!(unusable.kind, SlotTrouble::PortTaken);
        assert!(unusable.why.contains(&port.to_string()) && unusable.why.contains("supervisor.slots.ports"));
        assert_eq!(bind(&of("203.0.113.1")).unwrap_err().kind, SlotTrouble::AddressUnusable);
        drop(taken);
        assert!(bind(&of("127.0.0.1")).is_ok());
    }

    #[test]
    fn want_of_descriptors_is_no_fault_of_the_port() {
        assert_eq!(trouble(&io::Error::from_raw_os_error(libc::EMFILE)), SlotTrouble::ResourcesExhausted);
        assert_eq!(trouble(&io::Error::from_raw_os_error(libc::EACCES)), SlotTrouble::Other);
    }
}
