//! Two nimbuses: one leads, the other holds the code and takes over.

use ringstorm_caller::CallFailure;
use ringstorm_caller::refusals::{WireRefusal, from_wire};
use ringstorm_nimbus::interface::Refusal;
use ringstorm_records::nimbus::{
    BeginFileUpload, GetBlobReplication, GetClusterInfo, GetSupervisorAssignments, GetTopologySummaries,
};
use ringstorm_records::thrift::message::ApplicationExceptionKind;

use crate::client::{address, call, done, download, executable, leads, submission, upload};
use crate::cluster::{Cluster, eventually};

#[test]
fn code_is_fetched_by_the_other_nimbus_which_takes_over() {
    let Some(cluster) = Cluster::start_or_skip() else { return };
    let first = cluster.nimbus("n1");
    leads(first.port);
    let second = cluster.nimbus("n2");
    eventually("both are there", || (done(second.port, &GetClusterInfo {}).nimbuses.len() == 2).then_some(()));

    // Whoever does not lead says who does.
    let Err(CallFailure::Failed(failure)) = call(second.port, &BeginFileUpload {}) else { panic!("it does not lead") };
    let refusal = from_wire(WireRefusal::Failure(failure));
    assert_eq!(refusal, Refusal::NotLeader { leader: Some(address(first.port)) });
    let assignments = GetSupervisorAssignments { node: Some("s".into()) };
    let Err(CallFailure::Failed(failure)) = call(second.port, &assignments) else { panic!("it does not lead") };
    assert_eq!(failure.kind, Some(ApplicationExceptionKind::MissingResult));

    let file = executable(3_000_000);
    let location = upload(first.port, &file);
    done(first.port, &submission("words", &location));
    let id = done(second.port, &GetTopologySummaries {})[0].id.clone();
    let jar = format!("{id}-stormjar.jar");
    assert_eq!(done(first.port, &GetBlobReplication { key: Some(jar.clone()) }), 2);
    assert_eq!(download(second.port, &jar).unwrap(), file);

    first.stop();
    leads(second.port);
    let location = upload(second.port, &file);
    done(second.port, &submission("more", &location));
    assert_eq!(done(second.port, &GetTopologySummaries {}).len(), 2);
    assert!(!second.log().contains("panicked"));
}
