//! `submit` and `local`: a topology is an executable, which does both itself; this command becomes it.
//!
//! Errors: a path that is no executable. What the topology itself finds wrong it says itself, with its exit code.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ringstorm_conf::sources::{RINGSTORM_CONF, STORM_CONF_DIR};
use ringstorm_conf::{Conf, Role};
use ringstorm_types::config::{Origin, is_secret};
use serde_json::Value;

use crate::command_line::{Common, Local, Submit};
use crate::failure::Failure;

/// How an archive begins, of Java or of another kind.
const ARCHIVE: [u8; 4] = *b"PK\x03\x04";

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
    let mut start = [0; 4];
    let is_archive = File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == ARCHIVE;
    if is_archive {
        return Err(format!(
            "{shown} is an archive, as of Java; a topology of Ringstorm is an executable, which its own main builds and submits"
        ));
    }
    if data.permissions().mode() & 0o111 == 0 {
        return Err(format!("{shown} may not be executed; run chmod +x {shown}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
        assert_eq!(at("good", b"\x7fELF", 0o755), Ok(()));
        assert_eq!(at("plain", b"\x7fELF", 0o644), Err("IT may not be executed; run chmod +x IT".into()));
        assert!(at("words.jar", b"PK\x03\x04more", 0o755).unwrap_err().contains("is an archive, as of Java"));
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
