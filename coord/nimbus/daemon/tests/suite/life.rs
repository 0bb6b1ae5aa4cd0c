//! A topology's life, by the port of one nimbus.

use ringstorm_caller::{CODE_SHA256, CallFailure};
use ringstorm_records::nimbus::{
    Activate, Deactivate, GetBlobMeta, GetBlobReplication, GetClusterInfo, GetLogConfig, GetNimbusConf,
    GetTopologyConf, GetTopologyInfo, GetTopologyPageInfo, GetTopologySummaries, GetTopologySummaryByName,
    GetUserTopology, IsRemoteBlobExists, IsTopologyNameAllowed, KillTopologyWithOpts, ListBlobs, METHODS,
    NimbusException, SetLogConfig, SubmitTopology, UploadNewCredentials,
};
use ringstorm_records::records::{ComponentObject, KillOptions, LogConfig, LogLevel, LogLevelAction};
use ringstorm_records::thrift::Binary;
use ringstorm_records::thrift::frame::frame;
use ringstorm_records::thrift::message::{ApplicationException, ApplicationExceptionKind, Head, MessageKind, body};
use serde_json::Value;

use crate::client::{call, connect, done, download, executable, leads, refused, submission, upload, words};
use crate::cluster::{Cluster, eventually};
use crate::hostile::Raw;

