//! A real ZooKeeper ensemble for tests.
//!
//! [`Ensemble`] runs members as processes of the test's own, on free loopback ports, with everything in a temporary
//! folder; nothing is installed and no root is needed. Members can be killed, paused, started again, and parted from each
//! other. A [`Link`] stands between a client and a member, or several, and can be cut or made silent. [`free_ports`] are
//! for servers of all kinds.
//!
//! ZooKeeper is Debian's package `zookeeper`. Where it or Java is missing, [`Ensemble::start_or_skip`] says so and gives
//! nothing; with `RINGSTORM_REQUIRE_ZOOKEEPER` set, as in `.ci/run`, that is a failure.
//!
//! Threading: an ensemble belongs to one thread at a time; links have threads of their own. Errors: a harness that cannot
//! do what it is asked panics, and says what it saw.

mod between;
mod link;
mod member;
mod ports;

pub use link::Link;
pub use ports::free_ports;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use between::Between;
use member::Member;

/// Set where a skip is a failure.
const REQUIRED: &str = "RINGSTORM_REQUIRE_ZOOKEEPER";

/// Where Debian's packages put Java libraries.
const LIBRARIES: &str = "/usr/share/java";

/// What the members need of it; `zookeeper.jar` names the rest itself.
const JARS: [&str; 3] = ["zookeeper.jar", "slf4j-log4j12.jar", "log4j-1.2.jar"];

/// The unit of ZooKeeper's own time-outs. Small, so that tests need not wait long for sessions to expire.
const TICK: Duration = Duration::from_millis(200);

/// How long members may take to start and to choose a leader, on a machine that is busy with something else.
const START_LIMIT: Duration = Duration::from_secs(120);

/// The shortest session that the members agree to.
pub const SESSION_TIMEOUT_MIN: Duration = Duration::from_millis(1000);

/// Members of one ensemble.
#[derive(Debug)]
pub struct Ensemble {
    // Members go before their folder.
    members: Vec<Member>,
    clients: Vec<SocketAddr>,
    between: Option<Between>,
    _sweeper: Child,
    folder: tempfile::TempDir,
}

impl Ensemble {
    /// Starts members and waits until they have a leader; `None` when ZooKeeper is not installed here, which was said.
    ///
    /// # Panics
    /// It is not installed and must be, or it does not start.
    pub fn start_or_skip(count: usize) -> Option<Self> {
        Self::started(count, false)
    }

    /// As [`Self::start_or_skip`], with members that can be [parted](Self::part).
    ///
    /// # Panics
    /// As [`Self::start_or_skip`].
    pub fn start_partible_or_skip(count: usize) -> Option<Self> {
        Self::started(count, true)
    }

    fn started(count: usize, is_partible: bool) -> Option<Self> {
        match class_path() {
            Ok(class_path) => Some(Self::start(count, is_partible, &class_path)),
            Err(why) => {
                assert!(std::env::var_os(REQUIRED).is_none(), "{REQUIRED} is set, but {why}");
                // Not by a macro, whose output the test harness keeps to itself when tests pass.
                let _ = writeln!(std::io::stderr(), "SKIPPED: no real ZooKeeper was asked: {why}");
                None
            }
        }
    }

    fn start(count: usize, is_partible: bool, class_path: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let ports = free_ports(3 * count);
        let ports: Vec<&[u16]> = ports.chunks(3).collect();
        // For the quorum, for elections.
        let of_members: Vec<[u16; 2]> = ports.iter().map(|ports| [ports[1], ports[2]]).collect();
        let between = is_partible.then(|| Between::new(&of_members));
        let servers = |of: usize| -> String {
            let server = |(index, ports): (usize, &[u16; 2])| {
                let [quorum, election] = between.as_ref().map_or(*ports, |between| between.ports(of, index, *ports));
                format!("server.{}=127.0.0.1:{quorum}:{election}:participant\n", index + 1)
            };
            of_members.iter().enumerate().map(server).collect()
        };
        let conf = folder.path().join("conf");
        write(&conf.join("log4j.properties"), LOGGING);
        let mut members = Vec::new();
        for (index, ports) in ports.iter().enumerate() {
            let home = folder.path().join(format!("member-{}", index + 1));
            let data = home.join("data");
            write(&data.join("myid"), &format!("{}\n", index + 1));
            let settings = home.join("zoo.cfg");
            write(
                &settings,
                &member_settings(&data, ports[0], &if count > 1 { servers(index) } else { String::new() }),
            );
            members.push(Member::new(&home, &format!("{}:{class_path}", conf.display()), &settings));
        }
        let client = |ports: &&[u16]| SocketAddr::from((Ipv4Addr::LOCALHOST, ports[0]));
        let clients = ports.iter().map(client).collect();
        let mut ensemble = Self { members, clients, between, _sweeper: sweeper(folder.path()), folder };
        (0..count).for_each(|index| ensemble.members[index].start());
        ensemble.wait_until_serving(&(0..count).collect::<Vec<_>>());
        ensemble
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Where clients reach each member.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.clients
    }

