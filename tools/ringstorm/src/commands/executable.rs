//! `submit` and `local`: a topology is an executable, which does both itself; this command becomes it.
//!
//! Only what says of itself that it is a topology's executable is run. Errors: a path that is none. What the topology itself
//! finds wrong it says itself, with its exit code.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use ringstorm_conf::sources::{RINGSTORM_CONF, STORM_CONF_DIR};
use ringstorm_conf::{Conf, Role};
use ringstorm_file::{is_wrong_path, open_regular};
use ringstorm_submission::executable::{OWN_MACHINE, topology_for};
use ringstorm_types::config::{Origin, is_secret};
use serde_json::{Value, json};

use crate::command_line::{Common, Local, Submit};
use crate::failure::{Failure, Status};
use crate::output;

/// The most that is kept of what an executable says of its failure.
const SAID_BYTES_MAX: usize = 64 << 10;

/// `submit PATH NAME ARGS...`: `PATH submit NAME ARGS...`, for the same cluster.
pub(crate) fn submit(common: &Common, arguments: &Submit) -> Result<ExitCode, Failure> {
    let mut words: Vec<OsString> = vec!["submit".into(), arguments.name.clone().into()];
    words.extend(arguments.quiet.then(|| "--quiet".into()));
    words.extend(arguments.inactive.then(|| "--inactive".into()));
    words.extend(settings(common));
    words.extend(arguments.arguments.iter().cloned());
    let conf = match &common.config {
        Some(_) => Some(handed_over(&crate::conf(common, Role::Client)?)),
        None => None,
    };
    if let Some(class) = java_class(&arguments.name).filter(|_| is_name(arguments.arguments.first())) {
        return Err(Failure::usage(format!(
            "{class} looks like a class of Java, which a topology of Ringstorm has not: write ringstorm submit {} NAME \
             ARGS..., without the class",
            arguments.path.display()
        )));
    }
    if common.json {
        submit_for_programs(arguments, &words, conf)
    } else {
        become_executable(&arguments.path, &words, conf)
    }
}

/// A name that is written as a class of Java is: in packages, with a capital letter at last.
fn java_class(name: &str) -> Option<&str> {
    let (packages, class) = name.rsplit_once('.')?;
    let is_package =
        |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_');
    let is_class = class.starts_with(|it: char| it.is_ascii_uppercase());
    (is_class && packages.split('.').all(is_package)).then_some(name)
}

/// Whether a word could be the name of a topology, rather than an option.
fn is_name(word: Option<&OsString>) -> bool {
    word.and_then(|word| word.to_str()).is_some_and(|word| !word.starts_with('-'))
}

