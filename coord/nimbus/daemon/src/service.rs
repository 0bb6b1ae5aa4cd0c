//! What the methods of the port mean: who is asked for each, and what goes back.
//!
//! What changes topologies goes to the machine; files and blobs to the thread for files; what only looks to the thread for
//! reads. Methods that Ringstorm does not have are refused with a reason of their own ([`unsupported`]).
//!
//! Threading: belongs to the thread of the port; nothing here waits but in `await`. Errors: [`Failure`], which goes back
//! as the method declares it, or as an internal error, by the one mapping of [`refusals`].

mod requests;
mod submission;
mod unsupported;

use ringstorm_caller::refusals;
use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::nimbus::{
    Activate, BeginBlobDownload, BeginFileUpload, Deactivate, DownloadBlobChunk, FinishFileUpload, GetBlobMeta,
    GetLeader, GetSupervisorAssignments, IsRemoteBlobExists, KillTopology, KillTopologyWithOpts, ListBlobs, Method,
    NimbusCall, NimbusException, Rebalance, SendSupervisorWorkerHeartbeat, SendSupervisorWorkerHeartbeats,
    SetLogConfig, SubmitTopology, SubmitTopologyWithOpts, UploadChunk, UploadNewCredentials, failure, reply,
};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{
    AccessControl, AccessControlType, BeginDownloadResult, KeyNotFoundException, ListBlobsResult, NimbusSummary,
    ReadableBlobMeta, SettableBlobMeta, SubmitOptions, TopologyInitialStatus,
};
use ringstorm_records::thrift::Binary;
use ringstorm_records::thrift::message::ApplicationExceptionKind;
use ringstorm_views::Read;

use crate::checks::Runnable;
use crate::code::Held;
use crate::files::{DownloadError, Files, UploadError};
use crate::hand::{Hand, NotDone};
use crate::port::Answers;
use crate::reads::Reader;
use crate::settings::Accepting;
pub(crate) use requests::{Replies, Requests};

/// Why a method has no result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    /// An exception of Storm's.
    Exception(NimbusException),
    /// Anything else.
    Refusal(Refusal),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl From<NotDone> for Failure {
    fn from(not_done: NotDone) -> Self {
        Self::Refusal(Refusal::TryAgain(not_done.to_string()))
    }
}

impl From<UploadError> for Failure {
    fn from(error: UploadError) -> Self {
        Self::Refusal(match error {
            UploadError::Unknown(_) | UploadError::Unfinished(_) => Refusal::NoUpload(error.to_string()),
            UploadError::Full(_) => Refusal::TryAgain(error.to_string()),
            UploadError::Finished(_) | UploadError::TooLarge { .. } | UploadError::Disk { .. } => {
                Refusal::IllegalState(error.to_string())
            }
        })
    }
}

impl From<DownloadError> for Failure {
    fn from(error: DownloadError) -> Self {
        match error {
            DownloadError::NoBlob(msg) => Self::Exception(KeyNotFoundException { msg }.into()),
            other => Self::Refusal(Refusal::IllegalState(other.to_string())),
        }
    }
}

/// Everything that answers calls.
pub(crate) struct Service {
    pub(crate) requests: Requests,
    pub(crate) files: Hand<Files>,
    pub(crate) reads: Hand<Reader>,
    pub(crate) held: Held,
    pub(crate) runnable: Runnable,
    pub(crate) accepting: Accepting,
    pub(crate) address: NimbusAddress,
}

impl Answers for Service {
    async fn answer(&self, sequence: i32, call: NimbusCall) -> Vec<u8> {
        match self.operate(sequence, call).await {
            Ok(message) => message,
            Err(call) => self.look(sequence, call).await,
        }
    }
}

/// The message of a result.
fn message<M: Method>(sequence: i32, result: Result<M::Success, Failure>) -> Vec<u8> {
    match result {
        Ok(success) => reply::<M>(sequence, &Ok(success)),
        Err(Failure::Exception(exception)) => reply::<M>(sequence, &Err(exception)),
        Err(Failure::Refusal(refusal)) => refusals::answer::<M>(sequence, Err(refusal)),
    }
}

/// An argument without which a method means nothing.
fn needed<M: Method, T>(value: Option<T>, argument: &str) -> Result<T, Failure> {
    value.ok_or_else(|| Refusal::IllegalState(format!("{} needs its argument {argument}", M::NAME)).into())
}

macro_rules! answers {
    ($sequence:expr, $call:expr, { $($name:ident($arguments:pat) => $result:expr,)* }) => {
        match $call {
            $(NimbusCall::$name($arguments) => Ok(message::<$name>($sequence, async { $result }.await)),)*
            other => Err(other),
        }
    };
}

