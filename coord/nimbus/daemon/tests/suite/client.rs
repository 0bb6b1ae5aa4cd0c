//! A client of the port that says what it wants, method by method. Errors: an answer of another kind fails the test.

use ringstorm_caller::{CallFailure, Connection, Timeouts};
use ringstorm_records::nimbus::{
    BeginBlobDownload, BeginFileUpload, DownloadBlobChunk, FinishFileUpload, GetLeader, Method, NimbusException,
    SubmitTopology, UploadChunk,
};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{
    Bolt, ComponentCommon, ComponentObject, GlobalStreamId, Grouping, JavaObject, NullStruct, SpoutSpec, StormTopology,
    StreamInfo,
};
use ringstorm_records::thrift::Binary;
use ringstorm_submission::executable::{Note, OWN_MACHINE, smallest};
use ringstorm_types::wire_format::WIRE_FORMAT;
use serde_json::json;

use crate::cluster::eventually;

pub(crate) fn address(port: u16) -> NimbusAddress {
    NimbusAddress::new("127.0.0.1", port, 0).unwrap()
}

pub(crate) fn connect(port: u16) -> Connection {
    eventually("the port answers", || Connection::open(&address(port), Timeouts::default()).ok())
}

pub(crate) fn call<M: Method>(port: u16, method: &M) -> Result<M::Success, CallFailure> {
    connect(port).call(method)
}

pub(crate) fn done<M: Method>(port: u16, method: &M) -> M::Success {
    match call(port, method) {
        Ok(success) => success,
        Err(failure) => panic!("{}: {failure}", M::NAME),
    }
}

pub(crate) fn refused<M: Method>(port: u16, method: &M) -> NimbusException {
    match call(port, method) {
        Err(CallFailure::Refused(exception)) => exception,
        Err(other) => panic!("{}: {other}", M::NAME),
        Ok(_) => panic!("{} is done", M::NAME),
    }
}

/// Waits until this nimbus leads.
pub(crate) fn leads(port: u16) {
    eventually("it leads", || {
        let leader = call(port, &GetLeader {}).ok()?;
        (leader.port == i32::from(port)).then_some(())
    });
}

/// A topology's executable for this machine, as far as anybody looks at it before it runs.
pub(crate) fn executable(bytes: usize) -> Vec<u8> {
    let mut file = smallest(OWN_MACHINE, &Note::OWN);
    assert!(file.len() <= bytes);
    file.resize(bytes, 7);
    file
}

/// Uploads a file; where it lies, for the submission.
pub(crate) fn upload(port: u16, file: &[u8]) -> String {
    let mut connection = connect(port);
    let location = connection.call(&BeginFileUpload {}).unwrap();
    for chunk in file.chunks(300 << 10) {
        let chunk = UploadChunk { location: Some(location.clone()), chunk: Some(Binary(chunk.to_vec())) };
        connection.call(&chunk).unwrap();
    }
    connection.call(&FinishFileUpload { location: Some(location.clone()) }).unwrap();
    location
}

fn component() -> ComponentObject {
    ComponentObject::JavaObject(JavaObject { full_class_name: "ringstorm.Component".into(), args_list: Vec::new() })
}

fn common(inputs: &[(&str, Grouping)]) -> ComponentCommon {
    let stream = StreamInfo { output_fields: vec!["word".into()], direct: false };
    let input = |(from, grouping): &(&str, Grouping)| {
        (GlobalStreamId { component_id: (*from).into(), stream_id: "default".into() }, grouping.clone())
    };
    ComponentCommon {
        inputs: inputs.iter().map(input).collect(),
        streams: [("default".to_owned(), stream)].into(),
        parallelism_hint: Some(2),
        json_conf: None,
    }
}

/// A spout and a bolt.
pub(crate) fn words() -> StormTopology {
    let shuffle = Grouping::Shuffle(NullStruct::default());
    StormTopology {
        spouts: [("words".to_owned(), SpoutSpec { spout_object: component(), common: common(&[]) })].into(),
        bolts: [("count".to_owned(), Bolt { bolt_object: component(), common: common(&[("words", shuffle)]) })].into(),
        ..StormTopology::default()
    }
}

/// A submission of a file that was uploaded.
pub(crate) fn submission(name: &str, location: &str) -> SubmitTopology {
    let conf = json!({ "topology.workers": 1, "ringstorm.wire.format": WIRE_FORMAT });
    SubmitTopology {
        name: Some(name.into()),
        uploaded_jar_location: Some(location.into()),
        json_conf: Some(conf.to_string()),
        topology: Some(words()),
    }
}

/// A blob, whole.
pub(crate) fn download(port: u16, key: &str) -> Result<Vec<u8>, CallFailure> {
    let mut connection = connect(port);
    let begun = connection.call(&BeginBlobDownload { key: Some(key.into()) })?;
    let mut bytes = Vec::new();
    loop {
        let Binary(chunk) = connection.call(&DownloadBlobChunk { session: Some(begun.session.clone()) })?;
        if chunk.is_empty() {
            assert_eq!(begun.data_size, Some(bytes.len() as i64));
            return Ok(bytes);
        }
        bytes.extend(chunk);
    }
}
