//! The idle policy against simulated arrivals: how much it spins, how often it parks for nothing, how fast it adapts.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use proptest::prelude::*;
use ringstorm_ring::{Idle, IdlePolicy, IdleSettings};

const MICROS: u64 = 1_000;
const MILLIS: u64 = 1_000_000;
const SPIN_BELOW: u64 = 200 * MICROS;

/// From the ring to the first poll of a core that was parked.
const WAKE_UP: u64 = 25 * MICROS;

/// How often a spinning core looks for work.
const TURN: u64 = 500;

#[derive(Debug, Default)]
struct Outcome {
    lasted: u64,
    spun: u64,
    /// Idle times that ended while the core was spinning.
    seen: usize,
    /// Idle times that ended with a wake-up.
    woken: usize,
}

impl Outcome {
    fn spun_percent(&self) -> f64 {
        100.0 * self.spun as f64 / self.lasted as f64
    }

    fn seen_percent(&self) -> f64 {
        100.0 * self.seen as f64 / (self.seen + self.woken) as f64
    }
}

/// A core that needs `work_ns` for each arrival.
struct Core {
    policy: IdlePolicy,
    now: u64,
    work_ns: u64,
}

impl Core {
    fn new() -> Self {
        Self { policy: IdlePolicy::new(IdleSettings::default()), now: 0, work_ns: 100 }
    }

