//! Shuffle, aware of load: plain round robin while the targets' waiting work differs little, else the emptier ones.
//!
//! A target's waiting work is what it last said, and what was sent to it since at its own pace, less the time that has
//! passed: a slow one says something new only after each of its calls. Until it has ended its first one it is taken for
//! twice as slow as the slowest that is known, so that it gets no more than they do: it may be as fast as they are and
//! only be heard later. Others that send to it see their own share alone; the next estimate corrects it.
//!
//! Invariants: a target whose ring is full is chosen only if the others are far slower, and ever less the more waits for
//! its ring; locality never binds to a target that is overloaded, since local targets are judged like all others.
//!
//! Threading: each emitting task has its own; it reads the worker's board of hints.

use std::sync::atomic::Ordering;

use crate::core::small_random::SmallRandom;
use crate::core::transfer::{Transfer, UNKNOWN_US};

/// Waiting work below which targets count as equally loaded, in microseconds.
const EVEN_WAIT_US: u32 = 2_000;
/// Emits between two looks at the load of the targets.
const LOAD_REFRESH_EMITS: u32 = 64;
/// What a full ring counts for: less than to wait for one tuple of a really slow target. Each byte that waits for the ring
/// adds a microsecond, so that what waits there is bounded whatever the others do.
const BLOCKED_WAIT_US: u64 = 20_000;
/// So many tuples of a target of unknown speed count for nothing.
const UNKNOWN_SENT_MAX: u32 = 16;
/// The least that a tuple of a target of unknown speed counts for when it has got more.
const ASSUMED_MIN_US: u32 = 1_000;
/// What such a target counts for while no speed is known: the same for all of them, since nothing tells them apart.
const UNKNOWN_WAIT_US: u32 = u32::MAX / 4;

/// Over a random permutation of the tasks, round robin from position 1, as Storm's.
pub(crate) struct Shuffle {
    targets: Box<[Target]>,
    cursor: usize,
    load_aware: bool,
    until_refresh: u32,
    /// Some target has more waiting than others, so each choice looks.
    uneven: bool,
    seen_gate: u64,
    refreshed_ns: u64,
    /// What a tuple of a target of unknown speed is taken for, in microseconds; `None` while no speed is known.
    assumed_us: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Target {
    task: u32,
    /// Waiting work in microseconds at the last look.
    wait_us: u32,
    /// What a full ring on the way adds.
    blocked_us: u32,
    /// What one more tuple adds; [`UNKNOWN_US`] until that is known.
    tuple_us: u32,
    /// Sent since the last look; while the speed is unknown, since ever.
    sent: u32,
    /// The number of the target's last estimate that was seen.
    estimate: u32,
}

impl Target {
    /// Waiting work, where one of unknown speed is taken to need `assumed_us` for each tuple.
    fn expected_us(&self, assumed_us: Option<u32>) -> u32 {
        let queued_us = match (self.tuple_us, assumed_us) {
            (UNKNOWN_US, _) if self.sent <= UNKNOWN_SENT_MAX && self.blocked_us == 0 => 0,
            (UNKNOWN_US, None) => return UNKNOWN_WAIT_US,
            (UNKNOWN_US, Some(assumed_us)) => self.sent.saturating_mul(assumed_us),
            _ => self.queued_us(),
        };
        queued_us.saturating_add(self.blocked_us)
    }

    fn queued_us(&self) -> u32 {
        self.wait_us.saturating_add(self.sent.saturating_mul(self.tuple_us))
    }

    /// Looks at what the target says, `elapsed_us` after the last look.
    fn look(&mut self, transfer: &Transfer, elapsed_us: u32) {
        let (board, task) = (&transfer.board, self.task as usize);
        let estimate = board.estimates[task].load(Ordering::Relaxed);
        let said_us = board.wait_us[task].load(Ordering::Relaxed);
        if self.estimate != estimate {
            self.wait_us = said_us;
            self.sent = 0;
        } else if self.tuple_us != UNKNOWN_US {
            self.wait_us = self.queued_us().saturating_sub(elapsed_us);
            self.sent = 0;
        }
        self.estimate = estimate;
        self.tuple_us = board.tuple_us[task].load(Ordering::Relaxed);
        self.blocked_us = if transfer.has_way(self.task) {
            0
        } else {
            let bytes = transfer.outlet_of(self.task).map_or(0, |outlet| transfer.outlets[outlet as usize].bytes());
            (bytes as u64).saturating_add(BLOCKED_WAIT_US).min(u64::from(u32::MAX)) as u32
        };
    }
}

impl Shuffle {
    pub(crate) fn new(tasks: Vec<u32>, load_aware: bool, random: &mut SmallRandom) -> Self {
        let target = |task| Target { task, wait_us: 0, blocked_us: 0, tuple_us: UNKNOWN_US, sent: 0, estimate: 0 };
        let mut targets: Vec<Target> = tasks.into_iter().map(target).collect();
        for last in (1..targets.len()).rev() {
            targets.swap(last, random.below(last + 1));
        }
        Self {
            targets: targets.into(),
            cursor: 0,
            load_aware,
            until_refresh: LOAD_REFRESH_EMITS,
            uneven: false,
            seen_gate: u64::MAX,
            refreshed_ns: 0,
            assumed_us: None,
        }
    }

    #[inline]
    pub(crate) fn next(&mut self, transfer: &Transfer) -> u32 {
        self.cursor += 1;
        if self.cursor >= self.targets.len() {
            self.cursor = 0;
        }
        if self.load_aware {
            self.until_refresh -= 1;
            if self.until_refresh == 0 || self.seen_gate != transfer.gate_version {
                self.refresh(transfer);
            }
            if self.uneven {
                self.skip_loaded();
            }
            let sent = &mut self.targets[self.cursor].sent;
            // For as long as the speed is unknown it is never set back.
            *sent = sent.saturating_add(1);
        }
        self.targets[self.cursor].task
    }

