//! Requests of the client's machine as calls.
//!
//! Threading: one caller at a time, who waits. Errors: outcomes of the machine.

use ringstorm_client::CallOutcome;
use ringstorm_nimbus::interface::{Refusal, Reply, Request, Submission};
use ringstorm_records::nimbus::{
    Activate, Deactivate, GetLeader, GetLogConfig, GetTopologySummaries, GetTopologySummaryByName,
    IsTopologyNameAllowed, KillTopologyWithOpts, Method, Rebalance, SendSupervisorWorkerHeartbeat,
    SendSupervisorWorkerHeartbeats, SetLogConfig, SubmitTopology, SubmitTopologyWithOpts, UploadNewCredentials,
};
use ringstorm_records::records::TopologyInitialStatus;
use ringstorm_records::thrift::Record as _;
use ringstorm_records::znode::NodeName;
use serde_json::Value;

use crate::connection::{CallFailure, Connection};
use crate::refusals::{WireRefusal, from_wire};

/// The key of a topology's configuration that says what its file holds: the SHA-256 as 64 hexadecimal digits. A submission
/// gives it as the client read the file, so that nimbus can tell whether it got the same.
pub const CODE_SHA256: &str = "ringstorm.code.sha256";

/// What a submission's message takes besides its arguments, in bytes: the head, and what is known only after the upload, the
/// location and the checksum of the file. A little more than they need.
const EXTRA_BYTES: usize = 1024;

/// Makes the call of a request, and waits.
pub(crate) fn ask(connection: &mut Connection, request: &Request) -> CallOutcome {
    let done = |()| Reply::Done;
    match request {
        Request::Submit(submission) => submit(connection, submission),
        Request::Kill { name, options } => {
            let call = KillTopologyWithOpts { name: Some(name.clone()), options: Some(options.clone()) };
            outcome::<KillTopologyWithOpts>(connection.call(&call), done)
        }
        Request::Activate { name } => {
            outcome::<Activate>(connection.call(&Activate { name: Some(name.clone()) }), done)
        }
        Request::Deactivate { name } => {
            outcome::<Deactivate>(connection.call(&Deactivate { name: Some(name.clone()) }), done)
        }
        Request::Rebalance { name, options } => {
            let call = Rebalance { name: Some(name.clone()), options: Some(options.clone()) };
            outcome::<Rebalance>(connection.call(&call), done)
        }
        Request::SetLogConfig { topology, levels } => {
            let call = SetLogConfig { name: Some(topology.clone()), config: Some(levels.clone()) };
            outcome::<SetLogConfig>(connection.call(&call), done)
        }
        Request::LogConfig { topology } => {
            outcome::<GetLogConfig>(connection.call(&GetLogConfig { name: Some(topology.clone()) }), Reply::LogConfig)
        }
        Request::SetCredentials { name, credentials } => {
            let call = UploadNewCredentials { name: Some(name.clone()), creds: Some(credentials.clone()) };
            outcome::<UploadNewCredentials>(connection.call(&call), done)
        }
        Request::IsTopologyNameAllowed { name } => {
            let call = IsTopologyNameAllowed { name: Some(name.clone()) };
            outcome::<IsTopologyNameAllowed>(connection.call(&call), Reply::Allowed)
        }
        Request::Topologies => {
            outcome::<GetTopologySummaries>(connection.call(&GetTopologySummaries {}), Reply::Topologies)
        }
        Request::Leader => outcome::<GetLeader>(connection.call(&GetLeader {}), Reply::Leader),
        Request::WorkerHeartbeat(heartbeat) => {
            let call = SendSupervisorWorkerHeartbeat { heatbeat: Some(heartbeat.clone()) };
            outcome::<SendSupervisorWorkerHeartbeat>(connection.call(&call), done)
        }
        Request::WorkerHeartbeats(heartbeats) => {
            let call = SendSupervisorWorkerHeartbeats { heartbeats: Some(heartbeats.clone()) };
            outcome::<SendSupervisorWorkerHeartbeats>(connection.call(&call), done)
        }
    }
}

/// About how long the message of a submission will be, in bytes: hardly less than it is here.
pub(crate) fn message_bytes(submission: &Submission) -> usize {
    with_options(submission).to_bytes().len() + EXTRA_BYTES
}

fn submit(connection: &mut Connection, submission: &Submission) -> CallOutcome {
    let with_options = with_options(submission);
    let options = &submission.options;
    let submitted = if options.creds.is_none() && options.initial_status == TopologyInitialStatus::Active {
        // What Storm's own client sends then.
        let SubmitTopologyWithOpts { name, uploaded_jar_location, json_conf, topology, options: _ } = with_options;
        let call = SubmitTopology { name, uploaded_jar_location, json_conf, topology };
        outcome::<SubmitTopology>(connection.call(&call), |()| Reply::Done)
    } else {
        outcome::<SubmitTopologyWithOpts>(connection.call(&with_options), |()| Reply::Done)
    };
    if submitted != CallOutcome::Answered(Ok(Reply::Done)) {
        return submitted;
    }
    // The answer holds no id, and who has the name by now is as good as certain. Without an id it was done all the same.
    let look_up = GetTopologySummaryByName { name: Some(submission.name.clone()) };
    let id = connection.call(&look_up).ok().and_then(|summary| NodeName::new(&summary.id).ok());
    CallOutcome::Answered(Ok(id.map_or(Reply::Done, |topology| Reply::Submitted { topology })))
}

fn with_options(submission: &Submission) -> SubmitTopologyWithOpts {
    SubmitTopologyWithOpts {
        name: Some(submission.name.clone()),
        uploaded_jar_location: Some(submission.upload.name.clone()),
        json_conf: Some(with_checksum(&submission.conf, &submission.upload.checksum)),
        topology: Some(submission.topology.clone()),
        options: Some(submission.options.clone()),
    }
}

/// A configuration that says what the file holds. One that is no JSON object stays as it is; nimbus refuses it.
fn with_checksum(conf: &str, checksum: &str) -> String {
    let Ok(Value::Object(mut conf)) = serde_json::from_str(conf) else { return conf.to_owned() };
    if !checksum.is_empty() {
        conf.insert(CODE_SHA256.into(), checksum.into());
    }
    Value::Object(conf).to_string()
}

fn outcome<M: Method>(result: Result<M::Success, CallFailure>, reply: impl FnOnce(M::Success) -> Reply) -> CallOutcome {
    match result {
        Ok(success) => CallOutcome::Answered(Ok(reply(success))),
        Err(failure) => {
            refusal_of(failure).map_or_else(|outcome| outcome, |refusal| CallOutcome::Answered(Err(refusal)))
        }
    }
}

/// What nimbus refused with, or how the call ended without an answer.
pub(crate) fn refusal_of(failure: CallFailure) -> Result<Refusal, CallOutcome> {
    match failure {
        CallFailure::NotSent(why) => Err(CallOutcome::NotSent(why)),
        CallFailure::Unknown(why) => Err(CallOutcome::Unknown(why)),
        CallFailure::Refused(exception) => Ok(from_wire(WireRefusal::Exception(exception))),
        CallFailure::Failed(exception) => Ok(from_wire(WireRefusal::Failure(exception))),
    }
}