fn name(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn a_topology_is_submitted_looked_at_changed_and_killed() {
    let Some(cluster) = Cluster::start_or_skip() else { return };
    let nimbus = cluster.nimbus("n1");
    let port = nimbus.port;
    leads(port);
    let file = executable(1_000_000);
    let location = upload(port, &file);
    assert!(done(port, &IsTopologyNameAllowed { name: name("words") }));
    done(port, &submission("words", &location));

    let summaries = done(port, &GetTopologySummaries {});
    assert_eq!((summaries.len(), summaries[0].status.as_str()), (1, "ACTIVE"));
    let id = summaries[0].id.clone();
    assert!(!done(port, &IsTopologyNameAllowed { name: name("words") }));
    assert!(matches!(refused(port, &submission("words", &location)), NimbusException::AlreadyAlive(_)));

    // What was stored.
    let jar = format!("{id}-stormjar.jar");
    assert_eq!(download(port, &jar).unwrap(), file);
    assert_eq!(done(port, &GetBlobMeta { key: Some(jar.clone()) }).version, 1);
    assert_eq!(done(port, &GetBlobReplication { key: Some(jar.clone()) }), 1);
    assert!(done(port, &IsRemoteBlobExists { blob_key: Some(jar) }));
    assert!(matches!(download(port, "other"), Err(CallFailure::Refused(NimbusException::KeyNotFound(_)))));
    assert_eq!(done(port, &ListBlobs { session: name("") }).keys.len(), 3);
    let conf: Value = serde_json::from_str(&done(port, &GetTopologyConf { id: name(&id) })).unwrap();
    assert_eq!(conf[CODE_SHA256].as_str().unwrap().len(), 64);
    assert!(!conf["ringstorm.worker.secret"].as_str().unwrap_or_default().starts_with(char::is_alphanumeric));
    assert_eq!(done(port, &GetUserTopology { id: name(&id) }).bolts.len(), words().bolts.len());
    assert!(done(port, &GetNimbusConf {}).contains("nimbus.thrift.port"));
    assert_eq!(done(port, &GetClusterInfo {}).topologies.len(), 1);
    assert_eq!(done(port, &GetTopologyInfo { id: name(&id) }).name, "words");
    let page = GetTopologyPageInfo { id: name(&id), window: name(":all-time"), is_include_sys: Some(false) };
    assert_eq!(done(port, &page).id, id);
    assert!(matches!(refused(port, &GetTopologyInfo { id: name("nobody-1-1") }), NimbusException::NotAlive(_)));

    // What operators do.
    done(port, &Deactivate { name: name("words") });
    let status = || done(port, &GetTopologySummaryByName { name: name("words") }).status;
    assert_eq!(status(), "INACTIVE");
    done(port, &Activate { name: name("words") });
    assert_eq!(status(), "ACTIVE");
    assert!(matches!(refused(port, &Activate { name: name("other") }), NimbusException::NotAlive(_)));
    let level = LogLevel {
        action: LogLevelAction::Update,
        target_log_level: name("DEBUG"),
        reset_log_level_timeout_secs: Some(30),
        reset_log_level_timeout_epoch: None,
        reset_log_level: None,
        unknown: Default::default(),
    };
    let levels = LogConfig { named_logger_level: Some([("peer".to_owned(), level)].into()), ..LogConfig::default() };
    done(port, &SetLogConfig { name: name(&id), config: Some(levels) });
    let found = done(port, &GetLogConfig { name: name(&id) }).named_logger_level.unwrap();
    assert!(found["peer"].reset_log_level_timeout_epoch.is_some());
    done(port, &UploadNewCredentials { name: name("words"), creds: None });

    let options = KillOptions { wait_secs: Some(0), ..KillOptions::default() };
    done(port, &KillTopologyWithOpts { name: name("words"), options: Some(options.clone()) });
    eventually("it is gone", || done(port, &GetTopologySummaries {}).is_empty().then_some(()));
    let again = KillTopologyWithOpts { name: name("words"), options: Some(options) };
    assert!(matches!(refused(port, &again), NimbusException::NotAlive(_)));
    nimbus.stop();
}

#[test]
fn what_cannot_run_here_is_refused_with_every_reason_and_leaves_nothing() {
    let Some(cluster) = Cluster::start_or_skip() else { return };
    let nimbus = cluster.nimbus("n1");
    let port = nimbus.port;
    leads(port);
    let location = upload(port, b"PK\x03\x04 a jar");
    let mut java = submission("java", &location);
    if let Some(topology) = &mut java.topology {
        for bolt in topology.bolts.values_mut() {
            bolt.bolt_object = ComponentObject::SerializedJava(Binary(vec![0xac, 0xed]));
        }
    }
    java.json_conf = name(r#"{"topology.workers": 0}"#);
    let NimbusException::InvalidTopology(refusal) = refused(port, &java) else { panic!("it is invalid") };
    for expected in ["the file is a jar", "no Java: count", "topology.workers"] {
        assert!(refusal.msg.contains(expected), "{expected}: {}", refusal.msg);
    }
    let bad_name = SubmitTopology { name: name("a/b"), ..java.clone() };
    let NimbusException::InvalidTopology(refusal) = refused(port, &bad_name) else { panic!("it is invalid") };
    assert!(refusal.msg.starts_with("Topology name 'a/b' is not valid"), "{}", refusal.msg);

    let location = upload(port, &executable(5000));
    let mut other = submission("other", &location);
    other.json_conf = name(r#"{"ringstorm.wire.format": "frame 0"}"#);
    let NimbusException::InvalidTopology(refusal) = refused(port, &other) else { panic!("it is invalid") };
    assert!(refusal.msg.contains("\"frame 0\""), "{}", refusal.msg);
    for location in ["", "nowhere", "/etc/passwd", "../../etc/passwd"] {
        let failed = call(port, &submission("other", location)).unwrap_err().to_string();
        assert!(failed.contains("upload the file again"), "{failed}");
    }
    assert_eq!(done(port, &GetTopologySummaries {}).len(), 0);
    // The file that was refused can be submitted otherwise.
    done(port, &submission("other", &location));
}

#[test]
fn every_method_is_answered() {
    let Some(cluster) = Cluster::start_or_skip() else { return };
    let nimbus = cluster.nimbus("n1");
    leads(nimbus.port);
    let mut raw = Raw::connect(nimbus.port);
    for (sequence, method) in (1..).zip(METHODS) {
        let mut message = Head { kind: MessageKind::Call, method: method.name, sequence }.write().into_bytes();
        // No argument at all.
        message.push(0);
        raw.send(&frame(&message));
        let answer = raw.answer();
        let (head, input) = Head::read(&answer).unwrap();
        assert_eq!((head.method, head.sequence), (method.name, sequence));
        if head.kind == MessageKind::Exception {
            let exception: ApplicationException = body(input).unwrap();
            assert_eq!(exception.kind, Some(ApplicationExceptionKind::InternalError), "{}", method.name);
            assert!(exception.message.unwrap().contains(method.name), "{}", method.name);
        }
    }
    let unknown = Head { kind: MessageKind::Call, method: "explode", sequence: 7 };
    raw.send(&frame(&unknown.write().into_bytes()));
    let answer = raw.answer();
    let (_, input) = Head::read(&answer).unwrap();
    let exception: ApplicationException = body(input).unwrap();
    assert_eq!(exception.kind, Some(ApplicationExceptionKind::UnknownMethod));
    drop(connect(nimbus.port));
}
