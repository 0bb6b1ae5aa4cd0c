//! The methods of nimbus: arguments, answers, and what each may be refused with.
//!
//! Any method may besides be answered with an [`ApplicationException`](crate::thrift::message::ApplicationException).
//! An argument that is not set stands for null; which ones may be is said where it matters. Source: the service
//! `Nimbus` of `storm.thrift` in Storm 2.8.2.

use super::define::methods;
use super::exchange::{Method, MethodType, NimbusException, call};
use crate::records::{
    BeginDownloadResult, ClusterSummary, ComponentPageInfo, Credentials, GetInfoOptions, KillOptions, ListBlobsResult,
    LogConfig, NimbusSummary, OwnerResourceSummary, ProfileAction, ProfileRequest, ReadableBlobMeta, RebalanceOptions,
    SettableBlobMeta, StormTopology, SubmitOptions, SupervisorAssignments, SupervisorPageInfo,
    SupervisorWorkerHeartbeat, SupervisorWorkerHeartbeats, TopologyHistoryInfo, TopologyInfo, TopologyPageInfo,
    TopologySummary, WorkerMetrics,
};
use crate::thrift::{Binary, DecodeError, Decoder, Wire, message, records};

methods! {
    /// Submits a topology whose jar was uploaded. Storm's client sends this when there are neither options nor
    /// credentials. Leader only.
    "submitTopology" SubmitTopology {
        1: name: Option<String>,
        2: uploaded_jar_location as "uploadedJarLocation": Option<String>,
        3: json_conf as "jsonConf": Option<String>,
        4: topology: Option<StormTopology>,
    } -> (), refused with { 1: AlreadyAlive, 2: InvalidTopology, 3: Authorization };

    /// As [`SubmitTopology`], with options.
    "submitTopologyWithOpts" SubmitTopologyWithOpts {
        1: name: Option<String>,
        2: uploaded_jar_location as "uploadedJarLocation": Option<String>,
        3: json_conf as "jsonConf": Option<String>,
        4: topology: Option<StormTopology>,
        5: options: Option<SubmitOptions>,
    } -> (), refused with { 1: AlreadyAlive, 2: InvalidTopology, 3: Authorization };

    /// As [`KillTopologyWithOpts`], without options.
    "killTopology" KillTopology {
        1: name: Option<String>,
    } -> (), refused with { 1: NotAlive, 2: Authorization };

    /// Ends a topology after a while. Leader only.
    "killTopologyWithOpts" KillTopologyWithOpts {
        1: name: Option<String>,
        2: options: Option<KillOptions>,
    } -> (), refused with { 1: NotAlive, 2: Authorization };

    /// Lets the spouts of a topology emit again. Leader only.
    "activate" Activate {
        1: name: Option<String>,
    } -> (), refused with { 1: NotAlive, 2: Authorization };

    /// Stops the spouts of a topology. Leader only.
    "deactivate" Deactivate {
        1: name: Option<String>,
    } -> (), refused with { 1: NotAlive, 2: Authorization };

    /// Gives a topology other numbers of workers and executors after a while. Leader only.
    "rebalance" Rebalance {
        1: name: Option<String>,
        2: options: Option<RebalanceOptions>,
    } -> (), refused with { 1: NotAlive, 2: InvalidTopology, 3: Authorization };

    /// Sets levels of loggers. The name is a topology id.
    "setLogConfig" SetLogConfig {
        1: name: Option<String>,
        2: config: Option<LogConfig>,
    } -> (), refused with {};

    /// The levels that were set; none is an empty answer. The name is a topology id.
    "getLogConfig" GetLogConfig {
        1: name: Option<String>,
    } -> LogConfig, refused with {};

    /// Writes tuples of a component to the event logger, or of all components when none is named.
    "debug" Debug {
        1: name: Option<String>,
        2: component: Option<String>,
        3: enable: Option<bool>,
        4: sampling_percentage as "samplingPercentage": Option<f64>,
    } -> (), refused with { 1: NotAlive, 2: Authorization };

    /// Asks for a profile of a worker.
    "setWorkerProfiler" SetWorkerProfiler {
        1: id: Option<String>,
        2: profile_request as "profileRequest": Option<ProfileRequest>,
    } -> (), refused with {};

    /// What profiles of a component's workers were asked for and not made yet.
    "getComponentPendingProfileActions" GetComponentPendingProfileActions {
        1: id: Option<String>,
        2: component_id: Option<String>,
        3: action: Option<ProfileAction>,
    } -> Vec<ProfileRequest>, refused with {};

    /// Replaces the credentials of a topology.
    "uploadNewCredentials" UploadNewCredentials {
        1: name: Option<String>,
        2: creds: Option<Credentials>,
    } -> (), refused with { 1: NotAlive, 2: InvalidTopology, 3: Authorization };

    /// Begins to upload a new blob; answers a session.
    "beginCreateBlob" BeginCreateBlob {
        1: key: Option<String>,
        2: meta: Option<SettableBlobMeta>,
    } -> String, refused with { 1: Authorization, 2: KeyAlreadyExists };

    /// Begins to upload another content of a blob; answers a session.
    "beginUpdateBlob" BeginUpdateBlob {
        1: key: Option<String>,
    } -> String, refused with { 1: Authorization, 2: KeyNotFound };

    /// Sends a part of a blob.
    "uploadBlobChunk" UploadBlobChunk {
        1: session: Option<String>,
        2: chunk: Option<Binary>,
    } -> (), refused with { 1: Authorization };

    /// Makes what was uploaded the blob.
    "finishBlobUpload" FinishBlobUpload {
        1: session: Option<String>,
    } -> (), refused with { 1: Authorization };

    /// Drops what was uploaded.
    "cancelBlobUpload" CancelBlobUpload {
        1: session: Option<String>,
    } -> (), refused with { 1: Authorization };

    /// What is known about a blob.
    "getBlobMeta" GetBlobMeta {
        1: key: Option<String>,
    } -> ReadableBlobMeta, refused with { 1: Authorization, 2: KeyNotFound };

    /// Sets who may do what with a blob.
    "setBlobMeta" SetBlobMeta {
        1: key: Option<String>,
        2: meta: Option<SettableBlobMeta>,
    } -> (), refused with { 1: Authorization, 2: KeyNotFound };

    /// Begins to download a blob; answers a session.
    "beginBlobDownload" BeginBlobDownload {
        1: key: Option<String>,
    } -> BeginDownloadResult, refused with { 1: Authorization, 2: KeyNotFound };

    /// The next part of a blob; an empty one is its end.
    "downloadBlobChunk" DownloadBlobChunk {
        1: session: Option<String>,
    } -> Binary, refused with { 1: Authorization };

    /// Removes a blob that no topology uses.
    "deleteBlob" DeleteBlob {
        1: key: Option<String>,
    } -> (), refused with { 1: Authorization, 2: KeyNotFound, 3: IllegalState };

    /// A page of keys; an empty session starts, a page without keys ends.
    "listBlobs" ListBlobs {
        1: session: Option<String>,
    } -> ListBlobsResult, refused with {};

    /// On how many nimbus a blob lies.
    "getBlobReplication" GetBlobReplication {
        1: key: Option<String>,
    } -> i32, refused with { 1: Authorization, 2: KeyNotFound };

    /// On how many nimbus a blob should lie.
    "updateBlobReplication" UpdateBlobReplication {
        1: key: Option<String>,
        2: replication: Option<i32>,
    } -> i32, refused with { 1: Authorization, 2: KeyNotFound };

    /// Says in ZooKeeper that this nimbus holds a blob.
    "createStateInZookeeper" CreateStateInZookeeper {
        1: key: Option<String>,
    } -> (), refused with {};

    /// Begins to upload a jar; answers the path on the server that stands for it. Leader only.
    "beginFileUpload" BeginFileUpload {} -> String, refused with { 1: Authorization };

    /// Sends a part of a jar; Storm's client sends 307,200 bytes each.
    "uploadChunk" UploadChunk {
        1: location: Option<String>,
        2: chunk: Option<Binary>,
    } -> (), refused with { 1: Authorization };

    /// Ends the upload of a jar.
    "finishFileUpload" FinishFileUpload {
        1: location: Option<String>,
    } -> (), refused with { 1: Authorization };

    /// A part of a file whose download began by a method that Storm no longer has.
    "downloadChunk" DownloadChunk {
        1: id: Option<String>,
    } -> Binary, refused with { 1: Authorization };

    /// The configuration of nimbus as JSON text.
    "getNimbusConf" GetNimbusConf {} -> String, refused with { 1: Authorization };

    /// The cluster: supervisors, topologies, nimbuses.
    "getClusterInfo" GetClusterInfo {} -> ClusterSummary, refused with { 1: Authorization };

    /// All topologies.
    "getTopologySummaries" GetTopologySummaries {} -> Vec<TopologySummary>, refused with { 1: Authorization };

    /// One topology.
    "getTopologySummaryByName" GetTopologySummaryByName {
        1: name: Option<String>,
    } -> TopologySummary, refused with { 1: NotAlive, 2: Authorization };

    /// One topology.
    "getTopologySummary" GetTopologySummary {
        1: id: Option<String>,
    } -> TopologySummary, refused with { 1: NotAlive, 2: Authorization };

    /// The nimbus that leads. Any nimbus answers.
    "getLeader" GetLeader {} -> NimbusSummary, refused with { 1: Authorization };

    /// Whether a name is valid and free.
    "isTopologyNameAllowed" IsTopologyNameAllowed {
        1: name: Option<String>,
    } -> bool, refused with { 1: Authorization };

    /// A topology with its executors and all errors.
    "getTopologyInfoByName" GetTopologyInfoByName {
        1: name: Option<String>,
    } -> TopologyInfo, refused with { 1: NotAlive, 2: Authorization };

    /// A topology with its executors and all errors.
    "getTopologyInfo" GetTopologyInfo {
        1: id: Option<String>,
    } -> TopologyInfo, refused with { 1: NotAlive, 2: Authorization };

    /// A topology with its executors.
    "getTopologyInfoByNameWithOpts" GetTopologyInfoByNameWithOpts {
        1: name: Option<String>,
        2: options: Option<GetInfoOptions>,
    } -> TopologyInfo, refused with { 1: NotAlive, 2: Authorization };

    /// A topology with its executors.
    "getTopologyInfoWithOpts" GetTopologyInfoWithOpts {
        1: id: Option<String>,
        2: options: Option<GetInfoOptions>,
    } -> TopologyInfo, refused with { 1: NotAlive, 2: Authorization };

    /// A topology with figures of one window: `:all-time`, `600`, `10800` or `86400`.
    "getTopologyPageInfo" GetTopologyPageInfo {
        1: id: Option<String>,
        2: window: Option<String>,
        3: is_include_sys: Option<bool>,
    } -> TopologyPageInfo, refused with { 1: NotAlive, 2: Authorization };

    /// A supervisor by id, or all of a host.
    "getSupervisorPageInfo" GetSupervisorPageInfo {
        1: id: Option<String>,
        2: host: Option<String>,
        3: is_include_sys: Option<bool>,
    } -> SupervisorPageInfo, refused with { 1: NotAlive, 2: Authorization };

    /// A component with figures of one window.
    "getComponentPageInfo" GetComponentPageInfo {
        1: topology_id: Option<String>,
        2: component_id: Option<String>,
        3: window: Option<String>,
        4: is_include_sys: Option<bool>,
    } -> ComponentPageInfo, refused with { 1: NotAlive, 2: Authorization };

    /// The stored configuration of a topology as JSON text.
    "getTopologyConf" GetTopologyConf {
        1: id: Option<String>,
    } -> String, refused with { 1: NotAlive, 2: Authorization };

    /// A topology with the system's own components.
    "getTopology" GetTopology {
        1: id: Option<String>,
    } -> StormTopology, refused with { 1: NotAlive, 2: Authorization };

    /// A topology as it was submitted.
    "getUserTopology" GetUserTopology {
        1: id: Option<String>,
    } -> StormTopology, refused with { 1: NotAlive, 2: Authorization };

    /// Topologies, dead ones too, whose logs a user may see.
    "getTopologyHistory" GetTopologyHistory {
        1: user: Option<String>,
    } -> TopologyHistoryInfo, refused with { 1: Authorization };

    /// What the topologies of an owner use, or of all owners.
    "getOwnerResourceSummaries" GetOwnerResourceSummaries {
        1: owner: Option<String>,
    } -> Vec<OwnerResourceSummary>, refused with { 1: Authorization };

    /// What a supervisor, by its id, should run.
    "getSupervisorAssignments" GetSupervisorAssignments {
        1: node: Option<String>,
    } -> SupervisorAssignments, refused with { 1: Authorization };

    /// Heartbeats of all workers of a supervisor.
    "sendSupervisorWorkerHeartbeats" SendSupervisorWorkerHeartbeats {
        1: heartbeats: Option<SupervisorWorkerHeartbeats>,
    } -> (), refused with { 1: Authorization };

    /// The heartbeat of a worker that cannot reach its supervisor.
    "sendSupervisorWorkerHeartbeat" SendSupervisorWorkerHeartbeat {
        1: heatbeat: Option<SupervisorWorkerHeartbeat>,
    } -> (), refused with { 1: Authorization, 2: NotAlive };

    /// Metrics of a worker.
    "processWorkerMetrics" ProcessWorkerMetrics {
        1: metrics: Option<WorkerMetrics>,
    } -> (), refused with {};

    /// Whether a blob exists.
    "isRemoteBlobExists" IsRemoteBlobExists {
        1: blob_key as "blobKey": Option<String>,
    } -> bool, refused with { 1: Authorization };
}
