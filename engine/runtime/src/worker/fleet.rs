//! Workers that are processes of their own, led from this one.
//!
//! Each is started by a command, connects to a Unix socket here, says where it listens, and gets to know where the others
//! do. From then on it is a member like a core: it gets orders, answers readings, and says what happens.
//!
//! Invariants: no process outlives the fleet: those that do not end in time are killed.
//!
//! Threading: a thread for each worker reads what it says, one replaces those that die, and the coordinator's thread uses
//! the rest. Errors: a worker that dies is an error of the run. It is replaced while tuples flow, up to a number of times;
//! later its death ends the run, with its exit status.

mod asking;
mod listener;
mod processes;
mod replacer;
mod silence;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringstorm_types::ComponentId;
use ringstorm_types::assignment::Assignment;

use crate::clock::now_since_1970_us;
use crate::core::events::EventSender;
use crate::debug::DebugListener;
use crate::error::StartError;
use crate::metrics::CoreSnapshot;
use crate::worker::blueprint::Blueprint;
use crate::worker::coordinator::Message;
use crate::worker::members::{Held, LeftBehind, Members, Order, Reading};
use crate::worker::talk::{self, Answer, ToWorker, Wanted};
use asking::{ANSWER_TIMEOUT, Account, Asker, Said};
use listener::Listener;
use processes::{Processes, SocketPath, accept, end, listen, spawn, system};
use replacer::Replacer;
use silence::{Sign, Silences};

/// How long workers may take to say hello: they build the topology first.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);
/// How often one looks whether they did.
const HELLO_LOOK: Duration = Duration::from_millis(2);
/// How long a worker that has said that it ends, or says nothing any more, may take.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Makes the command that starts worker number so, which is to reach this process at that path.
pub type WorkerCommand = Box<dyn FnMut(usize, &Path) -> Command + Send>;

/// A worker that dies as often within a minute is not replaced any more.
const DEATHS_MAX: usize = 20;
/// Components that are named of a worker that has died; the others are counted.
const COMPONENTS_NAMED_MAX: usize = 8;
/// Deaths longer ago than this do not count.
const DEATHS_WINDOW: Duration = Duration::from_secs(60);

/// What the replacing thread hears of.
enum News {
    /// A worker is to be replaced.
    Died(usize),
    Stop,
}

/// See the module.
pub(crate) struct Fleet {
    shared: Arc<Shared>,
    asker: Asker,
    silences: Silences,
    /// When it was last looked whether all of them answer.
    looked: Instant,
    news: Sender<News>,
    replacing: Option<JoinHandle<()>>,
    /// By worker: when it died.
    deaths: Vec<VecDeque<Instant>>,
}

/// What the threads of a fleet have in common.
struct Shared {
    blueprint: Arc<Blueprint>,
    workers: Vec<Mutex<Worker>>,
    events: EventSender,
    answers: Sender<(usize, Said)>,
    debug: Mutex<Option<DebugListener>>,
    /// Where the workers reach this process.
    path: SocketPath,
}

struct Worker {
    process: Option<Child>,
    stream: Option<UnixStream>,
    /// What a thread of its own writes to it, so that one that stands still and reads nothing holds up nobody.
    outbox: Option<Sender<ToWorker>>,
    account: Account,
    /// How many messages came from it.
    heard: u64,
    /// Every connection of it is ready, and it answers.
    is_ready: bool,
    incarnation: u64,
    address: String,
}

