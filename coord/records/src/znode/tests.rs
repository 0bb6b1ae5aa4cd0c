//! Paths to nodes and back.

use proptest::prelude::*;

use super::*;
use crate::payload::NimbusAddress;
use crate::records::{ProfileAction, WorkerTokenServiceType};

fn root() -> Root {
    Root::new("/storm").unwrap()
}

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

/// A node of each kind, and its path below the root.
fn one_of_each() -> Vec<(Node, &'static str)> {
    let topology = || name("words-1-1795972824");
    let slot = || Slot { supervisor: name("4be0-h-1"), port: 6700 };
    let key = || name("words-1-1795972824-stormjar.jar");
    let component = || ComponentName::new("a b/ä*").unwrap();
    let holder = BlobHolder { nimbus: NimbusAddress::new("h-1", 6627, 0).unwrap(), version: 12 };
    let target = ProfileTarget { host: name("h_1"), port: 6700, action: ProfileAction::JprofileStop };
    let service = WorkerTokenServiceType::Nimbus;
    vec![
        (Node::LeaderInfo {}, "/storm/leader-info"),
        (Node::Root {}, ""),
        (Node::Storms {}, "/storms"),
        (Node::Storm { topology: topology() }, "/storms/words-1-1795972824"),
        (Node::Assignments {}, "/assignments"),
        (Node::Assignment { topology: topology() }, "/assignments/words-1-1795972824"),
        (Node::Supervisors {}, "/supervisors"),
        (Node::Supervisor { supervisor: name("4be0-h") }, "/supervisors/4be0-h"),
        (Node::WorkerBeats {}, "/workerbeats"),
        (Node::TopologyWorkerBeats { topology: topology() }, "/workerbeats/words-1-1795972824"),
        (Node::WorkerBeat { topology: topology(), slot: slot() }, "/workerbeats/words-1-1795972824/4be0-h-1-6700"),
        (Node::Errors {}, "/errors"),
        (Node::TopologyErrors { topology: topology() }, "/errors/words-1-1795972824"),
        (
            Node::LastError { topology: topology(), last_error: LastError(component()) },
            "/errors/words-1-1795972824/a+b%2F%C3%A4*-last-error",
        ),
        (
            Node::ComponentErrors { topology: topology(), component: component() },
            "/errors/words-1-1795972824/a+b%2F%C3%A4*",
        ),
        (
            Node::Error { topology: topology(), component: component(), number: ErrorNumber(136) },
            "/errors/words-1-1795972824/a+b%2F%C3%A4*/e0000000136",
        ),
        (Node::Nimbuses {}, "/nimbuses"),
        (Node::Nimbus { name: name("h:6627") }, "/nimbuses/h:6627"),
        (Node::LeaderLock {}, "/leader-lock"),
        (
            Node::LeaderCandidate { candidate: Candidate { id: name("7643-a"), number: 3 } },
            "/leader-lock/_c_7643-a-latch-0000000003",
        ),
        (Node::Blobs {}, "/blobstore"),
        (Node::Blob { key: key() }, "/blobstore/words-1-1795972824-stormjar.jar"),
        (Node::BlobHolder { key: key(), holder }, "/blobstore/words-1-1795972824-stormjar.jar/h-1:6627:0-12"),
        (Node::BlobSequences {}, "/blobstoremaxkeysequencenumber"),
        (Node::BlobSequence { key: key() }, "/blobstoremaxkeysequencenumber/words-1-1795972824-stormjar.jar"),
        (Node::AllCredentials {}, "/credentials"),
        (Node::Credentials { topology: topology() }, "/credentials/words-1-1795972824"),
        (Node::LogConfigs {}, "/logconfigs"),
        (Node::LogConfig { topology: topology() }, "/logconfigs/words-1-1795972824"),
        (Node::ProfilerConfigs {}, "/profilerconfigs"),
        (Node::TopologyProfilerConfigs { topology: topology() }, "/profilerconfigs/words-1-1795972824"),
        (
            Node::ProfilerConfig { topology: topology(), target },
            "/profilerconfigs/words-1-1795972824/h_1_6700_JPROFILE_STOP",
        ),
        (Node::SecretKeys {}, "/secretkeys"),
        (Node::ServiceSecretKeys { service }, "/secretkeys/NIMBUS"),
        (Node::TopologySecretKeys { service, topology: topology() }, "/secretkeys/NIMBUS/words-1-1795972824"),
        (Node::SecretKey { service, topology: topology(), version: 0 }, "/secretkeys/NIMBUS/words-1-1795972824/0"),
        (Node::Backpressure {}, "/backpressure"),
        (Node::TopologyBackpressure { topology: topology() }, "/backpressure/words-1-1795972824"),
        (
            Node::WorkerBackpressure { topology: topology(), slot: slot() },
            "/backpressure/words-1-1795972824/4be0-h-1-6700",
        ),
        (Node::LeaderInfoFolder {}, "/storm"),
    ]
}

#[test]
fn every_kind_of_node_has_a_path_that_leads_back() {
    let nodes = one_of_each();
    let names: Vec<&str> = nodes.iter().map(|(node, _)| node.name()).collect();
    assert_eq!(names, Node::NAMES, "one of each, in the order of the definition");
    for root in ["/storm", "/teams/a/storm"] {
        let root = Root::new(root).unwrap();
        for (node, below) in &nodes {
            let path = root.path(node);
            if !node.name().starts_with("LeaderInfo") || root == self::root() {
                assert_eq!(path, format!("{}{below}", root.as_str()));
            }
            assert_eq!(root.node(&path).as_ref(), Some(node), "{path}");
        }
    }
    assert_eq!(
        Root::new("/teams/a").unwrap().path(&Node::LeaderInfo {}),
        "/teams/a/teams/a/leader-info",
        "the root stands there twice"
    );
}

