//! Names of hosts to addresses, within a limit of time.
//!
//! The system's look-up can take much longer than anybody wants to wait, and cannot be broken off. So it runs on a thread
//! of its own, which is left alone when it takes too long and ends when the look-up does.
//!
//! Errors: words for whoever wanted the connection.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::sync_channel;
use std::thread;

use crate::deadline::Deadline;

/// The addresses of a host, at least one.
pub(crate) fn resolve(host: &str, port: u16, deadline: Deadline) -> Result<Vec<SocketAddr>, String> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let too_long = || format!("the look-up of the host name {host} took too long");
    // No thread for what nobody can wait for.
    let limit = deadline.left().ok_or_else(too_long)?;
    let (sender, receiver) = sync_channel(1);
    let name = host.to_owned();
    let look_up = move || {
        let found = (name.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        // Nobody listens when it took too long.
        let _ = sender.send(found);
    };
    thread::Builder::new()
        .name("name-look-up".into())
        .spawn(look_up)
        .map_err(|error| format!("no thread can be started for the look-up of {host}: {error}"))?;
    match receiver.recv_timeout(limit) {
        Ok(Ok(found)) if !found.is_empty() => Ok(found),
        Ok(Ok(_)) => Err(format!("the host name {host} has no address")),
        Ok(Err(error)) => Err(format!("the host name {host} cannot be looked up: {error}")),
        Err(_) => Err(too_long()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn addresses_need_no_look_up() {
        let over = Deadline::after(Duration::ZERO);
        for (host, address) in [("127.0.0.1", "127.0.0.1:6627"), ("::1", "[::1]:6627"), ("[::1]", "[::1]:6627")] {
            assert_eq!(resolve(host, 6627, over), Ok(vec![address.parse().unwrap()]));
        }
    }

    #[test]
    fn a_name_that_takes_too_long_or_is_unknown_costs_one_error() {
        let error = resolve("localhost", 1, Deadline::after(Duration::ZERO)).unwrap_err();
        assert!(error.contains("localhost") && error.contains("too long"), "{error}");
        let error = resolve("no such host", 1, Deadline::after(Duration::from_secs(20))).unwrap_err();
        assert!(error.contains("no such host"), "{error}");
    }
}