impl Fleet {
    /// Starts the workers. What happens to them goes to `messages`.
    pub(crate) fn start(
        blueprint: &Arc<Blueprint>,
        mut command: WorkerCommand,
        messages: &Sender<Message>,
        on_debug: Option<DebugListener>,
    ) -> Result<Self, StartError> {
        let (path, listener) = listen(blueprint.seed)?;
        let count = blueprint.assignment.workers.len();
        let mut processes = Processes(Vec::new());
        for worker in 0..count {
            let mut command = command(worker, &path.socket());
            let refused = |error| StartError::Worker(format!("worker {worker} cannot be started: {error}"));
            processes.0.push(spawn(&mut command).map_err(refused)?);
        }
        let mut hellos: Vec<Option<(UnixStream, String)>> = (0..count).map(|_| None).collect();
        let until = Instant::now() + HELLO_TIMEOUT;
        while hellos.iter().any(Option::is_none) {
            if let Some((stream, worker, address)) = accept(&listener).map_err(system("hearing from a worker"))?
                && let Some(place) = hellos.get_mut(worker)
            {
                *place = Some((stream, address));
                continue;
            }
            processes.check()?;
            if Instant::now() >= until {
                let silent = hellos.iter().position(Option::is_none).unwrap_or_default();
                return Err(StartError::Worker(format!(
                    "worker {silent} has not said hello within {HELLO_TIMEOUT:?}; see what its process waits for"
                )));
            }
            std::thread::sleep(HELLO_LOOK);
        }
        let (answer, answers) = channel();
        let (news, news_inbox) = channel();
        let incarnation = now_since_1970_us();
        let workers =
            processes.take().into_iter().zip(hellos.into_iter().flatten()).map(|(process, (stream, address))| {
                Mutex::new(Worker {
                    process: Some(process),
                    stream: Some(stream),
                    outbox: None,
                    account: Account::default(),
                    heard: 0,
                    is_ready: false,
                    incarnation,
                    address,
                })
            });
        let shared = Arc::new(Shared {
            blueprint: Arc::clone(blueprint),
            workers: workers.collect(),
            events: EventSender::new(messages.clone()),
            answers: answer,
            debug: Mutex::new(on_debug),
            path,
        });
        for worker in 0..count {
            shared.set_up(worker).map_err(system("telling a worker what to do"))?;
        }
        let replacer = Replacer { shared: Arc::clone(&shared), listener, command, news: news_inbox };
        let thread = std::thread::Builder::new().name("ringstorm-replacer".into());
        let replacing = thread.spawn(move || replacer.run()).map_err(system("starting a thread (limit: processes)"))?;
        let deaths = vec![VecDeque::new(); count];
        Ok(Self {
            shared,
            asker: Asker::new(answers),
            silences: Silences::new(count),
            looked: Instant::now(),
            news,
            replacing: Some(replacing),
            deaths,
        })
    }
}

impl Worker {
    fn tell(&self, message: ToWorker) {
        if let Some(outbox) = &self.outbox {
            // One that is gone is noticed by its listener.
            let _ = outbox.send(message);
        }
    }
}

impl Shared {
    fn worker(&self, worker: usize) -> MutexGuard<'_, Worker> {
        self.workers[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, worker: usize, message: ToWorker) {
        self.worker(worker).tell(message);
    }

    /// The assignment with who is where now. Spouts wait for an order.
    fn assignment(&self) -> Box<Assignment> {
        let mut assignment = Assignment { active: false, ..(*self.blueprint.assignment).clone() };
        for (index, assigned) in assignment.workers.iter_mut().enumerate() {
            let worker = self.worker(index);
            assigned.incarnation = worker.incarnation;
            assigned.address.clone_from(&worker.address);
        }
        Box::new(assignment)
    }

    /// Tells all workers but one who is where now.
    fn reassign(&self, but: usize) {
        let message = ToWorker::Assignment(self.assignment());
        let others = (0..self.workers.len()).filter(|worker| *worker != but);
        others.for_each(|worker| self.tell(worker, message.clone()));
    }

    /// Tells a worker what to do, and begins to hear what it says.
    fn set_up(self: &Arc<Self>, worker: usize) -> io::Result<()> {
        let assignment = ToWorker::Assignment(self.assignment());
        let mut state = self.worker(worker);
        let stream = state.stream.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let (reader, mut writer) = (stream.try_clone()?, stream.try_clone()?);
        let (outbox, messages) = channel();
        state.account = Account::default();
        state.outbox = Some(outbox);
        state.tell(assignment);
        let thread = |what: &str| std::thread::Builder::new().name(format!("ringstorm-{what}-{worker}"));
        thread("tell").spawn(move || {
            messages.into_iter().take_while(|message| talk::write(&mut writer, message).is_ok()).for_each(drop);
        })?;
        let listener = Listener { worker, incarnation: state.incarnation, shared: Arc::clone(self) };
        thread("worker").spawn(move || listener.run(reader)).map(drop)
    }
}

impl Members for Fleet {
    fn count(&self) -> usize {
        self.shared.workers.len()
    }

    fn first_core(&self) -> usize {
        0
    }

    fn tell(&mut self, member: usize, order: Order) {
        self.shared.tell(member, ToWorker::Order(order));
    }

    fn name(&self, member: usize) -> String {
        format!("worker {member}")
    }

