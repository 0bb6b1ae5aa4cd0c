//! placeholder
/// Trouble.
pub struct Trouble;
