//! Untrusted bytes on a connection whose handshake is done: units in order, or one error.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ringstorm_protocol::fuzz::units(bytes));
