//! Requests other than submissions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_caller::{ClientError, Progress, Success, Timeouts, perform};
use ringstorm_client::interface::FoundState;
use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::records::{
    KillOptions, RebalanceOptions, SupervisorWorkerHeartbeat, SupervisorWorkerHeartbeats,
};

use crate::model::{Living, Model};
use crate::server::{Does, Server, nobody, settings};

/// With one topology.
pub(crate) fn with_words() -> Model {
    let mut model = Model::default();
    let living = Living {
        id: "words-1-1795972824".into(),
        conf: serde_json::json!({}),
        status: "ACTIVE",
        jar: "inbox/stormjar-9.jar".into(),
    };
    model.topologies.insert("words".into(), living);
    model
}

/// A server around a model, with faults: `fault` is told the method and how often it was called before.
pub(crate) fn serve(
    model: &Arc<Mutex<Model>>,
    mut fault: impl FnMut(&'static str, usize, &mut Model, &dyn Fn(&mut Model) -> Vec<u8>) -> Option<Does> + Send + 'static,
) -> Server {
    let model = Arc::clone(model);
    let own = Arc::new(Mutex::new(None));
    let told = Arc::clone(&own);
    let mut calls = std::collections::BTreeMap::<&'static str, usize>::new();
    let server = Server::start(move |heard| {
        let own = told.lock().unwrap().clone().expect("it is told before it is called");
        let mut model = model.lock().unwrap();
        let before = calls.entry(heard.call.method()).or_default();
        let number = *before;
        *before += 1;
        let serve = |model: &mut Model| model.serve(&own, heard);
        match fault(heard.call.method(), number, &mut model, &serve) {
            Some(does) => does,
            None => Does::Answers(serve(&mut model)),
        }
    });
    *own.lock().unwrap() = Some(server.address());
    server
}

/// A server without faults.
pub(crate) fn good(model: Model) -> Server {
    serve(&Arc::new(Mutex::new(model)), |_, _, _, _| None)
}

fn kill() -> Request {
    Request::Kill { name: "words".into(), options: KillOptions::default() }
}

fn done(server: &Server, request: Request) -> Result<Success, ClientError> {
    perform(&settings(vec![server.address()]), request, None, &mut |_| {})
}

fn reply(server: &Server, request: Request) -> Reply {
    match done(server, request) {
        Ok(Success::Answered(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_request_is_done_and_answered() {
    let server = good(with_words());
    let name = || "words".to_owned();
    for request in [
        Request::Deactivate { name: name() },
        Request::Activate { name: name() },
        Request::Rebalance { name: name(), options: RebalanceOptions::default() },
        Request::WorkerHeartbeat(SupervisorWorkerHeartbeat::default()),
        Request::WorkerHeartbeats(SupervisorWorkerHeartbeats::default()),
    ] {
        assert_eq!(reply(&server, request), Reply::Done);
    }
    assert_eq!(reply(&server, Request::IsTopologyNameAllowed { name: name() }), Reply::Allowed(false));
    assert_eq!(reply(&server, Request::IsTopologyNameAllowed { name: "free".into() }), Reply::Allowed(true));
    let Reply::Topologies(topologies) = reply(&server, Request::Topologies) else { panic!("another answer") };
    assert_eq!((topologies[0].name.as_str(), topologies[0].status.as_str()), ("words", "REBALANCING"));
    let Reply::Leader(leader) = reply(&server, Request::Leader) else { panic!("another answer") };
    assert_eq!(leader.port, i32::from(server.address().port()));
    assert_eq!(reply(&server, kill()), Reply::Done);
    let activated = done(&server, Request::Activate { name: name() });
    assert!(matches!(activated, Err(ClientError::Refused(Refusal::IllegalState(_)))), "{activated:?}");
    let unknown = done(&server, Request::Activate { name: "nobody".into() });
    assert_eq!(unknown, Err(ClientError::Refused(Refusal::NotAlive("nobody is not alive".into()))));
}

#[test]
fn a_request_follows_the_leader_from_whoever_led_before() {
    let other = good(with_words());
    let mut deposed = with_words();
    deposed.leader = Some(other.address());
    let model = Arc::new(Mutex::new(deposed));
    // It still takes itself for the leader when it is asked who leads.
    let first = serve(&model, |method, _, model, serve| {
        (method == "getLeader").then(|| {
            let leader = model.leader.take();
            let message = serve(model);
            model.leader = leader;
            Does::Answers(message)
        })
    });
    assert_eq!(reply(&first, kill()), Reply::Done);
    assert_eq!(first.methods(), ["getLeader", "getTopologySummaries", "killTopologyWithOpts"]);
    assert_eq!(other.methods(), ["killTopologyWithOpts"]);
}

#[test]
fn a_kill_whose_answer_is_lost_is_found_to_be_done() {
    let model = Arc::new(Mutex::new(with_words()));
    let server = serve(&model, |method, number, model, serve| {
        (method == "killTopologyWithOpts" && number == 0).then(|| {
            serve(model);
            Does::Sends(Vec::new())
        })
    });
    let Ok(Success::Found(finding)) = done(&server, kill()) else { panic!("nothing was found") };
    assert_eq!(finding.state, FoundState::IsKilled);
    assert_eq!(server.methods().iter().filter(|method| **method == "killTopologyWithOpts").count(), 1);
}

#[test]
fn seeds_that_are_gone_or_hang_are_passed_over() {
    let hangs = Server::start(|_| Does::Waits(Duration::from_secs(5)));
    let good = good(with_words());
    let mut settings = settings(vec![nobody(), hangs.address(), good.address()]);
    settings.timeouts = Timeouts { answer: Duration::from_millis(100), ..settings.timeouts };
    assert_eq!(perform(&settings, kill(), None, &mut |_| {}), Ok(Success::Answered(Reply::Done)));
}

#[test]
fn without_anybody_it_is_given_up_after_the_pauses_and_each_is_told() {
    let mut told = Vec::new();
    let result = perform(&settings(vec![nobody()]), kill(), None, &mut |progress| told.push(progress));
    assert!(matches!(&result, Err(ClientError::GivenUp(why)) if why.contains("is not reached")), "{result:?}");
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|told| matches!(told, Progress::Note(text) if text.contains("trying again in"))));
    let nobody = perform(&settings(Vec::new()), kill(), None, &mut |_| {});
    assert_eq!(nobody, Err(ClientError::NoSeeds));
}

#[test]
fn a_nimbus_that_answers_nonsense_leaves_a_request_in_doubt_and_nothing_worse() {
    let model = Arc::new(Mutex::new(with_words()));
    let server = serve(&model, |method, _, _, _| {
        (method == "killTopologyWithOpts").then(|| Does::Answers(b"\x80\x01\x00\x02nonsense".to_vec()))
    });
    let result = done(&server, kill());
    assert!(matches!(&result, Err(ClientError::InDoubt(why)) if why.contains("cannot be read")), "{result:?}");
}
