//! Any JSON as a tuple: comes back as it was.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ringstorm_tuple::fuzz::json(bytes));
