//! `check` on hosts that are broken on purpose.

use std::net::TcpListener;

use serde_json::Value;

use crate::{Terminal, text};

/// The findings about something: verdict, what was said, what to do.
fn findings(terminal: &Terminal, words: &[&str], what: &str) -> (Option<i32>, Vec<(String, String, String)>) {
    let words: Vec<&str> = ["check", "--json"].iter().chain(words).copied().collect();
    let output = terminal.types(&words);
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr)));
    let all = found["findings"].as_array().unwrap().clone();
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let about = all.iter().filter(|finding| finding["what"] == what);
    let about = about.map(|finding| (word(finding, "verdict"), word(finding, "said"), word(finding, "mend")));
    (output.status.code(), about.collect())
}

fn one(terminal: &Terminal, words: &[&str], what: &str) -> (String, String, String) {
    let (code, mut found) = findings(terminal, words, what);
    assert_eq!(found.len(), 1, "{what}: {found:?}");
    let found = found.remove(0);
    assert!(found.0 != "fails" || code == Some(1), "{code:?}: {found:?}");
    found
}

/// Nobody listens there.
const NOWHERE: [&str; 4] = ["-c", "storm.zookeeper.servers=[\"127.0.0.1\"]", "-c", "storm.zookeeper.port=1"];

#[test]
fn a_zookeeper_that_is_not_there_is_named_with_the_keys() {
    let (verdict, said, mend) = one(&Terminal::alone(), &[&["nimbus"][..], &NOWHERE].concat(), "ZooKeeper");
    assert_eq!(verdict, "fails");
    assert!(said.contains("no session at 127.0.0.1:1"), "{said}");
    assert!(mend.contains("storm.zookeeper.servers"), "{mend}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let setting = format!("nimbus.thrift.port={port}");
    let words = [&["nimbus", "-c", &setting][..], &NOWHERE].concat();
    let (verdict, said, mend) = one(&Terminal::alone(), &words, &format!("port {port}"));
    assert_eq!(verdict, "fails", "{said}");
    assert!(mend.contains("nimbus.thrift.port"), "{mend}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let terminal = Terminal::alone();
    terminal.write("file", "no folder");
    let words = [&["nimbus", "-c", "storm.local.dir=file/below"][..], &NOWHERE].concat();
    let (verdict, said, mend) = one(&terminal, &words, "storm.local.dir");
    assert_eq!(verdict, "fails", "{said}");
    assert!(
        said.contains("cannot be written") && mend.contains("set storm.local.dir to another one"),
        "{said}: {mend}"
    );
}

#[test]
fn a_host_that_nobody_knows_is_named() {
    let words = [&["nimbus", "-c", "storm.local.hostname=no-such-host.invalid"][..], &NOWHERE].concat();
    let (verdict, said, mend) = one(&Terminal::alone(), &words, "host name");
    assert_eq!(verdict, "fails", "{said}");
    assert!(mend.contains("set storm.local.hostname"), "{mend}");
    let words = [&["nimbus", "-c", "ringstorm.bind.address=192.0.2.1"][..], &NOWHERE].concat();
    assert_eq!(one(&Terminal::alone(), &words, "bind address").0, "fails");
}

#[test]
fn a_configuration_that_cannot_be_read_is_the_only_finding() {
    let terminal = Terminal::alone();
    let (verdict, said, _) = one(&terminal, &["-c", "nimbus.seed=a"], "configuration");
    assert_eq!(verdict, "fails");
    assert!(said.contains("did you mean \"nimbus.seeds\"?"), "{said}");
}

#[test]
fn a_client_needs_a_nimbus() {
    let (verdict, _, mend) = one(&Terminal::alone(), &["client"], "nimbus");
    assert_eq!((verdict.as_str(), mend.contains("nimbus.seeds")), ("fails", true));
    let text = text(&Terminal::alone().types(&["check", "client"]).stdout);
    assert!(text.lines().last().unwrap().contains(" thing fails"), "{text}");
}
