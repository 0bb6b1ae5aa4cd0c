//! What each step does: which commands it runs and what it demands of their output.

pub(crate) mod lint;
pub(crate) mod miri;
pub(crate) mod programs;
pub(crate) mod test;
