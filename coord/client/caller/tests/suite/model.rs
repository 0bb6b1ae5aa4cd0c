//! A nimbus in a few lines, which answers in the replies and refusals of the real one.

use std::collections::BTreeMap;

use ringstorm_caller::refusals::answer;
use ringstorm_nimbus::interface::{Refusal, SUBMISSION_TOKEN};
use ringstorm_records::nimbus::{
    Activate, BeginBlobDownload, BeginFileUpload, Deactivate, DownloadBlobChunk, FinishFileUpload, GetLeader,
    GetNimbusConf, GetTopologyConf, GetTopologySummaries, GetTopologySummaryByName, IsTopologyNameAllowed,
    KillTopologyWithOpts, NimbusCall, NimbusException, Rebalance, SendSupervisorWorkerHeartbeat,
    SendSupervisorWorkerHeartbeats, SubmitTopology, SubmitTopologyWithOpts, UploadChunk, reply,
};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{
    BeginDownloadResult, KeyNotFoundException, NimbusSummary, NotAliveException, TopologySummary,
};
use ringstorm_records::thrift::Binary;

use crate::server::Heard;

/// A topology.
#[derive(Clone, Debug)]
pub(crate) struct Living {
    pub(crate) id: String,
    pub(crate) conf: serde_json::Value,
    pub(crate) status: &'static str,
    /// The location of its file.
    pub(crate) jar: String,
}

/// A nimbus.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// Who leads, if it is another one.
    pub(crate) leader: Option<NimbusAddress>,
    /// What was uploaded, and whether to its end.
    pub(crate) uploads: BTreeMap<String, (Vec<u8>, bool)>,
    pub(crate) topologies: BTreeMap<String, Living>,
    /// Versions and contents.
    pub(crate) blobs: BTreeMap<String, (i64, Vec<u8>)>,
    /// Whether blobs say how long they are.
    pub(crate) hides_size: bool,
    pub(crate) sessions: BTreeMap<String, (String, usize)>,
    pub(crate) submissions: usize,
    /// The longest call that it says that it takes, if it says so.
    pub(crate) call_bytes_max: Option<usize>,
}

impl Model {
    /// Answers a call, as a nimbus at this address.
    pub(crate) fn serve(&mut self, own: &NimbusAddress, heard: &Heard) -> Vec<u8> {
        let sequence = heard.sequence;
        match heard.call.clone() {
            NimbusCall::GetLeader(_) => {
                let leader = self.leader.clone().unwrap_or_else(|| own.clone());
                let (host, port) = (leader.host().to_owned(), leader.port().into());
                answer::<GetLeader>(sequence, Ok(NimbusSummary { host, port, ..NimbusSummary::default() }))
            }
            NimbusCall::IsTopologyNameAllowed(call) => {
                let is_free = !self.topologies.contains_key(&call.name.unwrap());
                answer::<IsTopologyNameAllowed>(sequence, Ok(is_free))
            }
            NimbusCall::GetNimbusConf(_) => {
                let conf = serde_json::json!({ "nimbus.thrift.max_buffer_size": self.call_bytes_max });
                answer::<GetNimbusConf>(sequence, Ok(conf.to_string()))
            }
            NimbusCall::BeginFileUpload(_) => {
                let location = format!("inbox/stormjar-{}.jar", self.uploads.len());
                self.uploads.insert(location.clone(), (Vec::new(), false));
                answer::<BeginFileUpload>(sequence, self.led().map(|()| location))
            }
            NimbusCall::UploadChunk(call) => {
                self.uploads.get_mut(&call.location.unwrap()).unwrap().0.extend(call.chunk.unwrap().0);
                answer::<UploadChunk>(sequence, Ok(()))
            }
            NimbusCall::FinishFileUpload(call) => {
                self.uploads.get_mut(&call.location.unwrap()).unwrap().1 = true;
                answer::<FinishFileUpload>(sequence, Ok(()))
            }
            NimbusCall::SubmitTopology(call) => {
                let result = self.submit(call.name.unwrap(), call.json_conf.unwrap(), call.uploaded_jar_location);
                answer::<SubmitTopology>(sequence, result)
            }
            NimbusCall::SubmitTopologyWithOpts(call) => {
                let result = self.submit(call.name.unwrap(), call.json_conf.unwrap(), call.uploaded_jar_location);
                answer::<SubmitTopologyWithOpts>(sequence, result)
            }
            NimbusCall::KillTopologyWithOpts(call) => {
                answer::<KillTopologyWithOpts>(sequence, self.change(call.name, "KILLED"))
            }
            NimbusCall::Rebalance(call) => answer::<Rebalance>(sequence, self.change(call.name, "REBALANCING")),
            NimbusCall::Activate(call) => answer::<Activate>(sequence, self.change(call.name, "ACTIVE")),
            NimbusCall::Deactivate(call) => answer::<Deactivate>(sequence, self.change(call.name, "INACTIVE")),
            NimbusCall::SendSupervisorWorkerHeartbeat(_) => answer::<SendSupervisorWorkerHeartbeat>(sequence, Ok(())),
            NimbusCall::SendSupervisorWorkerHeartbeats(_) => answer::<SendSupervisorWorkerHeartbeats>(sequence, Ok(())),
            NimbusCall::GetTopologySummaries(_) => {
                let all = self.topologies.iter().map(|(name, living)| summary(name, living));
                answer::<GetTopologySummaries>(sequence, Ok(all.collect()))
            }
            NimbusCall::GetTopologySummaryByName(call) => {
                let name = call.name.unwrap();
                let living = self.topologies.get(&name).map(|living| summary(&name, living));
                answer::<GetTopologySummaryByName>(sequence, living.ok_or_else(|| not_alive(&name)))
            }
            NimbusCall::GetTopologyConf(call) => {
                let id = call.id.unwrap();
                let living = self.topologies.values().find(|living| living.id == id);
                let conf = living.map(|living| living.conf.to_string());
                let gone = NimbusException::NotAlive(NotAliveException { msg: id });
                reply::<GetTopologyConf>(sequence, &conf.ok_or(gone))
            }
            NimbusCall::BeginBlobDownload(call) => {
                let result = self.begin_download(call.key.unwrap());
                reply::<BeginBlobDownload>(sequence, &result)
            }
            NimbusCall::DownloadBlobChunk(call) => {
                let chunk = self.chunk(&call.session.unwrap());
                answer::<DownloadBlobChunk>(sequence, chunk)
            }
            other => panic!("{other:?}"),
        }
    }

