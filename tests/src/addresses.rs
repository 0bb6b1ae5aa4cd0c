//! Addresses for tests to listen on.

use std::net::TcpListener;

/// Different addresses of the loopback interface that nobody listens on now.
pub fn free_addresses<const N: usize>() -> [String; N] {
    // All at once, so that none is had twice.
    let listeners: [TcpListener; N] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().to_string())
}
