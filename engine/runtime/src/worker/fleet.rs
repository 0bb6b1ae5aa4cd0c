//! Workers that are processes of their own, led from this one.
//!
//! Each is started by a command, connects to a Unix socket here, says where it listens, and gets to know where the others
//! do. From then on it is a member like a core: it gets orders, answers readings, and says what happens.
//!
//! Invariants: no process outlives the fleet: those that do not end in time are killed.
//!
//! Threading: a thread for each worker reads what it says; the coordinator's thread uses the rest. Errors: a worker that
//! dies ends the run, with its exit status.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use ringstorm_types::{ComponentId, TaskId};
use serde::Serialize;

use crate::core::failure::TaskFailure;
use crate::core::status::Event;
use crate::debug::DebugListener;
use crate::error::StartError;
use crate::metrics::CoreSnapshot;
use crate::worker::admission::random_bytes;
use crate::worker::blueprint::Blueprint;
use crate::worker::coordinator::Message;
use crate::worker::members::{Held, Members, Order, Reading, Received, Sent};
use crate::worker::talk::{self, FromWorker, Setup, ToWorker};

/// How long workers may take to say hello: they build the topology first.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a worker may take to answer a question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a worker that has said that it ends may take.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The assignment of a run that never changes it.
const ASSIGNMENT_VERSION: i64 = 1;

/// Makes the command that starts worker number so, which is to reach this process at that path.
pub type WorkerCommand = Box<dyn FnMut(usize, &Path) -> Command + Send>;

/// What a worker answers to a question.
enum Answer {
    Received(Received),
    Sent(Sent),
    Snapshots(Vec<CoreSnapshot>),
}

struct Worker {
    process: Child,
    stream: UnixStream,
}

/// See the module.
pub(crate) struct Fleet {
    blueprint: Arc<Blueprint>,
    workers: Vec<Worker>,
    answers: Receiver<(usize, Answer)>,
}

/// The directory of the socket, which goes with it.
struct SocketPath(PathBuf);