    /// The folder of members' data and logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Kills a member with `SIGKILL`.
    pub fn kill(&mut self, index: usize) {
        self.members[index].kill();
    }

    /// Starts a member that was killed, with the data that it had, and waits until it serves.
    pub fn restart(&mut self, index: usize) {
        self.members[index].start();
        self.wait_until_serving(&[index]);
    }

    /// Starts several members that were killed, as [`Self::restart`]; one alone may have no quorum.
    pub fn restart_all(&mut self, indices: &[usize]) {
        indices.iter().for_each(|&index| self.members[index].start());
        self.wait_until_serving(indices);
    }

    /// Stops a member with `SIGSTOP`: it says nothing, and its connections stay.
    pub fn pause(&self, index: usize) {
        self.members[index].pause();
    }

    /// Lets a member that was paused go on.
    pub fn resume(&self, index: usize) {
        self.members[index].resume();
    }

    /// Parts some members from the others: nothing passes between the two sides until [`Self::join`]. Clients still reach
    /// all of them.
    ///
    /// # Panics
    /// The ensemble was not made for it.
    pub fn part(&self, some: &[usize]) {
        self.between().part(|member| some.contains(&member));
    }

    /// As [`Self::part`], each from every other.
    ///
    /// # Panics
    /// As [`Self::part`].
    pub fn part_all(&self) {
        (0..self.len()).for_each(|index| self.part(&[index]));
    }

    /// Joins all members again.
    ///
    /// # Panics
    /// As [`Self::part`].
    pub fn join(&self) {
        self.between().join();
    }

    fn between(&self) -> &Between {
        self.between.as_ref().expect("an ensemble that is parted was made for it")
    }

    /// Which member leads.
    ///
    /// # Panics
    /// None says that it does.
    pub fn leader(&self) -> usize {
        let leads = |address: &SocketAddr| mode(*address).is_some_and(|mode| mode != "follower");
        self.clients.iter().position(leads).expect("an ensemble that serves has a leader")
    }

    /// Waits until members answer clients.
    fn wait_until_serving(&mut self, indices: &[usize]) {
        let deadline = Instant::now() + START_LIMIT;
        for &index in indices {
            while mode(self.clients[index]).is_none() {
                let log = self.members[index].log();
                assert!(self.members[index].is_running(), "member {index} ended:\n{log}");
                assert!(Instant::now() < deadline, "member {index} does not serve within {START_LIMIT:?}:\n{log}");
                // A server that does not listen yet offers nothing to wait for.
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// What a member says it is; `None` when it does not serve clients.
fn mode(address: SocketAddr) -> Option<String> {
    let answer = member::ask(address, "srvr")?;
    answer.lines().find_map(|line| line.strip_prefix("Mode: ")).map(str::to_owned)
}

/// Where the libraries are, if all that is needed is there.
fn class_path() -> Result<String, String> {
    let java = Command::new("java").arg("-version").output();
    if !java.is_ok_and(|output| output.status.success()) {
        return Err("java cannot be run; install Java 11 or later".into());
    }
    let jars: Vec<PathBuf> = JARS.iter().map(|jar| Path::new(LIBRARIES).join(jar)).collect();
    if let Some(missing) = jars.iter().find(|jar| !jar.is_file()) {
        return Err(format!("{} is missing; install the package zookeeper", missing.display()));
    }
    Ok(jars.iter().map(|jar| jar.display().to_string()).collect::<Vec<_>>().join(":"))
}

fn member_settings(data: &Path, client_port: u16, servers: &str) -> String {
    let tick_ms = TICK.as_millis();
    let session_ms = SESSION_TIMEOUT_MIN.as_millis();
    format!(
        "tickTime={tick_ms}\ninitLimit=50\nsyncLimit=10\ndataDir={}\nclientPort={client_port}\n\
         clientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n\
         minSessionTimeout={session_ms}\nmaxSessionTimeout=60000\n{servers}",
        data.display()
    )
}

const LOGGING: &str = "log4j.rootLogger=INFO, OUT\n\
log4j.appender.OUT=org.apache.log4j.ConsoleAppender\n\
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout\n\
log4j.appender.OUT.layout.ConversionPattern=%d{ISO8601} %p %c{1} - %m%n\n";

/// Removes the folder after the test, should that end without doing so: a test program drops nothing that is static.
fn sweeper(folder: &Path) -> Child {
    // Members are killed by the end of the same process, and may write up to their own.
    let script = r#"cat >/dev/null; sleep 1; rm -rf -- "$1""#;
    let sweeper = Command::new("sh").args(["-c", script, "sh"]).arg(folder).stdin(Stdio::piped()).spawn();
    sweeper.expect("there is a shell")
}

fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("a file lies in a folder");
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
    written.unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
}
