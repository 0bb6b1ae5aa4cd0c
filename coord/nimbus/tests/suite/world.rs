//! A cluster of which only the nimbuses are real.
//!
//! Each nimbus has a client of one ensemble in memory and a code directory. Effects are done at once, in order; time moves
//! from one moment at which somebody has something to do to the next. After each step it is looked at that no slot belongs
//! to two topologies.

mod doing;
mod tree;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ringstorm_control::machine::Machine;
use ringstorm_control::talks::FromStore;
use ringstorm_control::tickets::Tickets;
use ringstorm_control::time::{Moment, Now};
use ringstorm_nimbus::interface::{CodeEvent, HeldBlob, Refusal, Reply, Request, RequestId};
use ringstorm_nimbus::{Identity, Nimbus, NimbusInput, NimbusSettings};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::znode::{NodeName, Root};
use ringstorm_store::cluster::{Cluster, ClusterAcls};
use ringstorm_store::memory::{Ensemble, Loss, MemoryStore, SharedEnsemble};
use ringstorm_store::store::{Event, SessionEvent, SessionId, Store};

use doing::delete_first_place;
pub(crate) use tree::slots;

/// When the world begins, by the time of day.
const BEGINNING_SECS: u64 = 1_795_972_824;

pub(crate) struct World {
    pub(crate) ensemble: SharedEnsemble,
    pub(crate) now: Duration,
    pub(crate) daemons: Vec<Daemon>,
    settings: NimbusSettings,
    #[cfg(feature = "planted-bugs")]
    pub(crate) plants: ringstorm_nimbus::Plants,
    supervisors: BTreeMap<String, SessionId>,
    /// Workers beat in every slot that is assigned on these supervisors.
    pub(crate) silent: BTreeSet<String>,
    beats_at: Duration,
    observer: SessionId,
    next_request: u64,
    writes_checked: usize,
    pub(crate) replies: BTreeMap<RequestId, Result<Reply, Refusal>>,
    pub(crate) notes: Vec<String>,
}

/// A nimbus on its host.
pub(crate) struct Daemon {
    pub(crate) host: String,
    running: Option<Running>,
    pub(crate) directory: BTreeMap<NodeName, HeldBlob>,
    pub(crate) stopped: Option<String>,
    pub(crate) starts: u128,
    /// Uploads that are here; all of them if `None`.
    pub(crate) has_uploads: bool,
    /// Writes that are done before it crashes.
    crashes_after: Option<usize>,
    /// After how many writes the outcome of one is lost, and how.
    loses: Option<(usize, Loss)>,
    /// Every how manieth read fails.
    pub(crate) fails_reads: Option<usize>,
    reads: usize,
    /// After how many writes its place is deleted without its hearing of it.
    pub(crate) deposed_after: Option<usize>,
    /// How many writes it asked for.
    pub(crate) writes: usize,
}

impl Daemon {
    /// What was to happen to it does not.
    pub(crate) fn calm_down(&mut self) {
        self.crashes_after = None;
        self.loses = None;
        self.fails_reads = None;
        self.deposed_after = None;
    }
}

struct Running {
    nimbus: Nimbus,
    store: MemoryStore,
    session: Option<SessionId>,
    tickets: Tickets,
    code_events: VecDeque<CodeEvent>,
    /// Outcomes of reads that failed.
    failed: VecDeque<FromStore>,
}

pub(crate) fn cluster() -> Cluster {
    Cluster::new(Root::new("/storm").unwrap(), ClusterAcls::open())
}

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

impl World {
    pub(crate) fn new(hosts: &[&str]) -> Self {
        Self::with(hosts, NimbusSettings::default())
    }

    pub(crate) fn with(hosts: &[&str], settings: NimbusSettings) -> Self {
        let mut settings = settings;
        // As in Storm's defaults.yaml.
        settings.conf.insert("topology.eventlogger.executors".into(), 0.into());
        let mut ensemble = Ensemble::new(1);
        let observer = ensemble.open(0, &[]);
        let daemon = |host: &&str| Daemon {
            host: (*host).to_owned(),
            running: None,
            directory: BTreeMap::new(),
            stopped: None,
            starts: 0,
            has_uploads: true,
            crashes_after: None,
            loses: None,
            fails_reads: None,
            reads: 0,
            deposed_after: None,
            writes: 0,
        };
        let mut world = Self {
            ensemble: SharedEnsemble::new(ensemble),
            now: Duration::from_secs(1000),
            daemons: hosts.iter().map(daemon).collect(),
            settings,
            #[cfg(feature = "planted-bugs")]
            plants: ringstorm_nimbus::Plants::default(),
            supervisors: BTreeMap::new(),
            silent: BTreeSet::new(),
            beats_at: Duration::ZERO,
            observer,
            next_request: 0,
            writes_checked: 0,
            replies: BTreeMap::new(),
            notes: Vec::new(),
        };
        for index in 0..hosts.len() {
            world.start(index);
        }
        world
    }

