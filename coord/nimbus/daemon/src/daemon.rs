//! All of nimbus together, from start to end.
//!
//! [`NimbusDaemon::prepare`] does everything that can fail at the start: the lock of the local directory, what lies there,
//! the port. [`NimbusDaemon::serve`] is the loop. At the end the machine answers everybody who waits, the answers are
//! given a moment to leave, and the session with ZooKeeper is closed, so that another nimbus leads at once.
//!
//! Threading: `serve` belongs to the thread that calls it; a [`Stopper`] may be used from any. Errors: texts for whoever
//! started the daemon.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ringstorm_caller::Timeouts;
use ringstorm_control::runner::Runner;
use ringstorm_daemon::{Clock, DirectoryLock, Inbox as Words, Log, RotatedFile, Rotation, Sender, Signals};
use ringstorm_nimbus::interface::CodeEvent;
use ringstorm_nimbus::{Identity, Nimbus, NimbusEffect, NimbusInput};
use ringstorm_submission::executable::OWN_MACHINE;
use ringstorm_zookeeper::ZooKeeperStore;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::checks::Runnable;
use crate::code::{CodeDirectory, CodeThreads, Disk, FetchLimits, Fetcher};
use crate::files::{Downloads, EXPIRY_PERIOD, Files, Inbox};
use crate::hand::Hand;
use crate::port::{self, PortLimits};
use crate::random::random_number;
use crate::reads::Reader;
use crate::service::{Replies, Requests, Service};
use crate::settings::{Accepting, DaemonSettings};

/// How many calls may wait for the thread for files, and for that for reads.
const WAITING_MAX: usize = 2_000;

/// Files that are open besides connections.
const OTHER_FILES: u64 = 256;

/// How long the last answers may take to leave.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

/// A nimbus that is ready to serve.
pub struct NimbusDaemon {
    settings: DaemonSettings,
    log: Log,
    clock: Clock,
    words: Words<NimbusInput>,
    asked_to_end: Arc<AtomicBool>,
    replies: Replies,
    code: CodeThreads,
    port: JoinHandle<()>,
    stop_port: async_channel::Sender<()>,
    listens_at: SocketAddr,
    _lock: DirectoryLock,
}

/// Asks a nimbus to end.
#[derive(Clone, Debug)]
pub struct Stopper {
    sender: Sender<NimbusInput>,
    asked_to_end: Arc<AtomicBool>,
}

impl Stopper {
    /// Asks it to end; `why` stands in its log.
    pub fn stop(&self, why: &str) {
        self.asked_to_end.store(true, Ordering::Release);
        self.sender.send(NimbusInput::Stop(why.to_owned()));
    }
}

/// Runs a nimbus until a signal asks it to end. For the command line.
///
/// # Errors
/// It cannot start or go on, with what to do about it.
pub fn run(settings: DaemonSettings) -> Result<(), String> {
    let file = RotatedFile::new(settings.log_dir.join("nimbus.log"), Rotation::default());
    let log = Log::open("nimbus", file).map_err(|error| format!("the log cannot be started: {error}"))?;
    let result = run_with(settings, &log);
    if let Err(why) = &result {
        log.note(why);
    }
    log.flush(Duration::from_secs(1));
    result
}

fn run_with(settings: DaemonSettings, log: &Log) -> Result<(), String> {
    let daemon = NimbusDaemon::prepare(settings, log.clone())?;
    let (stopper, noted) = (daemon.stopper(), log.clone());
    let signals = Signals::watch(move |signal| {
        noted.note(format_args!("{signal}: ending"));
        stopper.stop("it was asked to end");
    });
    let _signals = signals.map_err(|error| format!("signals cannot be watched: {error}"))?;
    daemon.serve()
}