    fn replace(&mut self, member: usize, goes_on: bool) -> Result<String, String> {
        let status = {
            let process = self.shared.worker(member).process.take();
            let status = process.and_then(|mut process| end(&mut process, Instant::now() + EXIT_TIMEOUT));
            status.map_or_else(|| "for an unknown reason".to_owned(), |status| status.to_string())
        };
        let deaths = &mut self.deaths[member];
        deaths.push_back(Instant::now());
        deaths.retain(|at| at.elapsed() < DEATHS_WINDOW);
        if !goes_on {
            return Err(format!(
                "has died ({status}) before the first tuple or while the run ended; what it held is lost, and the result may \
                 be incomplete"
            ));
        }
        if deaths.len() > DEATHS_MAX {
            return Err(format!("has died {} times within a minute, the last time: {status}", deaths.len()));
        }
        let _ = self.news.send(News::Died(member));
        let components = self.shared.blueprint.components.iter();
        let there: Vec<&str> =
            components.filter(|id| self.hosts_of(id).contains(&member)).map(ComponentId::as_str).collect();
        let lost = what_is_lost(&there);
        Ok(format!("has died ({status}); another process takes its place. {lost}"))
    }

    fn tell_all(&mut self, order: Order) {
        for worker in 0..self.count() {
            self.tell(worker, order);
        }
    }

    fn hosts_of(&self, component: &ComponentId) -> BTreeSet<usize> {
        let blueprint = &self.shared.blueprint;
        blueprint.threads_of(component).into_iter().map(|thread| blueprint.threads[thread].worker).collect()
    }

    fn reading(&mut self) -> Option<Reading> {
        // Nobody waits for those that owe answers already.
        if self.shared.all_answer() { self.asker.reading(&self.shared) } else { None }
    }

    fn partial_reading(&mut self) -> (Reading, BTreeSet<usize>) {
        self.asker.partial_reading(&self.shared)
    }

    fn snapshots(&mut self, timeout: Duration) -> (Vec<CoreSnapshot>, BTreeSet<usize>) {
        let (mut snapshots, mut answered) = (Vec::new(), BTreeSet::new());
        self.asker.ask(&self.shared, Wanted::Snapshots, timeout + ANSWER_TIMEOUT, |worker, answer| {
            if let Answer::Snapshots(of_worker) = answer {
                answered.insert(worker);
                snapshots.extend(of_worker);
            }
        });
        snapshots.sort_by_key(|snapshot| snapshot.core);
        (snapshots, answered)
    }

    fn look(&mut self) -> Vec<String> {
        let passed = std::mem::replace(&mut self.looked, Instant::now()).elapsed();
        let mut news = Vec::new();
        for worker in 0..self.count() {
            let state = self.shared.worker(worker);
            let sign = Sign { heard: state.heard, owes_answers: state.account.owes_answers() };
            news.extend(self.silences.look(worker, state.outbox.is_some().then_some(sign), passed));
        }
        self.asker.nudge(&self.shared);
        news
    }

    fn held(&self) -> Vec<(usize, Held)> {
        // Workers name those who hold their cores themselves.
        Vec::new()
    }

    fn left_behind(&self, member: usize) -> LeftBehind {
        let text = "has not ended although it was told to: its process is killed".to_owned();
        LeftBehind { component: self.name(member), text, is_thread: false }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = self.news.send(News::Stop);
        for worker in 0..self.shared.workers.len() {
            if let Some(stream) = &self.shared.worker(worker).stream {
                // Its reader sees the end, and the worker ends.
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
        }
        if let Some(thread) = self.replacing.take() {
            let _ = thread.join();
        }
        let until = Instant::now() + EXIT_TIMEOUT;
        for worker in 0..self.shared.workers.len() {
            if let Some(mut process) = self.shared.worker(worker).process.take() {
                end(&mut process, until);
            }
        }
        // The threads that listen may be at their last words when this process ends.
        self.shared.path.remove();
    }
}

/// What goes with a worker that ran tasks of these components.
fn what_is_lost(components: &[&str]) -> String {
    let (named, others) = components.split_at(components.len().min(COMPONENTS_NAMED_MAX));
    let others = if others.is_empty() { String::new() } else { format!(" and {} others", others.len()) };
    let held = if named.is_empty() {
        String::new()
    } else {
        format!("what its tasks of {}{others} held in memory, and ", named.join(", "))
    };
    format!(
        "Lost with it: {held}tuples there that were not anchored. Messages that may have been there fail, for their spouts \
         to emit again"
    )
}
