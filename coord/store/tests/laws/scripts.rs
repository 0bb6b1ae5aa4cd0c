//! Conversations that change the tree, and a tree for them to change.

use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{
    Assignment, ClusterWorkerHeartbeat, Credentials, ErrorInfo, LogConfig, NimbusSummary, NodeInfo, ProfileAction,
    ProfileRequest, StormBase, SupervisorInfo, TopologyStatus,
};
use ringstorm_records::thrift::UnknownFields;
use ringstorm_records::znode::{BlobHolder, ComponentName, NodeName, ProfileTarget, Root, Slot};
use ringstorm_store::cluster::{Cluster, ClusterAcls, Leadership, Standing, Tree, Trouble};
use ringstorm_store::memory::Ensemble;
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::procedure::{Procedure, Step};
use ringstorm_store::store::SessionId;

pub(crate) fn cluster() -> Cluster {
    Cluster::new(Root::new("/storm").unwrap(), ClusterAcls::open())
}

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

fn address() -> NimbusAddress {
    NimbusAddress::new("nimbus", 6627, 0).unwrap()
}

fn base() -> StormBase {
    StormBase {
        name: "words".into(),
        status: TopologyStatus::Active,
        num_workers: 2,
        component_executors: None,
        launch_time_secs: None,
        owner: None,
        topology_action_options: None,
        prev_status: None,
        component_debug: None,
        principal: None,
        topology_version: None,
        unknown: UnknownFields::default(),
    }
}

/// What a leader does. Each is done for the first time, or again over what the others have left.
pub(crate) const LEADERS: &[&str] = &[
    "set_up_workers",
    "create_storm_base",
    "change_storm_base",
    "set_assignment",
    "set_credentials",
    "set_log_config",
    "set_profile_request",
    "set_leader_info",
    "number_blob",
    "remove_assignment",
    "remove_blob",
    "remove_remains",
    "remove_topology",
];

/// What everybody does.
pub(crate) const OTHERS: &[&str] = &[
    "prepare",
    "announce_supervisor",
    "announce_nimbus",
    "withdraw_supervisor",
    "withdraw_nimbus",
    "set_worker_beat",
    "remove_worker_beat",
    "remove_profile_request",
    "hold_blob",
    "release_blob",
];

/// A conversation by its name.
pub(crate) fn conversation(
    script: &'static str,
    session: SessionId,
    leader: &Leadership,
) -> Procedure<Result<(), Trouble>> {
    let leader = leader.clone();
    cluster().procedure(|tree| async move { speak(&tree, script, session, &leader).await })
}

async fn speak(tree: &Tree, script: &str, session: SessionId, leader: &Leadership) -> Result<(), Trouble> {
    let (words, key, supervisor, host) = (name("words"), name("words-stormjar.jar"), name("id"), name("nimbus"));
    let slot = Slot { supervisor: supervisor.clone(), port: 6700 };
    let target = ProfileTarget { host: host.clone(), port: 6700, action: ProfileAction::JmapDump };
    match script {
        "set_up_workers" => tree.set_up_workers(leader, &words).await,
        "create_storm_base" => tree.create_storm_base(leader, &words, &base()).await,
        "change_storm_base" => {
            // Something that may be done twice, as decisions from what was read are.
            let change = |base: &StormBase| Some(StormBase { num_workers: 5, ..base.clone() });
            tree.change_storm_base(leader, &words, change).await.map(drop)
        }
        "set_assignment" => tree.set_assignment(leader, &words, &Assignment::default()).await,
        "set_credentials" => tree.set_credentials(leader, &words, &Credentials::default()).await,
        "set_log_config" => tree.set_log_config(leader, &words, &LogConfig::default()).await,
        "set_profile_request" => {
            let (node_info, action) = (NodeInfo::default(), ProfileAction::JmapDump);
            let request = ProfileRequest { node_info, action, time_stamp: None };
            tree.set_profile_request(leader, &words, &target, &request).await
        }
        "set_leader_info" => tree.set_leader_info(leader, &address()).await,
        "number_blob" => tree.number_blob(&key, &address(), Some(leader)).await.map(drop),
        "remove_assignment" => tree.remove_assignment(leader, &words).await,
        "remove_blob" => tree.remove_blob(leader, &key).await,
        "remove_remains" => tree.remove_remains(leader, &words).await,
        "remove_topology" => tree.remove_topology(leader, &words).await,
        "prepare" => tree.prepare().await,
        "announce_supervisor" => {
            tree.announce_supervisor(session, &supervisor, &SupervisorInfo::default(), None).await.map(drop)
        }
        "announce_nimbus" => tree.announce_nimbus(session, &host, &NimbusSummary::default(), None).await.map(drop),
        "withdraw_supervisor" => tree.withdraw_supervisor(&supervisor).await,
        "withdraw_nimbus" => tree.withdraw_nimbus(&host).await,
        "set_worker_beat" => tree.set_worker_beat(&words, &slot, &ClusterWorkerHeartbeat::default()).await,
        "remove_worker_beat" => tree.remove_worker_beat(&words, &slot).await,
        "remove_profile_request" => tree.remove_profile_request(&words, &target).await,
        "hold_blob" => tree.hold_blob(session, &key, &BlobHolder { nimbus: address(), version: 3 }).await,
        "release_blob" => tree.release_blob(&key, &address()).await,
        "report_errors" => {
            for component in ["count", "sink"] {
                let component = ComponentName::new(component).unwrap();
                tree.report_error(&words, &component, &ErrorInfo::default()).await?;
            }
            Ok(())
        }
        other => panic!("there is no script {other}"),
    }
}

/// An ensemble with a leader; with `is_full` also with everything that can be there.
pub(crate) fn prepared(is_full: bool) -> (Ensemble, SessionId, Leadership) {
    let mut ensemble = Ensemble::new(1);
    let session = ensemble.open(0, &[]);
    let standing = run(
        &mut ensemble,
        session,
        cluster().procedure(move |tree| async move {
            let candidacy = tree.stand(session, &name("uuid"), &address()).await?;
            tree.standing(&candidacy).await
        }),
    );
    let Ok(Standing::Leads(leader)) = standing else { panic!("{standing:?}") };
    if is_full {
        for script in OTHERS.iter().chain(LEADERS).chain(&["report_errors"]) {
            let removes = ["remove", "withdraw", "release"].iter().any(|word| script.starts_with(word));
            if !removes {
                assert_eq!(run(&mut ensemble, session, conversation(script, session, &leader)), Ok(()), "{script}");
            }
        }
    }
    (ensemble, session, leader)
}

/// Runs a conversation to its end.
pub(crate) fn run<T>(ensemble: &mut Ensemble, session: SessionId, procedure: Procedure<T>) -> T {
    run_with(procedure, |operation| ensemble.perform(session, operation))
}

/// Runs a conversation to its end, with what `perform` makes of each operation.
pub(crate) fn run_with<T>(mut procedure: Procedure<T>, mut perform: impl FnMut(&Operation) -> Outcome) -> T {
    let mut step = procedure.begin();
    loop {
        match step {
            Step::Done(result) => return result,
            Step::Ask(operations) => step = procedure.resume(operations.iter().map(&mut perform).collect()),
        }
    }
}

/// The nodes and what they hold.
pub(crate) fn nodes(ensemble: &Ensemble) -> Vec<(ZnodePath, Vec<u8>, Option<SessionId>)> {
    ensemble.dump().into_iter().map(|node| (node.path, node.data, node.stat.owner)).collect()
}
