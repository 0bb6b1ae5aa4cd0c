//! What the newest assignments that were seen give to this supervisor.
//!
//! Invariants: of a topology, the version that counts never falls. What cannot be read, and what is older than what was
//! seen, changes nothing. A topology that seems to be gone counts until two fresh looks, [`Settings::gone_for`] apart,
//! agree that it has neither an assignment nor a base that lives. What the tree names now counts more than what is
//! remembered. Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ringstorm_control::time::Moment;
use ringstorm_records::records::Assignment;
use ringstorm_records::znode::NodeName;
use ringstorm_store::operation::Stat;

#[cfg(doc)]
use crate::settings::Settings;

use crate::local_state::Assigned;
use crate::look::{Base, Look};
use crate::notes::Notes;
use crate::share::{Share, cores, shares};
use crate::slot::Wanted;

/// How many versions of topologies are remembered that have no assignment any more.
const VERSIONS_KEPT: usize = 4096;

/// About what notes are.
const FOLDER: &str = "assignments";

/// It.
#[derive(Debug)]
pub(crate) struct Assignments {
    supervisor: NodeName,
    /// What was read, so that only what changed is read again.
    known: BTreeMap<NodeName, Stat>,
    /// The highest version that was seen of each topology.
    versions: BTreeMap<String, i64>,
    /// Those of them whose assignment in the tree is older now.
    passed_over: BTreeMap<String, i64>,
    /// Topologies with a part here.
    ours: BTreeMap<String, Assigned>,
    /// Those of them whose part is what the tree says now; that of the others is remembered.
    fresh: BTreeSet<String>,
    /// When a topology was first seen to be gone.
    gone: BTreeMap<String, Moment>,
    has_looked: bool,
    notes: Notes,
}

impl Assignments {
    /// As the daemon before has left it.
    pub(crate) fn new(supervisor: NodeName, ours: BTreeMap<String, Assigned>) -> Self {
        Self {
            supervisor,
            known: BTreeMap::new(),
            versions: ours.iter().map(|(topology, assigned)| (topology.clone(), assigned.version)).collect(),
            passed_over: BTreeMap::new(),
            ours,
            fresh: BTreeSet::new(),
            gone: BTreeMap::new(),
            has_looked: false,
            notes: Notes::default(),
        }
    }

    /// What is known may be of another history than what comes now: everything is read again.
    pub(crate) fn forget_known(&mut self) {
        self.known.clear();
    }

    /// The assignments that were read.
    pub(crate) fn known(&self) -> &BTreeMap<NodeName, Stat> {
        &self.known
    }

    /// The topologies that have a part here.
    pub(crate) fn ours(&self) -> &BTreeMap<String, Assigned> {
        &self.ours
    }

    /// The versions that were seen of topologies whose assignment in the tree is older.
    pub(crate) fn passed_over(&self) -> &BTreeMap<String, i64> {
        &self.passed_over
    }

    /// Whether a look has succeeded since the start.
    pub(crate) fn has_looked(&self) -> bool {
        self.has_looked
    }

    /// What a slot is to run. Of several topologies that claim it, those come first that the tree names now, and then
    /// the one that it runs.
    pub(crate) fn wanted(&self, port: u16, running: Option<&str>) -> Wanted {
        let is_better =
            |share: &&Share| (self.fresh.contains(&share.topology), Some(share.topology.as_str()) == running);
        // Of equals the last one is taken.
        let share = self.claims(port).max_by_key(is_better);
        share.map_or(Wanted::Nothing, |share| Wanted::Run(share.clone()))
    }

    /// The topologies that seem to be gone.
    pub(crate) fn gone(&self) -> &BTreeMap<String, Moment> {
        &self.gone
    }

    fn claims(&self, port: u16) -> impl Iterator<Item = &Share> {
        self.ours.values().filter_map(move |assigned| assigned.shares.get(&port))
    }

