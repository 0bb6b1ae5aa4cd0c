//! `ringstorm-worker`: the hidden command by which a supervisor makes a worker of a topology's executable.
//!
//! Who it is stands in a file; the topology is built from the words that its own options had when it was submitted, with
//! the configuration of the cluster. Threading: the calling thread becomes the control thread. Errors: lines on standard
//! error, for the log of the worker.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ringstorm_file::read_bounded;
use ringstorm_launch::launch::LAUNCH_BYTES_MAX;
use ringstorm_launch::{Launch, WORKER_COMMAND};
use ringstorm_runtime::{BuiltTopology, Result, TopologyBuilder};
use ringstorm_types::config::{Config, keys, known_key};
use ringstorm_types::screen::one_line;
use ringstorm_worker_daemon::WorkerExit;
use serde_json::Value;

use super::own_words;
use super::verdict::Status;

/// What keys that only Ringstorm has begin with.
const OWN_KEYS: &str = "ringstorm.";

/// The path of the launch file, if the process is to be a cluster's worker.
pub(super) fn launch_file(arguments: &[OsString]) -> Option<Result<PathBuf, String>> {
    if arguments.get(1)? != WORKER_COMMAND {
        return None;
    }
    Some(match &arguments[2..] {
        [path] => Ok(PathBuf::from(path)),
        _ => Err(format!("{WORKER_COMMAND} takes the path of a launch file, and is for supervisors")),
    })
}

/// Runs the worker to its end.
pub(super) fn run<A: clap::Args>(
    name: &str,
    build: impl FnOnce(A) -> Result<TopologyBuilder>,
    launch: &Path,
) -> Result<Status, String> {
    let launch = read(launch)?;
    let exit = ringstorm_worker_daemon::run(&launch, |config| built(name, build, config));
    Ok(match exit {
        WorkerExit::Done => Status::Done,
        WorkerExit::Failed => Status::Failed,
        WorkerExit::Left => Status::Left,
        WorkerExit::Slot => Status::Slot,
        WorkerExit::Superseded => Status::Superseded,
    })
}

fn read(path: &Path) -> Result<Launch, String> {
    let unreadable = |error: std::io::Error| format!("the launch file {path:?} cannot be read: {error}");
    let bytes = read_bounded(path, LAUNCH_BYTES_MAX).map_err(unreadable)?;
    Launch::from_bytes(&bytes).map_err(|error| error.to_string())
}

/// The topology as it was submitted.
fn built<A: clap::Args>(
    name: &str,
    build: impl FnOnce(A) -> Result<TopologyBuilder>,
    config: &Config,
) -> Result<BuiltTopology, String> {
    let own = own_words::read::<A>(&words(config)?)?;
    let builder = build(own).map_err(|error| format!("{name} cannot be built: {}", one_line(&error)))?;
    builder.build(&known_here(config)).map_err(|error| format!("{name} cannot be built: {error}"))
}

/// The words of the topology's own options.
fn words(config: &Config) -> Result<Vec<String>, String> {
    let wrong = || format!("{} is not a list of texts; submit the topology by its own executable", keys::MAIN_ARGS);
    match config.get(keys::MAIN_ARGS) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(words)) => {
            words.iter().map(|word| word.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// Without keys of a Ringstorm that is newer than this executable: its daemons know what they are for.
fn known_here(config: &Config) -> Config {
    let mut known = Config::new();
    let is_known = |key: &str| !key.starts_with(OWN_KEYS) || known_key(key).is_some();
    for (key, value, origin) in config.iter().filter(|(key, ..)| is_known(key)) {
        known.set(key, value.clone(), origin.clone());
    }
    known
}

#[cfg(test)]
mod tests {
    use ringstorm_types::config::Origin;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_word_of_supervisors_makes_a_worker() {
        let line = |words: &[&str]| launch_file(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(line(&["wc", "ringstorm-worker", "a/launch.json"]), Some(Ok("a/launch.json".into())));
        assert!(line(&["wc", "ringstorm-worker"]).unwrap().unwrap_err().contains("launch file"));
        assert_eq!(line(&["wc", "local", "ringstorm-worker"]), None);
        assert_eq!(line(&["wc"]), None);
    }

    #[test]
    fn what_is_no_file_is_no_launch_file_and_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let why = read(&pipe).unwrap_err();
        assert!(why.contains("launch file") && why.contains("it is a pipe, not a file"), "{why}");
        assert!(read(Path::new("/dev/zero")).unwrap_err().contains("it is a device, not a file"));
    }

    #[test]
    fn keys_of_a_newer_ringstorm_do_not_keep_a_worker_from_its_work() {
        let mut config = Config::new();
        for (key, value) in
            [("ringstorm.of.tomorrow", json!(1)), ("own.key", json!(2)), ("ringstorm.frame.bytes", json!(8192))]
        {
            config.set(key, value, Origin::DEFAULT);
        }
        let known = known_here(&config);
        let keys: Vec<&str> = known.iter().map(|(key, ..)| key).collect();
        assert_eq!(keys, ["own.key", "ringstorm.frame.bytes"]);
    }

    #[test]
    fn words_are_texts_or_nothing() {
        let of = |value: Value| {
            let mut config = Config::new();
            config.set(keys::MAIN_ARGS, value, Origin::DEFAULT);
            words(&config)
        };
        assert_eq!(of(json!(["--count=3", "--"])).unwrap(), ["--count=3", "--"]);
        assert!(of(json!(null)).unwrap().is_empty() && words(&Config::new()).unwrap().is_empty());
        assert!(of(json!(["a", 1])).is_err() && of(json!("a")).is_err());
    }
}
