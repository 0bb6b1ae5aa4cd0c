//! One connection: what comes of a call, whatever the other side does.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use ringstorm_caller::{CallFailure, Connection, Timeouts};
use ringstorm_records::nimbus::{GetTopologyConf, GetTopologySummaries, NimbusException, UploadChunk, failure, reply};
use ringstorm_records::records::NotAliveException;
use ringstorm_records::thrift::Binary;
use ringstorm_records::thrift::frame::frame;
use ringstorm_records::thrift::message::ApplicationExceptionKind;

use crate::server::{Does, Server, address_of, nobody, timeouts};

const SHORT: Duration = Duration::from_millis(200);

fn conf() -> GetTopologyConf {
    GetTopologyConf { id: Some("words-1-1795972824".into()) }
}

/// What comes of the first call of a connection to a server that does this.
fn called(does: Does, timeouts: Timeouts) -> Result<String, CallFailure> {
    let server = Server::start(move |_| does.clone());
    let mut connection = Connection::open(&server.address(), timeouts).unwrap();
    let result = connection.call(&conf());
    if matches!(result, Err(CallFailure::Unknown(_))) {
        let next = connection.call(&conf());
        assert!(matches!(next, Err(CallFailure::NotSent(_))), "an answer of the past could come: {next:?}");
        assert_eq!(server.heard().len(), 1, "nothing more is sent");
    }
    result
}

fn is_unknown(result: &Result<String, CallFailure>, words: &str) -> bool {
    matches!(result, Err(CallFailure::Unknown(why)) if why.contains(words) && why.contains("getTopologyConf"))
}

#[test]
fn calls_of_a_connection_are_numbered_and_each_gets_its_answer() {
    let server = Server::start(|heard| Does::Answers(reply::<GetTopologyConf>(heard.sequence, &Ok("{}".into()))));
    let mut connection = Connection::open(&server.address(), timeouts()).unwrap();
    for _ in 0..3 {
        assert_eq!(connection.call(&conf()), Ok("{}".into()));
    }
    let heard: Vec<_> = server.heard().iter().map(|heard| (heard.connection, heard.sequence)).collect();
    assert_eq!(heard, [(0, 1), (0, 2), (0, 3)]);
}

#[test]
fn what_nimbus_refuses_with_comes_as_it_was_said() {
    let gone = NimbusException::NotAlive(NotAliveException { msg: "words-1-1795972824".into() });
    let message = reply::<GetTopologyConf>(1, &Err(gone.clone()));
    assert_eq!(called(Does::Answers(message), timeouts()), Err(CallFailure::Refused(gone)));
    let message = failure("getTopologyConf", 1, ApplicationExceptionKind::UnknownMethod, "no such method".into());
    let Err(CallFailure::Failed(exception)) = called(Does::Answers(message), timeouts()) else { panic!("no failure") };
    assert_eq!(exception.message.as_deref(), Some("no such method"));
}

#[test]
fn an_answer_that_is_cut_anywhere_is_no_answer() {
    let whole = frame(&reply::<GetTopologyConf>(1, &Ok("{}".into())));
    assert_eq!(called(Does::Sends(whole.clone()), timeouts()), Ok("{}".into()));
    for cut in 0..whole.len() {
        let result = called(Does::Sends(whole[..cut].to_vec()), timeouts());
        assert!(is_unknown(&result, "before an answer came"), "{cut}: {result:?}");
    }
}

#[test]
fn an_answer_to_another_call_is_no_answer() {
    for sequence in [0, 2, -1] {
        let message = reply::<GetTopologyConf>(sequence, &Ok("{}".into()));
        assert!(is_unknown(&called(Does::Answers(message), timeouts()), "it answers call"));
    }
    let message = reply::<GetTopologySummaries>(1, &Ok(Vec::new()));
    assert!(is_unknown(&called(Does::Answers(message), timeouts()), "getTopologySummaries"));
}

#[test]
fn a_length_that_cannot_be_costs_one_error_at_once() {
    for claimed in [0, -1, i32::MIN, i32::MAX, (64 << 20) + 1] {
        let result = called(Does::Sends(claimed.to_be_bytes().to_vec()), timeouts());
        assert!(is_unknown(&result, "a frame claims"), "{claimed}: {result:?}");
    }
}

#[test]
fn an_answer_of_many_megabytes_is_taken() {
    let long = "x".repeat(40 << 20);
    let message = reply::<GetTopologyConf>(1, &Ok(long.clone()));
    assert!(called(Does::Answers(message), timeouts()) == Ok(long));
}

#[test]
fn who_is_silent_or_slow_without_end_is_not_waited_for() {
    let limits = Timeouts { answer: SHORT, ..timeouts() };
    let whole = frame(&reply::<GetTopologyConf>(1, &Ok("{}".into())));
    let slow = [Does::Waits(Duration::from_secs(10)), Does::Trickles(whole, SHORT / 4)];
    for does in slow {
        let start = Instant::now();
        let result = called(does.clone(), limits);
        assert!(is_unknown(&result, "no answer came within 0.2 s"), "{does:?}: {result:?}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_call_that_is_not_taken_to_its_end_was_not_sent() {
    // It accepts, in the kernel, and reads nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let limits = Timeouts { send: SHORT, ..timeouts() };
    let mut connection = Connection::open(&address_of(&listener), limits).unwrap();
    let chunk = Some(Binary(vec![1; 64 << 20]));
    let result = connection.call(&UploadChunk { location: None, chunk });
    assert!(matches!(&result, Err(CallFailure::NotSent(why)) if why.contains("in time")), "{result:?}");
    assert!(matches!(connection.call(&conf()), Err(CallFailure::NotSent(_))), "half a call lies on the connection");
}

#[test]
fn where_nobody_listens_nothing_is_sent() {
    let address = nobody();
    let Err(CallFailure::NotSent(why)) = Connection::open(&address, timeouts()) else { panic!("somebody listens") };
    assert!(why.contains(&format!("127.0.0.1:{}", address.port())) && why.contains("refused"), "{why}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_sent_costs_one_error_and_no_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        is_framed: bool,
    ) {
        let does = if is_framed && !bytes.is_empty() { Does::Answers(bytes) } else { Does::Sends(bytes) };
        let result = called(does, Timeouts { answer: Duration::from_secs(5), ..timeouts() });
        prop_assert!(matches!(result, Err(CallFailure::Unknown(_))), "{result:?}");
    }

    #[test]
    fn a_damaged_answer_costs_one_error_and_no_panic(at in 0_usize..1_000, flip in 1_u8..) {
        let mut message = reply::<GetTopologyConf>(1, &Ok("{\"topology.workers\": 2}".into()));
        let length = message.len();
        message[at % length] ^= flip;
        // A text may be another one; nothing else is taken for an answer.
        let result = called(Does::Answers(message), Timeouts { answer: Duration::from_secs(5), ..timeouts() });
        prop_assert!(matches!(result, Ok(_) | Err(CallFailure::Unknown(_) | CallFailure::Failed(_))), "{result:?}");
    }
}
