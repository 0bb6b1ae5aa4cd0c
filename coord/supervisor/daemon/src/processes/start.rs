//! Starting a worker's process.
//!
//! Invariants: when it fails, nothing runs and nothing is left but what the log writer wrote. Threading: the guard's.
//! Errors: each has the kind that says whether the slot is to blame.

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ringstorm_launch::{LAUNCH_FILE, Launch, WORKER_COMMAND};
use ringstorm_lifecycle::id::name_of;
use ringstorm_supervisor::events::{CodeEvent, StartFailure, StartWorker};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, getrlimit, pidfd_open, prlimit};
use serde_json::{Map, Value};

use super::log_pipe::{LogPipe, Writing};
use super::mark::{FOLDER_VARIABLE, can_mark};
use super::record::ProcessRecord;
use super::{HowToStart, Shared};
use crate::disk;
use crate::memory::MemoryLimit;

/// What only the daemons may do with the tree is no business of user code.
const DAEMONS_CREDENTIAL: [&str; 2] = ["storm.zookeeper.auth.scheme", "storm.zookeeper.auth.payload"];

/// How often an executable is tried that somebody seems to be writing: a process that is just being started elsewhere may
/// have inherited the file for a moment.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// A process that was started.
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) pidfd: Arc<OwnedFd>,
    pub(super) child: Child,
    pub(super) log: LogPipe,
    pub(super) limit: MemoryLimit,
}

/// Why none was.
pub(super) struct Failure {
    pub(super) kind: StartFailure,
    pub(super) why: String,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { kind: kind_of(&error), why: error.to_string() }
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self { kind: StartFailure::Other, why }
    }
}

pub(super) fn start(shared: &Shared, worker: &StartWorker) -> Result<Started, Failure> {
    let folder = shared.layout.worker(worker.port, worker.incarnation);
    let started = start_in(shared, worker, &folder);
    if started.is_err() {
        let _ = disk::remove_folder(&folder);
    }
    started
}

fn start_in(shared: &Shared, worker: &StartWorker, folder: &Path) -> Result<Started, Failure> {
    let how = &shared.how;
    let (conf, executable) = code_of(shared, &worker.topology)?;
    let conf = conf_of_worker(&how.conf, conf);
    check_port(how, worker.port)?;

    if !can_mark(folder) {
        return Err(format!("{} is no absolute path; set storm.local.dir to one", folder.display()).into());
    }
    disk::make_folder(folder)?;
    let limit = MemoryLimit::new(how.memory, &worker.resources, &conf);
    let launch = launch(shared, worker, conf)?;
    // It holds secrets.
    disk::write_plain(&folder.join(LAUNCH_FILE), &launch.to_bytes(), 0o600)?;

    let log_file = shared.layout.worker_log(&worker.topology, worker.port);
    disk::make_folder(log_file.parent().unwrap_or(Path::new("/")))?;
    let writing = Writing { command: how.log_writer.clone(), rotation: how.log_rotation };
    let (log, end) = LogPipe::open(writing, &log_file).map_err(|error| Failure {
        kind: kind_of(&error),
        why: format!("its log writer ({}) cannot be started: {error}", command(&how.log_writer)),
    })?;
    let mut process = Command::new(&executable);
    process
        .arg(WORKER_COMMAND)
        .arg(folder.join(LAUNCH_FILE))
        .env(FOLDER_VARIABLE, folder)
        .envs(environment(&launch.conf))
        .current_dir(folder)
        .process_group(0)
        .stdin(Stdio::null());
    let ends = (end.try_clone()?, end);
    process.stdout(ends.0).stderr(ends.1);
    let spawned = spawn(&mut process);
    // It holds the pipe, too.
    drop(process);
    let child = match spawned {
        Ok(child) => child,
        Err(error) => {
            drop(log.close());
            let why = format!("{} cannot be run: {error}", executable.display());
            return Err(Failure { kind: kind_of(&error), why });
        }
    };
    held(shared, folder, child, log, limit)
}

/// A topology's configuration and executable. If they are not what they should be, whoever fetches hears of it before
/// anybody hears that the worker did not start, and would start it again.
fn code_of(shared: &Shared, topology: &str) -> Result<(Map<String, Value>, PathBuf), String> {
    let found = shared.local.conf(topology).and_then(|conf| Ok((conf, shared.local.executable(topology)?)));
    found.inspect_err(|why| {
        shared.outlet.tell_of_code(CodeEvent::Damaged { topology: topology.to_owned(), why: why.clone() });
    })
}

/// A process that runs is held, limited, and written down.
fn held(
    shared: &Shared,
    folder: &Path,
    mut child: Child,
    log: LogPipe,
    limit: MemoryLimit,
) -> Result<Started, Failure> {
    let pid = Pid::from_child(&child);
    let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => Arc::new(pidfd),
        Err(error) => {
            // What cannot be watched must not run.
            let _ = child.kill();
            let _ = child.wait();
            drop(log.close());
            let error = io::Error::from(error);
            return Err(Failure { kind: kind_of(&error), why: format!("it cannot be watched: {error}") });
        }
    };
    let files = getrlimit(Resource::Nofile);
    let open_files = match (shared.how.open_files, files.maximum) {
        (Some(wanted), Some(most)) => Some(wanted.min(most)),
        (wanted, most) => wanted.or(most),
    };
    let noted = |what: &str, why: &dyn std::fmt::Display| shared.outlet.note(&format!("process {pid}: {what}: {why}"));
    if let Err(error) = prlimit(Some(pid), Resource::Nofile, Rlimit { current: open_files, maximum: open_files }) {
        noted("its limit of open files stays as it is", &error);
    }
    // Without it, it is found by its mark.
    if let Some(Err(error)) = ProcessRecord::of(pid).map(|record| record.write(folder)) {
        noted("a supervisor that starts anew will have to look for it", &error);
    }
    Ok(Started { pid, pidfd, child, log, limit })
}

