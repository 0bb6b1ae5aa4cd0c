//! Pauses that grow: none is a busy loop, and none is longer than its ceiling. Threading: plain data.

use std::time::Duration;

/// The pause after `failures` failures in a row, of which the first is followed by `first`: each is twice as long as the
/// one before, up to `longest`.
pub fn pause(first: Duration, longest: Duration, failures: u32) -> Duration {
    let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
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
