//! What the supervisor says of itself in the tree, as Storm's does. Threading: plain data.

use std::collections::BTreeMap;

use ringstorm_control::time::Now;
use ringstorm_records::records::SupervisorInfo;

use super::Supervisor;

/// What others act on, so that a change of it is said at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Publication {
    /// Ports of slots with a process.
    used_ports: Vec<i64>,
    /// Ports of slots that work can be given to.
    ports: Vec<i64>,
    /// Versions that nimbus has to go above.
    versions_seen: BTreeMap<String, i64>,
    /// Which is why it offers none.
    is_out_of_service: bool,
}

impl Supervisor {
    pub(super) fn publication(&self) -> Publication {
        let slots = || self.slots.iter().map(|(port, slot)| (i64::from(*port), slot));
        let in_service = slots().filter(|(_, slot)| {
            let is_withdrawn = slot.withdrawn_because().is_some() || self.lacks_code(slot).is_some();
            !self.is_out_of_service && !is_withdrawn
        });
        Publication {
            used_ports: slots().filter(|(_, slot)| slot.process().is_some()).map(|(port, _)| port).collect(),
            ports: in_service.map(|(port, _)| port).collect(),
            versions_seen: self.assignments.passed_over().clone(),
            is_out_of_service: self.is_out_of_service,
        }
    }

    pub(super) fn info(&self, now: Now, publication: &Publication) -> SupervisorInfo {
        let uptime = now.moment.since(self.started.moment).as_secs();
        let mut resources: BTreeMap<_, _> = self.settings.resources.clone();
        resources.insert("cpu.pcore.percent".to_owned(), self.settings.cpu_capacity);
        resources.insert("memory.mb".to_owned(), self.settings.memory_capacity_mb);
        SupervisorInfo {
            time_secs: i64::from(now.wall_secs()),
            hostname: self.host.name.clone(),
            assignment_id: Some(self.id.to_string()),
            used_ports: Some(publication.used_ports.clone()),
            meta: Some(publication.ports.clone()),
            scheduler_meta: self.settings.scheduler_meta.clone(),
            uptime_secs: Some(i64::try_from(uptime).unwrap_or(i64::MAX)),
            version: Some(self.settings.version.clone()),
            resources_map: Some(resources),
            server_port: self.settings.thrift_port.map(i32::from),
            versions_seen: Some(&publication.versions_seen).filter(|seen| !seen.is_empty()).cloned(),
            is_out_of_service: publication.is_out_of_service.then_some(true),
        }
    }
}