    /// Takes what a look has found. Lines for operators; and when to look again at what seems to be gone.
    pub(crate) fn take(
        &mut self,
        now: Moment,
        look: Look,
        gone_for: Duration,
        ports: &BTreeSet<u16>,
    ) -> (Vec<String>, Option<Moment>) {
        let mut lines = Vec::new();
        let mut about_what = BTreeSet::new();
        if !look.has_folder {
            let line = "the tree has no assignments; it was deleted or was never made. What runs here goes on";
            lines.extend(self.notes.changed(FOLDER, line.to_owned()));
            return (lines, None);
        }
        self.has_looked = true;
        for skipped in &look.skipped {
            let path = skipped.path.to_string();
            lines.extend(self.notes.changed(&path, format!("{path} is passed over: {}", skipped.why)));
            about_what.insert(path);
        }
        self.known.retain(|topology, _| look.listed.contains(topology));
        self.fresh.retain(|topology| NodeName::new(topology).is_ok_and(|topology| look.listed.contains(&topology)));
        self.passed_over
            .retain(|topology, _| NodeName::new(topology).is_ok_and(|topology| look.listed.contains(&topology)));
        for (topology, (stat, read)) in look.changed {
            self.known.insert(topology.clone(), stat);
            let about = about(topology.as_str());
            match read.and_then(|assignment| self.accept(topology.as_str(), &assignment)) {
                Ok(None) => drop(self.notes.is_over(&about)),
                Ok(Some(line)) => lines.extend(self.notes.changed(&about, line)),
                Err(why) => {
                    self.fresh.remove(topology.as_str());
                    let line = format!("the assignment of {topology} is passed over, what runs goes on: {why}");
                    lines.extend(self.notes.changed(&about, line));
                }
            }
        }
        about_what.extend(look.listed.iter().chain(look.unassigned.keys()).map(|topology| about(topology.as_str())));
        let is_listed = |topology: &str| NodeName::new(topology).is_ok_and(|topology| look.listed.contains(&topology));
        self.gone.retain(|topology, _| !is_listed(topology));
        for (topology, base) in &look.unassigned {
            lines.extend(self.unassigned(now, topology.as_str(), *base, gone_for));
        }
        let ours = &self.ours;
        self.gone.retain(|topology, _| ours.contains_key(topology));
        self.forget_versions(&is_listed);
        lines.extend(self.odd_claims(ports, &mut about_what));
        self.notes.keep(&about_what);
        (lines, self.gone.values().min().map(|since| *since + gone_for))
    }

    /// Takes an assignment, if it is not older than what was seen.
    fn accept(&mut self, topology: &str, assignment: &Assignment) -> Result<Option<String>, String> {
        let version = assignment.version.unwrap_or(0);
        self.passed_over.remove(topology);
        if let Some(seen) = self.versions.get(topology).filter(|seen| **seen > version) {
            self.passed_over.insert(topology.to_owned(), *seen);
            return Err(format!("its version {version} is older than {seen}, which was seen"));
        }
        let shares = shares(topology, assignment, self.supervisor.as_str())?;
        let cores = cores(assignment, self.supervisor.as_str())?;
        let mut line = None;
        let before = self.ours.get(topology);
        if assignment.version.is_some() && before.is_some_and(|it| it.version == version && it.shares != shares) {
            line =
                Some(format!("the assignment of {topology} changed without a new version; it is taken as it is now"));
        }
        self.versions.insert(topology.to_owned(), version);
        if shares.is_empty() {
            self.ours.remove(topology);
            self.fresh.remove(topology);
        } else {
            self.ours.insert(topology.to_owned(), Assigned { version, cores, shares });
            self.fresh.insert(topology.to_owned());
        }
        Ok(line)
    }

    /// Decides about a topology that has no assignment.
    fn unassigned(&mut self, now: Moment, topology: &str, base: Base, gone_for: Duration) -> Option<String> {
        let about = about(topology);
        if base == Base::Lives {
            self.gone.remove(topology);
            let line = format!("{topology} lives and has no assignment; its workers here go on");
            return self.notes.changed(&about, line);
        }
        let since = *self.gone.entry(topology.to_owned()).or_insert(now);
        if now.since(since) < gone_for {
            return None;
        }
        self.gone.remove(topology);
        self.ours.remove(topology).map(|_| format!("{topology} is gone; its workers here are stopped"))
    }

    /// Versions of topologies that are gone are kept as long as there is room: an older tree may be restored.
    fn forget_versions(&mut self, is_listed: &impl Fn(&str) -> bool) {
        let ours = &self.ours;
        let is_gone = |topology: &String| !is_listed(topology) && !ours.contains_key(topology);
        let gone: Vec<_> = self.versions.keys().filter(|topology| is_gone(topology)).cloned().collect();
        for topology in gone.iter().take(gone.len().saturating_sub(VERSIONS_KEPT)) {
            self.versions.remove(topology);
        }
    }

    /// Names slots that are claimed twice, and ports that are no slots.
    fn odd_claims(&mut self, ports: &BTreeSet<u16>, about_what: &mut BTreeSet<String>) -> Vec<String> {
        let claimed: BTreeSet<u16> = self.ours.values().flat_map(|assigned| assigned.shares.keys().copied()).collect();
        let mut lines = Vec::new();
        for port in claimed.union(ports) {
            let claims = self.claims(*port).map(|share| share.topology.as_str());
            let topologies: Vec<_> = claims.filter(|topology| self.fresh.contains(*topology)).collect();
            let about = format!("claims of {port}");
            let line = match &topologies[..] {
                [] => None,
                [one] if !ports.contains(port) => Some(format!("{one} is assigned to port {port}, which is no slot")),
                [_] => None,
                several => Some(format!("slot {port} is assigned to {}; one of them is run", several.join(" and "))),
            };
            if let Some(line) = line {
                lines.extend(self.notes.changed(&about, line));
                about_what.insert(about);
            }
        }
        lines
    }
}

fn about(topology: &str) -> String {
    format!("assignment of {topology}")
}
