//! The project's own automation: all checks, loom, Miri, fuzz replay, benches.
fn main() {}
