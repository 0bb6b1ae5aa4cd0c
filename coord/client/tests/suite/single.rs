//! Single ways that a request goes.

use ringstorm_client::{Client, ClientEffect, ClientError, ClientSettings, Success};
use ringstorm_control::machine::Machine;
use ringstorm_control::time::Now;
use ringstorm_nimbus::interface::{Reply, Request};

use crate::model::{Cluster, Fault, TOKEN, kill, run, settings, submission};

fn all(fault: Fault) -> Vec<(usize, Fault)> {
    (0..1_000).map(|call| (call, fault)).collect()
}

#[test]
fn without_faults_a_request_takes_as_few_calls_as_it_can() {
    let mut cluster = Cluster::new();
    let came = run(&mut cluster, submission(), &[]);
    assert!(matches!(came.result, Ok(Success::Answered(Reply::Submitted { .. }))), "{came:?}");
    assert_eq!((came.calls, came.seconds), (3, 0), "who leads, the file, the submission");
    let came = run(&mut cluster, kill(), &[]);
    assert_eq!((came.calls, came.seconds), (3, 0), "who leads, which topology, the end");
    let came = run(&mut cluster, Request::Topologies, &[]);
    assert_eq!((came.calls, came.seconds), (1, 0));
}

#[test]
fn a_nimbus_that_does_not_lead_any_more_says_who_does() {
    let mut cluster = Cluster::with_topology();
    let came = run(&mut cluster, kill(), &[(2, Fault::Deposed)]);
    assert_eq!((came.result, came.calls, came.seconds), (Ok(Success::Answered(Reply::Done)), 4, 0));
}

#[test]
fn a_client_gives_up_after_storms_pauses_and_says_that_nothing_was_done() {
    let came = run(&mut Cluster::with_topology(), kill(), &all(Fault::NotSent));
    assert_eq!(came.result, Err(ClientError::GivenUp("the connection was refused".into())));
    assert_eq!((came.calls, came.seconds), (12, 2 + 4 + 8 + 16 + 32));
}

#[test]
fn a_client_that_cannot_find_out_says_so() {
    let mut faults = all(Fault::NotSent);
    faults.splice(0..3, [(2, Fault::LostAfter)]);
    let came = run(&mut Cluster::with_topology(), kill(), &faults);
    let Err(ClientError::InDoubt(why)) = came.result else { panic!("{came:?}") };
    assert!(why.contains("the connection was lost") && why.contains("refused"), "{why}");
}

#[test]
fn nobody_to_ask_and_an_odd_configuration_cost_one_error_and_no_call() {
    let now = Now::default();
    let mut client = Client::new(now, kill(), ClientSettings::default(), TOKEN);
    assert!(matches!(&client.wake(now)[..], [ClientEffect::Done(Err(ClientError::NoSeeds))]));
    for conf in ["", "[]", "{"] {
        let Request::Submit(mut odd) = submission() else { unreachable!("it is a submission") };
        odd.conf = conf.into();
        let mut client = Client::new(now, Request::Submit(odd), settings(), TOKEN);
        assert!(matches!(&client.wake(now)[..], [ClientEffect::Done(Err(ClientError::Conf(_)))]), "{conf}");
    }
}

#[test]
fn a_submission_has_a_token_and_keeps_the_one_that_it_has() {
    for (conf, token) in [("{}", TOKEN), (r#"{"ringstorm.submission.token": "mine"}"#, "mine")] {
        let Request::Submit(mut submission) = submission() else { unreachable!("it is a submission") };
        submission.conf = conf.into();
        let mut cluster = Cluster::new();
        run(&mut cluster, Request::Submit(submission), &[]);
        assert_eq!(cluster.submitted, [Some(token.to_owned())]);
    }
}
