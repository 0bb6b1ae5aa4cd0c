//! A nimbus in a process of its own, which can be killed: this program again, as one test of it that only runs then.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ringstorm_caller::CallFailure;
use ringstorm_ensemble::free_ports;
use ringstorm_nimbus_daemon::run;
use ringstorm_records::nimbus::{BeginFileUpload, FinishFileUpload, GetTopologySummaries, UploadChunk};
use ringstorm_records::thrift::Binary;

use crate::client::{call, connect, done, download, executable, leads, submission, upload};
use crate::cluster::{Cluster, eventually, settings};

/// Holds the configuration of the nimbus that the process is to be.
const CONF: &str = "RINGSTORM_TEST_NIMBUS";

/// A nimbus, killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) port: u16,
    pub(crate) log: PathBuf,
    conf: String,
}

impl Process {
    pub(crate) fn start(cluster: &Cluster, name: &str) -> Self {
        let port = free_ports(1)[0];
        let conf = cluster.conf(name, port).to_string();
        let log = cluster.folder.path().join(name).join("logs").join("nimbus.log");
        Self { child: spawn(&conf), port, log, conf }
    }

    /// Kills it without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Kills it, and starts it again.
    pub(crate) fn kill_and_start(&mut self) {
        self.kill();
        self.child = spawn(&self.conf);
    }

    /// The memory that it has.
    pub(crate) fn memory_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}", crate::cluster::read(&self.log));
        }
    }
}

fn spawn(conf: &str) -> Child {
    let test = "process::a_nimbus_in_a_process_of_its_own";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CONF, conf);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Not a test by itself: it is the nimbus of other tests.
#[test]
fn a_nimbus_in_a_process_of_its_own() {
    let Ok(conf) = std::env::var(CONF) else { return };
    run(settings(&serde_json::from_str(&conf).unwrap())).unwrap();
}

/// Submits. A nimbus that was killed is behind what it was before, until that session is over; clients ask again.
fn submit(port: u16, name: &str, location: &str) {
    eventually("it is submitted", || match call(port, &submission(name, location)) {
        Ok(()) => Some(()),
        Err(failure) => {
            assert!(failure.to_string().contains("not a leader"), "{failure}");
            None
        }
    });
}

#[test]
fn an_upload_and_what_was_stored_survive_a_nimbus_that_is_killed() {
    let Some(cluster) = Cluster::start_or_skip() else { return };
    let mut nimbus = Process::start(&cluster, "n1");
    let port = nimbus.port;
    leads(port);
    let file = executable(700_000);
    let location = upload(port, &file);
    let mut connection = connect(port);
    let unfinished = connection.call(&BeginFileUpload {}).unwrap();
    let chunk = UploadChunk { location: Some(unfinished.clone()), chunk: Some(Binary(file.clone())) };
    connection.call(&chunk).unwrap();

    nimbus.kill_and_start();
    leads(port);
    // What was whole can be submitted; what was not has to be uploaded again.
    assert!(call(port, &FinishFileUpload { location: Some(unfinished.clone()) }).is_err());
    assert!(matches!(call(port, &submission("words", &unfinished)), Err(CallFailure::Failed(_))));
    submit(port, "words", &location);
    let id = done(port, &GetTopologySummaries {})[0].id.clone();

    nimbus.kill_and_start();
    leads(port);
    assert_eq!(done(port, &GetTopologySummaries {})[0].id, id);
    assert_eq!(download(port, &format!("{id}-stormjar.jar")).unwrap(), file);
    let inbox = cluster.folder.path().join("n1").join("nimbus").join("inbox");
    assert_eq!(std::fs::read_dir(inbox).unwrap().count(), 1);
}
