//! Addresses for tests to listen on.

use ringstorm_ensemble::free_ports;

/// Different addresses of the loopback interface that nobody listens on, and that no other test is given.
pub fn free_addresses<const N: usize>() -> [String; N] {
    let mut ports = free_ports(N).into_iter();
    std::array::from_fn(|_| format!("127.0.0.1:{}", ports.next().expect("there are as many")))
}
