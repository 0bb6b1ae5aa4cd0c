//! `dev`: a whole cluster on this machine, for as long as the command runs.
//!
//! ZooKeeper, nimbus and supervisors are processes of their own, the daemons of this same program. Each ends with this one,
//! whatever ends it; workers too. Everything listens on the loopback address alone, since nobody is asked who he is.
//!
//! Invariants: what was started is stopped, in the order that lets each say goodbye to the next: supervisors, their workers,
//! nimbus, ZooKeeper. A child that ends is named and started again, with pauses that grow. Threading: one thread looks at all
//! children; signals have theirs. Errors: a cluster that does not come up is a [`Failure`] with the last lines of whoever
//! did not.

mod child;
mod folder;
mod plan;
mod reserved;
mod zookeeper;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringstorm_caller::{ClientSettings, read};
use ringstorm_conf::{Conf, ConfSources, Role};
use ringstorm_daemon::{DirectoryLock, LockError, Signals};
use ringstorm_records::nimbus::GetClusterInfo;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_scheduler::COLD_START_WAIT;
use ringstorm_zookeeper::Settings as ZooKeeperSettings;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use serde_json::{Value, json};

use crate::asking::{after, patiently};
use crate::check::session;
use crate::command_line::{Common, Dev};
use crate::failure::{Failure, Status};
use crate::output;
use child::Child;
use folder::Folder;
use plan::Plan;
use reserved::Reserved;

/// Between two looks at the children.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// How long the cluster may take to come up, on a machine that is busy with something else.
const READY_LIMIT: Duration = Duration::from_secs(180);
/// How long a child may take to end when it is asked to.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How long ZooKeeper may: it has written down whatever it has confirmed, and a kill costs nothing.
const ZOOKEEPER_END_LIMIT: Duration = Duration::from_secs(2);
/// How long workers may take to end when they are asked to.
const WORKERS_END_LIMIT: Duration = Duration::from_secs(3);
/// What takes longer than this at the end is named.
const SLOW: Duration = Duration::from_secs(3);
/// Said at once when the cluster is to end.
const TAKING_DOWN: &str = "taking down: supervisors, workers, nimbus, ZooKeeper; Ctrl-C once more ends at once";
/// How long one question to nimbus may take.
const QUESTION_LIMIT: Duration = Duration::from_secs(2);
/// The name of its own ZooKeeper among the children.
const ZOOKEEPER: &str = "zookeeper";
/// Names the process that a daemon ends with.
const PARENT: &str = "RINGSTORM_DEV_PARENT";

/// Brings a cluster up, and takes it down when it is asked to end.
pub(crate) fn dev(common: &Common, arguments: &Dev) -> Result<Status, Failure> {
    if common.config.is_some() {
        return Err(Failure::usage(
            "dev writes its own storm.yaml; give settings with -c, or --dir and edit the files there",
        ));
    }
    let folder = Folder::make(arguments.dir.as_deref())?;
    // Before anything is written there: the files of a cluster that runs are its own.
    let _lock = DirectoryLock::take(folder.path(), "dev").map_err(|error| match error {
        LockError::Held { holder, .. } => Failure::new(format!(
            "a cluster runs in {} already: {holder}; end that one, or give this one another --dir",
            folder.path().display()
        )),
        other => Failure::new(other.to_string()),
    })?;
    // As long as the cluster is there: most of its ports are in use only while a worker is.
    let reserved = Reserved::default();
    check_settings(&common.settings)?;
    let plan = make_plan(arguments, folder.path(), &reserved)?;
    plan.write(&common.settings)?;

    let is_ending = Arc::new(AtomicBool::new(false));
    let asked = is_ending.clone();
    let signals = Signals::watch(move |_| {
        asked.store(true, Ordering::Release);
        output::say(TAKING_DOWN);
    });
    let _signals = signals.map_err(|error| Failure::new(format!("signals cannot be watched: {error}")))?;

    let mut cluster = Cluster { children: Vec::new(), plan, is_ending };
    let sweeper = child::Sweeper::start(&cluster.plan, folder.is_temporary())?;
    let result = cluster.run(common.json);
    if !cluster.is_ending.load(Ordering::Acquire) {
        output::say(TAKING_DOWN);
    }
    let down = cluster.take_down();
    sweeper.dismiss();
    result.and(down).map(|()| Status::Done)
}

