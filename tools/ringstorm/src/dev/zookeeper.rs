//! ZooKeeper of Debian's package, as a process: where it is, and how it is started.
//!
//! Threading: pure, but for the look at the disk. Errors: what is missing, with the command that installs it.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::plan::Plan;

/// Where Debian's packages put Java libraries.
const LIBRARIES: &str = "/usr/share/java";
/// What a server needs of it; `zookeeper.jar` names the rest itself.
const JARS: [&str; 3] = ["zookeeper.jar", "slf4j-log4j12.jar", "log4j-1.2.jar"];
/// The unit of ZooKeeper's own time-outs, in milliseconds: its sessions last 2 to 20 of them.
const TICK_MS: u32 = 2000;
/// How long it may take to say something about itself, and how much that is.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// The class path, if everything is there.
pub(super) fn find() -> Result<String, String> {
    let java = Command::new("java").arg("-version").stdin(Stdio::null()).output();
    let has_java = java.is_ok_and(|output| output.status.success());
    let jars = JARS.map(|jar| Path::new(LIBRARIES).join(jar));
    class_path(has_java, &jars, Path::is_file)
}

/// The class path of these files, or what to install.
fn class_path(has_java: bool, jars: &[PathBuf], is_there: impl Fn(&Path) -> bool) -> Result<String, String> {
    let missing = jars.iter().find(|jar| !is_there(jar));
    let words = match (has_java, missing) {
        (true, None) => return Ok(jars.iter().map(|jar| jar.display().to_string()).collect::<Vec<_>>().join(":")),
        (false, None) => "java cannot be run".to_owned(),
        (_, Some(jar)) => format!("{} is missing", jar.display()),
    };
    Err(format!(
        "ZooKeeper is not installed: {words}. Install it with\n  sudo apt-get install --no-install-recommends zookeeper \
         default-jre-headless\nwhich starts nothing by itself, or give one that runs with --zookeeper HOST:PORT"
    ))
}

/// Writes its files, and gives the program and its arguments. It is killed when this process ends, whatever ends that.
pub(super) fn command(plan: &Plan) -> Result<(PathBuf, Vec<OsString>), String> {
    let class_path = find()?;
    let home = plan.folder().join("zookeeper");
    let written = fs::create_dir_all(home.join("data"))
        .and_then(|()| fs::write(home.join("zoo.cfg"), settings(&home.join("data"), plan.zookeeper_port())))
        .and_then(|()| fs::write(home.join("log4j.properties"), LOGGING));
    written.map_err(|error| format!("{} cannot be written: {error}", home.display()))?;
    let options = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.net.preferIPv4Stack=true \
                   -Dzookeeper.jmx.log4j.disable=true";
    // setpriv of util-linux has the kernel end Java with this process.
    let mut words: Vec<OsString> = ["--pdeathsig", "TERM", "java"].map(OsString::from).to_vec();
    words.extend(options.split_whitespace().map(OsString::from));
    words.extend(["-cp".into(), format!("{}:{class_path}", home.display()).into()]);
    words.extend(["org.apache.zookeeper.server.quorum.QuorumPeerMain".into(), home.join("zoo.cfg").into()]);
    Ok(("setpriv".into(), words))
}

/// Whether this plan's own server serves clients: another one may have been faster at the port, and has its data elsewhere.
pub(super) fn serves(plan: &Plan) -> bool {
    let data = plan.folder().join("zookeeper").join("data");
    let is_own = ask(&plan.zookeeper_address(), "conf").is_some_and(|answer| answer.contains(&*data.to_string_lossy()));
    is_own && ask(&plan.zookeeper_address(), "srvr").is_some_and(|answer| answer.contains("Mode: "))
}

/// A question to a server about itself, and its answer.
fn ask(address: &str, question: &str) -> Option<String> {
    let address = address.to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT).ok()?;
    stream.set_read_timeout(Some(ANSWER_LIMIT)).ok()?;
    stream.write_all(question.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn settings(data: &Path, port: u16) -> String {
    format!(
        "tickTime={TICK_MS}\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n\
         4lw.commands.whitelist=srvr,ruok,conf\nmaxClientCnxns=0\nautopurge.purgeInterval=1\n",
        data.display()
    )
}

const LOGGING: &str = "log4j.rootLogger=INFO, OUT\n\
log4j.appender.OUT=org.apache.log4j.ConsoleAppender\n\
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout\n\
log4j.appender.OUT.layout.ConversionPattern=%d{ISO8601} %p %c{1} - %m%n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        let jars = [PathBuf::from("/j/a.jar"), PathBuf::from("/j/b.jar")];
        assert_eq!(class_path(true, &jars, |_| true), Ok("/j/a.jar:/j/b.jar".into()));
        for (has_java, there, wanted) in [
            (false, true, "java cannot be run"),
            (true, false, "/j/a.jar is missing"),
            (false, false, "/j/a.jar is missing"),
        ] {
            let error = class_path(has_java, &jars, |_| there).unwrap_err();
            assert!(error.contains(wanted), "{error}");
            assert!(error.contains("sudo apt-get install --no-install-recommends zookeeper"), "{error}");
            assert!(error.contains("--zookeeper HOST:PORT"), "{error}");
        }
    }
}
