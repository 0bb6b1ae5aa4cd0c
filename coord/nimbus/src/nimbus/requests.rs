//! What clients ask for.
//!
//! What only reads is answered by any nimbus, as in Storm, from behind all that was written before. Everything else is for
//! the leader: its submissions stand in one line, and what changes topologies in another; see
//! [`submission`](super::submission) and [`acts`](super::acts).
//!
//! Invariant: each request is answered once. Errors: [`Refusal`].

use std::collections::BTreeSet;
use std::future::Future;

use ringstorm_control::time::Now;
use ringstorm_lifecycle as lifecycle;
use ringstorm_lifecycle::id::{check_name, name_of};
use ringstorm_lifecycle::transition::Action;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{NimbusSummary, StormBase, TopologyStatus, TopologySummary};
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::{First, Tree, Trouble};
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::Outcome;

use super::Nimbus;
use super::amendments::{self, Setting};
use super::leadership::bases;
use super::said::Said;
use super::term::Lead;
use crate::interface::{Refusal, Reply, Request, RequestId};

impl From<lifecycle::Refusal> for Refusal {
    fn from(refusal: lifecycle::Refusal) -> Self {
        let text = refusal.to_string();
        match refusal {
            lifecycle::Refusal::NotAlive(_) => Self::NotAlive(text),
            lifecycle::Refusal::AlreadyAlive(_) => Self::AlreadyAlive(text),
            lifecycle::Refusal::NoTransition { .. } | lifecycle::Refusal::Unreadable { .. } => Self::IllegalState(text),
            _ => Self::InvalidTopology(text),
        }
    }
}

impl Nimbus {
    pub(super) fn take_request(&mut self, id: RequestId, request: Request) {
        match request {
            Request::WorkerHeartbeat(_) | Request::WorkerHeartbeats(_) => self.reply(id, Ok(Reply::Done)),
            Request::Leader => {
                let (now, own, leads) = (self.now, self.address().clone(), self.leads_or_why_not());
                self.read(id, |tree| async move { leader(&tree, now, &own, leads).await });
            }
            Request::Topologies => {
                let now = self.now;
                self.read(id, |tree| async move { topologies(&tree, now).await });
            }
            Request::IsTopologyNameAllowed { name } => match check_name(&name) {
                Ok(()) => self.read(id, |tree| async move { is_name_allowed(&tree, &name).await }),
                Err(refusal) => self.reply(id, Err(refusal.into())),
            },
            Request::Submit(submission) => match self.leads_or_why_not() {
                Ok(()) => self.take_submission(id, submission),
                Err(why) => self.refuse(id, why),
            },
            Request::Kill { name, options } => self.operate(id, name, Action::Kill { wait_secs: options.wait_secs }),
            Request::Activate { name } => self.operate(id, name, Action::Activate),
            Request::Deactivate { name } => self.operate(id, name, Action::Deactivate),
            Request::Rebalance { name, options } => self.operate(id, name, Action::Rebalance(options)),
            Request::LogConfig { topology } => {
                self.read(id, |tree| async move { amendments::levels(&tree, &topology).await });
            }
            Request::SetLogConfig { topology, levels } => self.take_amendment(id, Setting::Levels { topology, levels }),
            Request::SetCredentials { name, credentials } => {
                self.take_amendment(id, Setting::Credentials { name, credentials });
            }
        }
    }

    fn operate(&mut self, id: RequestId, name: String, action: Action) {
        match self.leads_or_why_not() {
            Ok(()) => self.take_action(id, name, action),
            Err(why) => self.refuse(id, why),
        }
    }

    pub(super) fn leads_or_why_not(&self) -> Result<(), Refusal> {
        match self.lead {
            Lead::Leads(_) => Ok(()),
            Lead::Gaining(_) => Err(Refusal::TryAgain(self.waits_for().unwrap_or_default())),
            Lead::No => Err(Refusal::NotLeader { leader: None }),
        }
    }

    /// Refuses what is for a leader, with where that is, if it can be asked.
    pub(super) fn refuse(&mut self, id: RequestId, why: Refusal) {
        if self.usable().is_some() && matches!(why, Refusal::NotLeader { .. }) {
            let own = self.address().clone();
            self.read(id, |tree| async move {
                let queue = tree.queue().await?.found;
                let leader = queue.into_iter().next().map(|(_, address)| address).filter(|address| *address != own);
                Ok(Err(Refusal::NotLeader { leader }))
            });
        } else {
            self.reply(id, Err(why));
        }
    }

    /// Answers from what the tree holds.
    fn read<B>(&mut self, id: RequestId, body: impl FnOnce(Tree) -> B)
    where
        B: Future<Output = Result<Result<Reply, Refusal>, Trouble>> + Send + 'static,
    {
        if self.usable().is_none() {
            self.reply(id, Err(Refusal::TryAgain("this nimbus has no connection with ZooKeeper".into())));
            return;
        }
        self.reads.insert(id);
        self.say(|tree| {
            let body = body(tree);
            async move {
                let reply = body.await.unwrap_or_else(|trouble| Err(Refusal::TryAgain(trouble.to_string())));
                Said::Read { request: id, reply }
            }
        });
    }

