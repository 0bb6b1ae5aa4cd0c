//! Untrusted bytes on the nimbus port: calls and answers, in frames or not.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ringstorm_records::fuzz::message(bytes));
