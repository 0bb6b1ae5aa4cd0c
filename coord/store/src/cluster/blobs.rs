//! Which nimbus holds which content of a blob.
//!
//! Source: `KeySequenceNumber` and `LocalFsBlobStore` of Storm 2.8.2.

use ringstorm_records::payload::{self, NimbusAddress};
use ringstorm_records::znode::{BlobHolder, Node, NodeName};

use super::{Leadership, Listing, Reading, Tree, Trouble};
use crate::path::ZnodePath;
use crate::store::SessionId;

/// The number of a blob's first content.
const FIRST: i32 = 1;

/// What number a content gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobNumber {
    /// The number; 0 stands for a content that has to be fetched anew.
    pub number: i32,
    /// Whether it becomes the blob's highest.
    pub is_highest: bool,
}

/// Which number the content that a nimbus holds gets, by Storm's rules. `holders` are those that are listed; `None` when
/// the blob is not known at all. `highest` is the stored number of the newest content.
pub fn next_blob_number(
    holders: Option<&[BlobHolder]>,
    highest: Option<i32>,
    nimbus: &NimbusAddress,
    is_leader: bool,
) -> BlobNumber {
    let keep = |number| BlobNumber { number, is_highest: false };
    let raise = |number: i32| BlobNumber { number: number.saturating_add(1), is_highest: true };
    let number_of = |holder: &BlobHolder| i32::try_from(holder.version).unwrap_or(i32::MAX);
    let Some(holders) = holders else { return BlobNumber { number: FIRST, is_highest: true } };
    // Where it is lost, the numbers that are listed say how far it was.
    let listed = holders.iter().map(number_of).max();
    let highest = highest.or(listed).unwrap_or(0);
    let Some(listed) = listed else { return keep(highest) };
    let is_listed = holders.iter().any(|holder| holder.nimbus == *nimbus);
    let are_equal = holders.iter().all(|holder| number_of(holder) == listed);
    match (is_listed, is_leader) {
        (false, false) if listed < highest => keep(highest),
        (false, false) => keep(FIRST - 1),
        (false, true) => raise(highest),
        (true, _) if are_equal => raise(listed.max(highest)),
        (true, _) => keep(listed),
    }
}

