//! Who leads: candidates queue up, and the first one does.
//!
//! As in Curator's `LeaderLatch`, which Storm's nimbus uses, so that its tools see who leads: each candidate makes one
//! ephemeral numbered node below `leader-lock` with its address; the lowest number leads; everybody else watches the one
//! before it, so that the end of a leader wakes one candidate and not all.
//!
//! Invariants: numbers only grow, so that a candidate that was first stays first for as long as its node is there.

use ringstorm_records::payload::{InvalidAddress, NimbusAddress, NimbusInfo};
use ringstorm_records::records::NimbusSummary;
use ringstorm_records::znode::{Candidate, Node, NodeName};

use super::trouble::{Trouble, answer};
use super::{Listing, Tree};
use crate::operation::{Answer, Check, CreateMode, Operation, Stat, Write};
use crate::outcome::{Condition, Doubt};
use crate::path::ZnodePath;
use crate::store::SessionId;

/// The right to write as a leader. It is made by [`Tree::standing`] only, and names the node that the right hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership {
    latch: ZnodePath,
}

impl Leadership {
    /// The condition of every write of this leader.
    pub(super) fn check(&self) -> Check {
        Check { path: self.latch.clone(), version: None }
    }

    /// The node that it hangs on.
    pub fn latch(&self) -> &ZnodePath {
        &self.latch
    }
}

/// A place in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidacy {
    candidate: Candidate,
    session: SessionId,
}

/// Where a candidate stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It leads. Its own node is watched: when it goes, so does the leadership.
    Leads(Leadership),
    /// It waits for this node to go, which is watched.
    Waits {
        /// The candidate before it.
        before: ZnodePath,
        /// Where that is reached, if it can be read. With an address of its own it is what an earlier process has left, whose
        /// session goes on.
        address: Option<NimbusAddress>,
    },
    /// Its node is gone: its session is over, or somebody deleted it. It has to queue up again.
    Gone,
}

/// What whoever is first in the queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// It acts as the leader.
    Leads,
    /// It looks at what there is, or waits for code that it lacks.
    Waits,
    /// Nothing: the place was left behind by a process that is no more, and is there until its session ends. The nimbus of
    /// this address has another session.
    HasEnded,
}

impl Tree {
    /// Queues up, as who is reached at `address`. `id` is unique to this candidate and session, such as a random UUID:
    /// by it the node is found again when nobody knows whether it was made.
    ///
    /// # Errors
    /// [`Trouble`]. After [`Trouble::Unknown`], call it again with the same id.
    pub async fn stand(
        &self,
        session: SessionId,
        id: &NodeName,
        address: &NimbusAddress,
    ) -> Result<Candidacy, Trouble> {
        let folder = self.path(&Node::LeaderLock {});
        if let Some(candidate) = self.own_candidate(session, id).await? {
            return Ok(Candidacy { candidate, session });
        }
        let numbered = Node::LeaderCandidate { candidate: Candidate { id: id.clone(), number: 0 } };
        let path = ZnodePath::numbered(&self.root, &numbered);
        let create = |acl| Write::Create {
            path: path.clone(),
            data: address.to_string().into_bytes(),
            mode: CreateMode::EphemeralSequential,
            acl,
        };
        let mut made = self.write(None, create(self.acls.daemons.clone())).await;
        if made.as_ref().is_err_and(|trouble| trouble.condition() == Some(&Condition::NoNode)) {
            self.make_folder(None, &folder, &self.acls.daemons).await?;
            made = self.write(None, create(self.acls.daemons.clone())).await;
        }
        match made? {
            Answer::Created { path } => match self.root.node(path.as_str()) {
                Some(Node::LeaderCandidate { candidate }) => Ok(Candidacy { candidate, session }),
                _ => Err(odd(&path)),
            },
            other => Err(Trouble::odd(&path, &other)),
        }
    }

