//! What is shown of a cluster: tables for people, JSON for programs.

use std::net::TcpListener;

use ringstorm_records::nimbus::{
    GetClusterInfo, GetTopologyInfoByNameWithOpts, GetTopologyPageInfo, GetTopologySummaryByName, failure,
};
use ringstorm_records::records::{ClusterSummary, NotAliveException, TopologySummary};
use ringstorm_records::thrift::message::ApplicationExceptionKind;
use serde_json::{Value, json};

use crate::nimbus::Script;
use crate::{Terminal, is_golden, text};

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
    let empty = recorded().answer::<GetClusterInfo>(&Ok(ClusterSummary::default())).start();
    let terminal = Terminal::at(&empty);
    assert_eq!(terminal.gets(&["list"]), "No topologies running.\n");
    assert_eq!(json_of(&terminal, &["list"]), json!({ "topologies": [], "unreadable": {} }));
}

#[test]
fn what_a_list_does_not_show_is_remarked_beside_it() {
    let poor = TopologySummary {
        name: "poor".into(),
        sched_status: Some("0 of 5 tasks are placed: no slot is free".into()),
        ..Default::default()
    };
    let unreadable = Some([("words-1-7".to_owned(), "it is damaged".to_owned())].into());
    let cluster = ClusterSummary { topologies: vec![poor], unreadable, ..Default::default() };
    let nimbus = recorded().answer::<GetClusterInfo>(&Ok(cluster)).start();
    let terminal = Terminal::at(&nimbus);
    let output = terminal.types(&["list", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list["unreadable"], json!({ "words-1-7": "it is damaged" }));
    assert_eq!(list["topologies"][0]["sched_status"], json!("0 of 5 tasks are placed: no slot is free"));
    let said = text(&output.stderr);
    assert!(said.starts_with("note: the topology words-1-7 is there and cannot be read"), "{said}");
    assert!(said.contains("\nnote: poor: 0 of 5 tasks are placed"), "{said}");
    assert!(text(&terminal.types(&["cluster"]).stderr).starts_with("note: the topology words-1-7"));
}

#[test]
fn a_topology_without_a_page_is_shown_as_far_as_it_is_known() {
    let failed = failure("getTopologyPageInfo", 0, ApplicationExceptionKind::InternalError, "it is damaged".into());
    let nimbus = recorded().answer_with::<GetTopologyPageInfo>(&failed).start();
    let output = Terminal::at(&nimbus).types(&["status", "words"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("words  ACTIVE"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).starts_with("error: nothing more is known of words: "), "{}", text(&output.stderr));
}

#[test]
fn a_history_of_workers_that_cannot_be_read_is_noted_with_why() {
    let nimbus = recorded().start();
    let terminal = Terminal::at(&nimbus);
    let said = |terminal: &Terminal| {
        let output = terminal.types(&["status", "words"]);
        assert_eq!(output.status.code(), Some(0));
        text(&output.stderr)
    };
    assert_eq!(said(&terminal), "");
    std::fs::create_dir_all(terminal.folder().join("storm-local/workers/history")).unwrap();
    let said = said(&terminal);
    assert!(said.starts_with("note: ") && said.contains("workers/history cannot be read: it is a folder"), "{said}");
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
    // How long ago an error was is told from now, and makes its column as wide as it is.
    let shown = terminal.gets(&["status", "words"]);
    let lines: Vec<&str> = shown.lines().collect();
    let (last, before) = lines.split_last().unwrap();
    let (head, before) = before.split_last().unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["ERRORS", "OF", "WHEN", "WHERE", "ERROR"]);
    assert!(last.ends_with("ago  127.0.0.1:6700  java.lang.IllegalStateException: count is odd: 32107"), "{last}");
    is_golden("status.txt", &format!("{}\n", before.join("\n")));
    let status = json_of(&terminal, &["status", "words"]);
    assert_eq!(status["name"], json!("words"));
    assert_eq!(status["topology_conf"], Value::Null);
    assert_eq!(status["workers_history"], json!([]));
    let exception = NotAliveException { msg: "nobody is not alive".into() };
    let nimbus = recorded().answer::<GetTopologySummaryByName>(&Err(exception.into())).start();
    let (code, text) = Terminal::at(&nimbus).fails(&["status", "nobody"]);
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
    assert!(terminal.fails(&["remoteconfvalue", "no.such.key"]).1.contains("no.such.key is not a key that is known"));
}

#[test]
fn without_a_nimbus_it_is_said_whom_to_look_at() {
    for words in [&["list"][..], &["cluster"], &["status", "words"], &["kill", "words"], &["remoteconfvalue", "a"]] {
        let (code, text) = Terminal::alone().fails(words);
        assert_eq!(code, 1, "{words:?}: {text}");
        assert!(text.starts_with("error: ") && text.contains("look at nimbus.seeds"), "{words:?}: {text}");
    }
}

/// Takes every connection and says nothing, as a nimbus does that was stopped by SIGSTOP.
fn silent() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

#[test]
fn while_it_waits_a_command_says_for_whom_and_how_long() {
    let nimbus = silent();
    let address = nimbus.local_addr().unwrap();
    let terminal = Terminal::to(address.port());
    for words in [&["list"][..], &["kill", "words"]] {
        let words = [words, &["-c", "storm.thrift.socket.timeout.ms=2500"]].concat();
        let (code, said) = terminal.fails(&words);
        assert_eq!(code, 1, "{words:?}: {said}");
        let first = said.lines().next().unwrap();
        assert!(first.starts_with(&format!("note: no result yet from nimbus {address}; ")), "{words:?}: {said}");
        assert!(first.contains("2.5 s for an answer") && first.contains("0 more follow"), "{words:?}: {said}");
    }
    let words = ["list", "-c", "storm.nimbus.retry.times=1", "-c", "storm.nimbus.retry.interval.millis=1"];
    let (_, said) = Terminal::alone().fails(&words);
    let first = said.lines().next().unwrap();
    assert!(
        first.starts_with("note: nimbus 127.0.0.1:1 is not reached") && first.ends_with("the 1st of 1 times"),
        "{said}"
    );
}

#[test]
fn a_nimbus_that_hangs_up_costs_one_error() {
    let nimbus = Script::default().dies_at::<GetClusterInfo>().start();
    let (code, text) = Terminal::at(&nimbus).fails(&["list"]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}