impl Drop for SocketPath {
    fn drop(&mut self) {
        // Whoever cleans the directory of temporary files may have been faster.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Fleet {
    /// Starts the workers. What happens to them goes to `messages`.
    pub(crate) fn start(
        blueprint: &Arc<Blueprint>,
        mut command: WorkerCommand,
        messages: &Sender<Message>,
        on_debug: Option<DebugListener>,
    ) -> Result<Self, StartError> {
        let system = |what: &str| {
            let what = what.to_owned();
            move |source| StartError::System { what, source }
        };
        let directory = std::env::temp_dir().join(format!("ringstorm-{:016x}", blueprint.seed));
        std::fs::create_dir(&directory).map_err(system("making a directory for a socket"))?;
        let directory = SocketPath(directory);
        let path = directory.0.join("leader");
        let listener = UnixListener::bind(&path).map_err(system("making a socket for the workers"))?;
        listener.set_nonblocking(true).map_err(system("making a socket for the workers"))?;
        let count = blueprint.share.workers.get();
        let mut processes = Processes(Vec::new());
        for worker in 0..count {
            let process = command(worker, &path).spawn().map_err(system("starting a worker process"))?;
            processes.0.push(process);
        }
        let mut hellos: Vec<Option<(UnixStream, String)>> = (0..count).map(|_| None).collect();
        let until = Instant::now() + HELLO_TIMEOUT;
        while hellos.iter().any(Option::is_none) {
            let hello = accept(&listener).map_err(system("hearing from a worker"))?;
            if let Some((stream, worker, address)) = hello
                && let Some(place) = hellos.get_mut(worker)
            {
                *place = Some((stream, address));
                continue;
            }
            processes.check().map_err(system("starting a worker"))?;
            if Instant::now() >= until {
                let late = io::Error::from(io::ErrorKind::TimedOut);
                return Err(StartError::System { what: "waiting for the workers to start".into(), source: late });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let hellos: Vec<(UnixStream, String)> = hellos.into_iter().flatten().collect();
        let now_us = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_micros();
        let setup = Setup {
            topology_id: blueprint.facts.id.clone(),
            seed: blueprint.seed,
            secret: random_bytes().to_vec(),
            assignment_version: ASSIGNMENT_VERSION,
            incarnations: vec![u64::try_from(now_us).unwrap_or(u64::MAX); count],
            addresses: hellos.iter().map(|(_, address)| address.clone()).collect(),
        };
        let (answer, answers) = channel();
        let debug = Arc::new(std::sync::Mutex::new(on_debug));
        let mut workers = Vec::new();
        for ((worker, process), (mut stream, _)) in processes.take().into_iter().enumerate().zip(hellos) {
            talk::write(&mut stream, &ToWorker::Setup(setup.clone())).map_err(system("telling a worker what to do"))?;
            let reader = stream.try_clone().map_err(system("duplicating a socket (limit: open files)"))?;
            let listener =
                Listener { worker, messages: messages.clone(), answers: answer.clone(), debug: Arc::clone(&debug) };
            std::thread::Builder::new()
                .name(format!("ringstorm-worker-{worker}"))
                .spawn(move || listener.run(reader))
                .map_err(system("starting a thread (limit: processes)"))?;
            workers.push(Worker { process, stream });
        }
        Ok(Self { blueprint: Arc::clone(blueprint), workers, answers })
    }

    fn tell(&mut self, worker: usize, message: &impl Serialize) {
        // One that is gone is noticed by its listener.
        let _ = talk::write(&mut self.workers[worker].stream, message);
    }

    /// Asks all workers and takes their answers as long as all come in time.
    fn ask(&mut self, question: &ToWorker, timeout: Duration, mut take: impl FnMut(usize, Answer)) -> bool {
        // Answers that came too late for whoever asked before.
        while self.answers.try_recv().is_ok() {}
        for worker in 0..self.workers.len() {
            self.tell(worker, question);
        }
        let until = Instant::now() + timeout;
        let mut heard = BTreeSet::new();
        while heard.len() < self.workers.len() {
            match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((worker, answer)) => {
                    heard.insert(worker);
                    take(worker, answer);
                }
                Err(_) => return false,
            }
        }
        true
    }
}

impl Members for Fleet {
    fn count(&self) -> usize {
        self.workers.len()
    }

    fn first_core(&self) -> usize {
        0
    }

    fn tell_all(&mut self, order: Order) {
        for worker in 0..self.workers.len() {
            self.tell(worker, &ToWorker::Order(order));
        }
    }

    fn hosts_of(&self, component: &ComponentId) -> BTreeSet<usize> {
        let threads = self.blueprint.threads_of(component).into_iter();
        threads.map(|thread| self.blueprint.threads[thread].worker).collect()
    }

    fn reading(&mut self) -> Option<Reading> {
        let mut reading = Reading::default();
        let received = self.ask(&ToWorker::ReadReceived, ANSWER_TIMEOUT, |_, answer| {
            if let Answer::Received(part) = answer {
                reading.received += part;
            }
        });
        let sent = received
            && self.ask(&ToWorker::ReadSent, ANSWER_TIMEOUT, |_, answer| {
                if let Answer::Sent(part) = answer {
                    reading.sent += part;
                }
            });
        sent.then_some(reading)
    }

    fn snapshots(&mut self, timeout: Duration) -> (Vec<CoreSnapshot>, BTreeSet<usize>) {
        let (mut snapshots, mut answered) = (Vec::new(), BTreeSet::new());
        self.ask(&ToWorker::ReadSnapshots, timeout + ANSWER_TIMEOUT, |worker, answer| {
            if let Answer::Snapshots(of_worker) = answer {
                answered.insert(worker);
                snapshots.extend(of_worker);
            }
        });
        snapshots.sort_by_key(|snapshot| snapshot.core);
        (snapshots, answered)
    }

    fn held(&self) -> Vec<(usize, Held)> {
        // Workers name those who hold their cores themselves.
        Vec::new()
    }

    fn holder(&self, member: usize) -> Held {
        Held { component: format!("worker {member}"), time: Duration::ZERO }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &self.workers {
            // Its reader sees the end, and the worker ends.
            let _ = worker.stream.shutdown(std::net::Shutdown::Both);
        }
        let until = Instant::now() + EXIT_TIMEOUT;
        for worker in &mut self.workers {
            end(&mut worker.process, until);
        }
    }
}

/// Waits for a process until then, and kills it.
fn end(process: &mut Child, until: Instant) {
    while matches!(process.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            let _ = process.kill();
            let _ = process.wait();
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Processes that are killed unless they are taken.
struct Processes(Vec<Child>);

impl Processes {
    fn take(&mut self) -> Vec<Child> {
        std::mem::take(&mut self.0)
    }

    /// Whether all of them still run.
    fn check(&mut self) -> io::Result<()> {
        for (worker, process) in self.0.iter_mut().enumerate() {
            if let Some(status) = process.try_wait()? {
                return Err(io::Error::other(format!("worker {worker} ended before it was ready: {status}")));
            }
        }
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A worker that has connected, its number and where it listens.
fn accept(listener: &UnixListener) -> io::Result<Option<(UnixStream, usize, String)>> {
    let mut stream = match listener.accept() {
        Ok((stream, _)) => stream,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error),
    };
    stream.set_nonblocking(false)?;
    Ok(match talk::read(&mut stream)? {
        Some(FromWorker::Hello { worker, address }) => Some((stream, worker, address)),
        _ => None,
    })
}

/// Hears what a worker says.
struct Listener {
    worker: usize,
    messages: Sender<Message>,
    answers: Sender<(usize, Answer)>,
    debug: Arc<std::sync::Mutex<Option<DebugListener>>>,
}

impl Listener {
    fn run(mut self, mut stream: UnixStream) {
        let mut has_ended = false;
        while let Ok(Some(message)) = talk::read(&mut stream) {
            has_ended |= matches!(message, FromWorker::Ended { .. });
            self.hear(message);
        }
        if !has_ended {
            let panic = Some("its process has ended without a word; its own output may say why".into());
            self.tell(Event::Ended { core: self.worker, panic });
        }
    }

    fn hear(&mut self, message: FromWorker) {
        let worker = self.worker;
        let told = match message {
            FromWorker::Hello { .. } => return,
            FromWorker::Ready => Event::Ready,
            FromWorker::Idle => Event::Idle,
            FromWorker::Finished { component } => Event::Finished { core: worker, component },
            FromWorker::Failed { component, task, text, fatal } => {
                let Ok(component) = ComponentId::new(component) else { return };
                let text = self.with_origin(&text);
                Event::Failed { failure: TaskFailure { component, task: TaskId(task), text, fatal } }
            }
            FromWorker::Reported { component, task, text } => {
                Event::Reported { component, task, text: self.with_origin(&text) }
            }
            FromWorker::MoreReported { count } => Event::MoreReported { count },
            FromWorker::Note { text } => {
                let text = self.with_origin(&text);
                Event::Noted { text }
            }
            FromWorker::Ended { panic } => Event::Ended { core: worker, panic },
            FromWorker::Debug { line } => {
                if let Ok(mut listener) = self.debug.lock() {
                    match &mut *listener {
                        Some(listener) => listener(&line),
                        None => eprintln!("{line}"),
                    }
                }
                return;
            }
            FromWorker::Received(part) => return self.answer(Answer::Received(part)),
            FromWorker::Sent(part) => return self.answer(Answer::Sent(part)),
            FromWorker::Snapshots(part) => return self.answer(Answer::Snapshots(part)),
        };
        self.tell(told);
    }

    fn with_origin(&self, text: &str) -> String {
        format!("[worker {}] {text}", self.worker)
    }

    fn tell(&self, event: Event) {
        let _ = self.messages.send(Message::Core(event));
    }

    fn answer(&self, answer: Answer) {
        let _ = self.answers.send((self.worker, answer));
    }
}
