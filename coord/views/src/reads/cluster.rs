//! What is asked about the cluster: lists, daemons, owners, names, blobs.

use std::collections::BTreeMap;

use ringstorm_lifecycle::conf::{redacted, to_json};
use ringstorm_lifecycle::id::{check_name, name_of};
use ringstorm_records::nimbus::{
    GetBlobReplication, GetClusterInfo, GetLeader, GetNimbusConf, GetOwnerResourceSummaries, GetSupervisorAssignments,
    GetSupervisorPageInfo, GetTopologyHistory, GetTopologySummaries, IsTopologyNameAllowed,
};
use ringstorm_records::records::{
    ClusterSummary, NimbusSummary, OwnerResourceSummary, SupervisorAssignments, SupervisorInfo, SupervisorPageInfo,
    TopologyHistoryInfo, TopologySummary,
};
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::Skipped;

use super::{Asking, Read, needed};
use crate::answer::{Answer, NoAnswer};
use crate::cluster::{cluster_summary, leader, supervisor_assignments};
use crate::executors::{placed, slots};
use crate::gather;
use crate::history::topology_history;
use crate::owners::owner_summaries;
use crate::topologies::topology_summaries;
use crate::workers::supervisor_page;

/// Says of each topology what it lacks.
fn say(summaries: &mut [TopologySummary], mut words: BTreeMap<String, String>) {
    for summary in summaries {
        summary.sched_status = words.remove(&summary.id);
    }
}

/// Whether what cannot be read is the base of a topology: of what is no id nobody asks.
fn is_base(asking: &Asking, skipped: &Skipped) -> bool {
    let id = skipped.path.name();
    let node = NodeName::new(id).map(|topology| asking.tree.path(&Node::Storm { topology }));
    name_of(id).is_some() && node.is_ok_and(|path| path == skipped.path)
}

impl Read for GetClusterInfo {
    async fn answer(self, asking: Asking) -> Result<Answer<ClusterSummary>, NoAnswer> {
        let tree = asking.fresh().await?;
        let supervisors = gather::supervisors(tree).await?;
        let nimbuses = gather::nimbuses(tree).await?;
        let topologies = gather::topologies(tree).await?;
        let definitions = asking.definitions_of(&topologies.value);
        let mut summary = cluster_summary(
            &supervisors.value,
            &topologies.value,
            &nimbuses.value,
            &definitions.value,
            asking.now_secs,
        );
        say(&mut summary.topologies, asking.lacking(&topologies.value, &definitions.value).await?);
        let bases = topologies.skipped.iter().filter(|it| is_base(&asking, it));
        let unreadable: BTreeMap<String, String> =
            bases.map(|it| (it.path.name().to_owned(), it.why.clone())).collect();
        summary.unreadable = (!unreadable.is_empty()).then_some(unreadable);
        let skipped = [supervisors.skipped, nimbuses.skipped, topologies.skipped, definitions.skipped].concat();
        Ok(Answer { value: summary, skipped })
    }
}

impl Read for GetTopologySummaries {
    async fn answer(self, asking: Asking) -> Result<Answer<Vec<TopologySummary>>, NoAnswer> {
        let topologies = gather::topologies(asking.fresh().await?).await?;
        let definitions = asking.definitions_of(&topologies.value);
        let mut summaries = topology_summaries(&topologies.value, &definitions.value, asking.now_secs);
        say(&mut summaries, asking.lacking(&topologies.value, &definitions.value).await?);
        Ok(Answer { value: summaries, skipped: [topologies.skipped, definitions.skipped].concat() })
    }
}

impl Read for GetLeader {
    async fn answer(self, asking: Asking) -> Result<Answer<NimbusSummary>, NoAnswer> {
        let nimbuses = gather::nimbuses(asking.fresh().await?).await?;
        let leader = leader(&nimbuses.value, asking.now_secs).ok_or(NoAnswer::NobodyLeads)?;
        Ok(nimbuses.map(|_| leader))
    }
}

impl Read for GetNimbusConf {
    async fn answer(self, asking: Asking) -> Result<Answer<String>, NoAnswer> {
        Ok(Answer::whole(to_json(&redacted(&asking.daemon))))
    }
}