    fn now(&self) -> Now {
        Now { moment: Moment(self.now), wall: self.now + Duration::from_secs(BEGINNING_SECS) }
    }

    pub(crate) fn address(&self, index: usize) -> NimbusAddress {
        let (host, port) = self.daemons[index].host.split_once(':').unwrap_or((&self.daemons[index].host, "6627"));
        NimbusAddress::new(host, port.parse().unwrap(), 0).unwrap()
    }

    /// Starts the process of a nimbus.
    pub(crate) fn start(&mut self, index: usize) {
        let (now, address) = (self.now(), self.address(index));
        let daemon = &mut self.daemons[index];
        daemon.starts += 1;
        let random = ((index as u128 + 1) << 100) | (daemon.starts << 64);
        let identity = Identity { address, version: "2.8.2-ringstorm.0.1.0".into(), random };
        let nimbus = Nimbus::new(cluster(), identity, self.settings.clone(), now);
        #[cfg(feature = "planted-bugs")]
        let nimbus = nimbus.with_plants(self.plants);
        let held = CodeEvent::Held(daemon.directory.values().cloned().collect());
        daemon.running = Some(Running {
            nimbus,
            store: MemoryStore::open(&self.ensemble, 0, &[]),
            session: None,
            tickets: Tickets::default(),
            code_events: [held].into(),
            failed: VecDeque::new(),
        });
    }

    /// Ends the process of a nimbus. Its session goes on until [`Self::forget_sessions`].
    pub(crate) fn crash(&mut self, index: usize) {
        if let Some(mut running) = self.daemons[index].running.take() {
            // Its connection is lost, and its session is left to expire.
            running.store.disconnect();
        }
    }

    /// Asks a nimbus to end.
    pub(crate) fn end(&mut self, index: usize) {
        let now = self.now();
        let running = self.daemons[index].running.as_mut().unwrap();
        let effects = running.nimbus.handle(now, NimbusInput::Stop("it was asked to end".into()));
        self.perform(index, effects);
    }

    /// The sessions of nobody expire.
    pub(crate) fn forget_sessions(&mut self) {
        // Who has just opened one has to hear of it.
        self.settle();
        let mut living: BTreeSet<SessionId> = self.supervisors.values().copied().collect();
        living.insert(self.observer);
        living.extend(self.daemons.iter().filter_map(|daemon| daemon.running.as_ref()?.session));
        self.ensemble.with(|ensemble| {
            for session in ensemble.sessions().collect::<Vec<_>>() {
                if !living.contains(&session) {
                    ensemble.end(session);
                }
            }
        });
    }

    pub(crate) fn store(&mut self, index: usize) -> &mut MemoryStore {
        &mut self.daemons[index].running.as_mut().unwrap().store
    }

    /// Crashes a nimbus when so many more writes of it were done, before it hears of the last.
    pub(crate) fn crash_after(&mut self, index: usize, writes: usize) {
        self.daemons[index].crashes_after = Some(writes);
    }

    pub(crate) fn is_running(&self, index: usize) -> bool {
        self.daemons[index].running.is_some()
    }

    pub(crate) fn is_leading(&self, index: usize) -> bool {
        self.daemons[index].running.as_ref().is_some_and(|running| running.nimbus.is_leading())
    }

    pub(crate) fn leader(&self) -> Option<usize> {
        (0..self.daemons.len()).find(|index| self.is_leading(*index))
    }

    /// Asks a nimbus for something.
    pub(crate) fn ask(&mut self, index: usize, request: Request) -> RequestId {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        let now = self.now();
        match &mut self.daemons[index].running {
            Some(running) => {
                let effects = running.nimbus.handle(now, NimbusInput::Request { id, request });
                self.perform(index, effects);
            }
            None => {
                self.replies.insert(id, Err(Refusal::Unknown("nobody is there".into())));
            }
        }
        id
    }