#[test]
fn what_is_not_in_the_tree_is_no_node() {
    for path in [
        "",
        "/",
        "/stor",
        "/storms",
        "/storm/",
        "/storm//storms",
        "/storm/storms/",
        "/storm/storms/a/b",
        "/storm/storms/..",
        "/storm/other",
        "/storm/errors/t/c/e12",
        "/storm/errors/t/c/e00000000012",
        "/storm/errors/t/c/x0000000012",
        "/storm/errors/t/a%2f",
        "/storm/errors/t/a%",
        "/storm/errors/t/a b",
        "/storm/workerbeats/t/6700",
        "/storm/workerbeats/t/s-06700",
        "/storm/workerbeats/t/s-66000",
        "/storm/blobstore/k/h:1-1",
        "/storm/leader-lock/latch-0000000000",
        "/storm/profilerconfigs/t/h_1_JPROFILE",
        "/storm/secretkeys/OTHER",
        "/storm/secretkeys/NIMBUS/t/01",
    ] {
        assert_eq!(root().node(path), None, "{path}");
    }
}

#[test]
fn sequential_nodes_are_made_without_their_number() {
    let component = ComponentName::new("count").unwrap();
    let error = Node::Error { topology: name("t"), component, number: ErrorNumber(7) };
    assert_eq!(root().sequential_prefix(&error).as_deref(), Some("/storm/errors/t/count/e"));
    let candidate = Node::LeaderCandidate { candidate: Candidate { id: name("u"), number: 0 } };
    assert_eq!(root().sequential_prefix(&candidate).as_deref(), Some("/storm/leader-lock/_c_u-latch-"));
    assert_eq!(root().sequential_prefix(&Node::Storms {}), None);
}

#[test]
fn names_that_zookeeper_refuses_cannot_be_made() {
    for bad in ["", ".", "..", "a/b", "a\0", "a\n", "\u{7f}", "\u{e000}", "\u{ffff}", "\u{10437}"] {
        assert!(NodeName::new(bad).is_err(), "{bad:?}");
        assert!(Root::new(&format!("/{bad}")).is_err() || bad == "a/b", "{bad:?}");
    }
    for bad in ["", "storm", "/", "/storm/", "//storm", "/a//b"] {
        assert!(Root::new(bad).is_err(), "{bad:?}");
    }
    for bad in ["", ".", ".."] {
        assert!(ComponentName::new(bad).is_err(), "{bad:?}");
    }
    ComponentName::new("a/b\n").unwrap();
}

#[test]
fn the_folder_of_a_component_named_as_a_last_error_is_one() {
    let component = ComponentName::new("a-last-error").unwrap();
    let folder = Node::ComponentErrors { topology: name("t"), component: component.clone() };
    let last = Node::LastError { topology: name("t"), last_error: LastError(ComponentName::new("a").unwrap()) };
    assert_eq!(root().path(&folder), root().path(&last));
    assert_eq!(root().node(&root().path(&folder)), Some(last));
    // What lies in it is told apart.
    let error = Node::Error { topology: name("t"), component, number: ErrorNumber(0) };
    assert_eq!(root().node(&root().path(&error)), Some(error));
}

proptest! {
    #[test]
    fn whatever_names_hold_their_path_leads_back(
        topology in "\\PC{1,12}|[-_:.a-z0-9]{1,12}", component in any::<String>(), supervisor in "[-_.a-z0-9]{1,12}",
        port: u16, number: i32, version: i64,
    ) {
        let names = (NodeName::new(&topology), ComponentName::new(&component), NodeName::new(&supervisor));
        let (Ok(topology), Ok(component), Ok(supervisor)) = names else { return Ok(()) };
        let is_ambiguous = component.as_str().ends_with("-last-error");
        for node in [
            Node::Storm { topology: topology.clone() },
            Node::WorkerBeat { topology: topology.clone(), slot: Slot { supervisor: supervisor.clone(), port } },
            Node::LastError { topology: topology.clone(), last_error: LastError(component.clone()) },
            Node::ComponentErrors { topology: topology.clone(), component: component.clone() },
            Node::Error { topology: topology.clone(), component, number: ErrorNumber(number) },
            Node::LeaderCandidate { candidate: Candidate { id: supervisor.clone(), number } },
            Node::ProfilerConfig {
                topology: topology.clone(),
                target: ProfileTarget { host: supervisor.clone(), port, action: ProfileAction::JmapDump },
            },
            Node::SecretKey { service: WorkerTokenServiceType::Drpc, topology, version },
        ] {
            let path = root().path(&node);
            if !(is_ambiguous && matches!(node, Node::ComponentErrors { .. })) {
                prop_assert_eq!(root().node(&path), Some(node), "{}", path);
            }
        }
    }

    #[test]
    fn any_path_is_a_node_or_none(path in "(/storm)?(/(storms|errors|leader-lock|[-e0-9a%+_]{0,6})){0,5}") {
        if let Some(node) = root().node(&path) {
            prop_assert_eq!(root().path(&node), path);
        }
    }
}
