//! Untrusted bytes as every record: read and written again as the same, or one error.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ringstorm_records::fuzz::record(bytes));
