//! A cluster of two nimbuses in a few lines, and what can go wrong between it and a client.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_client::{CallOutcome, Client, ClientEffect, ClientError, ClientInput, ClientSettings, Success};
use ringstorm_control::machine::Machine;
use ringstorm_control::time::Now;
use ringstorm_nimbus::interface::{Refusal, Reply, Request, SUBMISSION_TOKEN, Submission, Upload};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{
    KillOptions, NimbusSummary, RebalanceOptions, StormTopology, SubmitOptions, TopologyInitialStatus, TopologySummary,
};
use ringstorm_records::znode::NodeName;

/// The token of the client under test.
pub(crate) const TOKEN: &str = "its token";
pub(crate) const NAME: &str = "words";

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not sent.
    NotSent,
    /// It is lost on its way.
    LostBefore,
    /// Its answer is lost.
    LostAfter,
    /// Nimbus has trouble, and says so.
    TryAgain,
    /// The other nimbus leads from now on, and everybody knows it.
    Deposed,
    /// So too, but nobody knows who leads.
    DeposedUnknown,
    /// The one that leads dies; the other one leads from then on.
    DiesBefore,
    /// It does what is asked for, dies, and the other one leads from then on.
    DiesAfter,
    /// The call is done, its answer is lost, and then somebody kills the topology for good and submits another one of
    /// its name.
    Stranger,
    /// The call is done, its answer is lost, and a topology that is killed by then is gone at once.
    Gone,
    /// Uploads are lost.
    LosesUploads,
}

pub(crate) const FAULTS: [Fault; 11] = [
    Fault::NotSent,
    Fault::LostBefore,
    Fault::LostAfter,
    Fault::TryAgain,
    Fault::Deposed,
    Fault::DeposedUnknown,
    Fault::DiesBefore,
    Fault::DiesAfter,
    Fault::Stranger,
    Fault::Gone,
    Fault::LosesUploads,
];

/// A topology that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Living {
    pub(crate) id: String,
    pub(crate) token: Option<String>,
    pub(crate) status: &'static str,
}

/// The cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) topologies: BTreeMap<String, Living>,
    /// The tokens of all that were submitted.
    pub(crate) submitted: Vec<Option<String>>,
    /// The ids of all that were killed on behalf of the client under test.
    pub(crate) killed: BTreeSet<String>,
    /// The ids of all that were rebalanced.
    pub(crate) rebalanced: BTreeSet<String>,
    leader: usize,
    dead: BTreeSet<usize>,
    says_leader: bool,
    uploads: BTreeSet<usize>,
}

pub(crate) fn address(nimbus: usize) -> NimbusAddress {
    NimbusAddress::new(&format!("nimbus{nimbus}.example"), 6627, 0).unwrap()
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self { says_leader: true, ..Self::default() }
    }

    /// With a topology of somebody else's.
    pub(crate) fn with_topology() -> Self {
        let mut cluster = Self::new();
        cluster.submit_as(None);
        cluster
    }

    fn submit_as(&mut self, token: Option<String>) -> String {
        let id = format!("{NAME}-{}-1795972824", self.submitted.len() + 1);
        self.submitted.push(token.clone());
        self.topologies.insert(NAME.into(), Living { id: id.clone(), token, status: "ACTIVE" });
        id
    }

    /// Somebody ends the topology, and submits another one.
    fn stranger(&mut self) {
        self.topologies.remove(NAME);
        self.submit_as(Some("a stranger's".into()));
    }

    /// Of two that live the other one leads.
    fn depose(&mut self) {
        if self.dead.is_empty() {
            self.leader = 1 - self.leader;
        }
    }

    /// What a nimbus answers.
    fn serve(&mut self, nimbus: usize, request: &Request) -> Result<Reply, Refusal> {
        let not_alive = || Refusal::NotAlive(format!("{NAME} is not alive"));
        match request {
            Request::Leader if self.says_leader => Ok(Reply::Leader(NimbusSummary {
                host: address(self.leader).host().into(),
                port: 6627,
                ..NimbusSummary::default()
            })),
            Request::Leader => Err(Refusal::TryAgain("no nimbus is in the queue for leadership".into())),
            Request::Topologies => {
                let summary = |(name, living): (&String, &Living)| TopologySummary {
                    id: living.id.clone(),
                    name: name.clone(),
                    status: living.status.into(),
                    ..TopologySummary::default()
                };
                Ok(Reply::Topologies(self.topologies.iter().map(summary).collect()))
            }
            Request::IsTopologyNameAllowed { name } => Ok(Reply::Allowed(!self.topologies.contains_key(name))),
            _ if nimbus != self.leader => {
                Err(Refusal::NotLeader { leader: self.says_leader.then(|| address(self.leader)) })
            }
            Request::Submit(submission) => {
                if !self.uploads.contains(&nimbus) {
                    return Err(Refusal::NoUpload("there is no such file".into()));
                }
                let conf: serde_json::Value = serde_json::from_str(&submission.conf).unwrap();
                let token = conf[SUBMISSION_TOKEN].as_str().map(str::to_owned);
                let id = match self.topologies.get(NAME) {
                    Some(living) if living.token == token => living.id.clone(),
                    Some(_) => return Err(Refusal::AlreadyAlive(format!("{NAME} is already alive"))),
                    None => self.submit_as(token),
                };
                Ok(Reply::Submitted { topology: NodeName::new(&id).unwrap() })
            }
            Request::Kill { .. } => {
                let living = self.topologies.get_mut(NAME).ok_or_else(not_alive)?;
                living.status = "KILLED";
                self.killed.insert(living.id.clone());
                Ok(Reply::Done)
            }
            Request::Rebalance { .. } => {
                let living = self.topologies.get_mut(NAME).ok_or_else(not_alive)?;
                if !["ACTIVE", "INACTIVE"].contains(&living.status) {
                    return Err(Refusal::IllegalState(format!("{NAME} is {}", living.status)));
                }
                living.status = "REBALANCING";
                self.rebalanced.insert(living.id.clone());
                Ok(Reply::Done)
            }
            Request::Activate { .. } | Request::Deactivate { .. } => {
                let living = self.topologies.get_mut(NAME).ok_or_else(not_alive)?;
                if !["ACTIVE", "INACTIVE"].contains(&living.status) {
                    return Err(Refusal::IllegalState(format!("{NAME} is {}", living.status)));
                }
                living.status = if matches!(request, Request::Activate { .. }) { "ACTIVE" } else { "INACTIVE" };
                Ok(Reply::Done)
            }
            other => panic!("{other:?}"),
        }
    }

    fn call(&mut self, nimbus: usize, request: &Request, fault: Option<Fault>) -> CallOutcome {
        let not_sent = || CallOutcome::NotSent("the connection was refused".into());
        let lost = || CallOutcome::Unknown("the connection was lost".into());
        if self.dead.contains(&nimbus) {
            return not_sent();
        }
        match fault {
            Some(Fault::NotSent) => return not_sent(),
            Some(Fault::LostBefore) => return lost(),
            Some(Fault::TryAgain) => return CallOutcome::Answered(Err(Refusal::TryAgain("trouble".into()))),
            Some(Fault::Deposed) => self.depose(),
            Some(Fault::DeposedUnknown) => {
                self.depose();
                self.says_leader = false;
            }
            Some(Fault::DiesBefore) => {
                self.kill_leader();
                return lost();
            }
            Some(Fault::LosesUploads) => self.uploads.clear(),
            _ => {}
        }
        let answer = self.serve(nimbus, request);
        match fault {
            Some(Fault::LostAfter) => lost(),
            Some(Fault::DiesAfter) => {
                self.kill_leader();
                lost()
            }
            Some(Fault::Stranger) => {
                self.stranger();
                lost()
            }
            Some(Fault::Gone) => {
                self.topologies.retain(|_, living| living.status != "KILLED");
                lost()
            }
            _ => CallOutcome::Answered(answer),
        }
    }

    /// One of the two lives on.
    fn kill_leader(&mut self) {
        if self.dead.is_empty() {
            let dead = self.leader;
            self.depose();
            self.dead.insert(dead);
        }
    }
}

