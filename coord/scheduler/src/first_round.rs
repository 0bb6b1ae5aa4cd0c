//! When a leader makes its first round: after a cold start it waits for supervisors.
//!
//! Ringstorm's own. When a whole cluster starts, its supervisors appear within seconds of each other. Storm schedules with
//! the first of them, and since it never moves what runs, the cluster stays uneven. Here the first round waits until the
//! supervisor that has been up longest has been so for [`COLD_START_WAIT`]. A leader that takes over a running cluster
//! therefore waits for nothing.

use std::time::Duration;

/// How long a cluster must have been up before its first round.
pub const COLD_START_WAIT: Duration = Duration::from_secs(10);

/// Whether a leader may make its first round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRound {
    /// It may.
    Now,
    /// Ask again after this time.
    In(Duration),
    /// Nothing can be placed. Ask again when a supervisor is there.
    WhenASupervisorIsThere,
}

/// Decides on the first round of a leader; later ones need no permission.
///
/// `uptimes` has one entry for each supervisor that is there: what it says itself (`uptime_secs` of its record), or the
/// time since this leader first saw it by its own monotonic clock, whichever is longer. A supervisor that starts anew in a
/// running cluster delays nothing, since others have been up for long.
pub fn first_round(uptimes: impl IntoIterator<Item = Duration>) -> FirstRound {
    match uptimes.into_iter().max() {
        None => FirstRound::WhenASupervisorIsThere,
        Some(longest) if longest >= COLD_START_WAIT => FirstRound::Now,
        Some(longest) => FirstRound::In(COLD_START_WAIT - longest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_cluster_waits_ten_seconds_for_supervisors_and_a_running_one_does_not() {
        let after = |seconds: &[u64]| first_round(seconds.iter().map(|seconds| Duration::from_secs(*seconds)));
        assert_eq!(after(&[]), FirstRound::WhenASupervisorIsThere);
        assert_eq!(after(&[0]), FirstRound::In(Duration::from_secs(10)));
        assert_eq!(after(&[1, 7, 3]), FirstRound::In(Duration::from_secs(3)));
        assert_eq!(after(&[10]), FirstRound::Now);
        // One of a running cluster has just started again.
        assert_eq!(after(&[0, 86_400]), FirstRound::Now);
        assert_eq!(first_round([Duration::from_millis(9_999)]), FirstRound::In(Duration::from_millis(1)));
    }
}
