//! What is submitted, as it was typed, and what is refused before anything of it is sent.

use std::path::Path;
use std::time::{Duration, Instant};

use ringstorm_records::nimbus::{SubmitTopology, SubmitTopologyWithOpts, call};
use ringstorm_records::records::{StormTopology, SubmitOptions, TopologyInitialStatus};
use ringstorm_tests::waiting::until;
use serde_json::{Value, json};

use crate::harness::{Cluster, Shape};
use crate::ports::answer_to;

const SOON: Duration = Duration::from_secs(60);

/// A topology that notes what it was given.
const ECHO: &str = env!("CARGO_BIN_EXE_echo");

fn noted(path: &Path) -> Value {
    until("the topology to run", SOON, || path.exists());
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// How many files nimbus has been sent and keeps, whole or in part.
fn uploads(cluster: &Cluster) -> usize {
    std::fs::read_dir(cluster.nimbuses[0].home.join("nimbus/inbox")).map_or(0, |entries| entries.count())
}

#[test]
fn b121_arguments_arrive_byte_for_byte() {
    let Some(cluster) = Cluster::start_or_skip(&Shape { supervisors: 1, ..Shape::default() }) else { return };
    let words = ["a b", "", "-c", "{\"k\": [1, \"x y\"]}", "\"", "$HOME", "--", "-x"];
    let setting = "own.key=\"v w\"";
    for (verb, name) in [("local", None), ("submit", Some("echo"))] {
        let into = cluster.folder().join(verb);
        let mut line = vec![verb, ECHO];
        line.extend(name);
        line.extend(["-c", setting, "--into", into.to_str().unwrap(), "--"]);
        line.extend(words);
        if verb == "local" {
            // It reads no storm.yaml.
            let output = std::process::Command::new(crate::harness::RINGSTORM).args(&line).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        } else {
            cluster.ringstorm(&line);
        }
        let noted = noted(&into);
        assert_eq!(noted["words"], json!(words), "{verb}");
        assert_eq!(noted["config"]["own.key"], "v w", "{verb}");
    }
    // Without the command line between.
    let into = cluster.folder().join("itself");
    let mut own = std::process::Command::new(ECHO);
    own.args(["local", "-c", setting, "--into"]).arg(&into).arg("--").args(words);
    assert!(own.output().unwrap().status.success());
    assert_eq!(
        (noted(&into)["words"].clone(), noted(&into)["config"]["own.key"].clone()),
        (json!(words), json!("v w"))
    );
}

#[test]
fn b122_a_name_that_cannot_be_used_is_refused_before_anything_is_sent() {
    let Some(cluster) = Cluster::start_or_skip(&Shape { supervisors: 0, ..Shape::default() }) else { return };
    let into = cluster.folder().join("into");
    let submit = |name: &str| {
        let (since, before) = (Instant::now(), uploads(&cluster));
        let output = cluster.try_ringstorm(&["submit", ECHO, name, "--into", into.to_str().unwrap()]);
        let sent = uploads(&cluster) - before;
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), sent, since.elapsed())
    };
    for name in ["", " ", "a/b", "a:b", "a.b", "a\\b", ".."] {
        let (code, text, sent, took) = submit(name);
        assert!(code == Some(2) && sent == 0 && took < Duration::from_secs(1), "{name:?}: {text} after {took:?}");
        assert!(!text.contains("already alive"), "{name:?}: {text}");
        assert!(name.is_empty() || text.contains("is not a legal topology name"), "{name:?}: {text}");
    }
    // Whoever does not look is told the same by nimbus; no name at all is one more.
    let leader = cluster.leader();
    for name in [None, Some(""), Some(" "), Some("a/b"), Some("a:b"), Some("a.b"), Some("a\\b"), Some("..")] {
        let since = Instant::now();
        let topology = Some(StormTopology::default());
        let plain = SubmitTopology {
            name: name.map(str::to_owned),
            uploaded_jar_location: Some(String::new()),
            json_conf: Some("{}".to_owned()),
            topology: topology.clone(),
        };
        let SubmitTopology { name: same, uploaded_jar_location, json_conf, .. } = plain.clone();
        let options = Some(SubmitOptions { initial_status: TopologyInitialStatus::Active, creds: None });
        let with_options = SubmitTopologyWithOpts { name: same, uploaded_jar_location, json_conf, topology, options };
        for message in [call(1, &plain), call(1, &with_options)] {
            let answer = answer_to(leader, &message);
            let text = String::from_utf8_lossy(&answer);
            let says = |words: &str| assert!(text.contains(words), "{name:?}: {text}");
            says("It can't be null and it must match ^[^/.:\\\\]+$");
            assert!(!text.contains("already alive"), "{name:?}: {text}");
            assert!(name.is_some() || text.contains("'null'"), "{text}");
        }
        assert!(since.elapsed() < Duration::from_secs(1), "{name:?}: {:?}", since.elapsed());
    }
    assert_eq!(uploads(&cluster), 0);
    assert_eq!(cluster.json(&["list"])["topologies"], json!([]));
    // For programs it is one object, done or not.
    let for_programs = ["--json", "submit", ECHO, "echo", "--into", into.to_str().unwrap()];
    let output = cluster.try_ringstorm(&for_programs);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&said["name"], &said["result"]), (&json!("echo"), &json!("submitted")), "{output:?}");
    assert!(said["id"].as_str().unwrap().starts_with("echo-"), "{said}");
    let output = cluster.try_ringstorm(&for_programs);
    let said: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((output.status.code(), &said["exitCode"]), (Some(1), &json!(1)), "{output:?}");
    assert!(said["error"].as_str().unwrap().contains("echo is already alive"), "{said}");
    let (code, text, sent, _) = submit("echo");
    assert_eq!((code, sent), (Some(1), 0), "{text}");
    assert!(text.contains("echo is already alive"), "{text}");
    cluster.ringstorm(&["kill", "echo", "-w", "600"]);
    let (code, text, sent, _) = submit("echo");
    assert_eq!((code, sent), (Some(1), 0), "{text}");
    assert!(text.contains("KILLED"), "{text}");
}

