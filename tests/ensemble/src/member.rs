//! One member: a Java process that ends with the test, whatever ends the test.
//!
//! A shell stands between the two and reads from a pipe that only the test holds: when the pipe closes, it kills the
//! member and waits for its end. It does not ask before, so that the number of a dead member is not given to another
//! process while somebody may send signals to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Starts what its arguments say, tells its number, and kills it when nobody holds the pipe any more.
const GUARD: &str =
    r#"log=$1; shift; "$@" >>"$log" 2>&1 & echo $!; cat >/dev/null; kill -9 $! 2>/dev/null; wait $! 2>/dev/null"#;

/// How long a member may take to answer a question about itself.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Member {
    command: Vec<String>,
    log: PathBuf,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    guard: Child,
    process: Pid,
}

impl Member {
    pub(crate) fn new(home: &Path, class_path: &str, settings: &Path) -> Self {
        // Small and quick to start. What is not forced to the disk survives a kill all the same; only a machine loses it.
        let options = "-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.net.preferIPv4Stack=true \
                       -Dzookeeper.forceSync=no -Dzookeeper.jmx.log4j.disable=true";
        let mut command = vec!["java".to_owned()];
        command.extend(options.split_whitespace().map(str::to_owned));
        command.extend(["-cp", class_path, "org.apache.zookeeper.server.quorum.QuorumPeerMain"].map(str::to_owned));
        command.push(settings.display().to_string());
        Self { command, log: home.join("log"), running: None }
    }

    pub(crate) fn start(&mut self) {
        assert!(self.running.is_none(), "a member that runs is not started again");
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(&self.log)
            .args(&self.command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut line = String::new();
        let output = guard.stdout.take().expect("it was asked for");
        BufReader::new(output).read_line(&mut line).expect("the shell tells a number");
        let process = line.trim().parse().ok().and_then(Pid::from_raw).expect("the shell tells a number");
        self.running = Some(Running { guard, process });
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            // Closes the pipe, upon which the shell kills the member, waits for its end, and ends.
            drop(running.guard.stdin.take());
            let _ = running.guard.wait();
        }
    }

    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Whether its process is there and has not ended.
    pub(crate) fn is_running(&self) -> bool {
        let Some(running) = &self.running else { return false };
        // A process that ended and was not waited for is there as a zombie.
        let status = std::fs::read_to_string(format!("/proc/{}/stat", running.process.as_raw_nonzero()));
        status.is_ok_and(|status| !status.contains(") Z "))
    }

    /// The end of what it has logged.
    pub(crate) fn log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    fn signal(&self, signal: Signal) {
        let running = self.running.as_ref().expect("a member that runs is signalled");
        kill_process(running.process, signal).expect("a member that runs takes signals");
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A question to a member about itself, and its answer, if it gives one.
pub(crate) fn ask(address: SocketAddr, question: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT).ok()?;
    stream.set_read_timeout(Some(ANSWER_LIMIT)).ok()?;
    stream.write_all(question.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}
