//! Topologies whose logs a user may see: `getTopologyHistory`.
//!
//! Source: `Nimbus.getTopologyHistory` and `ServerConfigUtils.getTopoLogsUsers` of Storm 2.8.2. Threading: plain data.
//! Errors: none.

use std::collections::BTreeSet;

use ringstorm_lifecycle::conf::Conf;
use ringstorm_records::records::TopologyHistoryInfo;
use ringstorm_records::znode::NodeName;
use serde_json::Value;

use crate::topologies::Definitions;

/// A topology that was killed, as nimbus noted it then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTopology {
    /// Its id.
    pub id: String,
    /// Who may see its logs.
    pub users: BTreeSet<String>,
    /// The groups that may see its logs.
    pub groups: BTreeSet<String>,
}

impl PastTopology {
    /// What is to be noted of a topology, by its configuration on top of the daemon's.
    pub fn of(id: &str, conf: &Conf) -> Self {
        let both = |keys: [&str; 2]| keys.into_iter().flat_map(|key| texts(conf, key)).map(str::to_owned).collect();
        Self {
            id: id.to_owned(),
            users: both(["logs.users", "topology.users"]),
            groups: both(["logs.groups", "topology.groups"]),
        }
    }

    fn may_see(&self, user: &str, groups: &BTreeSet<String>) -> bool {
        self.users.contains(user) || !self.groups.is_disjoint(groups)
    }
}

/// The ids of topologies that are assigned or `past` and whose logs a user of these groups may see: all of them for an
/// administrator and for nobody in particular. An assigned one without a definition is shown to these two only.
pub fn topology_history<'a>(
    assigned: impl IntoIterator<Item = &'a NodeName>,
    definitions: &Definitions,
    past: &[PastTopology],
    daemon: &Conf,
    user: Option<&str>,
    groups: &BTreeSet<String>,
) -> TopologyHistoryInfo {
    let is_admin = |user: &str| texts(daemon, "nimbus.admins").any(|admin| admin == user);
    let sees_all = user.is_none_or(is_admin);
    let sees_assigned = sees_all || texts(daemon, "nimbus.admins.groups").any(|group| groups.contains(group));
    let may_see = |of: &PastTopology| user.is_some_and(|user| of.may_see(user, groups));
    let mut ids = BTreeSet::new();
    for id in assigned.into_iter().map(NodeName::as_str) {
        let definition = definitions.get(id);
        if sees_assigned || definition.is_some_and(|of| may_see(&PastTopology::of(id, of.total_conf()))) {
            ids.insert(id.to_owned());
        }
    }
    ids.extend(past.iter().filter(|of| sees_all || may_see(of)).map(|of| of.id.clone()));
    TopologyHistoryInfo { topo_ids: Some(ids.into_iter().collect()) }
}

/// The texts of a list, or one text alone (`ObjectReader.getStrings`).
fn texts<'a>(conf: &'a Conf, key: &str) -> impl Iterator<Item = &'a str> {
    let list = match conf.get(key) {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    list.iter().filter_map(Value::as_str)
}