    /// Lets work arrive after each of `gaps`, counted from one arrival to the next.
    fn run(&mut self, gaps: impl IntoIterator<Item = u64>) -> Outcome {
        let (start, mut arrival) = (self.now, self.now);
        let mut outcome = Outcome::default();
        for gap in gaps {
            arrival += gap;
            if arrival > self.now {
                let idle_since = self.now;
                loop {
                    if self.now >= arrival {
                        outcome.seen += 1;
                        break;
                    }
                    match self.policy.decide(self.now, None, idle_since) {
                        Idle::Spin => {
                            self.now += TURN;
                            outcome.spun += TURN;
                        }
                        Idle::Park { for_ns } => {
                            assert_eq!(for_ns, None);
                            self.now = arrival + WAKE_UP;
                            outcome.woken += 1;
                            break;
                        }
                    }
                }
            }
            self.policy.work_arrived(self.now);
            self.now += self.work_ns;
        }
        outcome.lasted = self.now - start;
        outcome
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Gaps of independent arrivals (a Poisson process).
fn poisson(mean: u64, count: usize) -> impl Iterator<Item = u64> {
    let mut state = mean;
    (0..count).map(move |_| {
        let uniform = (splitmix(&mut state) >> 11) as f64 / (1_u64 << 53) as f64;
        (-(1.0 - uniform).ln() * mean as f64) as u64
    })
}

fn periodic(gap: u64, count: usize) -> impl Iterator<Item = u64> {
    std::iter::repeat_n(gap, count)
}

/// `size` arrivals, `within` apart, at every `period`.
fn bursts(size: usize, within: u64, period: u64, count: usize) -> impl Iterator<Item = u64> {
    let pause = period - within * (size as u64 - 1);
    (0..count).flat_map(move |_| std::iter::once(pause).chain(std::iter::repeat_n(within, size - 1)))
}

#[test]
fn a_thousand_a_second_park() {
    let outcome = Core::new().run(periodic(MILLIS, 1000));
    assert_eq!((outcome.seen, outcome.spun), (0, 0), "{outcome:?}");
    let outcome = Core::new().run(poisson(MILLIS, 5000));
    assert!(outcome.spun_percent() < 6.0, "{} %: {outcome:?}", outcome.spun_percent());
}

#[test]
fn ten_thousand_a_second_spin() {
    for gaps in [periodic(100 * MICROS, 5000).collect::<Vec<_>>(), poisson(100 * MICROS, 5000).collect()] {
        let mut core = Core::new();
        core.run(gaps[..100].iter().copied());
        let outcome = core.run(gaps[100..].iter().copied());
        assert!(outcome.seen_percent() > 95.0, "{} %: {outcome:?}", outcome.seen_percent());
    }
}

#[test]
fn a_hundred_thousand_a_second_spin() {
    for gaps in [periodic(10 * MICROS, 20_000).collect::<Vec<_>>(), poisson(10 * MICROS, 20_000).collect()] {
        let mut core = Core::new();
        core.run(gaps[..100].iter().copied());
        let outcome = core.run(gaps[100..].iter().copied());
        assert!(outcome.seen_percent() > 99.8, "{} %: {outcome:?}", outcome.seen_percent());
    }
}

#[test]
fn bursts_are_not_spun_between() {
    // All at once, as one frame; in turns 5 us apart; in pairs; and in pairs whose second half is 60 us late.
    for (size, within, at_most) in [(1, 0, 0.5), (20, 5 * MICROS, 3.0), (2, 5 * MICROS, 3.0), (2, 60 * MICROS, 25.0)] {
        let mut core = Core::new();
        let outcome = core.run(bursts(size, within, MILLIS, 2000));
        assert!(
            outcome.spun_percent() - 100.0 * (within * (size as u64 - 1)) as f64 / MILLIS as f64 <= at_most,
            "bursts of {size}, {within} ns apart: spun {} %, {outcome:?}",
            outcome.spun_percent()
        );
    }
}

#[test]
fn silence_ends_the_spinning() {
    for gap in [MICROS, 10 * MICROS, 100 * MICROS, 190 * MICROS] {
        let mut core = Core::new();
        core.run(periodic(gap, 1000));
        let outcome = core.run([10_000 * MILLIS]);
        assert_eq!(outcome.woken, 1);
        assert!(outcome.spun <= 3 * gap.max(2 * MICROS), "spun {} ns after gaps of {gap} ns", outcome.spun);
    }
}

#[test]
fn a_change_of_pace_is_followed_within_a_few_dozen_arrivals() {
    let mut core = Core::new();
    core.run(periodic(100 * MICROS, 1000));
    let slower = core.run(periodic(MILLIS, 64));
    assert!(slower.spun < 10 * MILLIS, "{slower:?}");
    let faster = core.run(periodic(100 * MICROS, 80));
    assert!(faster.seen >= 16, "{faster:?}");
    assert!(core.run(periodic(100 * MICROS, 1000)).seen_percent() > 99.0);
}

#[test]
fn deadlines_bound_the_park_and_near_ones_spin() {
    let mut policy = IdlePolicy::new(IdleSettings::default());
    let now = 5 * MILLIS;
    assert_eq!(policy.decide(now, None, now), Idle::Park { for_ns: None });
    assert_eq!(policy.decide(now, Some(now + MILLIS), now), Idle::Park { for_ns: Some(MILLIS) });
    for deadline in [0, now, now + SPIN_BELOW - 1] {
        assert_eq!(policy.decide(now, Some(deadline), now), Idle::Spin, "deadline {deadline}");
    }
    assert_eq!(policy.decide(now, Some(now + SPIN_BELOW), now), Idle::Park { for_ns: Some(SPIN_BELOW) });
}

#[test]
fn the_settings_force_either() {
    let always = IdleSettings { always_spin: true, ..IdleSettings::default() };
    let never = IdleSettings { never_spin: true, ..always };
    assert_eq!(IdlePolicy::new(always).decide(MILLIS, Some(1000 * MILLIS), 0), Idle::Spin);
    assert_eq!(IdlePolicy::new(never).decide(MILLIS, Some(MILLIS + 1), 0), Idle::Park { for_ns: Some(1) });
    let zero = IdleSettings { spin_below: Duration::ZERO, ..IdleSettings::default() };
    let mut policy = IdlePolicy::new(zero);
    for now in 0..100 {
        assert_eq!(policy.decide(now, Some(now), now), Idle::Park { for_ns: Some(0) });
        policy.work_arrived(now);
    }
}

/// What a fixed spinning time would have cost, with a wake-up counted as `SPIN_BELOW` of spinning.
fn cost_of(spin: u64, gaps: &[u64]) -> u64 {
    gaps.iter().map(|&gap| if gap < spin { gap } else { spin + SPIN_BELOW }).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    /// Up to three kinds of gaps in random order: not much worse than the best fixed spinning time in hindsight.
    #[test]
    fn it_is_near_the_best_choice_in_hindsight(
        kinds in prop::collection::vec((0..24_u32, 1..10_u64), 1..4),
        mut seed in any::<u64>(),
    ) {
        let weights: u64 = kinds.iter().map(|kind| kind.1).sum();
        let gaps: Vec<u64> = (0..2000).map(|_| {
            let mut drawn = splitmix(&mut seed) % weights;
            let kind = kinds.iter().find(|kind| { let hit = drawn < kind.1; drawn = drawn.wrapping_sub(kind.1); hit });
            // From half to one and a half times 2^octave.
            let middle = 1 << kind.unwrap().0;
            middle / 2 + splitmix(&mut seed) % (middle + 1)
        }).collect();
        let best = (0..26).map(|octave| cost_of(1 << octave, &gaps)).chain([cost_of(0, &gaps)]).min().unwrap();
        let mut policy = IdlePolicy::new(IdleSettings::default());
        let (mut now, mut cost) = (0, 0);
        for gap in gaps {
            let since = now;
            // The policy's own spinning time, found by bisection instead of a poll each TURN.
            let (mut spins, mut parks) = (0, gap);
            if policy.decide(since + gap, None, since) == Idle::Spin {
                cost += gap;
            } else {
                while spins < parks {
                    let middle = spins.midpoint(parks);
                    match policy.decide(since + middle, None, since) {
                        Idle::Spin => spins = middle + 1,
                        Idle::Park { .. } => parks = middle,
                    }
                }
                prop_assert!(parks <= 2 * SPIN_BELOW);
                cost += parks + SPIN_BELOW;
            }
            now += gap;
            policy.work_arrived(now);
        }
        // What it takes to learn, then a part of the best.
        prop_assert!(cost <= 64 * SPIN_BELOW + best * 3 / 2, "cost {cost}, best {best}");
    }

    /// Any times at all, also ones that go backwards: no panic, and never a spin of more than twice the bound.
    #[test]
    fn any_times_are_accepted(calls in prop::collection::vec((any::<u64>(), any::<Option<u64>>(), any::<u64>(), any::<bool>()), 0..200)) {
        let mut policy = IdlePolicy::new(IdleSettings::default());
        for (now, deadline, since, arrived) in calls {
            let decided = policy.decide(now, deadline, since);
            if now.saturating_sub(since) > 2 * SPIN_BELOW && deadline.is_none() {
                prop_assert_eq!(decided, Idle::Park { for_ns: None });
            }
            if arrived {
                policy.work_arrived(now);
            }
        }
    }
}
