//! Which supervisors are there, since when, and since when others are gone, on the reader's monotonic clock.
//!
//! Fed with readings of `supervisors`. A reading that failed is not told: it proves nothing. A node whose record cannot be
//! read is there all the same: nothing is placed on it, and its host is not lost.
//!
//! Invariant: what is gone for longer than [`FORGOTTEN_AFTER`] takes no memory. Threading: plain data. Errors: none.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ringstorm_control::time::Moment;
use ringstorm_records::records::SupervisorInfo;
use ringstorm_records::znode::NodeName;
use ringstorm_scheduler::{FirstRound, NodeId, WorkerSlot, first_round};

/// Whoever is gone for so long counts as gone from the beginning.
pub const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// The supervisors, as one reader sees them. A new leader starts with a new one.
#[derive(Clone, Debug, Default)]
pub struct Supervisors {
    there: BTreeMap<NodeId, There>,
    gone_since: BTreeMap<NodeId, Moment>,
    /// When they were read for the first time.
    read_since: Option<Moment>,
}

/// A supervisor that is there.
#[derive(Clone, Debug)]
struct There {
    since: Moment,
    offer: Option<Offer>,
}

/// What a supervisor offers, from its record.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Its host, as workers there are reached.
    pub host: String,
    /// The ports of its slots (`meta`); one that it withdrew is not among them.
    pub ports: BTreeSet<u16>,
    /// How many cores each slot has: the CPUs of the host (`cpu.pcore.percent`, 100 each) divided by its slots, but one
    /// at least.
    pub slot_cores: i64,
    uptime: Duration,
}

/// What is known of the supervisor of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// It is there and has the slot, or cannot be read.
    There,
    /// It is there and does not have the slot (any more).
    Withdrew,
    /// It is gone, since then at the latest.
    Gone(Moment),
    /// Nobody looked yet.
    Unknown,
}

impl Supervisors {
    /// Takes a reading of all nodes; `None` stands for a record that cannot be read.
    pub fn read(&mut self, at: Moment, nodes: &BTreeMap<NodeName, Option<SupervisorInfo>>) {
        self.read_since.get_or_insert(at);
        let mut before = std::mem::take(&mut self.there);
        for (name, record) in nodes {
            let id = NodeId::from(name.as_str());
            let since = before.remove(&id).map_or(at, |there| there.since);
            self.gone_since.remove(&id);
            self.there.insert(id, There { since, offer: record.as_ref().map(Offer::of) });
        }
        self.gone_since.extend(before.into_keys().map(|id| (id, at)));
        self.gone_since.retain(|_, since| at.since(*since) < FORGOTTEN_AFTER);
    }

    /// Whether the leader may make its first round, and if not, when to ask again.
    pub fn may_begin(&self, now: Moment) -> FirstRound {
        first_round(self.there.values().map(|there| {
            let said = there.offer.as_ref().map_or(Duration::ZERO, |offer| offer.uptime);
            said.max(now.since(there.since))
        }))
    }

    /// Those that are there and can be read, with what they offer.
    pub fn offers(&self) -> impl Iterator<Item = (&NodeId, &Offer)> {
        self.there.iter().filter_map(|(id, there)| Some((id, there.offer.as_ref()?)))
    }

    /// What a supervisor offers, if it is there and can be read.
    pub fn offer(&self, id: &NodeId) -> Option<&Offer> {
        self.there.get(id)?.offer.as_ref()
    }

    /// Whether its node is there.
    pub fn is_there(&self, id: &NodeId) -> bool {
        self.there.contains_key(id)
    }

    pub(crate) fn keeper(&self, slot: &WorkerSlot) -> Keeper {
        let Some(read_since) = self.read_since else { return Keeper::Unknown };
        match self.there.get(&slot.node_id) {
            Some(There { offer: Some(offer), .. }) if !offer.ports.contains(&slot.port) => Keeper::Withdrew,
            Some(_) => Keeper::There,
            None => Keeper::Gone(self.gone_since.get(&slot.node_id).copied().unwrap_or(read_since)),
        }
    }
}

