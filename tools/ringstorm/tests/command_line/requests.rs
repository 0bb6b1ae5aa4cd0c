//! What changes something: what nimbus hears, what is said, and exit codes that tell the truth.

use ringstorm_records::nimbus::{Activate, Deactivate, KillTopologyWithOpts, NimbusCall, Rebalance, SetLogConfig};
use ringstorm_records::records::NotAliveException;

use crate::nimbus::{Nimbus, Script};
use crate::{Terminal, text};

fn willing() -> Nimbus {
    Script::recorded("14-read-methods.thrift.jsonl")
        .answer::<KillTopologyWithOpts>(&Ok(()))
        .answer::<Activate>(&Ok(()))
        .answer::<Deactivate>(&Ok(()))
        .answer::<Rebalance>(&Ok(()))
        .answer::<SetLogConfig>(&Ok(()))
        .start()
}

#[test]
fn topologies_are_changed_and_it_is_said() {
    let nimbus = willing();
    let terminal = Terminal::at(&nimbus);
    assert_eq!(terminal.gets(&["activate", "words"]), "words is active\n");
    assert_eq!(terminal.gets(&["deactivate", "words"]), "words is inactive\n");
    assert_eq!(terminal.gets(&["kill", "words", "-w", "5"]), "words is killed: it ends after its wait\n");
    let wait = nimbus.heard().iter().find_map(|call| match call {
        NimbusCall::KillTopologyWithOpts(kill) => kill.options.as_ref().and_then(|options| options.wait_secs),
        _ => None,
    });
    assert_eq!(wait, Some(5));
    assert_eq!(
        terminal.gets(&["kill", "words", "--json"]),
        "{\"name\":\"words\",\"result\":\"killed\",\"isFound\":false}\n"
    );
    assert_eq!(terminal.gets(&["set_log_level", "words", "-l", "ROOT=DEBUG:30"]), "the levels of words are set\n");
}

#[test]
fn a_rebalance_takes_storms_options() {
    let nimbus = willing();
    let words = [
        "rebalance",
        "words",
        "-w",
        "1",
        "-n",
        "3",
        "-e",
        "split=4",
        "-e",
        "count=8",
        "-t",
        "{\"topology.max.spout.pending\": 7}",
        "-r",
        "{\"count\": {\"cpu.pcore.percent\": 50}}",
        "-c",
        "topology.debug=true",
    ];
    Terminal::at(&nimbus).gets(&words);
    let heard = nimbus.heard();
    let Some(NimbusCall::Rebalance(call)) = heard.last() else { panic!("{heard:?}") };
    let options = call.options.as_ref().unwrap();
    assert_eq!((options.wait_secs, options.num_workers), (Some(1), Some(3)));
    let executors = options.num_executors.as_ref().unwrap();
    assert_eq!((executors["split"], executors["count"]), (4, 8));
    assert_eq!(options.topology_resources_overrides.as_ref().unwrap()["count"]["cpu.pcore.percent"], 50.0);
    let overrides: serde_json::Value = serde_json::from_str(options.topology_conf_overrides.as_ref().unwrap()).unwrap();
    assert_eq!(overrides, serde_json::json!({ "topology.max.spout.pending": 7, "topology.debug": true }));
}

#[test]
fn what_is_refused_fails_with_storms_words() {
    let exception = NotAliveException { msg: "nobody is not alive".into() };
    let nimbus = Script::recorded("14-read-methods.thrift.jsonl")
        .answer::<KillTopologyWithOpts>(&Err(exception.clone().into()))
        .answer::<Activate>(&Err(exception.into()))
        .start();
    let terminal = Terminal::at(&nimbus);
    for words in [&["kill", "nobody"][..], &["activate", "nobody"], &["kill", "-i", "nobody", "neither"]] {
        let (code, text) = terminal.fails(words);
        assert_eq!(code, 1, "{text}");
        let line = "error: nobody is not alive; `ringstorm list` shows the topologies that there are";
        assert_eq!(text.lines().next(), Some(line));
    }
    assert_eq!(terminal.fails(&["kill", "-i", "nobody", "neither"]).1.lines().count(), 2);
}

#[test]
fn a_request_that_nobody_answers_is_in_doubt() {
    let nimbus = Script::recorded("14-read-methods.thrift.jsonl").dies_at::<Deactivate>().start();
    let (code, text) = Terminal::at(&nimbus).fails(&["deactivate", "words"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("whether it was done is not known"), "{text}");
}

#[test]
fn a_wrong_command_line_is_refused_with_what_to_write() {
    let terminal = Terminal::alone();
    for (words, wanted) in [
        (&["rebalance", "words", "-e", "count"][..], "give COMPONENT=NUMBER"),
        (&["rebalance", "words", "-n", "0"], "give a whole number from 1"),
        (&["kill", "words", "-w", "-1"], "-1"),
        (&["kill"], "<NAME>"),
        (&["lists"], "list"),
        (&["ui"], "Storm's command ui is not here: there is no web interface"),
        (&["sql", "file", "name"], "Storm's command sql is not here: there is no SQL"),
    ] {
        let (code, text) = terminal.fails(words);
        assert_eq!(code, 2, "{words:?}: {text}");
        assert!(text.contains(wanted), "{words:?}: {text}");
    }
    let (code, text) = terminal.fails(&["rebalance", "words", "-t", "[1]"]);
    assert_eq!((code, text.contains("--topology-conf is no JSON object")), (1, true), "{text}");
}

#[test]
fn an_executable_is_run_for_the_same_cluster() {
    use std::os::unix::fs::PermissionsExt as _;
    let terminal = Terminal::alone();
    let script = "#!/bin/sh\necho \"$@\"\necho \"$RINGSTORM_CONF\"\nexit 7\n";
    let path = terminal.write("topology", script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let storm = terminal.write("cluster/storm.yaml", "nimbus.thrift.port: 7000\n");
    let output = terminal.types(&["--config", storm.to_str().unwrap(), "submit", "topology", "words", "--lines", "-5"]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let seeds = "nimbus.seeds=[\"127.0.0.1:1\"]";
    assert_eq!(
        said.lines().next().unwrap(),
        format!("submit words -c {seeds} -c storm.nimbus.retry.times=0 --lines -5")
    );
    assert!(said.lines().nth(1).unwrap().contains("\"nimbus.thrift.port\":7000"), "{said}");
    let output = terminal.types(&["jar", "gone", "words"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("give the path of the topology's executable"));
}
