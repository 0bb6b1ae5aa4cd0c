//! What changes something: what nimbus hears, what is said, and exit codes that tell the truth.

use ringstorm_records::nimbus::{
    Activate, Deactivate, GetLogConfig, KillTopologyWithOpts, NimbusCall, Rebalance, SetLogConfig,
};
use ringstorm_records::records::{LogConfig, NotAliveException};
use ringstorm_submission::executable::{Note, OWN_MACHINE, smallest};

use crate::Terminal;
use crate::nimbus::{Nimbus, Script};

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
    assert_eq!(terminal.gets(&["kill", "words", "-w", "5"]), "words is killed: it ends after its wait of 5 s\n");
    // As its configuration says.
    assert_eq!(terminal.gets(&["kill", "words"]), "words is killed: it ends after its wait of 30 s\n");
    let wait = nimbus.heard().iter().find_map(|call| match call {
        NimbusCall::KillTopologyWithOpts(kill) => kill.options.as_ref().and_then(|options| options.wait_secs),
        _ => None,
    });
    assert_eq!(wait, Some(5));
    assert_eq!(terminal.gets(&["kill", "words", "--json"]), "{\"name\":\"words\",\"result\":\"killed\"}\n");
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
    let call = heard.iter().find_map(|call| match call {
        NimbusCall::Rebalance(call) => Some(call),
        _ => None,
    });
    let call = call.unwrap_or_else(|| panic!("{heard:?}"));
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
        (&["kill", "words", "-w", "-1"], "give a whole number of seconds from 0"),
        (&["list", "--config", "gone"], "--config says that it is there"),
        (&["list", "--config", "."], "it is a folder, not a file"),
        (&["zk", "get", "//"], "it ends with a slash; write \"/\""),
        (&["zk", "tree", ""], "it is empty; write /storm"),
        (&["submit", "--rate", "5", "topology", "words"], "options of the topology stand behind PATH NAME"),
        (&["kill"], "<NAME>"),
        (&["lists"], "list"),
        (&["ui"], "Storm's command ui is not here: there is no web interface"),
        (&["sql", "file", "name"], "Storm's command sql is not here: there is no SQL"),
    ] {
        let (code, text) = terminal.fails(words);
        assert_eq!(code, 2, "{words:?}: {text}");
        assert!(text.contains(wanted), "{words:?}: {text}");
    }
}

#[test]
fn what_is_found_wrong_late_is_a_wrong_command_line_too() {
    let nimbus = willing();
    let terminal = Terminal::at(&nimbus);
    for (words, wanted) in [
        (&["rebalance", "words", "-t", "[1]"][..], "--topology-conf is no JSON object"),
        (&["rebalance", "words", "-r", "{\"a\": 1}"], "--resources names no amounts"),
        (
            &["rebalance", "words", "-t", "{\"topology.max.spout.pendin\": 1}"],
            "did you mean \"topology.max.spout.pending\"?",
        ),
        (&["rebalance", "words", "-t", "{\"topology.max.spout.pending\": \"many\"}"], "topology.max.spout.pending"),
        (&["rebalance", "words", "-c", "topology.debgu2=true"], "did you mean \"topology.debug\"?"),
        (&["rebalance", "words", "-c", "topology.max.spout.pending=many"], "topology.max.spout.pending is \"many\""),
        (&["list", "-c", "nonsense"], "it holds no '='"),
        (&["list", "-c", "nimbus.thrift.port=high"], "nimbus.thrift.port is \"high\""),
        (&["list", "-c", "storm.zookeeper.port=99999"], "storm.zookeeper.port"),
        (&["set_log_level", "words", "-l", "ROOT"], "give LOGGER=LEVEL"),
        (&["set_log_level", "words"], "no level is given"),
        (&["zk", "get", "a//b"], "is no path"),
        (&["dev", "--zookeeper", "a,b"], "give HOST:PORT"),
        (&["dev", "-c", "nonsense"], "it holds no '='"),
        (&["dev", "-c", "nimbus.monitor.freq.secs=soon"], "nimbus.monitor.freq.secs is \"soon\""),
        (&["local", "--local-ttl", "0", "topology"], "give a whole number from 1"),
        (&["local", "topology", "own", "--local-ttl", "5"], "--local-ttl stands before"),
        (&["jar", "words.jar", "org.example.WordCount", "words"], "without the class"),
    ] {
        let (code, text) = terminal.fails(words);
        assert_eq!(code, 2, "{words:?}: {text}");
        assert!(text.contains(wanted), "{words:?}: {text}");
    }
    assert_eq!(nimbus.heard(), [], "nothing of that was asked for");
    // What lies on the host is no matter of the command line.
    terminal.write(".storm/storm.yaml", "nimbus.thrift.port: high\n");
    assert_eq!(terminal.fails(&["list"]).0, 1);
}

