//! What is shown of a cluster: tables for people, JSON for programs.

use ringstorm_records::nimbus::{GetTopologyInfoByNameWithOpts, GetTopologySummaries};
use ringstorm_records::records::NotAliveException;
use serde_json::{Value, json};

use crate::nimbus::Script;
use crate::{Terminal, is_golden};

fn recorded() -> Script {
    Script::recorded("14-read-methods.thrift.jsonl")
}

#[track_caller]
fn json_of(terminal: &Terminal, words: &[&str]) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let text = terminal.gets(&words);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn topologies_are_listed() {
    let nimbus = recorded().start();
    let terminal = Terminal::at(&nimbus);
    is_golden("list.txt", &terminal.gets(&["list"]));
    let list = json_of(&terminal, &["list"]);
    assert_eq!((&list["topologies"][0]["name"], &list["topologies"][0]["status"]), (&json!("words"), &json!("ACTIVE")));
    let empty = recorded().answer::<GetTopologySummaries>(&Ok(Vec::new())).start();
    let terminal = Terminal::at(&empty);
    assert_eq!(terminal.gets(&["list"]), "No topologies running.\n");
    assert_eq!(json_of(&terminal, &["list"]), json!({ "topologies": [] }));
}

#[test]
fn a_cluster_is_shown_with_its_slots() {
    let nimbus = recorded().start();
    let terminal = Terminal::at(&nimbus);
    is_golden("cluster.txt", &terminal.gets(&["cluster"]));
    let cluster = json_of(&terminal, &["cluster"]);
    assert_eq!(cluster["leader"]["isLeader"], json!(true));
    let slots = &cluster["slots"];
    assert_eq!(slots["all"].as_i64(), Some(slots["used"].as_i64().unwrap() + slots["free"].as_i64().unwrap()));
    assert!(cluster["supervisors"].as_array().is_some_and(|all| !all.is_empty()));
}

#[test]
fn a_topology_is_shown_with_its_figures() {
    let nimbus = recorded().start();
    let terminal = Terminal::at(&nimbus);
    // How long ago an error was is told from now.
    let shown = terminal.gets(&["status", "words"]);
    let lines: Vec<&str> = shown.lines().collect();
    let (last, before) = lines.split_last().unwrap();
    assert!(last.ends_with("ago  127.0.0.1:6700  java.lang.IllegalStateException: count is odd: 32107"), "{last}");
    is_golden("status.txt", &format!("{}\n", before.join("\n")));
    let status = json_of(&terminal, &["status", "words"]);
    assert_eq!(status["name"], json!("words"));
    assert_eq!(status["topology_conf"], Value::Null);
    assert_eq!(status["workers_history"], json!([]));
    let (code, text) = terminal.fails(&["status", "nobody"]);
    assert_eq!(code, 1);
    assert_eq!(text, "error: nobody is not alive; `ringstorm list` shows the topologies that there are\n");
}

#[test]
fn errors_of_components_are_shown() {
    let nimbus = Script::recorded("05-errors.thrift.jsonl").start();
    let terminal = Terminal::at(&nimbus);
    let errors = json_of(&terminal, &["get-errors", "words"]);
    assert!(errors["Comp-Errors"].is_object() && errors["Topology Name"].is_string(), "{errors}");
    let exception = NotAliveException { msg: "nobody is not alive".into() };
    let nimbus = Script::default().answer::<GetTopologyInfoByNameWithOpts>(&Err(exception.into())).start();
    let (code, text) = Terminal::at(&nimbus).fails(&["get-errors", "nobody"]);
    assert_eq!((code, text.contains("nobody is not alive; `ringstorm list` shows")), (1, true), "{text}");
}

#[test]
fn a_value_of_nimbus_is_shown_as_storm_shows_it() {
    let nimbus = recorded().start();
    let terminal = Terminal::at(&nimbus);
    assert_eq!(
        terminal.gets(&["remoteconfvalue", "nimbus.thrift.max_buffer_size"]),
        "nimbus.thrift.max_buffer_size: 1048576\n"
    );
    assert_eq!(terminal.gets(&["remoteconfvalue", "no.such.key"]), "no.such.key: null\n");
}

#[test]
fn without_a_nimbus_it_is_said_whom_to_look_at() {
    for words in [&["list"][..], &["cluster"], &["status", "words"], &["kill", "words"], &["remoteconfvalue", "a"]] {
        let (code, text) = Terminal::alone().fails(words);
        assert_eq!(code, 1, "{words:?}: {text}");
        assert!(text.starts_with("error: ") && text.contains("look at nimbus.seeds"), "{words:?}: {text}");
    }
}

#[test]
fn a_nimbus_that_hangs_up_costs_one_error() {
    let nimbus = Script::default().dies_at::<GetTopologySummaries>().start();
    let (code, text) = Terminal::at(&nimbus).fails(&["list"]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}