/// Waits for the executable, and says in JSON what it says in the end; its notes are passed on as they come.
fn submit_for_programs(arguments: &Submit, words: &[OsString], conf: Option<String>) -> Result<ExitCode, Failure> {
    let mut command = command(&arguments.path, words, conf)?;
    let running = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut running = running.map_err(|error| cannot_be_run(&arguments.path, &error))?;
    let errors = running.stderr.take();
    let reading = std::thread::spawn(move || errors.map_or_else(String::new, pass_notes_on));
    let ended = running.wait_with_output();
    let said = reading.join().unwrap_or_default();
    let ended = ended.map_err(|error| cannot_be_run(&arguments.path, &error))?;
    if ended.status.success() {
        let id = String::from_utf8_lossy(&ended.stdout);
        output::print_json(&json!({ "name": arguments.name, "result": "submitted", "id": id.trim() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = match said.trim().trim_start_matches("error: ") {
        "" => format!("{} ended with {} and said nothing", arguments.path.display(), ended.status),
        said => said.to_owned(),
    };
    let status = if ended.status.code() == Some(2) { Status::Usage } else { Status::Failed };
    Err(Failure { text, status })
}

/// Reads what an executable says on standard error to its end. Notes and warnings tell what happens meanwhile; the rest, up
/// to a bound, is why it failed.
fn pass_notes_on(errors: impl Read) -> String {
    let mut rest = String::new();
    let mut lines = BufReader::new(errors).split(b'\n');
    while let Some(Ok(line)) = lines.next() {
        let line = String::from_utf8_lossy(&line);
        if line.starts_with("note: ") {
            output::say(&line);
        } else if let Some(warning) = line.strip_prefix("warning: ") {
            output::say(&format!("note: {warning}"));
        } else if rest.len() + line.len() < SAID_BYTES_MAX {
            rest.push_str(&line);
            rest.push('\n');
        }
    }
    rest
}

/// What was set, for an executable that does not know of `--config`. It asks a nimbus and needs no secrets.
fn handed_over(conf: &Conf) -> String {
    let set = conf.config().iter().filter(|(key, _, origin)| **origin != Origin::DEFAULT && !is_secret(key));
    Value::Object(set.map(|(key, value, _)| (key.to_owned(), value.clone())).collect()).to_string()
}

/// `local PATH ARGS...`: `PATH local ARGS...`.
pub(crate) fn local(common: &Common, arguments: &Local) -> Result<ExitCode, Failure> {
    if common.config.is_some() {
        return Err(Failure::usage("a topology that runs here reads no storm.yaml; give its settings with -c"));
    }
    if arguments.arguments.iter().any(|word| word == "--local-ttl" || word.as_bytes().starts_with(b"--local-ttl=")) {
        return Err(Failure::usage(
            "--local-ttl stands before the topology's own options: ringstorm local --local-ttl SECONDS PATH ARGS...",
        ));
    }
    let mut words: Vec<OsString> = vec!["local".into()];
    words.extend(arguments.quiet.then(|| "--quiet".into()));
    if let Some(seconds) = arguments.local_ttl {
        words.extend(["--duration".into(), seconds.to_string().into()]);
    }
    words.extend(settings(common));
    words.extend(arguments.arguments.iter().cloned());
    become_executable(&arguments.path, &words, None)
}

fn settings(common: &Common) -> Vec<OsString> {
    common.settings.iter().flat_map(|setting| [OsString::from("-c"), setting.into()]).collect()
}

fn become_executable(path: &Path, words: &[OsString], conf: Option<String>) -> Result<ExitCode, Failure> {
    let error = command(path, words, conf)?.exec();
    Err(cannot_be_run(path, &error))
}

/// `conf` is a configuration for it, as JSON, in place of what it finds itself.
fn command(path: &Path, words: &[OsString], conf: Option<String>) -> Result<Command, Failure> {
    check_executable(path)?;
    // A bare name would be looked for elsewhere.
    let path = if path.components().count() == 1 { PathBuf::from(".").join(path) } else { path.to_owned() };
    let mut command = Command::new(path);
    command.args(words);
    if let Some(conf) = conf {
        // No file of the environment's lies below it then.
        command.env(RINGSTORM_CONF, conf).env_remove(STORM_CONF_DIR);
    }
    Ok(command)
}

fn cannot_be_run(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!(
        "{} cannot be run: {error}; build it for this machine, and make sure that this user may execute it",
        path.display()
    ))
}

/// What is wrong with an executable, before it is tried. A path that leads to no file was typed wrongly.
fn check_executable(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let data = fs::metadata(path).map_err(|error| {
        let text = format!("{shown} cannot be used: {error}; give the path of the topology's executable");
        if is_wrong_path(&error) { Failure::usage(text) } else { Failure::new(text) }
    })?;
    if !data.is_file() {
        return Err(Failure::usage(format!("{shown} is no file; give the path of the topology's executable")));
    }
    if data.permissions().mode() & 0o111 == 0 {
        return Err(Failure::new(format!("{shown} may not be executed; run chmod +x {shown}")));
    }
    let built = open_regular(path).map_err(Into::into).and_then(|mut file| topology_for(OWN_MACHINE, &mut file));
    built.map(drop).map_err(|unfit| Failure::new(format!("{shown} is not run: {unfit}")))
}

#[cfg(test)]
mod tests {
    use ringstorm_submission::executable::{Note, smallest};

    use super::*;

    #[test]
    fn what_is_no_executable_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, bytes: &[u8], mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            check_executable(&path).map_err(|failure| failure.text.replace(&path.display().to_string(), "IT"))
        };
        let topology = smallest(OWN_MACHINE, &Note::OWN);
        assert_eq!(at("good", &topology, 0o755), Ok(()));
        assert_eq!(at("plain", &topology, 0o644), Err("IT may not be executed; run chmod +x IT".into()));
        assert!(at("words.jar", b"PK\x03\x04more", 0o755).unwrap_err().contains("is a jar or another archive"));
        assert!(at("script", b"#!/bin/sh\n", 0o755).unwrap_err().starts_with("IT is not run: the file is a script; "));
        assert!(at("part", &topology[..200], 0o755).unwrap_err().contains("is cut off"));
        let of_other_kind = check_executable(Path::new("/bin/true")).unwrap_err().text;
        assert!(of_other_kind.contains("is an executable of another kind"), "{of_other_kind}");
        for (path, wanted) in [(folder.path().join("gone"), "give the path"), (folder.path().into(), "is no file")] {
            let failure = check_executable(&path).unwrap_err();
            assert!(failure.text.contains(wanted) && failure.status == Status::Usage, "{failure:?}");
        }
    }

    #[test]
    fn notes_are_passed_on_and_the_rest_is_why_it_failed_up_to_a_bound() {
        let said = b"note: a\nwarning: b\nerror: c\nmore \xff\nnote: d";
        assert_eq!(pass_notes_on(&said[..]), "error: c\nmore \u{fffd}\n");
        let flood = "error\n".repeat(SAID_BYTES_MAX);
        assert!(pass_notes_on(flood.as_bytes()).len() <= SAID_BYTES_MAX);
    }

    #[test]
    fn settings_go_with_it_and_so_does_a_configuration_without_its_secrets() {
        let setting = |text: &str| text.to_owned();
        let common = Common { config: None, settings: vec![setting("nimbus.thrift.port=1")], json: false };
        assert_eq!(settings(&common), ["-c", "nimbus.thrift.port=1"]);
        let mut sources = ringstorm_conf::ConfSources::none(Role::Client);
        sources.settings = vec![
            setting("nimbus.thrift.port=1"),
            setting("storm.zookeeper.auth.scheme=digest"),
            setting("storm.zookeeper.auth.payload=a:secret"),
        ];
        let conf = Conf::find(&sources).unwrap();
        let handed = serde_json::json!({ "nimbus.thrift.port": 1, "storm.zookeeper.auth.scheme": "digest" });
        assert_eq!(handed_over(&conf), handed.to_string());
    }
}