impl Offer {
    /// From the record. Ports that are none are left out.
    pub fn of(record: &SupervisorInfo) -> Self {
        let ports: BTreeSet<u16> = record
            .meta
            .iter()
            .flatten()
            .filter_map(|port| u16::try_from(*port).ok())
            .filter(|port| *port != 0)
            .collect();
        let percent = record.resources_map.as_ref().and_then(|of| of.get(CPU_PERCENT)).copied().unwrap_or(0.0);
        // What is no number becomes 0, what is too large the largest number.
        let cpus = (percent / 100.0) as i64;
        let uptime = record.uptime_secs.and_then(|secs| u64::try_from(secs).ok()).unwrap_or(0);
        Self {
            host: record.hostname.clone(),
            slot_cores: (cpus / ports.len().max(1) as i64).max(1),
            ports,
            uptime: Duration::from_secs(uptime),
        }
    }
}

/// Storm's name of CPU in maps of resources: 100 for each.
pub(crate) const CPU_PERCENT: &str = "cpu.pcore.percent";

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Moment {
        Moment(Duration::from_secs(secs))
    }

    fn record(ports: &[i64], percent: f64, uptime: i64) -> SupervisorInfo {
        SupervisorInfo {
            hostname: "h".into(),
            meta: Some(ports.to_vec()),
            resources_map: Some([(CPU_PERCENT.to_owned(), percent)].into()),
            uptime_secs: Some(uptime),
            ..SupervisorInfo::default()
        }
    }

    fn nodes(of: &[(&str, Option<SupervisorInfo>)]) -> BTreeMap<NodeName, Option<SupervisorInfo>> {
        of.iter().map(|(name, record)| (NodeName::new(name).unwrap(), record.clone())).collect()
    }

    fn slot(node: &str, port: u16) -> WorkerSlot {
        WorkerSlot { node_id: node.into(), port }
    }

    #[test]
    fn a_slot_has_its_share_of_the_cpus_and_at_least_one_core() {
        let cores = |ports: &[i64], percent| Offer::of(&record(ports, percent, 0)).slot_cores;
        assert_eq!(cores(&[6700, 6701, 6702, 6703], 400.0), 1);
        assert_eq!(cores(&[6700, 6701], 800.0), 4);
        assert_eq!(cores(&[6700, 6701, 6702], 800.0), 2);
        assert_eq!(cores(&[6700, 6701], 100.0), 1);
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5.0] {
            assert!(cores(&[], odd) >= 1);
        }
    }

    #[test]
    fn what_is_no_port_is_left_out() {
        assert_eq!(Offer::of(&record(&[-1, 0, 6700, 65_535, 65_536, i64::MAX], 0.0, -7)).ports, [6700, 65_535].into());
    }

    #[test]
    fn a_supervisor_that_cannot_be_read_is_there_and_one_that_was_never_seen_is_gone_since_the_first_look() {
        let mut supervisors = Supervisors::default();
        assert_eq!(supervisors.keeper(&slot("a", 1)), Keeper::Unknown);
        supervisors.read(at(5), &nodes(&[("a", Some(record(&[1], 0.0, 0))), ("b", None)]));
        assert_eq!(supervisors.keeper(&slot("a", 1)), Keeper::There);
        assert_eq!(supervisors.keeper(&slot("a", 2)), Keeper::Withdrew);
        assert_eq!(supervisors.keeper(&slot("b", 2)), Keeper::There);
        assert_eq!(supervisors.keeper(&slot("c", 1)), Keeper::Gone(at(5)));
        supervisors.read(at(9), &nodes(&[("b", None)]));
        supervisors.read(at(12), &nodes(&[("b", None)]));
        assert_eq!(supervisors.keeper(&slot("a", 1)), Keeper::Gone(at(9)));
        supervisors.read(at(12 + 3600), &nodes(&[("a", None)]));
        assert_eq!(supervisors.keeper(&slot("a", 1)), Keeper::There);
        assert!(supervisors.gone_since.len() == 1 && supervisors.offers().next().is_none());
    }

    #[test]
    fn a_cold_cluster_waits_and_a_leader_that_takes_over_does_not() {
        let mut supervisors = Supervisors::default();
        assert_eq!(supervisors.may_begin(at(99)), FirstRound::WhenASupervisorIsThere);
        supervisors.read(at(100), &nodes(&[("a", Some(record(&[1], 0.0, 3)))]));
        assert_eq!(supervisors.may_begin(at(100)), FirstRound::In(Duration::from_secs(7)));
        // The record is renewed every five seconds only.
        assert_eq!(supervisors.may_begin(at(108)), FirstRound::In(Duration::from_secs(2)));
        supervisors.read(at(108), &nodes(&[("a", None), ("b", Some(record(&[1], 0.0, 500)))]));
        assert_eq!(supervisors.may_begin(at(108)), FirstRound::Now);
    }
}