impl Read for IsTopologyNameAllowed {
    async fn answer(self, asking: Asking) -> Result<Answer<bool>, NoAnswer> {
        let Some(name) = self.name.filter(|name| check_name(name).is_ok()) else { return Ok(Answer::whole(false)) };
        match gather::id_of(asking.fresh().await?, &name).await {
            // One that cannot be read may have that name.
            Ok(_) | Err(NoAnswer::Damaged(_)) => Ok(Answer::whole(false)),
            Err(NoAnswer::NotAlive(_)) => Ok(Answer::whole(true)),
            Err(other) => Err(other),
        }
    }
}

impl Read for GetSupervisorPageInfo {
    async fn answer(self, asking: Asking) -> Result<Answer<SupervisorPageInfo>, NoAnswer> {
        let tree = asking.fresh().await?;
        let all = gather::supervisors(tree).await?;
        let mut skipped = all.skipped;
        let (wanted, what): (Vec<(NodeName, SupervisorInfo)>, String) = match (self.id, self.host) {
            (Some(id), _) => (all.value.into_iter().filter(|(of, _)| of.as_str() == id).collect(), id),
            (None, Some(host)) => {
                let of_host = all.value.into_iter().filter(|(_, info)| info.hostname == host);
                (of_host.collect(), format!("on host {host}"))
            }
            (None, None) => return Err(NoAnswer::Missing { method: "getSupervisorPageInfo", argument: "id or host" }),
        };
        if wanted.is_empty() {
            return Err(NoAnswer::NotAlive(format!("supervisor {what} is not alive")));
        }
        let ids: Vec<&str> = wanted.iter().map(|(id, _)| id.as_str()).collect();
        let topologies = gather::topologies_on(tree, &ids).await?;
        skipped.extend(topologies.skipped);
        let mut shown = Vec::new();
        for topology in topologies.value {
            let definition = asking.definition(&topology.id).await?;
            let there = slots(placed(topology.assignment.as_ref()).filter(|executor| ids.contains(&executor.node)));
            let beats = gather::beats(tree, &topology.id, there).await?;
            skipped.extend(beats.skipped);
            shown.push((topology, definition, beats.value));
        }
        let page = supervisor_page(&wanted, &shown, self.is_include_sys.unwrap_or(false));
        Ok(Answer { value: page, skipped })
    }
}

impl Read for GetSupervisorAssignments {
    async fn answer(self, asking: Asking) -> Result<Answer<SupervisorAssignments>, NoAnswer> {
        let node = needed::<Self, _>(self.node, "node")?;
        let assignments = gather::assignments(asking.fresh().await?).await?;
        Ok(assignments.map(|assignments| supervisor_assignments(&assignments, &node)))
    }
}

impl Read for GetOwnerResourceSummaries {
    async fn answer(self, asking: Asking) -> Result<Answer<Vec<OwnerResourceSummary>>, NoAnswer> {
        let topologies = gather::topologies(asking.fresh().await?).await?;
        let definitions = asking.definitions_of(&topologies.value);
        let summaries = owner_summaries(&topologies.value, &definitions.value, self.owner.as_deref());
        Ok(Answer { value: summaries, skipped: [topologies.skipped, definitions.skipped].concat() })
    }
}

impl Read for GetTopologyHistory {
    async fn answer(self, asking: Asking) -> Result<Answer<TopologyHistoryInfo>, NoAnswer> {
        let assigned = asking.fresh().await?.assigned_topologies(false).await?;
        let definitions = asking.definitions(assigned.found.iter());
        let (user, past) = (self.user.as_deref(), asking.local.past_topologies());
        let groups = user.map(|user| asking.local.groups_of(user)).unwrap_or_default();
        let history = topology_history(&assigned.found, &definitions.value, &past, &asking.daemon, user, &groups);
        Ok(Answer { value: history, skipped: [assigned.skipped, definitions.skipped].concat() })
    }
}

impl Read for GetBlobReplication {
    async fn answer(self, asking: Asking) -> Result<Answer<i32>, NoAnswer> {
        let key = needed::<Self, _>(self.key, "key")?;
        let Ok(name) = NodeName::new(&key) else { return Err(NoAnswer::KeyNotFound(key)) };
        let tree = asking.fresh().await?;
        match tree.child_counts(&[Node::Blob { key: name }]).await?.first() {
            Some(count) if *count > 0 => Ok(Answer::whole(i32::try_from(*count).unwrap_or(i32::MAX))),
            _ => Err(NoAnswer::KeyNotFound(key)),
        }
    }
}