impl Tree {
    /// The keys of all blobs.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn blob_keys(&self, watch: bool) -> Result<Listing<NodeName>, Trouble> {
        let nodes = self.nodes(&Node::Blobs {}, watch).await?;
        let found = nodes.found.into_iter().filter_map(|node| match node {
            Node::Blob { key } => Some(key),
            _ => None,
        });
        Ok(Listing { found: found.collect(), skipped: nodes.skipped })
    }

    /// Which nimbuses hold a blob. Their number is the blob's replication.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn blob_holders(&self, key: &NodeName, watch: bool) -> Result<Listing<BlobHolder>, Trouble> {
        let nodes = self.nodes(&Node::Blob { key: key.clone() }, watch).await?;
        let found = nodes.found.into_iter().filter_map(|node| match node {
            Node::BlobHolder { holder, .. } => Some(holder),
            _ => None,
        });
        Ok(Listing { found: found.collect(), skipped: nodes.skipped })
    }

    /// Says that a nimbus holds a blob's content of a number, and no other any more. It counts for as long as the session
    /// lasts.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn hold_blob(&self, session: SessionId, key: &NodeName, holder: &BlobHolder) -> Result<(), Trouble> {
        self.make_folder(None, &self.path(&Node::Blob { key: key.clone() }), &self.acls.daemons).await?;
        for other in self.blob_holders(key, false).await?.found {
            if other.nimbus == holder.nimbus && other != *holder {
                self.remove(None, &self.holder(key, &other)).await?;
            }
        }
        // It is its own node by its name, whichever of its sessions made it.
        self.hold(session, &self.holder(key, holder), &[], |_| true).await.map(drop)
    }

    /// Takes back that a nimbus holds a blob.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn release_blob(&self, key: &NodeName, nimbus: &NimbusAddress) -> Result<(), Trouble> {
        for holder in self.blob_holders(key, false).await?.found.iter().filter(|holder| holder.nimbus == *nimbus) {
            self.remove(None, &self.holder(key, holder)).await?;
        }
        Ok(())
    }

    /// The number of a blob's newest content.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn blob_highest(&self, key: &NodeName) -> Result<Reading<i32>, Trouble> {
        let found = self.get(&self.path(&Node::BlobSequence { key: key.clone() }), false).await?;
        Ok(Reading::decode(found, payload::decode_number))
    }

    /// Gives the content that a nimbus holds its number, by [`next_blob_number`], and stores it where it is the highest.
    ///
    /// # Errors
    /// [`Trouble`]. Called again after one, the number may be one higher, which does no harm.
    pub async fn number_blob(
        &self,
        key: &NodeName,
        nimbus: &NimbusAddress,
        leader: Option<&Leadership>,
    ) -> Result<i32, Trouble> {
        let is_known = self.exists(&self.path(&Node::Blob { key: key.clone() }), false).await?;
        let holders = if is_known { Some(self.blob_holders(key, false).await?.found) } else { None };
        let highest = self.blob_highest(key).await?;
        let number = next_blob_number(holders.as_deref(), highest.value(), nimbus, leader.is_some());
        if number.is_highest {
            let path = self.path(&Node::BlobSequence { key: key.clone() });
            // Storm makes the node first, and sets it then: a content of the first number has version 1.
            self.make_folder(leader, &path, &self.acls.daemons).await?;
            self.set_data(leader, &path, &payload::encode_number(number.number), &self.acls.daemons).await?;
        }
        Ok(number.number)
    }

    /// Removes all that is known of a blob.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn remove_blob(&self, leader: &Leadership, key: &NodeName) -> Result<(), Trouble> {
        self.remove(Some(leader), &self.path(&Node::Blob { key: key.clone() })).await?;
        self.remove(Some(leader), &self.path(&Node::BlobSequence { key: key.clone() })).await
    }

    fn holder(&self, key: &NodeName, holder: &BlobHolder) -> ZnodePath {
        self.path(&Node::BlobHolder { key: key.clone(), holder: holder.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nimbus(host: &str) -> NimbusAddress {
        NimbusAddress::new(host, 6627, 0).unwrap()
    }

    fn number(holders: &[(&str, u32)], highest: i32, is_leader: bool) -> (i32, bool) {
        let holder = |(host, version): &(&str, u32)| BlobHolder { nimbus: nimbus(host), version: *version };
        let holders: Vec<_> = holders.iter().map(holder).collect();
        let number = next_blob_number(Some(&holders), Some(highest), &nimbus("me"), is_leader);
        (number.number, number.is_highest)
    }

    #[test]
    fn contents_are_numbered_by_storms_rules() {
        let unknown = next_blob_number(None, None, &nimbus("me"), true);
        assert_eq!(unknown, BlobNumber { number: 1, is_highest: true });
        // Where the highest number is lost, those that are listed say how far it was.
        let holder = BlobHolder { nimbus: nimbus("me"), version: 3 };
        let lost = next_blob_number(Some(&[holder]), None, &nimbus("me"), true);
        assert_eq!(lost, BlobNumber { number: 4, is_highest: true });
        // Everybody was down; whoever is back first takes what was the newest.
        assert_eq!(number(&[], 4, false), (4, false));
        // Others hold it and this nimbus does not.
        assert_eq!(number(&[("other", 3)], 4, false), (4, false));
        assert_eq!(number(&[("other", 4)], 4, false), (0, false));
        assert_eq!(number(&[("other", 4)], 4, true), (5, true));
        // An update where all hold the same.
        assert_eq!(number(&[("me", 4), ("other", 4)], 4, true), (5, true));
        assert_eq!(number(&[("me", 2), ("other", 2)], 4, true), (5, true));
        // Holders differ: the newest counts.
        assert_eq!(number(&[("me", 3), ("other", 4)], 4, true), (4, false));
    }
}
