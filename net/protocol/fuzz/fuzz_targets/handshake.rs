//! Untrusted bytes in place of a handshake, for both sides: never agreed, and one error.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ringstorm_protocol::fuzz::handshake(bytes));
