//! What submissions say with the tree, and how many must hold their code.

use std::collections::BTreeSet;
use std::time::Duration;

use ringstorm_lifecycle::conf;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{Credentials, StormBase};
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::{Leadership, Skipped, Tree, Trouble};

use super::Taken;
use crate::interface::{BlobNumbers, Conf};
use crate::nimbus::code::blob_key;
use crate::nimbus::leadership::bases;

const MIN_REPLICATION: &str = "topology.min.replication.count";
const MAX_REPLICATION_WAIT: &str = "topology.max.replication.wait.time.sec";
const DEFAULT_MAX_REPLICATION_WAIT_SECS: i32 = 60;

/// How many hold the code of a topology at least, while so many live.
const REPLICATION: usize = 2;

/// What is there already.
#[derive(Debug)]
pub(in crate::nimbus) struct Names {
    pub(super) bases: Vec<(NodeName, StormBase)>,
    /// Ids of topologies of which there is anything.
    pub(super) ids: BTreeSet<String>,
    /// Ids of those that live and cannot be read.
    pub(super) unreadable: BTreeSet<String>,
}

/// Who holds what.
#[derive(Clone, Debug)]
pub(in crate::nimbus) struct Replication {
    /// Of the blob that the fewest hold.
    holders: usize,
    /// How many nimbuses live. Of a node that cannot be read nobody knows whose it is, and nothing is waited for.
    nimbuses: usize,
    /// Those that live and lack something, as `host:port`.
    lacking: Vec<String>,
    /// Nodes of nimbuses that cannot be read.
    pub(in crate::nimbus) skipped: Vec<Skipped>,
}

impl Replication {
    /// Whether it is enough for a topology that asks for `wanted`.
    pub(in crate::nimbus) fn is_enough(&self, wanted: usize) -> bool {
        self.holders >= self.needed(wanted)
    }

    fn needed(&self, wanted: usize) -> usize {
        wanted.max(self.nimbuses.min(REPLICATION)).max(1)
    }

    /// What is waited for, in words.
    pub(in crate::nimbus) fn missing(&self, wanted: usize) -> String {
        let (holders, needed) = (self.holders, self.needed(wanted));
        let lacking = match self.lacking.as_slice() {
            [] => "no other nimbus lives".to_owned(),
            lacking => format!("{} lacks it, and says in its own nimbus.log why", lacking.join(", ")),
        };
        format!("{holders} of {needed} nimbuses hold its code; {lacking}")
    }
}

/// How many nimbuses the topology asks for to hold its code, and how long it waits for that; `None` for ever.
pub(in crate::nimbus) fn wanted_replication(conf: &Conf) -> (usize, Option<Duration>) {
    let wanted = conf::int(conf, MIN_REPLICATION).ok().flatten().and_then(|count| usize::try_from(count).ok());
    let wait = conf::int(conf, MAX_REPLICATION_WAIT).ok().flatten().unwrap_or(DEFAULT_MAX_REPLICATION_WAIT_SECS);
    let wait = u64::try_from(wait).ok().filter(|secs| *secs > 0).map(Duration::from_secs);
    (wanted.unwrap_or(1), wait)
}

/// Reads which names and ids are taken.
pub(super) async fn names(tree: &Tree) -> Result<Names, Trouble> {
    let bases = bases(tree, false).await?;
    let unreadable: BTreeSet<String> = bases.skipped.iter().map(|skipped| skipped.path.name().to_owned()).collect();
    let mut ids: BTreeSet<String> = bases.found.iter().map(|(topology, _)| topology.to_string()).collect();
    ids.extend(unreadable.iter().cloned());
    ids.extend(tree.topologies_with_remains().await?.found.iter().map(NodeName::to_string));
    ids.extend(tree.assigned_topologies(false).await?.found.iter().map(NodeName::to_string));
    for below in [Node::Blobs {}, Node::BlobSequences {}] {
        for node in tree.nodes(&below, false).await?.found {
            if let Node::Blob { key } | Node::BlobSequence { key } = node
                && let Some((id, _)) = TopologyBlob::of_key(key.as_str())
            {
                ids.insert(id.to_owned());
            }
        }
    }
    Ok(Names { bases: bases.found, ids, unreadable })
}

/// Writes the credentials of a topology, and numbers the contents of its blobs.
pub(super) async fn number(
    tree: &Tree,
    leader: &Leadership,
    taken: &Taken,
    credentials: Option<Credentials>,
    own: &NimbusAddress,
) -> Result<BlobNumbers, Trouble> {
    if let Some(credentials) = credentials {
        tree.set_credentials(leader, &taken.topology, &credentials).await?;
    }
    let mut numbers = [0; 3];
    for (number, blob) in numbers.iter_mut().zip(TopologyBlob::ALL) {
        let given = tree.number_blob(&blob_key(&taken.topology, blob), own, Some(leader)).await?;
        *number = u32::try_from(given).unwrap_or(1);
    }
    let [jar, code, conf] = numbers;
    Ok(BlobNumbers { jar, code, conf })
}

/// How many hold the newest content of each of these blobs.
pub(in crate::nimbus) async fn replication(tree: &Tree, keys: &[NodeName]) -> Result<Replication, Trouble> {
    let nimbuses = tree.nimbuses(false).await?;
    let living: BTreeSet<String> =
        nimbuses.found.iter().map(|(_, nimbus)| format!("{}:{}", nimbus.host, nimbus.port)).collect();
    let (mut fewest, mut lacking) = (usize::MAX, BTreeSet::new());
    for key in keys {
        let holders = tree.blob_holders(key, false).await?.found;
        let newest = holders.iter().map(|holder| holder.version).max();
        let newest = holders.iter().filter(|holder| Some(holder.version) == newest);
        let of: BTreeSet<String> =
            newest.map(|holder| format!("{}:{}", holder.nimbus.host(), holder.nimbus.port())).collect();
        fewest = fewest.min(of.len());
        lacking.extend(living.difference(&of).cloned());
    }
    let lacking = lacking.into_iter().collect();
    Ok(Replication { holders: fewest, nimbuses: living.len(), lacking, skipped: nimbuses.skipped })
}
