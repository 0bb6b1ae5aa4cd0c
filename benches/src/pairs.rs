//! The arithmetic of a run: in which order legs alternate, which pairs are thrown away, and medians of the rest.
//!
//! A pair is a control leg and an engine leg, one right after the other; who goes first alternates, so that a machine
//! that drifts one way favours neither. The cache-line round trip is read before, between and after the two legs. If
//! the largest of these readings exceeds the smallest by half, the machine changed under the pair and the pair proves
//! nothing. Everything here is pure; threading and errors do not arise.

/// A pair is thrown away if its largest cache-line reading exceeds its smallest by more than this factor.
pub const DISCARD_ABOVE: f64 = 1.5;

/// Which leg of a pair runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The control, then the engine.
    ControlFirst,
    /// The engine, then the control.
    EngineFirst,
}

impl Order {
    /// The order of the pair `index` of a run.
    pub fn of(index: usize) -> Order {
        if index.is_multiple_of(2) { Order::ControlFirst } else { Order::EngineFirst }
    }
}

/// The figures of one pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The control's figure, in the unit of the run (tuples per second, or nanoseconds of latency); `None` where there
    /// is nothing to compare with.
    pub control: Option<f64>,
    /// The engine's figure in the same unit.
    pub engine: f64,
    /// Cache-line round trips before, between and after the legs, in nanoseconds.
    pub round_trips_ns: [f64; 3],
}

impl Pair {
    /// Whether the machine stayed the same, see the module.
    pub fn is_kept(&self) -> bool {
        let largest = self.round_trips_ns.into_iter().fold(f64::MIN, f64::max);
        let smallest = self.round_trips_ns.into_iter().fold(f64::MAX, f64::min);
        largest <= smallest * DISCARD_ABOVE
    }

    /// The engine's figure over the control's.
    pub fn ratio(&self) -> Option<f64> {
        self.control.map(|control| self.engine / control)
    }
}

/// What the pairs of a run say together.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Pairs that were run.
    pub pairs: usize,
    /// Pairs that were thrown away.
    pub discarded: usize,
    /// Median of the kept pairs' ratios.
    pub ratio: Option<f64>,
    /// Smallest and largest ratio of the kept pairs.
    pub ratio_range: Option<(f64, f64)>,
    /// Median of the kept pairs' control figures.
    pub control: Option<f64>,
    /// Median of the kept pairs' engine figures.
    pub engine: Option<f64>,
}

impl Verdict {
    /// Judges the pairs of a run.
    pub fn of(pairs: &[Pair]) -> Verdict {
        let kept: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_kept()).collect();
        let ratios: Vec<f64> = kept.iter().filter_map(|pair| pair.ratio()).collect();
        let extreme = |choose: fn(f64, f64) -> f64| ratios.iter().copied().reduce(choose);
        Verdict {
            pairs: pairs.len(),
            discarded: pairs.len() - kept.len(),
            ratio: median(&ratios),
            ratio_range: extreme(f64::min).zip(extreme(f64::max)),
            control: median(&kept.iter().filter_map(|pair| pair.control).collect::<Vec<_>>()),
            engine: median(&kept.iter().map(|pair| pair.engine).collect::<Vec<_>>()),
        }
    }

    /// Whether half of the pairs or more were thrown away.
    pub fn proves_nothing(&self) -> bool {
        self.discarded * 2 >= self.pairs
    }
}

/// The median; of an even number the mean of the middle two; of none, none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + upper) / 2.0 } else { upper })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(control: f64, engine: f64, round_trips_ns: [f64; 3]) -> Pair {
        Pair { control: Some(control), engine, round_trips_ns }
    }

    #[test]
    fn the_legs_alternate() {
        assert_eq!([0, 1, 2].map(Order::of), [Order::ControlFirst, Order::EngineFirst, Order::ControlFirst]);
    }

    #[test]
    fn a_pair_is_kept_until_a_reading_differs_by_more_than_half() {
        assert!(pair(1.0, 1.0, [100.0, 150.0, 120.0]).is_kept());
        assert!(!pair(1.0, 1.0, [100.0, 151.0, 120.0]).is_kept());
        assert!(!pair(1.0, 1.0, [650.0, 150.0, 150.0]).is_kept());
        assert!(!pair(1.0, 1.0, [150.0, 150.0, 650.0]).is_kept());
    }

    #[test]
    fn ratios_are_medians_of_kept_pairs_and_not_ratios_of_medians() {
        let steady = [150.0; 3];
        let pairs = [
            pair(100.0, 50.0, steady),
            pair(200.0, 80.0, steady),
            pair(400.0, 240.0, steady),
            pair(100.0, 1000.0, [150.0, 650.0, 650.0]),
        ];
        let verdict = Verdict::of(&pairs);
        assert_eq!((verdict.pairs, verdict.discarded), (4, 1));
        assert_eq!((verdict.ratio, verdict.ratio_range), (Some(0.5), Some((0.4, 0.6))));
        assert_eq!((verdict.control, verdict.engine), (Some(200.0), Some(80.0)));
        assert!(!verdict.proves_nothing());
    }

    #[test]
    fn a_run_that_lost_half_of_its_pairs_proves_nothing() {
        let (good, bad) = (pair(1.0, 1.0, [100.0; 3]), pair(1.0, 1.0, [100.0, 100.0, 200.0]));
        assert!(!Verdict::of(&[good, good, good, bad, bad]).proves_nothing());
        assert!(Verdict::of(&[good, good, bad, bad]).proves_nothing());
        let none = Verdict::of(&[bad]);
        assert_eq!((none.ratio, none.ratio_range, none.control), (None, None, None));
        assert!(none.proves_nothing());
    }

    #[test]
    fn without_a_control_there_is_no_ratio() {
        let verdict = Verdict::of(&[Pair { control: None, engine: 0.5, round_trips_ns: [100.0; 3] }]);
        assert_eq!((verdict.ratio, verdict.ratio_range, verdict.control), (None, None, None));
        assert_eq!((verdict.engine, verdict.proves_nothing()), (Some(0.5), false));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }
}
