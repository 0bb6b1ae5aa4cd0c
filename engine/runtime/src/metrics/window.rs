//! Storm's windows: how much a counter grew in the last ten minutes, three hours and day, and in all.
//!
//! Storm rotates twenty buckets per window and adds up what they hold, a share of the oldest one included. Here the
//! counters are cumulative, so that a bucket is the difference between two edges, and a window is the difference between
//! now and an edge (or a point between two edges): the same numbers, and nothing can go negative.
//!
//! Invariants: edges lie at least one bucket apart and no more than one lies outside of the window, so that a ring holds
//! [`BUCKETS`] + 2 edges at most; counters never go down, whatever is fed.
//!
//! Pure: the age of the run is passed in.

use std::collections::VecDeque;
use std::time::Duration;

/// Buckets of each window, as in Storm (`num.stat.buckets`).
pub const BUCKETS: u32 = 20;

/// A span of time that ends now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Window {
    /// 600 seconds.
    TenMinutes,
    /// 10,800 seconds.
    ThreeHours,
    /// 86,400 seconds.
    OneDay,
    /// Since the start.
    AllTime,
}

impl Window {
    /// Every window, the shortest first.
    pub const ALL: [Self; 4] = [Self::TenMinutes, Self::ThreeHours, Self::OneDay, Self::AllTime];

    /// Storm's name of the window: its seconds, or `:all-time`.
    pub fn name(self) -> &'static str {
        match self {
            Self::TenMinutes => "600",
            Self::ThreeHours => "10800",
            Self::OneDay => "86400",
            Self::AllTime => ":all-time",
        }
    }

    /// Its length; `None` for all time.
    pub fn span(self) -> Option<Duration> {
        match self {
            Self::TenMinutes => Some(Duration::from_secs(600)),
            Self::ThreeHours => Some(Duration::from_secs(10_800)),
            Self::OneDay => Some(Duration::from_secs(86_400)),
            Self::AllTime => None,
        }
    }
}

/// What the counters were at one moment.
#[derive(Debug, Clone)]
struct Edge {
    at: Duration,
    values: Box<[u64]>,
}

/// The edges of one window's buckets.
#[derive(Debug, Clone)]
struct Ring {
    span: Duration,
    edges: VecDeque<Edge>,
}

impl Ring {
    fn record(&mut self, now: Duration, values: &[u64]) {
        let newest = self.edges.back().map_or(Duration::ZERO, |edge| edge.at);
        if now.saturating_sub(newest) >= self.span / BUCKETS {
            self.edges.push_back(Edge { at: now, values: values.into() });
        }
        let start = now.saturating_sub(self.span);
        while self.edges.get(1).is_some_and(|edge| edge.at <= start) {
            self.edges.pop_front();
        }
    }

    /// The counters at the window's start, on a straight line between the two known moments around it.
    fn base(&self, latest_at: Duration, latest: &[u64]) -> Vec<u64> {
        let start = latest_at.saturating_sub(self.span);
        let Some(lower) = self.edges.front() else { return vec![0; latest.len()] };
        if start <= lower.at {
            return lower.values.to_vec();
        }
        let (upper_at, upper) = self.edges.get(1).map_or((latest_at, latest), |edge| (edge.at, &*edge.values));
        let (part, whole) = ((start - lower.at).as_nanos(), (upper_at - lower.at).as_nanos().max(1));
        let between = |(low, high): (&u64, &u64)| {
            let growth = u128::from(high - low).saturating_mul(part) / whole;
            low + u64::try_from(growth).unwrap_or(high - low)
        };
        lower.values.iter().zip(upper).map(between).collect()
    }
}

/// A set of counters that are read together, over every [`Window`].
///
/// ```
/// use std::time::Duration;
///
/// use ringstorm_runtime::metrics::{CounterWindows, Window};
///
/// let mut windows = CounterWindows::new(1);
/// for second in 1..=1200 {
///     windows.record(Duration::from_secs(second), &[10 * second]);
/// }
/// assert_eq!(windows.over(Window::TenMinutes), [6_000]);
/// assert_eq!(windows.over(Window::AllTime), [12_000]);
/// ```
#[derive(Debug, Clone)]
pub struct CounterWindows {
    latest_at: Duration,
    latest: Box<[u64]>,
    rings: [Ring; 3],
}

impl CounterWindows {
    /// This many counters, all of them 0 at age 0.
    pub fn new(count: usize) -> Self {
        let zeros: Box<[u64]> = vec![0; count].into();
        let ring = |window: Window| Ring {
            span: window.span().unwrap_or(Duration::MAX),
            edges: VecDeque::from([Edge { at: Duration::ZERO, values: zeros.clone() }]),
        };
        let rings = [ring(Window::TenMinutes), ring(Window::ThreeHours), ring(Window::OneDay)];
        Self { latest_at: Duration::ZERO, latest: zeros, rings }
    }

    /// Takes the counters as they are at `age`. A value below the last one, and an age before the last one, count as
    /// the last one. Values beyond the number of counters are ignored, missing ones unchanged.
    pub fn record(&mut self, age: Duration, values: &[u64]) {
        self.latest_at = self.latest_at.max(age);
        for (known, value) in self.latest.iter_mut().zip(values) {
            *known = (*known).max(*value);
        }
        for ring in &mut self.rings {
            ring.record(self.latest_at, &self.latest);
        }
    }

    /// How much each counter grew within the window that ends at the last record.
    pub fn over(&self, window: Window) -> Vec<u64> {
        let ring = match window {
            Window::TenMinutes => &self.rings[0],
            Window::ThreeHours => &self.rings[1],
            Window::OneDay => &self.rings[2],
            Window::AllTime => return self.latest.to_vec(),
        };
        let base = ring.base(self.latest_at, &self.latest);
        self.latest.iter().zip(base).map(|(latest, base)| latest - base).collect()
    }

    /// The age at the last record.
    pub fn latest_at(&self) -> Duration {
        self.latest_at
    }
}

#[cfg(test)]
mod tests;
