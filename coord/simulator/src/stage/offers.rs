//! Supervisors that are only nodes: they offer slots, and nothing ever runs in them.
//!
//! With these a cluster may be far larger than one that is run here.

use ringstorm_records::payload;
use ringstorm_records::records::SupervisorInfo;
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::acl::Acl;
use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;

use super::Stage;
use crate::checks::Violation;

/// What a supervisor offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its id.
    pub id: NodeName,
    /// The name of its host.
    pub host: String,
    /// How many slots.
    pub slots: u16,
}

impl Stage {
    /// Adds supervisors, behind whatever made the folder of supervisors.
    ///
    /// # Errors
    /// The law that was broken; or one is there already, or the folder is not.
    pub fn offer(&mut self, offers: &[Offer]) -> Result<(), Violation> {
        for offer in offers {
            let ports: Vec<i64> = (6700..).take(offer.slots.into()).collect();
            self.world.slots += ports.len();
            let info = SupervisorInfo {
                hostname: offer.host.clone(),
                assignment_id: Some(offer.id.to_string()),
                used_ports: Some(Vec::new()),
                meta: Some(ports),
                version: Some("2.8.2-ringstorm.0".to_owned()),
                ..SupervisorInfo::default()
            };
            let path = ZnodePath::of(&self.world.root, &Node::Supervisor { supervisor: offer.id.clone() });
            let data = payload::encode(&info);
            let create = Operation::create(path, data, CreateMode::Ephemeral, [Acl::anyone()].into());
            let outcome = self.world.perform(self.world.zookeeper.operator, &create)?;
            if !matches!(outcome, Outcome::Done(_)) {
                return Err(Violation::new("an offer is made", format!("{}: {outcome:?}", offer.id)));
            }
        }
        Ok(())
    }
}