/// As [`answers`], for methods that only look.
macro_rules! looks {
    ($self:expr, $sequence:expr, $call:expr, [$($name:ident,)*]) => {
        match $call {
            $(NimbusCall::$name(method) => {
                message::<ringstorm_records::nimbus::$name>($sequence, $self.read(method).await)
            })*
            other => {
                let why = unsupported::why(other.method());
                failure(other.method(), $sequence, ApplicationExceptionKind::InternalError, why)
            }
        }
    };
}

impl Service {
    /// Answers what does more than to look; gives back every other call.
    async fn operate(&self, sequence: i32, call: NimbusCall) -> Result<Vec<u8>, NimbusCall> {
        if let NimbusCall::GetSupervisorAssignments(call) = call {
            return Ok(self.supervisor_assignments(sequence, call).await);
        }
        answers!(sequence, call, {
            SubmitTopology(SubmitTopology { name, uploaded_jar_location, json_conf, topology }) => {
                let options = SubmitOptions { initial_status: TopologyInitialStatus::Active, creds: None };
                let options = Some(options);
                let call = SubmitTopologyWithOpts { name, uploaded_jar_location, json_conf, topology, options };
                self.submit(call).await
            },
            SubmitTopologyWithOpts(call) => self.submit(call).await,
            KillTopology(KillTopology { name }) => {
                let (name, options) = (needed::<KillTopology, _>(name, "name")?, Default::default());
                self.done(Request::Kill { name, options }).await
            },
            KillTopologyWithOpts(KillTopologyWithOpts { name, options }) => {
                let name = needed::<KillTopologyWithOpts, _>(name, "name")?;
                self.done(Request::Kill { name, options: options.unwrap_or_default() }).await
            },
            Activate(Activate { name }) => {
                self.done(Request::Activate { name: needed::<Activate, _>(name, "name")? }).await
            },
            Deactivate(Deactivate { name }) => {
                self.done(Request::Deactivate { name: needed::<Deactivate, _>(name, "name")? }).await
            },
            Rebalance(Rebalance { name, options }) => {
                let name = needed::<Rebalance, _>(name, "name")?;
                self.done(Request::Rebalance { name, options: options.unwrap_or_default() }).await
            },
            SetLogConfig(SetLogConfig { name, config }) => {
                let topology = needed::<SetLogConfig, _>(name, "name")?;
                let levels = needed::<SetLogConfig, _>(config, "config")?;
                self.done(Request::SetLogConfig { topology, levels }).await
            },
            UploadNewCredentials(UploadNewCredentials { name, creds }) => {
                let name = needed::<UploadNewCredentials, _>(name, "name")?;
                self.done(Request::SetCredentials { name, credentials: creds.unwrap_or_default() }).await
            },
            SendSupervisorWorkerHeartbeats(SendSupervisorWorkerHeartbeats { heartbeats }) => {
                let heartbeats = needed::<SendSupervisorWorkerHeartbeats, _>(heartbeats, "heartbeats")?;
                self.done(Request::WorkerHeartbeats(heartbeats)).await
            },
            SendSupervisorWorkerHeartbeat(SendSupervisorWorkerHeartbeat { heatbeat }) => {
                let heartbeat = needed::<SendSupervisorWorkerHeartbeat, _>(heatbeat, "heatbeat")?;
                self.done(Request::WorkerHeartbeat(heartbeat)).await
            },
            GetLeader(GetLeader {}) => Ok(self.leader().await?),
            BeginFileUpload(BeginFileUpload {}) => {
                self.check_that_it_leads().await?;
                Ok(self.files.ask(|files| files.begin_upload()).await??)
            },
            UploadChunk(UploadChunk { location, chunk }) => {
                let location = needed::<UploadChunk, _>(location, "location")?;
                let Binary(chunk) = chunk.unwrap_or_default();
                Ok(self.files.ask(move |files| files.add_to_upload(&location, &chunk)).await??)
            },
            FinishFileUpload(FinishFileUpload { location }) => {
                let location = needed::<FinishFileUpload, _>(location, "location")?;
                Ok(self.files.ask(move |files| files.finish_upload(&location)).await??)
            },
            GetBlobMeta(GetBlobMeta { key }) => self.blob_meta(&needed::<GetBlobMeta, _>(key, "key")?),
            IsRemoteBlobExists(IsRemoteBlobExists { blob_key }) => {
                Ok(self.held.get(&needed::<IsRemoteBlobExists, _>(blob_key, "blobKey")?).is_some())
            },
            BeginBlobDownload(BeginBlobDownload { key }) => {
                let key = needed::<BeginBlobDownload, _>(key, "key")?;
                self.begin_download(key).await
            },
            DownloadBlobChunk(DownloadBlobChunk { session }) => {
                let session = needed::<DownloadBlobChunk, _>(session, "session")?;
                let chunk = self.files.ask(move |files| {
                    let now = files.now();
                    files.downloads.chunk(&session, now)
                });
                Ok(Binary(chunk.await??))
            },
            ListBlobs(ListBlobs { session }) => self.list_blobs(session.unwrap_or_default()).await,
        })
    }

