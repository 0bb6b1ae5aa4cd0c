//! Untrusted bytes as payloads: refused, or safe to read in every way.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ringstorm_tuple::fuzz::payload(bytes));
