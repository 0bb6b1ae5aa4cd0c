//! What is asked about one topology.

use std::sync::Arc;

use ringstorm_lifecycle::conf::{of_component, redacted, to_json};
use ringstorm_records::nimbus::{
    GetComponentPageInfo, GetComponentPendingProfileActions, GetLogConfig, GetTopology, GetTopologyConf,
    GetTopologyInfo, GetTopologyInfoByName, GetTopologyInfoByNameWithOpts, GetTopologyInfoWithOpts,
    GetTopologyPageInfo, GetTopologySummary, GetTopologySummaryByName, GetUserTopology,
};
use ringstorm_records::records::{
    ComponentPageInfo, ComponentType, GetInfoOptions, LogConfig, NumErrorsChoice, ProfileRequest, StormTopology,
    TopologyInfo, TopologyPageInfo, TopologySummary,
};
use ringstorm_store::cluster::{Reading, Skipped};

use super::{Asking, Read, needed};
use crate::answer::{Answer, NoAnswer};
use crate::component_page::{component_page, executors_of};
use crate::definition::Definition;
use crate::executors::{placed, slots, topology_info};
use crate::gather::{self, Errors, Gathered, Topology};
use crate::profiling::pending_profile_actions;
use crate::topologies::{Definitions, topology_summary};
use crate::topology_page::topology_page;

/// The window of everything that was ever counted.
const ALL_TIME: &str = ":all-time";

async fn summary(asking: &Asking, topology: Gathered<Topology>) -> Result<Answer<TopologySummary>, NoAnswer> {
    let topologies = std::slice::from_ref(&topology.value);
    let definition = asking.definitions_of(topologies);
    let of = definition.value.values().next().map(|definition| &**definition);
    let mut value = topology_summary(&topology.value, of, asking.now_secs);
    value.sched_status = asking.lacking(topologies, &definition.value).await?.remove(&value.id);
    Ok(Answer { value, skipped: [topology.skipped, definition.skipped].concat() })
}

/// What a topology lacks, in words.
async fn lacking(
    asking: &Asking,
    topology: &Topology,
    definition: &Arc<Definition>,
) -> Result<Option<String>, NoAnswer> {
    let definitions = Definitions::from([(topology.id.as_str().to_owned(), Arc::clone(definition))]);
    Ok(asking.lacking(std::slice::from_ref(topology), &definitions).await?.remove(topology.id.as_str()))
}

impl Read for GetTopologySummary {
    async fn answer(self, asking: Asking) -> Result<Answer<TopologySummary>, NoAnswer> {
        let id = needed::<Self, _>(self.id, "id")?;
        match gather::topology(asking.fresh().await?, &id).await {
            // In other words than the other methods, as in Storm.
            Err(NoAnswer::NotAlive(id)) => Err(NoAnswer::NotAlive(format!("{id} is not alive"))),
            found => summary(&asking, found?).await,
        }
    }
}

impl Read for GetTopologySummaryByName {
    async fn answer(self, asking: Asking) -> Result<Answer<TopologySummary>, NoAnswer> {
        let name = needed::<Self, _>(self.name, "name")?;
        let tree = asking.fresh().await?;
        let id = gather::id_of(tree, &name).await?;
        let topology = gather::topology(tree, &id).await?;
        summary(&asking, topology).await
    }
}