#[test]
fn errors_are_one_object_for_programs() {
    let terminal = Terminal::alone();
    for (words, exit_code, wanted) in [
        (&["list"][..], 1, "look at nimbus.seeds"),
        (&["kill", "words"], 1, "nothing was done"),
        (&["lists"], 2, "unrecognized subcommand"),
        (&[], 2, "a command is missing"),
        (&["ui"], 2, "there is no web interface"),
        (&["list", "-c", "nonsense"], 2, "it holds no '='"),
        (&["localconfvalue", "nimbus.seed"], 2, "did you mean \"nimbus.seeds\"?"),
        (&["logs", "words"], 1, "no worker has run on this host"),
        (&["supervisor", "out-of-service"], 1, "cannot be told"),
    ] {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let (code, said) = terminal.fails(&words);
        let error: serde_json::Value =
            serde_json::from_str(&said).unwrap_or_else(|error| panic!("{words:?}: {error}: {said}"));
        assert_eq!((code, error["exitCode"].as_i64()), (exit_code, Some(exit_code.into())), "{words:?}: {said}");
        assert!(error["error"].as_str().unwrap().contains(wanted), "{words:?}: {said}");
    }
}

#[test]
fn what_is_no_topology_is_refused_before_anything_of_it_is_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let terminal = Terminal::alone();
    let may_run = |name: &str, bytes: &[u8]| {
        let path = terminal.folder().join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    may_run("script", b"#!/bin/sh\ntouch it-was-run\n");
    may_run("nothing", b"touch it-was-run\n");
    let topology = smallest(OWN_MACHINE, &Note::OWN);
    may_run("part", &topology[..topology.len() - 1]);
    may_run("foreign", &smallest(if OWN_MACHINE == 62 { 183 } else { 62 }, &Note::OWN));
    for verb in [&["submit"][..], &["jar"], &["local"]] {
        for (path, wanted) in [
            ("gone", "give the path of the topology's executable"),
            ("script", "script is not run: the file is a script; a topology of Ringstorm is the executable"),
            ("nothing", "nothing is not run: the file is no executable"),
            ("part", "part is not run: the file is cut off"),
            ("foreign", "foreign is not run: the file is an executable for"),
            ("/bin/true", "/bin/true is not run: the file is an executable of another kind"),
        ] {
            let (code, text) = terminal.fails(&[verb, &[path, "words"]].concat());
            let wanted_code = if path == "gone" { 2 } else { 1 };
            assert_eq!((code, text.lines().count()), (wanted_code, 1), "{verb:?} {path}: {text}");
            assert!(text.contains(wanted), "{verb:?} {path}: {text}");
        }
    }
    assert!(!terminal.folder().join("it-was-run").exists());
}

#[test]
fn a_level_that_is_not_set_cannot_be_taken_back() {
    let nimbus = Script::recorded("14-read-methods.thrift.jsonl")
        .answer::<GetLogConfig>(&Ok(LogConfig::default()))
        .answer::<SetLogConfig>(&Ok(()))
        .start();
    let (code, text) = Terminal::at(&nimbus).fails(&["set_log_level", "words", "-r", "NOSUCH"]);
    assert_eq!((code, text.contains("words has no level of \"NOSUCH\" that could be taken back")), (1, true), "{text}");
    assert!(!nimbus.heard().iter().any(|call| matches!(call, NimbusCall::SetLogConfig(_))), "nothing was asked for");
}

#[test]
fn what_others_say_does_not_talk_to_the_terminal() {
    let exception = NotAliveException { msg: "a\nb\x1b[31m\u{9b}1m is not alive".into() };
    let nimbus =
        Script::recorded("14-read-methods.thrift.jsonl").answer::<Activate>(&Err(exception.clone().into())).start();
    let terminal = Terminal::at(&nimbus);
    let (_, text) = terminal.fails(&["activate", "words"]);
    assert_eq!(text.lines().count(), 1, "{text:?}");
    assert!(text.starts_with(r"error: a\nb\u{1b}[31m\u{9b}1m is not alive"), "{text:?}");
    // In JSON it is as it was said.
    let (_, text) = terminal.fails(&["activate", "words", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(
        error["error"].as_str().unwrap().contains("\u{1b}[31m") || error["error"].as_str().unwrap().contains(r"\u{1b}")
    );
    for words in [
        &["list\x1b[31m\u{9b}\x07"][..],
        &["list", "--\x1b[31m"],
        &["list", "--config", "\x1b[31m"],
        &["logs", "a\x1b[31m"],
    ] {
        let (code, text) = terminal.fails(words);
        assert_eq!(code, 2, "{text}");
        assert!(!text.contains(|it: char| it.is_control() && it != '\n'), "{words:?}: {text:?}");
    }
    let (_, text) = terminal.fails(&["kill", "a\nerror: b"]);
    assert!(text.starts_with(r"error: invalid value 'a\nerror: b' for "), "{text:?}");
}
