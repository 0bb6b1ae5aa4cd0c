//! Pauses that grow: none is a busy loop, and none is longer than its ceiling. Threading: plain data.

use std::time::Duration;

/// The pause after `failures` failures in a row, of which the first is followed by `first`: each is twice as long as the
/// one before, up to `longest`.
pub(crate) fn pause(first: Duration, longest: Duration, failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_ceiling() {
        let secs = |failures| pause(Duration::from_secs(1), Duration::from_secs(60), failures).as_secs();
        assert_eq!([0, 1, 2, 3, 6, 7, 32, 33, u32::MAX].map(secs), [1, 1, 2, 4, 32, 60, 60, 60, 60]);
    }
}
