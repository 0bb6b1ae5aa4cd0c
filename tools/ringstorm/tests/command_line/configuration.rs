//! The configuration, as commands show and refuse it.

use crate::{Terminal, text};

#[test]
fn every_value_is_shown_with_its_origin_and_no_secret() {
    let terminal = Terminal::alone();
    let path = terminal.write(".storm/storm.yaml", "ui.port: 1\nstorm.zookeeper.auth.payload: \"a:hunter2\"\n");
    let output = terminal.types(&["config", "show"]);
    let shown = text(&output.stdout);
    assert!(shown.starts_with(&format!("File: {}\n", path.display())), "{shown}");
    let line = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(key)).unwrap_or_else(|| panic!("{key}: {shown}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("nimbus.thrift.port "), "nimbus.thrift.port 6627 the defaults");
    assert_eq!(line("storm.nimbus.retry.times "), "storm.nimbus.retry.times 0 the command line");
    assert!(line("storm.zookeeper.auth.payload ").contains("\"(hidden)\""));
    assert!(!shown.contains("hunter2"));
    assert!(text(&output.stderr).starts_with("note: ui.port has no effect, because there is no web interface"));
    let set = terminal.types(&["config", "show", "--set"]);
    assert!(!text(&set.stdout).contains("the defaults"));
}

#[test]
fn a_value_of_this_host_is_shown_as_storm_shows_it() {
    let terminal = Terminal::alone();
    assert_eq!(terminal.gets(&["localconfvalue", "nimbus.thrift.port"]), "nimbus.thrift.port: 6627\n");
    assert_eq!(terminal.gets(&["localconfvalue", "storm.zookeeper.root"]), "storm.zookeeper.root: /storm\n");
    assert_eq!(
        terminal.gets(&["localconfvalue", "supervisor.slots.ports"]),
        "supervisor.slots.ports: [6700,6701,6702,6703]\n"
    );
    // Known, and not set.
    let unset = "topology.max.spout.pending";
    assert_eq!(terminal.gets(&["localconfvalue", unset]), format!("{unset}: null\n"));
    assert_eq!(
        terminal.gets(&["localconfvalue", unset, "--json"]),
        format!("{{\"key\":\"{unset}\",\"value\":null}}\n")
    );
    let (code, said) = terminal.fails(&["localconfvalue", "no.such.key"]);
    assert_eq!(
        (code, said.contains("no.such.key is not a key that is known, and nobody has set it")),
        (2, true),
        "{said}"
    );
    let slip = "error: \"nimbus.thirft.port\" is not a key; did you mean \"nimbus.thrift.port\"?\n";
    assert_eq!(terminal.fails(&["localconfvalue", "nimbus.thirft.port"]), (2, slip.to_owned()));
}

#[test]
fn a_broken_file_costs_each_command_one_error() {
    let terminal = Terminal::alone();
    let path = terminal.write(".storm/storm.yaml", "nimbus.seeds: [\"a\"\n");
    for words in [&["list"][..], &["config", "show"], &["localconfvalue", "a"], &["kill", "a"]] {
        let (code, said) = terminal.fails(words);
        assert_eq!(code, 1, "{said}");
        assert!(said.starts_with(&format!("error: {}, line ", path.display())), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    terminal.write(".storm/storm.yaml", "nimbus.seed: [\"a\"]\n");
    assert!(terminal.fails(&["list"]).1.contains("did you mean \"nimbus.seeds\"?"));
}

#[test]
fn the_version_is_shown() {
    let terminal = Terminal::alone();
    let said = terminal.gets(&["version", "--json"]);
    let version = said.trim().strip_prefix("{\"version\":\"").and_then(|it| it.strip_suffix("\"}")).unwrap();
    assert!(version.starts_with("2.8.2-ringstorm."), "{version}");
    let words = format!("Ringstorm {version} (speaks the protocol of Apache Storm 2.8.2)\n");
    assert_eq!(terminal.gets(&["version"]), words);
    for option in ["--version", "-V"] {
        assert_eq!(terminal.gets(&[option]), format!("ringstorm {version}\n"));
        assert_eq!(terminal.gets(&[option, "--json"]), said);
    }
}

#[test]
fn logs_of_this_host_are_shown() {
    let terminal = Terminal::alone();
    terminal.write("logs/workers-artifacts/words-1-100/6700/worker.log", "one\ntwo\n");
    let shown = terminal.gets(&["logs", "words", "-n", "1"]);
    assert!(shown.ends_with("words-1-100/6700/worker.log <==\ntwo\n"), "{shown}");
    let lines = "{\"port\":6700,\"line\":\"one\"}\n{\"port\":6700,\"line\":\"two\"}\n";
    assert_eq!(terminal.gets(&["logs", "words", "--json"]), lines);
    let (code, said) = terminal.fails(&["logs", "nobody"]);
    assert_eq!((code, said.contains("no worker of a topology nobody has run on this host")), (1, true), "{said}");
    assert!(said.contains("has nothing of it, but of words;"), "{said}");
}

#[test]
fn a_supervisor_that_does_not_run_cannot_be_told() {
    let (code, said) = Terminal::alone().fails(&["supervisor", "out-of-service"]);
    assert_eq!((code, said.contains("look whether it runs")), (1, true), "{said}");
    assert!(Terminal::alone().gets(&["kill_workers"]).starts_with("no worker runs below "));
    // The folder of a `dev` has several.
    let terminal = Terminal::alone();
    for number in 1..=2 {
        terminal.write(&format!("dev/supervisor-{number}/history"), "");
        terminal.write(&format!("dev/supervisor-{number}.yaml"), "");
    }
    for words in [&["supervisor", "out-of-service"][..], &["supervisor"]] {
        let (code, said) = terminal.fails(&[&["-c", "storm.local.dir=dev"], words].concat());
        let conf = terminal.folder().join("dev/supervisor-2.yaml");
        let command = format!("ringstorm --config {} {}\n", conf.display(), words.join(" "));
        assert_eq!((code, said.contains(&command)), (1, true), "{said}");
    }
}

#[test]
fn what_is_no_file_is_no_configuration_and_holds_nobody_up() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let terminal = Terminal::alone();
    std::fs::create_dir_all(terminal.folder().join(".storm")).unwrap();
    for name in [".storm/storm.yaml", "other"] {
        mknodat(CWD, terminal.folder().join(name), FileType::Fifo, Mode::RWXU, 0).unwrap();
    }
    for words in [&["list"][..], &["config", "show"], &["check", "client"]] {
        let output = terminal.types(words);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!((output.status.code(), said.contains("it is a pipe, not a file")), (Some(1), true), "{said}");
    }
    let _socket = std::os::unix::net::UnixDatagram::bind(terminal.folder().join("socket")).unwrap();
    std::os::unix::fs::symlink("circle", terminal.folder().join("circle")).unwrap();
    for (name, what) in [("other", "a pipe"), ("socket", "a socket"), ("circle", "a link that leads back to itself")] {
        let (code, said) = terminal.fails(&["list", "--config", name]);
        assert_eq!((code, said.contains(&format!("it is {what}, not a file"))), (2, true), "{said}");
    }
}

#[test]
fn what_is_no_log_is_named_and_noted_beside_one_that_is() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let terminal = Terminal::alone();
    let folder = "logs/workers-artifacts/words-1-100";
    std::fs::create_dir_all(terminal.folder().join(folder).join("6700/worker.log")).unwrap();
    std::fs::create_dir_all(terminal.folder().join(folder).join("6701")).unwrap();
    std::fs::create_dir_all(terminal.folder().join(folder).join("6703")).unwrap();
    let pipe = terminal.folder().join(folder).join("6701/worker.log");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let (code, said) = terminal.fails(&["logs", "words"]);
    assert_eq!(code, 1);
    for what in ["6700/worker.log cannot be read: it is a folder", "6701/worker.log cannot be read: it is a pipe"] {
        assert!(said.contains(what) && !said.contains("no worker of"), "{said}");
    }
    terminal.write("logs/workers-artifacts/words-1-100/6702/worker.log", "a line\n");
    let output = terminal.types(&["logs", "words"]);
    assert_eq!((output.status.code(), text(&output.stdout).contains("a line")), (Some(0), true));
    let said = text(&output.stderr);
    assert!(said.contains("note: ") && said.contains("6701/worker.log cannot be read: it is a pipe"), "{said}");
    assert!(!said.contains("6703"), "{said}");
}

#[test]
fn logs_reach_a_program_as_they_were_written() {
    let terminal = Terminal::alone();
    terminal.write("logs/workers-artifacts/words-1-100/6700/worker.log", "a\tb\x1b[31mred\x1b[0m\n");
    assert!(terminal.gets(&["logs", "words"]).ends_with(" <==\na\tb\x1b[31mred\x1b[0m\n"));
}