async fn info(asking: &Asking, id: &str, options: Option<GetInfoOptions>) -> Result<Answer<TopologyInfo>, NoAnswer> {
    let tree = &asking.tree;
    let topology = gather::topology(tree, id).await?.value;
    let definition = asking.definition(&topology.id).await?;
    let components: Vec<&str> = definition.components_with_tasks().collect();
    let none = || components.iter().map(|component| ((*component).to_owned(), Vec::new())).collect::<Errors>();
    let errors = match options.and_then(|options| options.num_err_choice) {
        Some(NumErrorsChoice::None) => Gathered::whole(none()),
        Some(NumErrorsChoice::One) => {
            let last = gather::last_errors(tree, &topology.id, &components).await?;
            let one = last.value.into_iter().map(|(component, error)| (component, vec![error]));
            Gathered { value: none().into_iter().chain(one).collect(), skipped: last.skipped }
        }
        _ => gather::errors(tree, &topology.id, &components).await?,
    };
    let beats = gather::beats(tree, &topology.id, slots(placed(topology.assignment.as_ref()))).await?;
    let mut value = topology_info(&topology, &definition, &beats.value, errors.value, asking.now_secs);
    value.sched_status = lacking(asking, &topology, &definition).await?;
    Ok(Answer { value, skipped: [errors.skipped, beats.skipped].concat() })
}

impl Read for GetTopologyInfo {
    async fn answer(self, asking: Asking) -> Result<Answer<TopologyInfo>, NoAnswer> {
        let id = needed::<Self, _>(self.id, "id")?;
        asking.fresh().await?;
        info(&asking, &id, None).await
    }
}

impl Read for GetTopologyInfoWithOpts {
    async fn answer(self, asking: Asking) -> Result<Answer<TopologyInfo>, NoAnswer> {
        let id = needed::<Self, _>(self.id, "id")?;
        asking.fresh().await?;
        info(&asking, &id, self.options).await
    }
}

impl Read for GetTopologyInfoByName {
    async fn answer(self, asking: Asking) -> Result<Answer<TopologyInfo>, NoAnswer> {
        let name = needed::<Self, _>(self.name, "name")?;
        let id = gather::id_of(asking.fresh().await?, &name).await?;
        info(&asking, &id, None).await
    }
}

impl Read for GetTopologyInfoByNameWithOpts {
    async fn answer(self, asking: Asking) -> Result<Answer<TopologyInfo>, NoAnswer> {
        let name = needed::<Self, _>(self.name, "name")?;
        let id = gather::id_of(asking.fresh().await?, &name).await?;
        info(&asking, &id, self.options).await
    }
}

impl Read for GetTopologyPageInfo {
    async fn answer(self, asking: Asking) -> Result<Answer<TopologyPageInfo>, NoAnswer> {
        let id = needed::<Self, _>(self.id, "id")?;
        let tree = asking.fresh().await?;
        let topology = gather::topology(tree, &id).await?.value;
        let definition = asking.definition(&topology.id).await?;
        let beats = gather::beats(tree, &topology.id, slots(placed(topology.assignment.as_ref()))).await?;
        let components: Vec<&str> = definition.components_with_tasks().collect();
        let errors = gather::last_errors(tree, &topology.id, &components).await?;
        let mut value = topology_page(
            &topology,
            &definition,
            &beats.value,
            &errors.value,
            self.window.as_deref().unwrap_or(ALL_TIME),
            self.is_include_sys.unwrap_or(false),
            asking.now_secs,
        );
        value.sched_status = lacking(&asking, &topology, &definition).await?;
        Ok(Answer { value, skipped: [beats.skipped, errors.skipped].concat() })
    }
}

impl Read for GetComponentPageInfo {
    async fn answer(self, asking: Asking) -> Result<Answer<ComponentPageInfo>, NoAnswer> {
        let id = needed::<Self, _>(self.topology_id, "topology_id")?;
        let asked = needed::<Self, _>(self.component_id, "component_id")?;
        let tree = asking.fresh().await?;
        let topology = gather::topology(tree, &id).await?.value;
        let definition = asking.definition(&topology.id).await?;
        let (component, kind) = component_of(&definition, &id, asked)?;
        let there = slots(executors_of(&topology, &definition, &component));
        let beats = gather::beats(tree, &topology.id, there).await?;
        let mut errors = gather::errors(tree, &topology.id, &[&component]).await?;
        let value = component_page(
            &topology,
            &definition,
            &beats.value,
            errors.value.remove(&component).unwrap_or_default(),
            &component,
            kind,
            self.window.as_deref().unwrap_or(ALL_TIME),
            self.is_include_sys.unwrap_or(false),
        );
        Ok(Answer { value, skipped: [beats.skipped, errors.skipped].concat() })
    }
}