    /// Answers what only looks, and says of everything else why it cannot be done.
    async fn look(&self, sequence: i32, call: NimbusCall) -> Vec<u8> {
        looks!(
            self,
            sequence,
            call,
            [
                GetLogConfig,
                GetComponentPendingProfileActions,
                GetBlobReplication,
                GetNimbusConf,
                GetClusterInfo,
                GetTopologySummaries,
                GetTopologySummaryByName,
                GetTopologySummary,
                IsTopologyNameAllowed,
                GetTopologyInfoByName,
                GetTopologyInfo,
                GetTopologyInfoByNameWithOpts,
                GetTopologyInfoWithOpts,
                GetTopologyPageInfo,
                GetSupervisorPageInfo,
                GetComponentPageInfo,
                GetTopologyConf,
                GetTopology,
                GetUserTopology,
                GetTopologyHistory,
                GetOwnerResourceSummaries,
            ]
        )
    }

    /// Something that the machine does.
    async fn done(&self, request: Request) -> Result<(), Failure> {
        Ok(self.requests.ask(request).await.map(drop)?)
    }

    async fn read<M: Read>(&self, method: M) -> Result<M::Success, Failure>
    where
        M::Success: Send,
    {
        self.reads.ask(move |reader| reader.answer(method)).await?
    }

    async fn leader(&self) -> Result<NimbusSummary, Refusal> {
        match self.requests.ask(Request::Leader).await? {
            Reply::Leader(summary) => Ok(summary),
            other => Err(Refusal::IllegalState(format!("an answer of another kind came: {other:?}"))),
        }
    }

    /// # Errors
    /// Another nimbus leads, or none does.
    async fn check_that_it_leads(&self) -> Result<(), Refusal> {
        let leader = self.leader().await?;
        let is_own = leader.host == self.address.host() && leader.port == i32::from(self.address.port());
        if is_own {
            return Ok(());
        }
        let port = u16::try_from(leader.port).ok();
        let leader = port.and_then(|port| NimbusAddress::new(&leader.host, port, 0).ok());
        Err(Refusal::NotLeader { leader })
    }

    /// As in Storm only the leader knows; any other answers without a result, and the supervisor asks again.
    async fn supervisor_assignments(&self, sequence: i32, call: GetSupervisorAssignments) -> Vec<u8> {
        match self.check_that_it_leads().await {
            Ok(()) => message::<GetSupervisorAssignments>(sequence, self.read(call).await),
            Err(Refusal::NotLeader { .. }) => {
                let (name, kind) = (GetSupervisorAssignments::NAME, ApplicationExceptionKind::MissingResult);
                failure(name, sequence, kind, format!("{name} failed: unknown result"))
            }
            Err(refusal) => message::<GetSupervisorAssignments>(sequence, Err(refusal.into())),
        }
    }

    /// Anyone may do anything with a blob: there is no security yet. The version is the number of the content.
    fn blob_meta(&self, key: &str) -> Result<ReadableBlobMeta, Failure> {
        let Some(held) = self.held.get(key) else { return Err(DownloadError::NoBlob(key.to_owned()).into()) };
        let anyone = AccessControl { kind: AccessControlType::Other, name: None, access: 7 };
        let settable = SettableBlobMeta { acl: vec![anyone], replication_factor: None };
        Ok(ReadableBlobMeta { settable, version: held.number.into() })
    }

    async fn begin_download(&self, key: String) -> Result<BeginDownloadResult, Failure> {
        let begun = self.files.ask(move |files| {
            let now = files.now();
            files.downloads.begin(&key, now)
        });
        Ok(begun.await??)
    }

    async fn list_blobs(&self, session: String) -> Result<ListBlobsResult, Failure> {
        let listed = self.files.ask(move |files| {
            let now = files.now();
            files.downloads.list(&session, now)
        });
        Ok(listed.await??)
    }
}