/// In a daemon that `dev` has started: ends with it.
pub(crate) fn end_with_parent() {
    let Some(parent) = std::env::var(PARENT).ok().and_then(|text| text.parse::<i32>().ok()) else { return };
    let is_set = set_parent_process_death_signal(Some(Signal::TERM)).is_ok();
    let is_there = getppid().is_some_and(|pid| pid.as_raw_nonzero().get() == parent);
    if is_set && !is_there {
        // It has ended before the kernel was told.
        std::process::exit(1);
    }
}

/// What all daemons would refuse.
fn check_settings(settings: &[String]) -> Result<(), Failure> {
    Conf::find(&ConfSources { settings: settings.to_vec(), ..ConfSources::none(Role::Daemon) })?;
    Ok(())
}

fn make_plan(arguments: &Dev, folder: &Path, reserved: &Reserved) -> Result<Plan, Failure> {
    let given = arguments.zookeeper.as_deref().map(plan::server).transpose()?;
    match &given {
        None => drop(zookeeper::find().map_err(Failure::new)?),
        Some((host, port)) => {
            let server = format!("{host}:{port}");
            let said = format!("no session yet with ZooKeeper at {server}, which is waited for up to 10 s");
            patiently(said, || session(ZooKeeperSettings::of_servers(vec![server.clone()]))).map_err(|why| {
                Failure::new(format!(
                    "there is no ZooKeeper at {server}, as --zookeeper says: {why}; start it, correct --zookeeper, or leave \
                     it out for one of this cluster's own"
                ))
            })?;
        }
    }
    Plan::new(folder, given, arguments.supervisors, |port| is_free(port) && reserved.take(port)).ok_or_else(|| {
        Failure::new(
            "there are not enough free ports on this machine; end what uses them, or ask for fewer --supervisors",
        )
    })
}

/// Whether nobody listens on a port of this machine.
fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

struct Cluster {
    children: Vec<Child>,
    plan: Plan,
    is_ending: Arc<AtomicBool>,
}

impl Cluster {
    fn run(&mut self, json: bool) -> Result<(), Failure> {
        if self.plan.has_own_zookeeper() {
            let (command, arguments) = zookeeper::command(&self.plan).map_err(Failure::new)?;
            self.start(Child::new(ZOOKEEPER, command, arguments, self.plan.output(ZOOKEEPER)))?;
        }
        let plan = self.plan.clone();
        if plan.has_own_zookeeper() && !self.wait_until("ZooKeeper", || zookeeper::serves(&plan))? {
            return Ok(());
        }
        let nimbus = self.plan.daemon("nimbus", "nimbus")?;
        self.start(nimbus)?;
        for number in 1..=self.plan.supervisors().len() {
            let supervisor = self.plan.daemon("supervisor", &format!("supervisor-{number}"))?;
            self.start(supervisor)?;
        }
        let (nimbus, count) = (self.plan.nimbus_address(), self.plan.supervisors().len());
        if !self.wait_until("the cluster", || is_up(&nimbus, count))? {
            return Ok(());
        }
        // Whatever is submitted before is placed then.
        let seconds = COLD_START_WAIT.as_secs();
        output::say(&format!("all daemons are up; nimbus waits for supervisors for {seconds} s before it places work"));
        let since = Instant::now();
        if !self.wait_until("the cluster", || since.elapsed() >= COLD_START_WAIT)? {
            return Ok(());
        }
        if json {
            output::print_json(&self.plan.json())?;
        } else {
            output::print(&self.plan.text())?;
        }
        while !self.is_ending.load(Ordering::Acquire) {
            std::thread::sleep(LOOK_PERIOD);
            self.look();
        }
        Ok(())
    }

    fn start(&mut self, mut child: Child) -> Result<(), Failure> {
        let started = child.start();
        let name = child.name().to_owned();
        self.children.push(child);
        started.map_err(|error| Failure::new(format!("{name} cannot be started: {error}")))
    }

