//! Paths are those of Storm's `ClusterUtils`.

use ringstorm_records::records::{ProfileAction, WorkerTokenServiceType};
use ringstorm_records::znode::{ComponentName, LastError, Node, NodeName, ProfileTarget, Root, Slot};

use crate::oracle::oracle;

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

#[test]
fn paths_are_those_that_storm_makes() {
    let topology = || name("words-1-1795972824");
    let slot = || Slot { supervisor: name("4be0-h"), port: 6700 };
    let service = WorkerTokenServiceType::Supervisor;
    let mut cases = vec![
        ("stormPath\twords-1-1795972824".to_owned(), Node::Storm { topology: topology() }),
        ("assignmentPath\twords-1-1795972824".to_owned(), Node::Assignment { topology: topology() }),
        ("supervisorPath\t4be0-h".to_owned(), Node::Supervisor { supervisor: name("4be0-h") }),
        ("workerbeatStormRoot\twords-1-1795972824".to_owned(), Node::TopologyWorkerBeats { topology: topology() }),
        (
            "workerbeatPath\twords-1-1795972824\t4be0-h\t6700".to_owned(),
            Node::WorkerBeat { topology: topology(), slot: slot() },
        ),
        ("backpressureStormRoot\twords-1-1795972824".to_owned(), Node::TopologyBackpressure { topology: topology() }),
        (
            "backpressurePath\twords-1-1795972824\t4be0-h\t6700".to_owned(),
            Node::WorkerBackpressure { topology: topology(), slot: slot() },
        ),
        ("errorStormRoot\twords-1-1795972824".to_owned(), Node::TopologyErrors { topology: topology() }),
        ("nimbusPath\th".to_owned(), Node::Nimbus { name: name("h") }),
        ("blobstorePath\tk.ser".to_owned(), Node::Blob { key: name("k.ser") }),
        ("blobstoreMaxKeySequenceNumberPath\tk.ser".to_owned(), Node::BlobSequence { key: name("k.ser") }),
        ("credentialsPath\twords-1-1795972824".to_owned(), Node::Credentials { topology: topology() }),
        ("logConfigPath\twords-1-1795972824".to_owned(), Node::LogConfig { topology: topology() }),
        ("profilerConfigPath\twords-1-1795972824".to_owned(), Node::TopologyProfilerConfigs { topology: topology() }),
        ("secretKeysPath\tSUPERVISOR".to_owned(), Node::ServiceSecretKeys { service }),
        (
            "secretKeysPath\tSUPERVISOR\twords-1-1795972824".to_owned(),
            Node::TopologySecretKeys { service, topology: topology() },
        ),
        (
            "secretKeysPath\tSUPERVISOR\twords-1-1795972824\t3".to_owned(),
            Node::SecretKey { service, topology: topology(), version: 3 },
        ),
    ];
    for (number, action) in ProfileAction::SCHEMA.values {
        let target = ProfileTarget { host: name("h_1"), port: 6700, action: ProfileAction::from_number(*number) };
        let request = format!("profilerConfigPath\twords-1-1795972824\th_1\t6700\t{action}");
        cases.push((request, Node::ProfilerConfig { topology: topology(), target }));
    }
    for component in ["count", "a b", "ä/ö*", "x-_.~", "100%+&=", "__acker", "\u{10437}", "a-last-error"] {
        let component = ComponentName::new(component).unwrap();
        let arguments = format!("words-1-1795972824\t{}", component.as_str());
        let last_error = LastError(component.clone());
        cases.push((format!("errorPath\t{arguments}"), Node::ComponentErrors { topology: topology(), component }));
        cases.push((format!("lastErrorPath\t{arguments}"), Node::LastError { topology: topology(), last_error }));
    }
    let requests: Vec<String> = cases.iter().map(|(request, _)| format!("path\t{request}")).collect();
    let Some(answers) = oracle(&requests) else { return };
    let root = Root::new("/storm").unwrap();
    for ((request, node), answer) in cases.iter().zip(answers) {
        assert_eq!(root.path(node), format!("/storm{answer}"), "{request}");
    }
}
