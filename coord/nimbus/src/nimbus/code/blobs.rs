//! What the tree says of blobs.

use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::znode::{BlobHolder, NodeName};
use ringstorm_store::cluster::{Listing, Tree, Trouble};

/// What the tree says of a blob.
#[derive(Clone, Debug)]
pub(in crate::nimbus) struct BlobState {
    pub(in crate::nimbus) key: NodeName,
    /// The number of its newest content, if it is known.
    pub(in crate::nimbus) highest: Option<u32>,
    pub(in crate::nimbus) holders: Vec<BlobHolder>,
}

impl BlobState {
    /// Whether a content of this number is the newest one, as far as can be known.
    pub(in crate::nimbus) fn is_current(&self, number: Option<u32>) -> bool {
        number.is_some_and(|number| self.highest.is_none_or(|highest| number >= highest))
    }

    /// Who else lists the newest content.
    pub(in crate::nimbus) fn newest(&self, own: &NimbusAddress) -> Option<&BlobHolder> {
        let others = self.holders.iter().filter(|holder| holder.nimbus != *own);
        others.max_by_key(|holder| holder.version).filter(|holder| self.is_current(Some(holder.version)))
    }

    /// From whom a nimbus that holds this number should fetch: whoever has the newest of what others hold, if it is newer.
    pub(super) fn better_than(&self, number: Option<u32>, own: &NimbusAddress) -> Vec<&BlobHolder> {
        let others = || self.holders.iter().filter(|holder| holder.nimbus != *own);
        let best = others().map(|holder| holder.version).max().unwrap_or(0);
        let is_better = !self.is_current(number) && best > number.unwrap_or(0);
        others().filter(|holder| is_better && holder.version == best).collect()
    }
}

/// The keys of all blobs, and, read after them, the topologies that live. A blob that comes or goes is told.
pub(super) async fn keys(tree: &Tree) -> Result<(Listing<NodeName>, Listing<NodeName>), Trouble> {
    let keys = tree.blob_keys(true).await?;
    Ok((keys, tree.topologies(false).await?))
}

/// The key of a blob of a topology.
pub(in crate::nimbus) fn blob_key(topology: &NodeName, blob: TopologyBlob) -> NodeName {
    NodeName::new(&blob.key(topology.as_str()))
        .expect("what may be the name of a node may be so with letters behind it")
}

/// The keys of all blobs of a topology.
pub(in crate::nimbus) fn topology_keys(topology: &NodeName) -> [NodeName; 3] {
    TopologyBlob::ALL.map(|blob| blob_key(topology, blob))
}

/// What the tree says of blobs; with `watch` the next change of who holds one is told.
pub(in crate::nimbus) async fn blob_states(
    tree: &Tree,
    keys: Vec<NodeName>,
    watch: bool,
) -> Result<Vec<BlobState>, Trouble> {
    let mut states = Vec::with_capacity(keys.len());
    for key in keys {
        let holders = tree.blob_holders(&key, watch).await?.found;
        let highest = tree.blob_highest(&key).await?.value().and_then(|number| u32::try_from(number).ok());
        states.push(BlobState { key, highest, holders });
    }
    Ok(states)
}
