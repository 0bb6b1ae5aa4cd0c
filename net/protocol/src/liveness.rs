//! When the machine of a peer is silent: decided from what this machine's kernel knows of a connection, never from how
//! long the peer's program has said nothing, since a program may be busy or stopped and go on.
//!
//! A kernel that lives acknowledges data at once, answers probes of a full window, and answers keepalive probes. While
//! data is on its way, no acknowledgement for 2.5 seconds is silence. While the peer's window is full, probes go out at
//! growing intervals: four of them without an answer are silence. While nothing is on its way the kernel's own
//! keepalive ends the connection (its interval and count are set where the socket is made).

use std::time::Duration;

/// Data without an acknowledgement for so long.
const SILENCE: Duration = Duration::from_millis(2500);
/// Probes without an answer; the kernel's fourth goes out 1.4 seconds or more after the first.
const PROBES: u32 = 4;

/// What the kernel says of a connection (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelView {
    /// Segments on their way that were not acknowledged.
    pub unacknowledged: u32,
    /// Since the last acknowledgement came.
    pub since_acknowledged: Duration,
    /// Probes of a full window, or keepalive probes, without an answer.
    pub probes: u32,
}

/// What to think of a peer's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It answers, or has nothing to answer.
    Lives,
    /// It does not answer: the connection is to be given up.
    Silent,
}

/// Watches one connection over several looks.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    /// For how long data was on its way at every look.
    waiting_since: Option<Duration>,
}

impl Liveness {
    /// A look at `now`, a time since any fixed moment.
    pub fn look(&mut self, now: Duration, view: KernelView) -> Verdict {
        if view.unacknowledged == 0 {
            self.waiting_since = None;
        }
        let since = *self.waiting_since.get_or_insert(now);
        // Data may have set out just now after a long time of nothing to acknowledge.
        let waited = now.saturating_sub(since).min(view.since_acknowledged);
        let is_silent = view.unacknowledged > 0 && waited >= SILENCE || view.probes >= PROBES;
        if is_silent { Verdict::Silent } else { Verdict::Lives }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(since_ms: u64) -> KernelView {
        KernelView { unacknowledged: 3, since_acknowledged: Duration::from_millis(since_ms), probes: 0 }
    }

    #[test]
    fn data_without_acknowledgement_for_long_is_silence() {
        let mut liveness = Liveness::default();
        let look = |liveness: &mut Liveness, now_ms, view| liveness.look(Duration::from_millis(now_ms), view);
        // Nothing was to be acknowledged for an hour; then data set out.
        assert_eq!(look(&mut liveness, 0, data(3_600_000)), Verdict::Lives);
        assert_eq!(look(&mut liveness, 2_400, data(3_602_400)), Verdict::Lives);
        assert_eq!(look(&mut liveness, 2_500, data(3_602_500)), Verdict::Silent);
        // An acknowledgement came meanwhile.
        assert_eq!(look(&mut liveness, 2_500, data(100)), Verdict::Lives);
        assert_eq!(look(&mut liveness, 60_000, KernelView::default()), Verdict::Lives);
        assert_eq!(look(&mut liveness, 60_100, data(57_000)), Verdict::Lives);
    }

    #[test]
    fn a_peer_that_does_not_read_lives_while_its_machine_answers_probes() {
        let mut liveness = Liveness::default();
        for second in 0..60 {
            let view = KernelView { probes: 1, since_acknowledged: Duration::from_secs(30), unacknowledged: 0 };
            assert_eq!(liveness.look(Duration::from_secs(second), view), Verdict::Lives);
        }
        let view = KernelView { probes: PROBES, ..KernelView::default() };
        assert_eq!(liveness.look(Duration::from_secs(61), view), Verdict::Silent);
    }
}
