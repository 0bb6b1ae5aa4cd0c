//! Storm's verbs with Storm's options, as they are typed.

use super::other_words::NOT_HERE;
use super::*;

fn parsed(words: &str) -> CommandLine {
    let words = std::iter::once("ringstorm").chain(words.split_whitespace());
    CommandLine::read(words.map(OsString::from)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_command_line_is_consistent() {
    with_common(CommandLine::command()).debug_assert();
}

#[test]
fn b121_the_words_of_a_topology_are_passed_on_as_they_were_typed() {
    let words = ["a b", "", "-c", "{\"k\": [1, \"x y\"]}", "\"", "$HOME", "--json", "--", "-x", "--"];
    for verb in [&["submit", "topology", "name"][..], &["local", "topology"], &["-c", "a=b", "local", "topology"]] {
        for first in ["word", "--", "--own", "-5", ""] {
            let mut own: Vec<OsString> = std::iter::once(first).chain(words).map(OsString::from).collect();
            let typed = ["ringstorm"].iter().chain(verb).map(OsString::from).chain(own.clone());
            let line = CommandLine::read(typed).unwrap_or_else(|error| panic!("{first:?}: {error}"));
            let (Command::Submit(Submit { arguments, .. }) | Command::Local(Local { arguments, .. })) = line.command
            else {
                panic!("{verb:?}")
            };
            // The first one says that all of the rest is the topology's, and has said it then.
            if first == "--" {
                own.remove(0);
            }
            assert_eq!(arguments, own);
        }
    }
}

#[test]
fn storms_commands_are_understood_as_storm_takes_them() {
    for words in [
        "jar topology words --lines 5 -x",
        "submit topology words",
        "local --local-ttl 10 topology --lines 5",
        "list",
        "kill words -w 10",
        "kill words --wait-time-secs 10",
        "kill -i words others",
        "activate words",
        "deactivate words",
        "rebalance words -w 5 -n 3 -e split=4 -e count=8",
        "rebalance words --num-workers 3 --executor a=b=2",
        "kill_workers",
        "get-errors words",
        "localconfvalue nimbus.seeds",
        "remoteconfvalue nimbus.seeds",
        "set_log_level -l ROOT=DEBUG:30 -r old words",
        "nimbus",
        "supervisor",
        "version",
        "--config storm.yaml -c nimbus.thrift.port=1 list",
        "list --config storm.yaml -c nimbus.thrift.port=1",
        "supervisor out-of-service",
        "supervisor in-service",
        "zk tree",
        "zk get assignments/words-1-1",
        "dev --zookeeper localhost:2181 --supervisors 1 --json",
        "check supervisor",
        "logs words -f -n 10 --port 6700",
        "config show --set",
    ] {
        parsed(words);
    }
}

#[test]
fn what_stands_behind_the_name_is_the_topologys() {
    let line = parsed("jar -c a=1 topology words -c b=2 -f -c c=3 --json");
    let Command::Submit(submit) = line.command else { panic!() };
    assert_eq!(submit.arguments, ["-f", "-c", "c=3", "--json"]);
    assert_eq!(line.common, Common { settings: vec!["a=1".into(), "b=2".into()], ..Common::default() });
    let Command::Rebalance(rebalance) = parsed("rebalance words -e a=b=2").command else { panic!() };
    assert_eq!(rebalance.executors, [("a=b".to_owned(), 2)]);
}

#[test]
fn settings_may_stand_before_and_behind_the_verb() {
    for words in ["-c a=1 -c b=2 list", "list -c a=1 -c b=2", "-c a=1 list -c b=2", "-c a=1 zk tree -c b=2"] {
        assert_eq!(parsed(words).common.settings, ["a=1", "b=2"], "{words}");
    }
    let common = parsed("--config a zk --json tree --config b").common;
    assert_eq!(common, Common { config: Some("b".into()), settings: Vec::new(), json: true });
}

#[test]
fn what_storm_has_and_is_not_here_is_no_verb_of_ours() {
    let command = CommandLine::command();
    for (verb, why) in NOT_HERE {
        assert!(command.get_subcommands().all(|ours| ours.get_name() != *verb), "{verb}");
        assert!(!why.is_empty());
    }
}

fn refused(words: &[&str]) -> clap::Error {
    let words = std::iter::once("ringstorm").chain(words.iter().copied());
    CommandLine::read(words.map(OsString::from)).expect_err("it was read")
}

#[test]
fn options_before_the_path_are_ours_or_refused_with_where_they_stand() {
    let Command::Submit(submit) = parsed("submit --quiet topology words --inactive --quiet --rate --quiet").command
    else {
        panic!()
    };
    assert!(submit.quiet && submit.inactive);
    assert_eq!(submit.arguments, ["--rate", "--quiet"]);
    let Command::Local(local) = parsed("local --quiet topology").command else { panic!() };
    assert!(local.quiet);
    let said = |words| in_other_words(&refused(words)).unwrap();
    assert!(said(&["submit", "--rate", "5", "topology", "words"]).ends_with("ringstorm submit PATH NAME --rate"));
    assert!(said(&["-c", "a=1", "local", "--quiet", "--rate=5", "it"]).ends_with("ringstorm local PATH --rate"));
    assert_eq!(in_other_words(&refused(&["list", "--rate"])), None);
}

#[test]
fn numbers_that_are_none_are_answered_with_what_is_wanted() {
    for (words, wanted) in [
        (&["kill", "words", "-w"][..], "0 to 2147483647"),
        (&["rebalance", "words", "-w"], "0 to 2147483647"),
        (&["rebalance", "words", "-n"], "give a whole number from 1"),
        (&["rebalance", "words", "-e"], "give COMPONENT=NUMBER"),
        (&["local", "--local-ttl"], "give a whole number from 1"),
        (&["logs", "words", "-n"], "give a whole number of lines from 0"),
        (&["logs", "words", "--port"], "give a port from 1 to 65535"),
        (&["dev", "--supervisors"], "give a number from 1 to 16"),
    ] {
        for number in ["-1", "-1.5", "1.5", "x", "", "99999999999999999999", "\u{661}", " 1"] {
            let text = refused(&[words, &[number]].concat()).to_string();
            assert!(text.contains(wanted) && !text.contains("tip:"), "{words:?} {number:?}: {text}");
        }
        assert!(refused(words).to_string().contains("a value is required"), "{words:?}");
    }
}

#[test]
fn a_name_is_a_name() {
    for verb in [&["kill"][..], &["status"], &["logs"], &["submit", "topology"], &["rebalance"], &["localconfvalue"]] {
        assert!(refused(&[verb, &[""]].concat()).to_string().contains("it is empty"), "{verb:?}");
        for name in ["a\nb", "a\x1b[31m", "\u{9b}1m"] {
            assert!(refused(&[verb, &[name]].concat()).to_string().contains("it has control characters"), "{verb:?}");
        }
        CommandLine::read(["ringstorm"].iter().chain(verb).map(OsString::from).chain(["x".repeat(100_000).into()]))
            .unwrap();
    }
}

#[test]
fn what_supervisors_start_is_no_verb_for_people() {
    let shown = CommandLine::command().render_long_help().to_string() + &refused(&["--json"]).to_string();
    assert!(!shown.contains(LOG_WRITER), "{shown}");
    assert!(!refused(&["log-write"]).to_string().contains(LOG_WRITER));
    assert_eq!(
        in_other_words(&refused(&["--json"])).unwrap().lines().next(),
        Some("a command is missing; `ringstorm --help` shows which there are")
    );
}