    fn led(&self) -> Result<(), Refusal> {
        match &self.leader {
            Some(leader) => Err(Refusal::NotLeader { leader: Some(leader.clone()) }),
            None => Ok(()),
        }
    }

    fn submit(&mut self, name: String, conf: String, jar: Option<String>) -> Result<(), Refusal> {
        self.led()?;
        let jar = jar.unwrap();
        if !self.uploads.get(&jar).is_some_and(|(_, is_whole)| *is_whole) {
            return Err(Refusal::NoUpload(format!("there is no file {jar}")));
        }
        let conf: serde_json::Value = serde_json::from_str(&conf).unwrap();
        match self.topologies.get(&name) {
            Some(living) if living.conf[SUBMISSION_TOKEN] == conf[SUBMISSION_TOKEN] => Ok(()),
            Some(_) => Err(Refusal::AlreadyAlive(format!("{name} is already alive"))),
            None => {
                self.submissions += 1;
                let id = format!("{name}-{}-1795972824", self.submissions);
                self.topologies.insert(name, Living { id, conf, status: "ACTIVE", jar });
                Ok(())
            }
        }
    }

    fn change(&mut self, name: Option<String>, status: &'static str) -> Result<(), Refusal> {
        self.led()?;
        let name = name.unwrap();
        let living = self.topologies.get_mut(&name).ok_or_else(|| not_alive(&name))?;
        if living.status == "KILLED" && status != "KILLED" {
            let id = &living.id;
            let text = format!("No transition for event: {status}, status: KILLED storm-id: {id}");
            return Err(Refusal::IllegalState(text));
        }
        living.status = status;
        Ok(())
    }

    fn begin_download(&mut self, key: String) -> Result<BeginDownloadResult, NimbusException> {
        let Some((version, content)) = self.blobs.get(&key) else {
            return Err(NimbusException::KeyNotFound(KeyNotFoundException { msg: key }));
        };
        let session = format!("session-{}", self.sessions.len());
        self.sessions.insert(session.clone(), (key, 0));
        let data_size = (!self.hides_size).then_some(content.len() as i64);
        Ok(BeginDownloadResult { version: *version, session, data_size })
    }

    /// Seven bytes at a time.
    fn chunk(&mut self, session: &str) -> Result<Binary, Refusal> {
        let (session, offset) = match session.split_once('@') {
            Some((session, offset)) => (session, Some(offset.parse().unwrap())),
            None => (session, None),
        };
        let unknown = || Refusal::TryAgain(format!("there is no session {session}"));
        let (key, at) = self.sessions.get_mut(session).ok_or_else(unknown)?;
        *at = offset.unwrap_or(*at);
        let content = &self.blobs[key].1;
        let end = (*at + 7).min(content.len());
        let chunk = content[*at..end].to_vec();
        *at = end;
        Ok(Binary(chunk))
    }
}

fn not_alive(name: &str) -> Refusal {
    Refusal::NotAlive(format!("{name} is not alive"))
}

fn summary(name: &str, living: &Living) -> TopologySummary {
    let (id, status) = (living.id.clone(), living.status.to_owned());
    TopologySummary { id, name: name.to_owned(), status, ..TopologySummary::default() }
}