impl NimbusDaemon {
    /// Starts everything but the loop.
    ///
    /// # Errors
    /// Another nimbus has the local directory, something in it cannot be used, or the port is taken.
    pub fn prepare(settings: DaemonSettings, log: Log) -> Result<Self, String> {
        let local = settings.local_dir.join("nimbus");
        let lock = DirectoryLock::take(&settings.local_dir, "nimbus").map_err(|error| error.to_string())?;
        let listens = settings.socket();
        let listener = port::bind(listens).map_err(|error| {
            format!("nimbus cannot listen at {listens}: {error}; look at nimbus.thrift.port and ringstorm.bind.address")
        })?;
        let listens_at = listener.local_addr().map_err(|error| error.to_string())?;
        let limits = fitting(settings.port, &log);

        let (sender, words) = Words::new();
        let unusable = |path: &Path, error: std::io::Error| format!("{} cannot be used: {error}", path.display());
        let folder = local.join("inbox");
        let (inbox, notes) = Inbox::open(&folder, settings.uploads).map_err(|error| unusable(&folder, error))?;
        notes.iter().for_each(|note| log.note(note));
        let root = local.join("code");
        let opened = CodeDirectory::open(&root, Disk::new()).map_err(|error| unusable(&root, error))?;
        opened.notes.iter().for_each(|note| log.note(note));
        let held = opened.directory.held();
        // The first word that the machine hears.
        sender.send(NimbusInput::Code(CodeEvent::Held(opened.blobs)));

        let cannot = |error: std::io::Error| format!("a thread of nimbus cannot be started: {error}");
        let fetch_limits = FetchLimits { bytes_max: settings.uploads.file_bytes_max, timeouts: Timeouts::default() };
        let fetcher = Fetcher::new(&root, fetch_limits);
        let told = sender.clone();
        let tell = Arc::new(move |event| {
            // Nobody listens when the daemon ends.
            told.send(NimbusInput::Code(event));
        });
        let code = CodeThreads::start(opened.directory, inbox.clone(), fetcher, tell).map_err(cannot)?;

        let (downloads, noted) = (Downloads::new(held.clone(), settings.downloads), log.clone());
        let files = move || Files::new(inbox, downloads, move |note| noted.note(note));
        let (files, _) = Hand::start("files", WAITING_MAX, EXPIRY_PERIOD, files, Files::tick).map_err(cannot)?;
        let store = ZooKeeperStore::open(settings.zookeeper.clone(), || {}).map_err(cannot)?;
        let conf = Arc::new(settings.nimbus.conf.clone());
        let (cluster, of_reader, noted) = (settings.cluster.clone(), Arc::clone(&conf), log.clone());
        let reader = {
            let held = held.clone();
            move || Reader::new(store, cluster, &of_reader, held, move |note| noted.note(note))
        };
        let (reads, _) = Hand::start("reads", WAITING_MAX, EXPIRY_PERIOD, reader, |_| {}).map_err(cannot)?;

        let replies = Replies::default();
        let service = Service {
            requests: Requests::new(sender.clone(), replies.clone()),
            files,
            reads,
            held,
            runnable: Runnable { machine: OWN_MACHINE, wire_format: settings.wire_format.clone() },
            accepting: Accepting { conf, user: settings.nimbus.user.clone() },
            address: settings.address.clone(),
        };
        let (stop_port, stopped) = async_channel::bounded(1);
        let noted = log.clone();
        let of_port = EndsWithThis(sender);
        let serve = move || {
            let _of_port = of_port;
            let of_peers = noted.clone();
            let served = port::serve(listener, limits, service, move |line| of_peers.note(line), &stopped);
            if let Err(error) = served {
                noted.note(format_args!("the port cannot be served: {error}"));
            }
        };
        let port = std::thread::Builder::new().name("port".into()).spawn(serve).map_err(cannot)?;
        log.note(format_args!("{} listens at {listens_at}, as {}", settings.version, settings.address));
        Ok(Self {
            settings,
            log,
            clock: Clock::start(),
            words,
            asked_to_end: Arc::default(),
            replies,
            code,
            port,
            stop_port,
            listens_at,
            _lock: lock,
        })
    }

    /// By which it is asked to end.
    pub fn stopper(&self) -> Stopper {
        Stopper { sender: self.words.sender(), asked_to_end: Arc::clone(&self.asked_to_end) }
    }

    /// Where it listens.
    pub fn listens_at(&self) -> SocketAddr {
        self.listens_at
    }

    /// Serves until it is asked to end.
    ///
    /// # Errors
    /// It cannot live here, with the reason.
    pub fn serve(self) -> Result<(), String> {
        let Self { settings, log, clock, words, asked_to_end, replies, code, port, stop_port, .. } = self;
        let waker = words.waker();
        let store = ZooKeeperStore::open(settings.zookeeper, move || waker.wake());
        let store = store.map_err(|error| format!("a thread for ZooKeeper cannot be started: {error}"))?;
        let identity = Identity { address: settings.address, version: settings.version, random: random_number() };
        let machine = Nimbus::new(settings.cluster, identity, settings.nimbus, clock.now());
        let mut runner = Runner::new(machine, store, NimbusInput::Store, |effect| match effect {
            NimbusEffect::Store(asked) => Ok(asked),
            other => Err(other),
        });
        let why = ringstorm_daemon::run(&mut runner, &words, clock, |effect| {
            match effect {
                // The runner has asked the tree itself.
                NimbusEffect::Store(_) => {}
                NimbusEffect::Reply { id, reply } => replies.give(id, reply),
                NimbusEffect::Code(request) => code.ask(request),
                NimbusEffect::Note(line) => log.note(line),
                NimbusEffect::Stop(why) => return ControlFlow::Break(why),
            }
            ControlFlow::Continue(())
        });
        // From here on whoever asks is told that nobody is there.
        drop(words);
        std::thread::sleep(LAST_ANSWERS);
        stop_port.close();
        // A panic there was told when it happened.
        let _ = port.join();
        // Closes the session.
        drop(runner);
        log.note(format_args!("nimbus has ended: {why}"));
        if asked_to_end.load(Ordering::Acquire) { Ok(()) } else { Err(why) }
    }
}

/// A daemon whose port has ended is of no use: whoever started it starts it again.
struct EndsWithThis(Sender<NimbusInput>);

impl Drop for EndsWithThis {
    fn drop(&mut self) {
        // At the end nobody listens any more.
        self.0.send(NimbusInput::Stop("the thread of the port has failed; its last words are above".into()));
    }
}

/// The limits, with as many connections as there can be files.
fn fitting(limits: PortLimits, log: &Log) -> PortLimits {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    let files = if setrlimit(Resource::Nofile, raised).is_ok() { maximum } else { current };
    let most = files.map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES).max(files / 2));
    let connections_max = limits.connections_max.min(usize::try_from(most).unwrap_or(usize::MAX));
    if connections_max < limits.connections_max {
        log.note(format_args!(
            "at most {connections_max} connections are kept, since this process may open {} files; raise its limit \
             (LimitNOFILE) for more",
            files.unwrap_or_default()
        ));
    }
    PortLimits { connections_max, ..limits }
}
