//! Reads: of the leader, or else of anybody.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_caller::{ReadError, read, read_telling, refusals};
use ringstorm_nimbus::interface::Refusal;
use ringstorm_records::nimbus::{
    GetTopologyConf, GetTopologySummaries, GetTopologySummaryByName, NimbusException, failure,
};
use ringstorm_records::thrift::message::ApplicationExceptionKind;

use crate::requests::{good, serve, with_words};
use crate::server::{Does, Server, address_of, nobody, settings};

fn by_name(name: &str) -> GetTopologySummaryByName {
    GetTopologySummaryByName { name: Some(name.into()) }
}

#[test]
fn a_seed_that_leads_is_asked_on_the_same_connection() {
    let server = good(with_words());
    let summary = read(&settings(vec![server.address()]), &by_name("words")).unwrap();
    assert_eq!(summary.id, "words-1-1795972824");
    let heard: Vec<_> = server.heard().iter().map(|heard| (heard.connection, heard.sequence)).collect();
    assert_eq!(heard, [(0, 1), (0, 2)]);
}

#[test]
fn the_leader_is_asked_before_the_seed_that_names_it() {
    let leader = good(with_words());
    let mut model = with_words();
    model.leader = Some(leader.address());
    let seed = good(model);
    read(&settings(vec![nobody(), seed.address()]), &by_name("words")).unwrap();
    assert_eq!((seed.methods(), leader.methods()), (vec!["getLeader"], vec!["getTopologySummaryByName"]));
}

#[test]
fn without_the_leader_a_seed_answers() {
    let mut model = with_words();
    model.leader = Some(nobody());
    let seed = good(model);
    assert_eq!(read(&settings(vec![seed.address()]), &GetTopologySummaries {}).unwrap().len(), 1);
}

#[test]
fn a_seed_that_hangs_does_not_hold_up_the_next_one() {
    let hangs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let leads = good(with_words());
    let mut settings = settings(vec![address_of(&hangs), leads.address()]);
    settings.timeouts.leader = Duration::from_millis(100);
    settings.timeouts.answer = Duration::from_secs(60);
    let begun = std::time::Instant::now();
    read(&settings, &by_name("words")).unwrap();
    let request = ringstorm_nimbus::interface::Request::Activate { name: "words".into() };
    ringstorm_caller::perform(&settings, request, None, &mut |_| {}).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_seed_that_knows_no_leader_answers_all_the_same() {
    let model = Arc::new(Mutex::new(with_words()));
    let seed = serve(&model, |method, _, _, _| {
        let refusal = || Refusal::TryAgain("no nimbus is in the queue for leadership".into());
        (method == "getLeader")
            .then(|| Does::Answers(refusals::answer::<ringstorm_records::nimbus::GetLeader>(1, Err(refusal()))))
    });
    read(&settings(vec![seed.address()]), &by_name("words")).unwrap();
}

#[test]
fn what_is_not_there_is_an_answer() {
    let server = good(with_words());
    let settings = settings(vec![server.address()]);
    let missing = read(&settings, &by_name("nobody"));
    assert!(
        matches!(&missing, Err(ReadError::Refused(NimbusException::NotAlive(exception))) if exception.msg == "nobody is not alive")
    );
    let missing = read(&settings, &GetTopologyConf { id: Some("nobody-1-1".into()) });
    assert!(matches!(&missing, Err(ReadError::Refused(NimbusException::NotAlive(_)))), "{missing:?}");
}

#[test]
fn troubles_that_pass_are_waited_for_and_others_are_told_at_once() {
    let model = Arc::new(Mutex::new(with_words()));
    let server = serve(&model, |method, number, _, _| {
        let refusal = || Refusal::TryAgain("this nimbus has no connection with ZooKeeper".into());
        let message = || refusals::answer::<GetTopologySummaryByName>(2, Err(refusal()));
        (method == "getTopologySummaryByName" && number < 2).then(|| Does::Answers(message()))
    });
    let settings = settings(vec![server.address()]);
    read(&settings, &by_name("words")).unwrap();
    let old = Server::start(|heard| {
        let words = "Invalid method name".to_owned();
        Does::Answers(failure(heard.call.method(), heard.sequence, ApplicationExceptionKind::UnknownMethod, words))
    });
    let settings = crate::server::settings(vec![old.address()]);
    let failed = read(&settings, &by_name("words"));
    assert!(matches!(failed, Err(ReadError::Failed(_))), "{failed:?}");
    assert_eq!(old.methods(), ["getLeader", "getTopologySummaryByName"]);
}

#[test]
fn what_nimbus_cannot_answer_is_told_in_its_own_words() {
    let model = Arc::new(Mutex::new(with_words()));
    let server = serve(&model, |method, _, _, _| {
        let refusal = Refusal::IllegalState("its node cannot be read; kill it".into());
        (method == "getTopologySummaryByName")
            .then(|| Does::Answers(refusals::answer::<GetTopologySummaryByName>(2, Err(refusal))))
    });
    let error = read(&settings(vec![server.address()]), &by_name("words")).unwrap_err();
    assert_eq!(error.to_string(), "nimbus cannot answer: its node cannot be read; kill it");
}

#[test]
fn without_anybody_it_is_given_up() {
    let error = read(&settings(vec![nobody(), nobody()]), &GetTopologySummaries {}).unwrap_err();
    assert!(matches!(&error, ReadError::GivenUp(why) if why.contains("is not reached")), "{error}");
    assert_eq!(read(&settings(Vec::new()), &GetTopologySummaries {}), Err(ReadError::NoSeeds));
}

#[test]
fn before_each_pause_it_is_told_what_went_wrong_and_what_follows() {
    let mut told = Vec::new();
    let given_up = read_telling(&settings(vec![nobody()]), &GetTopologySummaries {}, &mut |line| told.push(line));
    assert!(matches!(given_up, Err(ReadError::GivenUp(_))), "{given_up:?}");
    let times = settings(Vec::new()).retry_times;
    assert_eq!(told.len(), times as usize, "{told:?}");
    assert!(
        told[0].contains("is not reached") && told[0].ends_with(&format!("for the 1st of {times} times")),
        "{told:?}"
    );
}

#[test]
fn a_nimbus_that_says_nothing_is_waited_for_once_before_each_pause() {
    let silent = Server::start(|_| Does::Waits(Duration::from_secs(60)));
    let mut settings = settings(vec![silent.address()]);
    settings.retry_times = 1;
    settings.timeouts.answer = Duration::from_millis(100);
    let given_up = read(&settings, &GetTopologySummaries {});
    assert!(matches!(&given_up, Err(ReadError::GivenUp(why)) if why.contains("no answer came")), "{given_up:?}");
    assert_eq!(silent.methods(), ["getLeader", "getLeader"]);
}