    pub(super) fn hear_read(&mut self, id: RequestId, reply: Result<Reply, Refusal>) {
        if self.reads.remove(&id) {
            self.reply(id, reply);
        }
    }

    /// What was asked of the tree has no answer.
    pub(super) fn fail_reads(&mut self, why: &str) {
        for id in std::mem::take(&mut self.reads) {
            self.reply(id, Err(Refusal::TryAgain(why.into())));
        }
    }
}

/// Lets later reads see all that was written before, by whomever.
pub(super) async fn sync(tree: &Tree) -> Result<(), Trouble> {
    let path = tree.path(&Node::Storms {});
    match tree.asker().ask(Operation::Sync { path: path.clone() }).await {
        Outcome::Done(_) => Ok(()),
        Outcome::Failed(failure) => Err(Trouble::Failed { path, condition: failure.condition }),
        Outcome::Unknown(doubt) => Err(Trouble::Unknown { path, doubt }),
    }
}

/// Who leads; `own_standing` says whether this nimbus does, for when it is first in the queue.
async fn leader(
    tree: &Tree,
    now: Now,
    own: &NimbusAddress,
    own_standing: Result<(), Refusal>,
) -> Result<Result<Reply, Refusal>, Trouble> {
    sync(tree).await?;
    let Some((candidate, address)) = tree.queue().await?.found.into_iter().next() else {
        return Ok(Err(Refusal::TryAgain("no nimbus is in the queue for leadership".into())));
    };
    let not_yet = || Refusal::TryAgain(format!("nimbus {address} is first in the queue, and does not lead yet"));
    let is_own = address == *own;
    match own_standing {
        Ok(()) if is_own => {}
        Err(why @ Refusal::TryAgain(_)) if is_own => return Ok(Err(why)),
        _ => match tree.first_does(&candidate, &address).await? {
            First::Leads if !is_own => {}
            First::Leads | First::Waits => return Ok(Err(not_yet())),
            First::HasEnded => {
                return Ok(Err(Refusal::TryAgain(format!(
                    "a process of nimbus {address} that has ended is first in the queue until its session with ZooKeeper \
                     ends (storm.zookeeper.session.timeout); then the next one leads"
                ))));
            }
        },
    }
    let nimbuses = tree.nimbuses(false).await?.found.into_iter().map(|(_, nimbus)| nimbus);
    let of_address = |nimbus: &NimbusSummary| nimbus.host == address.host() && nimbus.port == i32::from(address.port());
    let summary = nimbuses.into_iter().find(of_address).unwrap_or_else(|| summary_of(&address, now));
    let uptime_secs = now.wall_secs().saturating_sub(summary.uptime_secs).max(0);
    Ok(Ok(Reply::Leader(NimbusSummary { uptime_secs, is_leader: true, ..summary })))
}

/// What is known of a nimbus that has not said yet that it lives.
fn summary_of(address: &NimbusAddress, now: Now) -> NimbusSummary {
    NimbusSummary {
        host: address.host().to_owned(),
        port: address.port().into(),
        uptime_secs: now.wall_secs(),
        tls_port: Some(address.tls_port().into()),
        ..NimbusSummary::default()
    }
}

async fn topologies(tree: &Tree, now: Now) -> Result<Result<Reply, Refusal>, Trouble> {
    sync(tree).await?;
    let mut summaries = Vec::new();
    for (topology, base) in bases(tree, false).await?.found {
        let assignment = tree.assignment(&topology, false).await?.value();
        let executors = assignment.iter().flat_map(|assignment| assignment.executor_node_port.iter());
        let slots: BTreeSet<_> = executors.clone().map(|(_, slot)| slot).collect();
        let tasks = executors.clone().filter_map(|(executor, _)| match executor[..] {
            [first, last] => last.checked_sub(first)?.checked_add(1),
            _ => None,
        });
        summaries.push(TopologySummary {
            num_tasks: count(tasks.sum::<i64>()),
            num_executors: count(executors.count() as i64),
            num_workers: count(slots.len() as i64),
            ..summary(&topology, base, now)
        });
    }
    Ok(Ok(Reply::Topologies(summaries)))
}

fn summary(topology: &NodeName, base: StormBase, now: Now) -> TopologySummary {
    TopologySummary {
        id: topology.to_string(),
        name: base.name,
        uptime_secs: now.wall_secs().saturating_sub(base.launch_time_secs.unwrap_or(0)).max(0),
        status: status_name(base.status),
        topology_version: base.topology_version,
        owner: base.owner,
        ..TopologySummary::default()
    }
}

fn status_name(status: TopologyStatus) -> String {
    status.to_string()
}

fn count(of: i64) -> i32 {
    i32::try_from(of).unwrap_or(i32::MAX)
}

async fn is_name_allowed(tree: &Tree, name: &str) -> Result<Result<Reply, Refusal>, Trouble> {
    sync(tree).await?;
    let bases = bases(tree, false).await?;
    // What cannot be read has a name all the same.
    let is_taken = bases.found.iter().any(|(_, base)| base.name == name)
        || bases.skipped.iter().any(|skipped| name_of(skipped.path.name()) == Some(name));
    Ok(Ok(Reply::Allowed(!is_taken)))
}
