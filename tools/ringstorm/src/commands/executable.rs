//! `submit` and `local`: a topology is an executable, which does both itself; this command becomes it.
//!
//! Only what says of itself that it is a topology's executable is run. Errors: a path that is none. What the topology itself
//! finds wrong it says itself, with its exit code.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ringstorm_conf::sources::{RINGSTORM_CONF, STORM_CONF_DIR};
use ringstorm_conf::{Conf, Role};
use ringstorm_submission::executable::{OWN_MACHINE, topology_for};
use ringstorm_types::config::{Origin, is_secret};
use serde_json::Value;

use crate::command_line::{Common, Local, Submit};
use crate::failure::Failure;

/// `submit PATH NAME ARGS...`: `PATH submit NAME ARGS...`, for the same cluster.
pub(crate) fn submit(common: &Common, arguments: &Submit) -> Result<ExitCode, Failure> {
    let mut words: Vec<OsString> = vec!["submit".into(), arguments.name.clone().into()];
    words.extend(settings(common));
    words.extend(arguments.arguments.iter().cloned());
    let conf = match &common.config {
        Some(_) => Some(handed_over(&crate::conf(common, Role::Client)?)),
        None => None,
    };
    become_executable(&arguments.path, &words, conf)
}

/// What was set, for an executable that does not know of `--config`. It asks a nimbus and needs no secrets.
fn handed_over(conf: &Conf) -> String {
    let set = conf.config().iter().filter(|(key, _, origin)| **origin != Origin::DEFAULT && !is_secret(key));
    Value::Object(set.map(|(key, value, _)| (key.to_owned(), value.clone())).collect()).to_string()
}

/// `local PATH ARGS...`: `PATH local ARGS...`.
pub(crate) fn local(common: &Common, arguments: &Local) -> Result<ExitCode, Failure> {
    if common.config.is_some() {
        return Err(Failure::new("a topology that runs here reads no storm.yaml; give its settings with -c"));
    }
    let mut words: Vec<OsString> = vec!["local".into()];
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

/// `conf` is a configuration for it, as JSON, in place of what it finds itself.
fn become_executable(path: &Path, words: &[OsString], conf: Option<String>) -> Result<ExitCode, Failure> {
    check_executable(path).map_err(Failure::new)?;
    // A bare name would be looked for elsewhere.
    let path = if path.components().count() == 1 { PathBuf::from(".").join(path) } else { path.to_owned() };
    let mut command = Command::new(&path);
    command.args(words);
    if let Some(conf) = conf {
        // No file of the environment's lies below it then.
        command.env(RINGSTORM_CONF, conf).env_remove(STORM_CONF_DIR);
    }
    let error = command.exec();
    Err(Failure::new(format!(
        "{} cannot be run: {error}; build it for this machine, and make sure that this user may execute it",
        path.display()
    )))
}

/// What is wrong with an executable, before it is tried.
pub(crate) fn check_executable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let data = fs::metadata(path)
        .map_err(|error| format!("{shown} cannot be used: {error}; give the path of the topology's executable"))?;
    if !data.is_file() {
        return Err(format!("{shown} is no file; give the path of the topology's executable"));
    }
    if data.permissions().mode() & 0o111 == 0 {
        return Err(format!("{shown} may not be executed; run chmod +x {shown}"));
    }
    let built = File::open(path).map_err(Into::into).and_then(|mut file| topology_for(OWN_MACHINE, &mut file));
    built.map(drop).map_err(|unfit| format!("{shown} is not run: {unfit}"))
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
            check_executable(&path).map_err(|text| text.replace(&path.display().to_string(), "IT"))
        };
        let topology = smallest(OWN_MACHINE, &Note::OWN);
        assert_eq!(at("good", &topology, 0o755), Ok(()));
        assert_eq!(at("plain", &topology, 0o644), Err("IT may not be executed; run chmod +x IT".into()));
        assert!(at("words.jar", b"PK\x03\x04more", 0o755).unwrap_err().contains("is a jar or another archive"));
        assert!(at("script", b"#!/bin/sh\n", 0o755).unwrap_err().starts_with("IT is not run: the file is a script; "));
        assert!(at("part", &topology[..200], 0o755).unwrap_err().contains("is cut off"));
        let of_other_kind = check_executable(Path::new("/bin/true")).unwrap_err();
        assert!(of_other_kind.contains("is an executable of another kind"), "{of_other_kind}");
        assert!(check_executable(&folder.path().join("gone")).unwrap_err().contains("give the path"));
        assert!(check_executable(folder.path()).unwrap_err().contains("is no file"));
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