pub(crate) fn submission() -> Request {
    Request::Submit(Box::new(Submission {
        name: NAME.into(),
        topology: StormTopology::default(),
        conf: r#"{"topology.workers": 2}"#.into(),
        options: SubmitOptions { initial_status: TopologyInitialStatus::Active, creds: None },
        upload: Upload { name: String::new(), checksum: String::new() },
        worker_secret: String::new(),
    }))
}

pub(crate) fn kill() -> Request {
    Request::Kill { name: NAME.into(), options: KillOptions::default() }
}

pub(crate) fn rebalance() -> Request {
    Request::Rebalance { name: NAME.into(), options: RebalanceOptions::default() }
}

pub(crate) fn activate() -> Request {
    Request::Activate { name: NAME.into() }
}

pub(crate) fn deactivate() -> Request {
    Request::Deactivate { name: NAME.into() }
}

pub(crate) fn settings() -> ClientSettings {
    ClientSettings { seeds: vec![address(0), address(1)], ..ClientSettings::default() }
}

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) result: Result<Success, ClientError>,
    pub(crate) calls: usize,
    pub(crate) seconds: u64,
}

/// Lets a client do a request, with faults at some of its calls, by their numbers. From the third pause on everybody
/// knows who leads.
pub(crate) fn run(cluster: &mut Cluster, request: Request, faults: &[(usize, Fault)]) -> Came {
    let mut now = Now::default();
    let mut client = Client::new(now, request, settings(), TOKEN);
    let mut calls = 0;
    let mut waiting: Vec<ClientEffect> = Vec::new();
    for _ in 0..1_000 {
        let Some(effect) = (!waiting.is_empty()).then(|| waiting.remove(0)) else {
            now.moment = client.wake_at().expect("a client without a result waits for something").max(now.moment);
            if now.moment.0.as_secs() > 10 {
                cluster.says_leader = true;
            }
            waiting.extend(client.wake(now));
            continue;
        };
        let fault = faults.iter().find(|(number, _)| *number == calls).map(|(_, fault)| *fault);
        let of = |address: &NimbusAddress| usize::from(*address != self::address(0));
        match effect {
            ClientEffect::Call { call, address, request } => {
                let outcome = cluster.call(of(&address), &request, fault);
                calls += 1;
                waiting.extend(client.handle(now, ClientInput::Called { call, outcome }));
            }
            ClientEffect::Upload { call, address } => {
                let nimbus = of(&address);
                calls += 1;
                let is_lost = cluster.dead.contains(&nimbus) || fault.is_some_and(|it| it != Fault::LosesUploads);
                let outcome = if is_lost {
                    Err("the connection was lost".into())
                } else {
                    cluster.uploads.insert(nimbus);
                    Ok(Upload { name: "inbox/stormjar-1.jar".into(), checksum: String::new() })
                };
                waiting.extend(client.handle(now, ClientInput::Uploaded { call, outcome }));
            }
            ClientEffect::Done(result) => {
                assert!(waiting.is_empty() && client.wake_at().is_none() && client.wake(now).is_empty());
                return Came { result, calls, seconds: now.moment.0.as_secs() };
            }
            ClientEffect::Note(_) => {}
        }
    }
    panic!("the client never comes to a result");
}
