//! How much memory a worker may have.
//!
//! Storm's rule (`BasicContainer.isMemoryLimitViolated`), which it keeps only under a plug-in for isolation, and Ringstorm
//! always. A worker is assigned what its executors asked for, or `worker.heap.memory.mb`; to this comes
//! `storm.supervisor.memory.limit.tolerance.margin.mb`. Above the larger of
//! `storm.supervisor.hard.memory.limit.multiplier` times that and that with `storm.supervisor.hard.memory.limit.overage.mb`
//! it is stopped. Between the two it is stopped if the host has little memory left: at once under
//! `storm.supervisor.low.memory.threshold.mb`, after `storm.supervisor.medium.memory.grace.period.ms` under
//! `storm.supervisor.medium.memory.threshold.mb`.
//!
//! Threading: plain data. Errors: none; values of a topology that make no sense count as unset.

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_control::time::Moment;
use serde_json::{Map, Value};

const MIB: f64 = 1024.0 * 1024.0;

/// What the host's settings say of memory, in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryRule {
    /// `storm.supervisor.memory.limit.tolerance.margin.mb`.
    pub margin_mb: f64,
    /// `storm.supervisor.hard.memory.limit.multiplier`.
    pub hard_multiplier: f64,
    /// `storm.supervisor.hard.memory.limit.overage.mb`.
    pub hard_overage_mb: f64,
    /// `storm.supervisor.low.memory.threshold.mb`.
    pub low_mb: f64,
    /// `storm.supervisor.medium.memory.threshold.mb`.
    pub medium_mb: f64,
    /// `storm.supervisor.medium.memory.grace.period.ms`.
    pub medium_grace: Duration,
}

impl Default for MemoryRule {
    fn default() -> Self {
        Self {
            margin_mb: 128.0,
            hard_multiplier: 2.0,
            hard_overage_mb: 2024.0,
            low_mb: 1024.0,
            medium_mb: 1536.0,
            medium_grace: Duration::from_secs(30),
        }
    }
}

/// How much one worker may have, and since when it has had more.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemoryLimit {
    rule: MemoryRule,
    assigned_mb: f64,
    exceeded_since: Option<Moment>,
}

impl MemoryLimit {
    /// Of a worker with these resources (thousandths of a unit, by normalised name) and this configuration.
    pub(crate) fn new(rule: MemoryRule, resources: &BTreeMap<String, i64>, conf: &Map<String, Value>) -> Self {
        let of = |name: &str| resources.get(name).map_or(0.0, |thousandths| (*thousandths as f64 / 1000.0).ceil());
        let set = conf.get("worker.heap.memory.mb").and_then(Value::as_f64).filter(|mb| *mb > 0.0).unwrap_or(768.0);
        let asked = of("onheap.memory.mb") + of("shared.onheap.memory.mb");
        let heap = if asked > 0.0 { asked } else { set };
        let beyond = of("offheap.memory.mb") + of("shared.offheap.memory.mb");
        Self { rule, assigned_mb: heap + beyond.max(0.0) + rule.margin_mb, exceeded_since: None }
    }

    /// Below this nothing needs to be looked at closely, in bytes.
    pub(crate) fn soft_bytes(&self) -> u64 {
        // A cast of a float saturates.
        (self.assigned_mb * MIB) as u64
    }

    /// Judges what a worker has, given what is left on its host. Why it is to be stopped, if so.
    pub(crate) fn judge(&mut self, now: Moment, used_bytes: u64, left_bytes: Option<u64>) -> Option<String> {
        let (used, left) = (used_bytes as f64 / MIB, left_bytes.map(|bytes| bytes as f64 / MIB));
        let (rule, assigned) = (self.rule, self.assigned_mb);
        if used <= assigned {
            self.exceeded_since = None;
            return None;
        }
        let hard = (assigned * rule.hard_multiplier).max(assigned + rule.hard_overage_mb);
        if used > hard {
            return Some(format!(
                "memory limit: it uses {used:.0} MiB of memory, and its limit is {hard:.0} MiB (it was assigned \
                 {assigned:.0} MiB)"
            ));
        }
        let left = left?;
        let says = |left: f64| {
            format!(
                "memory limit: it uses {used:.0} MiB of memory, more than the {assigned:.0} MiB that it was assigned, and the host has \
                 only {left:.0} MiB left"
            )
        };
        if left <= rule.low_mb {
            return Some(says(left));
        }
        if left >= rule.medium_mb {
            self.exceeded_since = None;
            return None;
        }
        let since = *self.exceeded_since.get_or_insert(now);
        (now.since(since) > rule.medium_grace).then(|| says(left))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MB: u64 = 1 << 20;

    fn conf(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn at(secs: u64) -> Moment {
        Moment(Duration::from_secs(secs))
    }

    #[test]
    fn a_worker_has_what_its_executors_asked_for_or_what_workers_have() {
        let assigned = |resources: &[(&str, i64)], set: &Value| {
            let resources = resources.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
            MemoryLimit::new(MemoryRule::default(), &resources, &conf(set)).soft_bytes() / MB
        };
        assert_eq!(assigned(&[], &json!({})), 768 + 128);
        assert_eq!(assigned(&[], &json!({"worker.heap.memory.mb": 100})), 100 + 128);
        assert_eq!(assigned(&[], &json!({"worker.heap.memory.mb": "much"})), 768 + 128);
        let asked = [("onheap.memory.mb", 511_500), ("offheap.memory.mb", 20_000), ("cpu.pcore.percent", 9)];
        assert_eq!(assigned(&asked, &json!({"worker.heap.memory.mb": 1})), 512 + 20 + 128);
    }

    #[test]
    fn the_hard_limit_is_the_larger_one_and_holds_always() {
        let mut limit = MemoryLimit::new(MemoryRule::default(), &BTreeMap::new(), &Map::new());
        assert_eq!(limit.judge(at(0), (896 + 2024) * MB, None), None);
        let why = limit.judge(at(0), (896 + 2025) * MB, None).unwrap();
        assert!(
            why.starts_with("memory limit: ") && why.contains("2921 MiB") && why.contains("limit is 2920 MiB"),
            "{why}"
        );
        let tight = MemoryRule { hard_overage_mb: 0.0, ..MemoryRule::default() };
        let mut limit = MemoryLimit::new(tight, &BTreeMap::new(), &Map::new());
        assert_eq!(limit.judge(at(0), 2 * 896 * MB, None), None);
        assert!(limit.judge(at(0), (2 * 896 + 1) * MB, None).is_some());
    }

    #[test]
    fn on_a_host_that_runs_short_what_was_assigned_counts() {
        let mut limit = MemoryLimit::new(MemoryRule::default(), &BTreeMap::new(), &Map::new());
        let (much, low, medium, plenty) = (1000 * MB, Some(1024 * MB), Some(1500 * MB), Some(1536 * MB));
        assert_eq!(limit.judge(at(0), 896 * MB, low), None);
        assert!(limit.judge(at(0), much, low).unwrap().contains("only 1024 MiB left"));
        assert_eq!(limit.judge(at(1), much, plenty), None);
        assert_eq!(limit.judge(at(2), much, medium), None);
        assert_eq!(limit.judge(at(32), much, medium), None);
        // It had what it was assigned in between.
        assert_eq!(limit.judge(at(33), 896 * MB, medium), None);
        assert_eq!(limit.judge(at(34), much, medium), None);
        assert!(limit.judge(at(65), much, medium).is_some());
    }
}
