//! `check` on hosts that are broken on purpose.

use std::net::TcpListener;

use serde_json::Value;

use crate::{Terminal, text};

/// The findings about something: verdict, what was said, what to do.
/// What one `check` found.
struct Checked {
    code: Option<i32>,
    findings: Vec<Value>,
}

impl Checked {
    fn by(terminal: &Terminal, words: &[&str]) -> Self {
        let words: Vec<&str> = ["check", "--json"].iter().chain(words).copied().collect();
        let output = terminal.types(&words);
        let found: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr)));
        Self { code: output.status.code(), findings: found["findings"].as_array().unwrap().clone() }
    }

    /// Verdict, words and what mends it, of each finding about this.
    fn all(&self, what: &str) -> Vec<(String, String, String)> {
        let word = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let about = self.findings.iter().filter(|finding| finding["what"] == what);
        about.map(|finding| (word(finding, "verdict"), word(finding, "said"), word(finding, "mend"))).collect()
    }

    fn one(&self, what: &str) -> (String, String, String) {
        let mut found = self.all(what);
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        let found = found.remove(0);
        assert!(found.0 != "fails" || self.code == Some(1), "{:?}: {found:?}", self.code);
        found
    }
}

fn one(terminal: &Terminal, words: &[&str], what: &str) -> (String, String, String) {
    Checked::by(terminal, words).one(what)
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

#[test]
fn each_misspelled_key_is_a_finding_of_its_own() {
    let checked = Checked::by(&Terminal::alone(), &["-c", "nimbus.seed=a", "-c", "topology.worker=1"]);
    let found = checked.all("configuration");
    assert_eq!((checked.code, found.len()), (Some(1), 2), "{found:?}");
    assert!(found[0].1.starts_with("\"nimbus.seed\"") && found[1].1.starts_with("\"topology.worker\""), "{found:?}");
}

#[test]
fn in_the_folder_of_dev_its_supervisors_are_looked_at() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = taken.local_addr().unwrap().port();
    let terminal = Terminal::alone();
    let conf = |name: &str, port: u16| {
        let folder = terminal.folder().join("dev").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "storm.local.dir: {folder:?}\nsupervisor.slots.ports: [{port}]\nringstorm.bind.address: 127.0.0.1\n"
        );
        terminal.write(&format!("dev/{name}.yaml"), &text);
    };
    conf("supervisor-1", 29_999);
    conf("supervisor-2", busy);
    let words = [&["supervisor", "-c", "storm.local.dir=dev", "-c", "ringstorm.bind.address=127.0.0.1"][..], &NOWHERE];
    let words = words.concat();
    let checked = Checked::by(&terminal, &words);
    assert_eq!(checked.one("port 29999").0, "ok");
    assert_eq!(checked.one(&format!("port {busy}")).0, "fails");
    assert_eq!(checked.all("port 6700"), [], "nobody uses Storm's own ports");
    assert_eq!(checked.one("CPUs").0, "ok");
    assert_eq!(checked.all("control socket").len(), 2);
    // Its worker has it rightly.
    std::fs::create_dir_all(terminal.folder().join(format!("dev/supervisor-2/workers/{busy}-7"))).unwrap();
    assert_eq!(one(&terminal, &words, &format!("port {busy}")).0, "ok");
}
