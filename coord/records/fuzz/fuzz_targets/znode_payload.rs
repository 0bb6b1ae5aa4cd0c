//! Untrusted bytes in a znode: compressed or not, a record or something else, or one error.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ringstorm_records::fuzz::znode_payload(bytes));
