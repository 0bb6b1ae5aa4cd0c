//! Raw controls: the same bytes moved by hand-written code, as fast as the machine allows. What the engine's figures
//! are divided by.

pub mod cache_line;
pub mod raw_ring;
pub mod raw_ring_open_loop;