    /// Looks at the children until something is so; false if it is the end before.
    fn wait_until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) -> Result<bool, Failure> {
        let deadline = Instant::now() + READY_LIMIT;
        while !is_so() {
            if self.is_ending.load(Ordering::Acquire) {
                return Ok(false);
            }
            if Instant::now() >= deadline {
                let outputs: String = self.children.iter().map(Child::last_lines).collect();
                return Err(Failure::new(format!(
                    "{what} did not come up within {READY_LIMIT:?}; look at the output of whoever did not, below\n{outputs}"
                )));
            }
            std::thread::sleep(LOOK_PERIOD);
            self.look();
        }
        Ok(true)
    }

    /// Names children that ended, and starts them again when it is time.
    fn look(&mut self) {
        for child in &mut self.children {
            if let Some(news) = child.look(Instant::now()) {
                output::say(&news);
            }
        }
    }

    fn take_down(&mut self) -> Result<(), Failure> {
        let (supervisors, others): (Vec<&mut Child>, Vec<&mut Child>) =
            self.children.iter_mut().partition(|child| child.name().starts_with("supervisor"));
        child::stop_all(supervisors, END_LIMIT, SLOW, output::say);
        // The workers of all supervisors at once, so that the slowest of them says how long it takes.
        let plans = self.plan.supervisors();
        let left = after(SLOW, "still waiting for workers to end; they are killed".to_owned(), || {
            std::thread::scope(|scope| {
                let kill = |folder| move || ringstorm_supervisor_daemon::kill_workers(folder, WORKERS_END_LIMIT).left;
                let killing: Vec<_> = plans.iter().map(|plan| scope.spawn(kill(&plan.folder))).collect();
                killing.into_iter().map(|thread| thread.join().unwrap_or_default()).sum::<usize>()
            })
        });
        // Nimbus before ZooKeeper, which was started first.
        for child in others.into_iter().rev() {
            let limit = if child.name() == ZOOKEEPER { ZOOKEEPER_END_LIMIT } else { END_LIMIT };
            child::stop_all(vec![child], limit, SLOW, output::say);
        }
        if left > 0 {
            return Err(Failure::new(format!("{left} workers could not be killed; look with ps")));
        }
        Ok(())
    }
}

/// Whether a nimbus leads and knows all supervisors.
fn is_up(nimbus: &NimbusAddress, supervisors: usize) -> bool {
    let mut settings = ClientSettings { seeds: vec![nimbus.clone()], retry_times: 0, ..ClientSettings::default() };
    settings.timeouts.connect = QUESTION_LIMIT;
    settings.timeouts.answer = QUESTION_LIMIT;
    read(&settings, &GetClusterInfo {}).is_ok_and(|cluster| {
        cluster.nimbuses.iter().any(|nimbus| nimbus.is_leader) && cluster.supervisors.len() >= supervisors
    })
}

impl Plan {
    /// A daemon of this program, with the file of its own.
    fn daemon(&self, verb: &str, name: &str) -> Result<Child, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(format!("the path of this program is not known: {error}")))?;
        let conf = self.conf_file(name);
        let arguments = vec!["--config".into(), conf.into(), verb.into()];
        let mut child = Child::new(name, program, arguments, self.output(name));
        child.set(PARENT, std::process::id().to_string());
        Ok(child)
    }

    /// For programs, in one line.
    fn json(&self) -> Value {
        let supervisors: Vec<Value> = self
            .supervisors()
            .iter()
            .map(|it| json!({ "id": it.id(), "ports": it.ports, "config": it.conf, "localDir": it.folder }))
            .collect();
        json!({
            "ready": true,
            "dir": self.folder(),
            "config": self.conf_file("client"),
            "zookeeper": self.zookeeper_address(),
            "nimbus": format!("{}:{}", self.nimbus_address().host(), self.nimbus_address().port()),
            "supervisors": supervisors,
            "logs": self.logs(),
        })
    }

    /// For people.
    fn text(&self) -> String {
        let mut text = format!(
            "The cluster is up.\n  ZooKeeper     {}\n  nimbus        {}:{}\n",
            self.zookeeper_address(),
            self.nimbus_address().host(),
            self.nimbus_address().port(),
        );
        for (number, supervisor) in (1..).zip(self.supervisors()) {
            let ports: Vec<String> = supervisor.ports.iter().map(u16::to_string).collect();
            let id = supervisor.id().map_or_else(String::new, |id| format!("  id {id}"));
            text.push_str(&format!("  supervisor {number}  slots {}{id}\n", ports.join(" ")));
        }
        text.push_str(&format!(
            "  everything in {}\n  logs in       {}\nIn another terminal:\n  export STORM_CONF_DIR={}\n  ringstorm cluster\n\
             What is for one supervisor alone names it:\n",
            self.folder().display(),
            self.logs().display(),
            self.folder().display(),
        ));
        for supervisor in self.supervisors() {
            text.push_str(&format!("  ringstorm --config {} supervisor out-of-service\n", supervisor.conf.display()));
        }
        text.push_str("Ctrl-C takes it down.\n");
        text
    }
}