    /// Asks a nimbus for something, and lets time go on until there is an answer.
    pub(crate) fn answer(&mut self, index: usize, request: Request) -> Result<Reply, Refusal> {
        let id = self.ask(index, request);
        for _ in 0..200 {
            self.settle();
            if let Some(reply) = self.replies.remove(&id) {
                return reply;
            }
            if !self.is_running(index) {
                return Err(Refusal::Unknown("the connection broke".into()));
            }
            self.run_for(Duration::from_secs(1));
        }
        panic!("no answer came; {:#?}", self.notes);
    }

    /// Asks whoever leads, again and again, until somebody knows.
    pub(crate) fn insist(&mut self, request: &Request) -> Result<Reply, Refusal> {
        for _ in 0..100 {
            let asked = self.leader().map(|leader| self.answer(leader, request.clone()));
            match asked {
                Some(Err(Refusal::TryAgain(_) | Refusal::Unknown(_) | Refusal::NotLeader { .. })) | None => {
                    self.run_for(Duration::from_secs(2));
                    self.revive();
                }
                Some(answer) => return answer,
            }
        }
        panic!("nobody knows; {:#?}", self.notes);
    }

    /// Starts whoever crashed.
    pub(crate) fn revive(&mut self) {
        for index in 0..self.daemons.len() {
            if !self.is_running(index) && self.daemons[index].stopped.is_none() {
                self.daemons[index].crashes_after = None;
                self.forget_sessions();
                self.start(index);
            }
        }
    }

    /// Somebody deletes the place of whoever is first in the queue.
    pub(crate) fn delete_first_place(&mut self) {
        delete_first_place(&self.ensemble, self.observer);
    }

    /// Lets time go on.
    pub(crate) fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        let mut woken_at_once = 0;
        loop {
            self.settle();
            let due = self.daemons.iter().filter_map(|daemon| daemon.running.as_ref()?.nimbus.wake_at());
            let due = due.map(|moment| moment.0).chain([self.beats_at]).min().unwrap();
            if due > end {
                break;
            }
            // Whoever is woken in vain would keep a processor busy.
            woken_at_once = if due <= self.now { woken_at_once + 1 } else { 0 };
            assert!(woken_at_once < 50, "somebody wants to be woken again and again; {:#?}", self.notes);
            self.now = due.max(self.now);
            if self.now >= self.beats_at {
                self.beat();
            }
            let now = self.now();
            for index in 0..self.daemons.len() {
                if let Some(running) = &mut self.daemons[index].running {
                    let effects = running.nimbus.wake(now);
                    self.perform(index, effects);
                }
            }
        }
        self.now = end;
        self.settle();
    }

    pub(crate) fn run_secs(&mut self, secs: u64) {
        self.run_for(Duration::from_secs(secs));
    }

    /// Lets everybody hear what there is to hear, at this moment.
    pub(crate) fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 100_000, "this does not end: {:#?}", self.notes.iter().rev().take(20).collect::<Vec<_>>());
            let mut is_quiet = true;
            for index in 0..self.daemons.len() {
                let now = self.now();
                let Some(running) = &mut self.daemons[index].running else { continue };
                let input = if let Some(event) = running.code_events.pop_front() {
                    Some(NimbusInput::Code(event))
                } else if let Some(failed) = running.failed.pop_front() {
                    Some(NimbusInput::Store(failed))
                } else {
                    let event = running.store.poll();
                    if let Some(Event::Session(SessionEvent::Opened { session, .. })) = &event {
                        running.session = Some(*session);
                    }
                    event.map(|event| running.tickets.take(event).map(NimbusInput::Store)).unwrap_or_default()
                };
                if let Some(input) = input {
                    is_quiet = false;
                    let effects = running.nimbus.handle(now, input);
                    self.perform(index, effects);
                }
            }
            if is_quiet {
                return;
            }
            self.check();
        }
    }

    /// Makes the outcome of a write of a nimbus unknown, after so many that are not.
    pub(crate) fn lose_after(&mut self, index: usize, writes: usize, loss: Loss) {
        self.daemons[index].loses = Some((writes, loss));
    }
}