/// A definition of 20 MB, with the limit that Storm has and with a larger one.
#[test]
fn b069_a_definition_that_is_too_large_is_refused_with_what_to_set() {
    let Some(mut cluster) = Cluster::start_or_skip(&Shape { supervisors: 1, ..Shape::default() }) else { return };
    let into = cluster.folder().join("into");
    let padding_bytes = 20_000_000_u64;
    let padding = padding_bytes.to_string();
    let submit = |cluster: &Cluster, settings: &[&str]| {
        let line = ["submit", ECHO, "echo"].iter().chain(settings);
        let words = ["--into", into.to_str().unwrap(), "--padding-bytes", &padding];
        let line: Vec<&str> = line.chain(&words).copied().collect();
        let output = cluster.try_ringstorm(&line);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = submit(&cluster, &[]);
    assert_eq!((code, uploads(&cluster)), (Some(1), 0), "{said}");
    let size = said.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).find(|size| *size > padding_bytes);
    assert!(size.is_some() && said.contains("1048576") && said.contains("nimbus.thrift.max_buffer_size"), "{said}");
    // On one side it is of no use, and that is said before anything is sent.
    let raised = "-c nimbus.thrift.max_buffer_size=67108864";
    let raised: Vec<&str> = raised.split(' ').collect();
    let (code, said) = submit(&cluster, &raised);
    assert_eq!((code, uploads(&cluster)), (Some(1), 0), "{said}");
    assert!(said.contains("nimbus.thrift.max_buffer_size"), "{said}");
    // On both sides.
    let conf = cluster.nimbuses[0].home.join("storm.yaml");
    let text = std::fs::read_to_string(&conf).unwrap() + "nimbus.thrift.max_buffer_size: 67108864\n";
    std::fs::write(&conf, text).unwrap();
    cluster.nimbuses[0].stop();
    cluster.nimbuses[0].start();
    until("nimbus to lead again", SOON, || cluster.try_ringstorm(&["list"]).status.success());
    let (code, said) = submit(&cluster, &raised);
    assert_eq!(code, Some(0), "{said}");
    let noted = noted(&into);
    assert_eq!(noted["words"], json!([]));
    assert_eq!(noted["config"]["own.padding"].as_str().map(str::len), Some(20_000_000));
}