/// The component of that id. Storm's user interface encodes ids as parts of addresses are.
fn component_of(definition: &Definition, topology: &str, asked: String) -> Result<(String, ComponentType), NoAnswer> {
    let spaced = asked.replace('+', " ");
    let decoded = percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned();
    for id in [&asked, &decoded] {
        if let Some(kind) = definition.kind(id) {
            return Ok((id.clone(), kind));
        }
    }
    let there = definition.component_ids().collect::<Vec<_>>().join(", ");
    Err(NoAnswer::NoComponent { topology: topology.to_owned(), component: asked, there })
}

impl Read for GetTopologyConf {
    async fn answer(self, asking: Asking) -> Result<Answer<String>, NoAnswer> {
        let id = needed::<Self, _>(self.id, "id")?;
        let definition = asking.definition_alone(&id).await?;
        Ok(Answer::whole(to_json(&redacted(definition.conf()))))
    }
}

/// The topology without the secrets of its components' configurations.
fn without_secrets(topology: &StormTopology) -> StormTopology {
    let mut topology = topology.clone();
    let bolts = topology.bolts.iter_mut().map(|(id, bolt)| (id, &mut bolt.common));
    let spouts = topology.spouts.iter_mut().map(|(id, spout)| (id, &mut spout.common));
    for (id, common) in bolts.chain(spouts) {
        // One that cannot be read never became a definition.
        let Ok(conf) = of_component(id, common) else { continue };
        let shown = redacted(&conf);
        if shown != conf {
            common.json_conf = Some(to_json(&shown));
        }
    }
    topology
}

impl Read for GetTopology {
    async fn answer(self, asking: Asking) -> Result<Answer<StormTopology>, NoAnswer> {
        let id = needed::<Self, _>(self.id, "id")?;
        Ok(Answer::whole(without_secrets(asking.definition_alone(&id).await?.system())))
    }
}

impl Read for GetUserTopology {
    async fn answer(self, asking: Asking) -> Result<Answer<StormTopology>, NoAnswer> {
        let id = needed::<Self, _>(self.id, "id")?;
        Ok(Answer::whole(without_secrets(asking.definition_alone(&id).await?.code())))
    }
}

impl Read for GetLogConfig {
    async fn answer(self, asking: Asking) -> Result<Answer<LogConfig>, NoAnswer> {
        let id = needed::<Self, _>(self.name, "name")?;
        let topology = asking.living(&id).await?;
        match asking.tree.log_config(&topology, false).await? {
            Reading::Found { value, .. } => Ok(Answer::whole(value)),
            Reading::Absent => Ok(Answer::whole(LogConfig::default())),
            Reading::Garbage { why, .. } => {
                let path = asking.tree.path(&ringstorm_records::znode::Node::LogConfig { topology });
                Err(NoAnswer::Unreadable(Skipped { path, why }))
            }
        }
    }
}

impl Read for GetComponentPendingProfileActions {
    async fn answer(self, asking: Asking) -> Result<Answer<Vec<ProfileRequest>>, NoAnswer> {
        let id = needed::<Self, _>(self.id, "id")?;
        let component = needed::<Self, _>(self.component_id, "component_id")?;
        let action = needed::<Self, _>(self.action, "action")?;
        let tree = asking.fresh().await?;
        let topology = gather::topology(tree, &id).await?.value;
        let definition = asking.definition(&topology.id).await?;
        let requests = tree.profile_requests(&topology.id).await?;
        let list: Vec<ProfileRequest> = requests.found.into_iter().map(|(_, request)| request).collect();
        let value = pending_profile_actions(&topology, &definition, &component, action, &list);
        Ok(Answer { value, skipped: requests.skipped })
    }
}