    /// Where a candidate stands now. Asked again when what is watched changes, and after an interruption.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn standing(&self, candidacy: &Candidacy) -> Result<Standing, Trouble> {
        let own = self.path(&Node::LeaderCandidate { candidate: candidacy.candidate.clone() });
        loop {
            let mut queue = self.candidates().await?.found;
            queue.sort_by_key(|candidate| candidate.number);
            let Some(place) = queue.iter().position(|candidate| *candidate == candidacy.candidate) else {
                return Ok(Standing::Gone);
            };
            // Not by whether it exists, as Curator does it: a watch on what has gone already would stay behind.
            let watched = match place.checked_sub(1) {
                None => own.clone(),
                Some(before) => self.path(&Node::LeaderCandidate { candidate: queue[before].clone() }),
            };
            let read = Operation::Get { path: watched.clone(), watch: true };
            match answer(&watched, self.asker.ask(read).await) {
                Ok(_) if place == 0 => return Ok(Standing::Leads(Leadership { latch: own })),
                Ok(Answer::Data { data, .. }) => {
                    return Ok(Standing::Waits { before: watched, address: address_in(&data).ok() });
                }
                Ok(other) => return Err(Trouble::odd(&watched, &other)),
                Err(Trouble::Failed { condition: Condition::NoNode, .. }) if place == 0 => return Ok(Standing::Gone),
                // It went between the two reads; look who is before now. Each round one candidate less is before.
                Err(Trouble::Failed { condition: Condition::NoNode, .. }) => {}
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Leaves the queue, and with it the leadership.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn stand_down(&self, candidacy: &Candidacy) -> Result<(), Trouble> {
        let own = self.path(&Node::LeaderCandidate { candidate: candidacy.candidate.clone() });
        self.remove(None, &own).await
    }

    /// Everybody who would lead, the leader first, with where they are reached.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn queue(&self) -> Result<Listing<(Candidate, NimbusAddress)>, Trouble> {
        let candidates = self.candidates().await?;
        let mut listing = Listing { found: Vec::new(), skipped: candidates.skipped };
        for candidate in candidates.found {
            let path = self.path(&Node::LeaderCandidate { candidate: candidate.clone() });
            let Some((data, _)) = self.get(&path, false).await? else { continue };
            match address_in(&data) {
                Ok(address) => listing.found.push((candidate, address)),
                Err(why) => listing.skipped.push(super::Skipped { path, why }),
            }
        }
        listing.found.sort_by_key(|(candidate, _)| candidate.number);
        Ok(listing)
    }

    /// What whoever is first in the queue does. One that acts as the leader says so by [`Self::set_leader_info`], in each
    /// place that it has in the queue.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn first_does(&self, first: &Candidate, address: &NimbusAddress) -> Result<First, Trouble> {
        let place = self.path(&Node::LeaderCandidate { candidate: first.clone() });
        let Some((_, place)) = self.get(&place, false).await? else { return Ok(First::Waits) };
        let living = self.records::<NimbusSummary>(&Node::Nimbuses {}, false).await?.found;
        let is_there =
            |summary: &NimbusSummary| summary.host == address.host() && summary.port == i32::from(address.port());
        let owners: Vec<_> =
            living.iter().filter(|(_, summary, _)| is_there(summary)).map(|(_, _, stat)| stat.owner).collect();
        if !owners.contains(&place.owner) {
            return Ok(if owners.is_empty() { First::Waits } else { First::HasEnded });
        }
        let said = self.leader_info().await?;
        let says_so = said.is_some_and(|(info, said)| said.changed >= place.created && info.address == *address);
        Ok(if says_so { First::Leads } else { First::Waits })
    }

    /// Whoever said last that it leads, if that can be read.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn last_leader(&self) -> Result<Option<NimbusAddress>, Trouble> {
        Ok(self.leader_info().await?.map(|(info, _)| info.address))
    }

    /// What is wrong with the node that says who leads, for the one that leads at `own`; `None` where it says just that.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn leader_info_fault(&self, own: &NimbusAddress) -> Result<Option<String>, Trouble> {
        let Some((data, _)) = self.get(&self.path(&Node::LeaderInfo {}), false).await? else {
            return Ok(Some("it is not there".into()));
        };
        Ok(match NimbusInfo::from_bytes(&data) {
            Ok(info) if info.address == *own => None,
            Ok(info) => Some(format!("it names {}", info.address)),
            Err(why) => Some(format!("it cannot be read: {why}")),
        })
    }

    async fn leader_info(&self) -> Result<Option<(NimbusInfo, Stat)>, Trouble> {
        let info = self.get(&self.path(&Node::LeaderInfo {}), false).await?;
        Ok(info.and_then(|(data, stat)| Some((NimbusInfo::from_bytes(&data).ok()?, stat))))
    }

    /// Writes who leads where Storm writes it.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn set_leader_info(&self, leader: &Leadership, address: &NimbusAddress) -> Result<(), Trouble> {
        // Storm writes false of every leader.
        let info = NimbusInfo { address: address.clone(), is_leader: false };
        let path = self.path(&Node::LeaderInfo {});
        self.set_data(Some(leader), &path, &info.to_bytes(), &self.acls.daemons).await
    }

    async fn candidates(&self) -> Result<Listing<Candidate>, Trouble> {
        let nodes = self.nodes(&Node::LeaderLock {}, false).await?;
        let mut listing = Listing { found: Vec::new(), skipped: nodes.skipped };
        for node in nodes.found {
            match node {
                Node::LeaderCandidate { candidate } => listing.found.push(candidate),
                other => listing.skipped.push(super::Skipped { path: self.path(&other), why: "no candidate".into() }),
            }
        }
        Ok(listing)
    }

    /// The node that this candidate has made already, if it has. Others of the session go: an unknown outcome can leave
    /// several behind, and an older snapshot can bring one back that the session had under another id. Nobody would
    /// lead while such a one is first.
    async fn own_candidate(&self, session: SessionId, id: &NodeName) -> Result<Option<Candidate>, Trouble> {
        let mut own = Vec::new();
        for candidate in self.candidates().await?.found {
            let path = self.path(&Node::LeaderCandidate { candidate: candidate.clone() });
            if let Some((_, stat)) = self.get(&path, false).await?
                && stat.owner == Some(session)
            {
                own.push(candidate);
            }
        }
        own.sort_by_key(|candidate| (candidate.id != *id, candidate.number));
        let is_known = own.first().is_some_and(|candidate| candidate.id == *id);
        for candidate in own.drain(usize::from(is_known)..) {
            self.remove(None, &self.path(&Node::LeaderCandidate { candidate })).await?;
        }
        Ok(own.pop())
    }
}

/// Where a candidate is reached, as its node says.
fn address_in(data: &[u8]) -> Result<NimbusAddress, String> {
    let text = std::str::from_utf8(data).map_err(|error| error.to_string())?;
    text.parse().map_err(|error: InvalidAddress| error.to_string())
}

fn odd(path: &ZnodePath) -> Trouble {
    Trouble::Unknown { path: path.clone(), doubt: Doubt::Unreadable("the node that was made is no candidate".into()) }
}
