//! Every fault at every call, and every two faults: what the client says is true.

use ringstorm_client::interface::FoundState;
use ringstorm_client::{ClientError, Success};
use ringstorm_nimbus::interface::{Refusal, Reply, Request};

use crate::model::{Came, Cluster, FAULTS, Fault, NAME, TOKEN, activate, deactivate, kill, rebalance, run, submission};

/// More calls than a request takes with two faults.
const CALLS_MAX: usize = 12;

/// Every single fault, every two, and none.
fn scripts() -> Vec<Vec<(usize, Fault)>> {
    let all = (0..CALLS_MAX).flat_map(|call| FAULTS.map(|fault| (call, fault)));
    let singles: Vec<_> = all.collect();
    let mut scripts = vec![Vec::new()];
    scripts.extend(singles.iter().map(|single| vec![*single]));
    for one in &singles {
        scripts.extend(singles.iter().filter(|other| other.0 > one.0).map(|other| vec![*one, *other]));
    }
    scripts
}

fn each(before: &Cluster, request: &Request, check: impl Fn(&Cluster, &Came) -> Result<(), String>) {
    for faults in scripts() {
        let mut cluster = before.clone();
        let came = run(&mut cluster, request.clone(), &faults);
        if let Err(why) = check(&cluster, &came) {
            panic!("{faults:?}: {why}: {came:?}, {cluster:?}");
        }
    }
}

fn rule(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

/// Whether somebody else has taken the name meanwhile.
fn has_stranger(cluster: &Cluster) -> bool {
    cluster.submitted.iter().any(|token| token.as_deref() == Some("a stranger's"))
}

#[test]
fn a_submission_comes_to_exactly_one_topology_or_to_none_and_says_which() {
    each(&Cluster::new(), &submission(), |cluster, came| {
        let own = cluster.submitted.iter().filter(|token| token.as_deref() == Some(TOKEN)).count();
        rule(own <= 1, "it was submitted more than once")?;
        match &came.result {
            Ok(Success::Answered(Reply::Submitted { topology })) => {
                let living = cluster.topologies.get(NAME).ok_or("it is not there")?;
                rule(living.id == topology.as_str(), "another one is there")
            }
            Err(ClientError::Refused(Refusal::AlreadyAlive(_))) => {
                rule(has_stranger(cluster), "nobody else has the name")
            }
            Err(ClientError::GivenUp(_)) => rule(own == 0, "something was done"),
            Err(ClientError::InDoubt(_)) => Ok(()),
            _ => Err("an odd result".into()),
        }?;
        rule(came.result.is_ok() || has_stranger(cluster), "two faults should be overcome")
    });
}

#[test]
fn a_submission_under_a_name_that_is_taken_is_refused() {
    each(&Cluster::with_topology(), &submission(), |cluster, came| {
        // After a call without an answer, nobody knows whether the name was free for a moment.
        let is_refused =
            matches!(&came.result, Err(ClientError::Refused(Refusal::AlreadyAlive(_)) | ClientError::InDoubt(_)));
        rule(is_refused, "it was not refused")?;
        rule(!cluster.submitted.contains(&Some(TOKEN.into())), "it was submitted")
    });
}

#[test]
fn a_kill_ends_the_topology_that_was_meant_and_no_other() {
    each(&Cluster::with_topology(), &kill(), |cluster, came| {
        // Whoever has the name when it is looked up is meant, and nobody who takes it later.
        rule(cluster.killed.len() <= 1, "two were killed")?;
        let is_living_killed = cluster.topologies.values().any(|living| cluster.killed.contains(&living.id));
        match &came.result {
            Ok(Success::Answered(Reply::Done)) => rule(cluster.killed.len() == 1, "nothing was killed"),
            Ok(Success::Found(finding)) => match finding.state {
                FoundState::WasKilled => {
                    let is_gone = cluster.topologies.is_empty() || has_stranger(cluster);
                    rule(is_gone && !is_living_killed, "it is still there")
                }
                FoundState::IsKilled => rule(is_living_killed, "it was not killed"),
                _ => Err("an odd finding".into()),
            },
            _ => Err("two faults should be overcome".into()),
        }
    });
}

#[test]
fn a_kill_of_what_never_was_is_refused_as_storm_does() {
    let each_but_strangers = |cluster: &Cluster, came: &Came| {
        if has_stranger(cluster) {
            return Ok(());
        }
        match &came.result {
            Err(ClientError::Refused(Refusal::NotAlive(why))) => rule(why == "words is not alive", why),
            _ => Err("an odd result".into()),
        }
    };
    each(&Cluster::new(), &kill(), each_but_strangers);
    let came = run(&mut Cluster::new(), kill(), &[]);
    assert_eq!(came.result, Err(ClientError::Refused(Refusal::NotAlive("words is not alive".into()))));
}

#[test]
fn a_rebalance_is_done_once_to_the_topology_that_was_meant() {
    each(&Cluster::with_topology(), &rebalance(), |cluster, came| {
        rule(cluster.rebalanced.len() <= 1, "two were rebalanced")?;
        let is_living_rebalanced = cluster.topologies.values().any(|living| cluster.rebalanced.contains(&living.id));
        match &came.result {
            Ok(Success::Answered(Reply::Done)) => rule(cluster.rebalanced.len() == 1, "nothing was rebalanced"),
            Ok(Success::Found(finding)) => {
                rule(finding.state == FoundState::IsRebalancing && is_living_rebalanced, "it was not done")
            }
            Err(ClientError::Refused(Refusal::NotAlive(_))) => rule(has_stranger(cluster), "it is there"),
            _ => Err("two faults should be overcome".into()),
        }
    });
}

#[test]
fn activating_and_deactivating_come_to_the_state_that_was_wanted() {
    for (request, status) in [(activate(), "ACTIVE"), (deactivate(), "INACTIVE")] {
        each(&Cluster::with_topology(), &request, |cluster, came| match &came.result {
            Ok(_) => rule(cluster.topologies[NAME].status == status, "it is in another state"),
            Err(ClientError::Refused(Refusal::NotAlive(_))) => rule(has_stranger(cluster), "it is there"),
            _ => Err("two faults should be overcome".into()),
        });
    }
}

#[test]
fn a_read_is_answered_whatever_happens_to_two_calls() {
    each(&Cluster::with_topology(), &Request::Topologies, |_, came| {
        rule(matches!(&came.result, Ok(Success::Answered(Reply::Topologies(_)))), "no answer came")
    });
}