    /// Moves on to the next target that has little waiting, measured against the one that has least.
    #[cold]
    fn skip_loaded(&mut self) {
        let assumed_us = self.assumed_us;
        let least = self.targets.iter().map(|target| target.expected_us(assumed_us)).min().unwrap_or(0);
        let bound = bound_us(least);
        for _ in 1..self.targets.len() {
            if self.targets[self.cursor].expected_us(assumed_us) <= bound {
                break;
            }
            self.cursor = (self.cursor + 1) % self.targets.len();
        }
    }

    #[cold]
    fn refresh(&mut self, transfer: &Transfer) {
        self.until_refresh = LOAD_REFRESH_EMITS;
        self.seen_gate = transfer.gate_version;
        let elapsed_us = (transfer.now_ns.saturating_sub(self.refreshed_ns) / 1000).min(u64::from(u32::MAX)) as u32;
        self.refreshed_ns = transfer.now_ns;
        self.targets.iter_mut().for_each(|target| target.look(transfer, elapsed_us));
        self.assume();
        let expected = || self.targets.iter().map(|target| target.expected_us(self.assumed_us));
        let (least, most) = (expected().min().unwrap_or(0), expected().max().unwrap_or(0));
        self.uneven = most > bound_us(least);
    }

    /// Whoever is heard later than the others is assumed to be slower than all of them.
    fn assume(&mut self) {
        let known = self.targets.iter().map(|target| target.tuple_us).filter(|tuple_us| *tuple_us != UNKNOWN_US);
        self.assumed_us = known.max().map(|slowest_us| slowest_us.saturating_mul(2).max(ASSUMED_MIN_US));
    }
}

/// What counts as little waiting when the least has this much.
fn bound_us(least_us: u32) -> u32 {
    least_us.saturating_mul(2).max(EVEN_WAIT_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffle(waits_us: &[(u32, u32)]) -> Shuffle {
        let mut shuffle = Shuffle::new((0..waits_us.len() as u32).collect(), true, &mut SmallRandom::new(1));
        for target in &mut shuffle.targets {
            (target.wait_us, target.tuple_us) = waits_us[target.task as usize];
        }
        shuffle.assume();
        shuffle
    }

    fn choose(shuffle: &mut Shuffle, count: u32) -> Vec<u32> {
        let mut chosen = vec![0; shuffle.targets.len()];
        for _ in 0..count {
            shuffle.cursor = (shuffle.cursor + 1) % shuffle.targets.len();
            shuffle.skip_loaded();
            shuffle.targets[shuffle.cursor].sent += 1;
            chosen[shuffle.targets[shuffle.cursor].task as usize] += 1;
        }
        chosen
    }

    #[test]
    fn what_was_sent_since_counts_at_the_pace_of_its_target() {
        // 50 ms for each tuple against 1 ms: one tuple of the slow one weighs as much as fifty.
        let chosen = choose(&mut shuffle(&[(0, 50_000), (0, 1_000), (0, 1_000), (0, 1_000)]), 300);
        assert!(chosen[0] <= 4, "{chosen:?}");
        assert!(chosen[1..].iter().all(|count| (90..=110).contains(count)), "{chosen:?}");
    }

    #[test]
    fn alike_targets_take_turns() {
        assert_eq!(choose(&mut shuffle(&[(1_900, 0), (0, 0), (500, 0), (2_000, 0)]), 400), [100; 4]);
    }

    #[test]
    fn one_of_unknown_speed_gets_no_more_than_the_others() {
        let chosen = choose(&mut shuffle(&[(0, UNKNOWN_US), (0, 1_000), (0, 1_000)]), 300);
        assert!((80..=101).contains(&chosen[0]), "{chosen:?}");
        assert_eq!(choose(&mut shuffle(&[(0, UNKNOWN_US); 3]), 300), [100; 3]);
    }

    #[test]
    fn one_of_unknown_speed_gets_few_while_the_others_have_time() {
        let mut idle = shuffle(&[(0, UNKNOWN_US), (0, 0), (0, 0)]);
        assert_eq!(choose(&mut idle, 300)[0], UNKNOWN_SENT_MAX + 1);
    }

    #[test]
    fn the_first_whose_speed_is_known_does_not_get_everything() {
        // Four that are alike got 55 each, and one of them has ended its first call of 5 ms.
        let mut first_known = shuffle(&[(0, UNKNOWN_US), (0, UNKNOWN_US), (0, UNKNOWN_US), (275_000, 5_000)]);
        let unknown = first_known.targets.iter_mut().filter(|target| target.tuple_us == UNKNOWN_US);
        unknown.for_each(|target| target.sent = 55);
        let chosen = choose(&mut first_known, 780);
        assert!(chosen.iter().all(|count| (180..=210).contains(count)), "{chosen:?}");
    }

    #[test]
    fn one_whose_ring_is_full_gets_little_while_others_are_fast() {
        let mut full_and_fast = shuffle(&[(0, 1_000), (0, 1_000)]);
        full_and_fast.targets.iter_mut().filter(|target| target.task == 0).for_each(|full| full.blocked_us = 30_000);
        let chosen = choose(&mut full_and_fast, 40);
        assert!(chosen[0] <= 15, "{chosen:?}");
        let mut full_and_slow = shuffle(&[(0, 0), (0, 50_000)]);
        full_and_slow.targets.iter_mut().filter(|target| target.task == 0).for_each(|full| full.blocked_us = 30_000);
        let chosen = choose(&mut full_and_slow, 40);
        assert!(chosen[1] <= 2, "{chosen:?}");
    }
}