fn launch(shared: &Shared, worker: &StartWorker, conf: Map<String, Value>) -> Result<Launch, Failure> {
    let how = &shared.how;
    let name = conf.get("topology.name").and_then(Value::as_str).or_else(|| name_of(&worker.topology));
    Ok(Launch {
        topology_name: name.unwrap_or(&worker.topology).to_owned(),
        topology: worker.topology.clone(),
        supervisor: how.supervisor.clone(),
        host: how.host.clone(),
        port: worker.port,
        incarnation: worker.incarnation,
        assignment_version: worker.version,
        cores: worker.cores,
        cpus: how.cpus.get(&worker.port).cloned().unwrap_or_else(|| [0].into()),
        control_socket: shared.layout.control_socket(),
        bind_address: how.bind_address,
        conf,
    })
}

/// The topology's configuration lies over the supervisor's, as in Storm.
fn conf_of_worker(supervisor: &Map<String, Value>, topology: Map<String, Value>) -> Map<String, Value> {
    let mut conf = supervisor.clone();
    conf.extend(topology);
    DAEMONS_CREDENTIAL.iter().for_each(|key| drop(conf.remove(*key)));
    conf
}

/// `topology.environment`: variables for workers. What is no text is passed over.
fn environment(conf: &Map<String, Value>) -> impl Iterator<Item = (&str, &str)> {
    let variables = conf.get("topology.environment").and_then(Value::as_object).into_iter().flatten();
    variables.filter_map(|(name, value)| {
        let is_name = !name.is_empty() && !name.contains(['=', '\0']) && name != FOLDER_VARIABLE;
        Some((name.as_str(), value.as_str().filter(|value| is_name && !value.contains('\0'))?))
    })
}

/// Whether the worker will be able to listen. It may still be slower than somebody else, and says so itself then.
fn check_port(how: &HowToStart, port: u16) -> Result<(), Failure> {
    let address = (how.bind_address, port);
    TcpListener::bind(address).map(drop).map_err(|error| Failure {
        kind: match error.kind() {
            io::ErrorKind::AddrInUse => StartFailure::PortTaken,
            io::ErrorKind::AddrNotAvailable | io::ErrorKind::PermissionDenied => StartFailure::AddressUnusable,
            _ => kind_of(&error),
        },
        why: format!("{}:{port}: {error}", how.bind_address),
    })
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    for _ in 0..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::sleep(BUSY_PAUSE),
            done => return done,
        }
    }
    command.spawn()
}

fn kind_of(error: &io::Error) -> StartFailure {
    match disk::os_error(error).map(Errno::from_raw_os_error) {
        Some(Errno::NOMEM | Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOBUFS) => {
            StartFailure::ResourcesExhausted
        }
        Some(Errno::NOSPC | Errno::DQUOT) => StartFailure::DiskFull,
        _ => StartFailure::Other,
    }
}

fn command(words: &[PathBuf]) -> String {
    words.iter().map(|word| OsStr::display(word.as_os_str()).to_string()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_topologys_settings_go_before_the_hosts_and_the_daemons_credential_is_left_out() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let host = object(json!({"a": 1, "b": 1, "storm.zookeeper.auth.payload": "storm:swordfish"}));
        let topology = object(json!({"b": 2, "storm.zookeeper.topology.auth.payload": "words:herring"}));
        let conf = conf_of_worker(&host, topology);
        let expected = json!({"a": 1, "b": 2, "storm.zookeeper.topology.auth.payload": "words:herring"});
        assert_eq!(Value::Object(conf), expected);
    }

    #[test]
    fn variables_of_a_topology_are_texts_and_never_the_mark() {
        let conf = json!({"topology.environment": {
            "LANG": "C", "COUNT": 2, "": "x", "A=B": "x", "ZERO": "a\0b", FOLDER_VARIABLE: "/tmp",
        }});
        let conf = conf.as_object().unwrap();
        assert_eq!(environment(conf).collect::<Vec<_>>(), [("LANG", "C")]);
        assert_eq!(environment(&Map::new()).count(), 0);
    }

    #[test]
    fn what_is_missing_on_the_host_is_told_from_what_is_wrong_with_the_worker() {
        let of = |errno: Errno| kind_of(&io::Error::from(errno));
        assert_eq!([Errno::NFILE, Errno::NOMEM].map(of), [StartFailure::ResourcesExhausted; 2]);
        assert_eq!([Errno::NOSPC, Errno::DQUOT].map(of), [StartFailure::DiskFull; 2]);
        assert_eq!([Errno::NOENT, Errno::ACCESS, Errno::NOEXEC].map(of), [StartFailure::Other; 3]);
        // Also behind the words that name the file.
        let full = disk::about(Path::new("/x/launch.json"), "cannot be written", Errno::NOSPC.into());
        assert_eq!(kind_of(&full), StartFailure::DiskFull, "{full}");
        assert!(full.to_string().starts_with("/x/launch.json cannot be written: No space left"), "{full}");
    }
}
