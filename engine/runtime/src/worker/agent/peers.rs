//! The connections of a worker to the cores of others: who is to be connected with whom, who dials, what is ready, who is
//! away, and what its own cores must be told.
//!
//! Of two workers the one with the lower number dials.
//!
//! Invariants: a core hears that a process is another before it hears of a connection to the new one.
//!
//! Threading: belongs to the agent's thread. Errors: what goes wrong with connections is said in notes; the keeper tries
//! again for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringstorm_net::{Keeper, KeeperEvent, Lost, Route};
use ringstorm_types::assignment::Assignment;
use ringstorm_types::generations::Generations;

use crate::core::status::{Command, CommandBox};
use crate::core::together::Together;
use crate::worker::agent::admission::SharedKnown;
use crate::worker::agent::change::Stay;
use crate::worker::agent::speech::Kind;
use crate::worker::agent::waiting::Waiting;
use crate::worker::blueprint::{Blueprint, Place};

/// What comes by a newer assignment waits so long for that one: one worker hears of it later than another, and what it
/// would do meanwhile by the old one might be acked nowhere. Longer would hold up those that have it.
const AHEAD_TIME: Duration = Duration::from_secs(3);

/// The connections of one worker.
pub(crate) struct Peers {
    own: u64,
    cores: Vec<Arc<CommandBox>>,
    keeper: Keeper,
    known: SharedKnown,
    /// By own core: the places behind its peers, in their order.
    places: Vec<Vec<Place>>,
    /// The connections that there are to be: which core's which peer each is.
    routes: BTreeMap<Route, (usize, usize)>,
    /// By worker: the incarnation that the cores take its cores for.
    incarnations: BTreeMap<u64, u64>,
    /// Workers whose current process some core has, or had, a connection to.
    attached: BTreeSet<u64>,
    /// Connections that were never ready.
    missing: BTreeSet<Route>,
    /// Connections that were lost, and when.
    lost: BTreeMap<Route, Instant>,
    /// Those that were lost too long ago.
    away: BTreeSet<Route>,
    absence: Duration,
    /// A newer assignment, by which a peer runs already, and since when that is known.
    ahead: Option<(i64, Instant)>,
    waiting: Waiting,
    started: Instant,
    /// By worker: where it is dialed, as the assignment has it. Empty where that is not known.
    addresses: BTreeMap<u64, String>,
}

impl Peers {
    /// The connections of the blueprint; none is dialed yet. Who is longer away than `absence` holds nobody.
    pub(crate) fn new(
        blueprint: &Blueprint,
        cores: &[Arc<CommandBox>],
        keeper: Keeper,
        known: SharedKnown,
        absence: Duration,
    ) -> Self {
        let incarnations = blueprint.assignment.workers.iter().map(|worker| (worker.number, worker.incarnation));
        let mut peers = Self {
            own: blueprint.own_number(),
            cores: cores.to_vec(),
            keeper,
            known,
            places: blueprint.own_threads().map(|thread| blueprint.peers(thread)).collect(),
            routes: BTreeMap::new(),
            incarnations: incarnations.collect(),
            attached: BTreeSet::new(),
            missing: BTreeSet::new(),
            lost: BTreeMap::new(),
            away: BTreeSet::new(),
            absence,
            ahead: None,
            waiting: Waiting::default(),
            started: Instant::now(),
            addresses: addresses(&blueprint.assignment),
        };
        peers.plan(blueprint);
        peers.missing = peers.routes.keys().copied().collect();
        peers.wait_for_missing();
        peers
    }

    /// What is known before there is a keeper, which needs it.
    pub(crate) fn know(blueprint: &Blueprint, known: &SharedKnown) {
        let mut known = known.lock();
        known.version = blueprint.assignment.version;
        known.generations.hear_of_version(blueprint.assignment.version);
        known.routes = routes(blueprint).collect();
        for worker in &blueprint.assignment.workers {
            known.generations.hear_of_process(worker.number, worker.incarnation);
        }
    }

    fn plan(&mut self, blueprint: &Blueprint) {
        self.routes = routes(blueprint)
            .filter_map(|route| {
                let core = route.own_core as usize;
                let place = Place { worker: route.worker, core: route.their_core };
                let peer = self.places[core].iter().position(|known| *known == place)?;
                Some((route, (core, peer)))
            })
            .collect();
    }

    /// Decides by what is current.
    pub(crate) fn judge<T>(&self, decide: impl FnOnce(&mut Generations) -> T) -> T {
        decide(&mut self.known.lock().generations)
    }

    /// What a peer sends by an assignment of this version waits until that has come, or for [`AHEAD_TIME`].
    pub(crate) fn heard_of(&mut self, version: i64) {
        let mut known = self.known.lock();
        known.generations.hear_of_version(version);
        if version > known.version {
            self.ahead.get_or_insert((version, Instant::now())).0 = known.generations.newest_version();
        }
    }

    /// Dials every worker of the assignment that is to be dialed from here, at its address there.
    pub(crate) fn dial(&self, assignment: &Assignment) {
        for worker in assignment.workers.iter().filter(|worker| worker.number > self.own) {
            if worker.address.is_empty() {
                self.keeper.forget(worker.number);
            }
            let routes = self.routes.keys().filter(|route| route.worker == worker.number && !worker.address.is_empty());
            routes.for_each(|route| self.keeper.dial(*route, &worker.address));
        }
    }

    /// Takes over a new assignment; `rewired` is made of it if tasks live elsewhere than before.
    pub(crate) fn change(&mut self, assignment: &Assignment, rewired: Option<&Arc<Blueprint>>, stay: &Stay) {
        self.known.lock().version = assignment.version;
        self.addresses = addresses(assignment);
        self.ahead = self.ahead.filter(|(version, _)| *version > assignment.version);
        if rewired.is_none() {
            self.cores.iter().for_each(|core| core.send(Command::TakeVersion { version: assignment.version }));
        }
        for (worker, incarnation) in &stay.renewed {
            self.renew(*worker, *incarnation);
        }
        if let Some(blueprint) = rewired {
            let mut all_new = Vec::new();
            for (core, thread) in blueprint.own_threads().enumerate() {
                let places = blueprint.peers(thread).into_iter();
                let new_peers: Vec<Place> = places.filter(|place| !self.places[core].contains(place)).collect();
                self.places[core].extend(&new_peers);
                all_new.push(new_peers);
            }
            let together = Arc::new(Together::new(all_new.len()));
            for (core, new_peers) in all_new.into_iter().enumerate() {
                let (blueprint, together) = (Arc::clone(blueprint), Arc::clone(&together));
                self.cores[core].send(Command::Rewire { blueprint, new_peers, together });
            }
            stay.gone.iter().for_each(|worker| self.keeper.forget(*worker));
            let before: BTreeSet<Route> = self.routes.keys().copied().collect();
            self.plan(blueprint);
            Self::know(blueprint, &self.known);
            let now = Instant::now();
            for route in self.routes.keys().filter(|route| !before.contains(route)) {
                self.missing.insert(*route);
                self.lost.insert(*route, now);
            }
            let routes = &self.routes;
            self.missing.retain(|route| routes.contains_key(route));
            self.lost.retain(|route, _| routes.contains_key(route));
            self.away.retain(|route| routes.contains_key(route));
            self.waiting.retain(|worker| routes.keys().any(|route| route.worker == worker));
            self.wait_for_missing();
        }
        self.dial(assignment);
    }

    /// Another process is behind a worker now: the cores give up what they have for the one before.
    pub(crate) fn renew(&mut self, worker: u64, incarnation: u64) {
        let cores_think = self.incarnations.entry(worker).or_default();
        if incarnation <= *cores_think {
            return;
        }
        *cores_think = incarnation;
        self.judge(|generations| generations.hear_of_process(worker, incarnation));
        self.keeper.renew(worker, incarnation);
        if !self.attached.remove(&worker) {
            // No core has heard of a process of it yet.
            return;
        }
        for (core, commands) in self.cores.iter().enumerate() {
            let places = self.places[core].iter().enumerate();
            let peers: Vec<usize> = places.filter(|(_, place)| place.worker == worker).map(|(peer, _)| peer).collect();
            commands.send(Command::Forget { worker, peers });
        }
        let now = Instant::now();
        for route in self.routes.keys().filter(|route| route.worker == worker && !self.missing.contains(route)) {
            self.lost.entry(*route).or_insert(now);
        }
    }

    /// Something happened to connections. Returns what to tell whoever runs this.
    pub(crate) fn keep(&mut self, event: KeeperEvent) -> Option<(Kind, String)> {
        match event {
            KeeperEvent::Connected { route, socket, received, claims } => {
                let (core, peer) = self.routes.get(&route).copied()?;
                let current = self.incarnations.get(&route.worker).copied().unwrap_or_default();
                // It was made before its peer was known to be gone.
                if claims.incarnation < current {
                    return None;
                }
                self.renew(route.worker, claims.incarnation);
                self.lost.remove(&route);
                self.attached.insert(route.worker);
                self.cores[core].send(Command::Attach { peer, socket, received });
                let was_away = self.away.remove(&route);
                if self.waiting.reached(route.worker) {
                    return Some((Kind::Unreachable, format!("{} is reached", self.name(route.worker))));
                }
                was_away.then(|| (Kind::Connection, format!("{} is back", self.name_of_core(route))))
            }
            KeeperEvent::Unreachable { route, why, .. } => {
                // The reason says where.
                let text = format!("worker {} cannot be reached: {why}; trying again", route.worker);
                self.waiting.failed(route.worker, text, self.started.elapsed());
                None
            }
            KeeperEvent::Refused { from, why } => {
                let from = from.map_or("somebody".to_owned(), |from| from.to_string());
                Some((Kind::Refused, format!("a connection from {from} was refused: {why}")))
            }
            KeeperEvent::Silent { route } => {
                let text = format!("the machine of {} is silent: the connection is given up", self.name_of_core(route));
                Some((Kind::Connection, text))
            }
        }
    }

    /// A core has lost a connection. Returns what to tell whoever runs this.
    pub(crate) fn lost(&mut self, core: usize, peer: usize, lost: &Lost) -> Option<String> {
        let route = self.route_of(core, peer)?;
        self.lost.entry(route).or_insert_with(Instant::now);
        self.wait_for(route.worker);
        self.keeper.lost(route);
        // Its process has ended, which its leader knows better, or its machine; it is dialed again either way.
        let is_usual = matches!(lost, Lost::ClosedByPeer | Lost::PeerEnded);
        (!is_usual).then(|| format!("the connection to {} is lost: {lost}", self.name_of_core(route)))
    }

    /// A connection is ready on both sides.
    pub(crate) fn ready(&mut self, core: usize, peer: usize) {
        if let Some(route) = self.route_of(core, peer) {
            self.missing.remove(&route);
            self.lost.remove(&route);
        }
    }

    /// Whether every connection was ready once.
    pub(crate) fn all_were_ready(&self) -> bool {
        self.missing.is_empty()
    }

    fn wait_for_missing(&mut self) {
        let workers: BTreeSet<u64> = self.missing.iter().map(|route| route.worker).collect();
        workers.into_iter().for_each(|worker| self.wait_for(worker));
    }

    fn wait_for(&mut self, worker: u64) {
        let text = if worker > self.own {
            format!("{} is not reached yet; trying again", self.name(worker))
        } else {
            let own = self.addresses.get(&self.own).map_or("", String::as_str);
            format!("{} has not connected; this worker waits for it at {own}", self.name(worker))
        };
        self.waiting.begin(worker, text, self.started.elapsed());
    }

    /// Has cores give up whoever is away for too long. Returns what to tell whoever runs this.
    pub(crate) fn look(&mut self) -> Vec<(Kind, String)> {
        let is_due = |(_, since): &(&Route, &Instant)| since.elapsed() >= self.absence;
        let due: Vec<Route> = self.lost.iter().filter(is_due).map(|(route, _)| *route).collect();
        let late = self.ahead.take_if(|(_, since)| since.elapsed() >= AHEAD_TIME);
        let late = late.map(|(version, _)| {
            self.cores.iter().for_each(|core| core.send(Command::AcceptVersion { version }));
            let text = format!(
                "other workers run by assignment {version}, which has not come here within {} s; what they send is taken \
                 all the same, and trees that went to a worker that is gone by it are left to the time-out",
                AHEAD_TIME.as_secs()
            );
            (Kind::Connection, text)
        });
        let of_waiting = self.waiting.look(self.started.elapsed()).into_iter().map(|text| (Kind::Unreachable, text));
        let news: Vec<Route> = due.into_iter().filter(|route| self.away.insert(*route)).collect();
        let tell = |route: Route| {
            if let Some((core, peer)) = self.routes.get(&route) {
                self.cores[*core].send(Command::GiveUp { worker: route.worker, peers: vec![*peer] });
            }
            let text = format!(
                "{} has been away for {} s: until it is back, what is for it is dropped, and its trees fail",
                self.name_of_core(route),
                self.absence.as_secs_f64()
            );
            (Kind::Connection, text)
        };
        of_waiting.chain(news.into_iter().map(tell)).chain(late).collect()
    }

    /// The worker at the other end of a connection, and the process of it that the cores take it for.
    pub(crate) fn process_of(&self, core: usize, peer: usize) -> Option<(u64, u64)> {
        let worker = self.places.get(core)?.get(peer)?.worker;
        Some((worker, self.incarnations.get(&worker).copied().unwrap_or_default()))
    }

    /// A worker, by its number and where it is: the number alone tells nobody which host to look at.
    fn name(&self, worker: u64) -> String {
        match self.addresses.get(&worker).filter(|address| !address.is_empty()) {
            Some(address) => format!("worker {worker} at {address}"),
            None => format!("worker {worker}"),
        }
    }

    fn name_of_core(&self, route: Route) -> String {
        format!("core {} of {}", route.their_core, self.name(route.worker))
    }

    fn route_of(&self, core: usize, peer: usize) -> Option<Route> {
        let Place { worker, core: their_core } = *self.places.get(core)?.get(peer)?;
        let route = Route { worker, own_core: core as u32, their_core };
        self.routes.contains_key(&route).then_some(route)
    }
}

/// The connections that this worker is to have.
fn routes(blueprint: &Blueprint) -> impl Iterator<Item = Route> + '_ {
    blueprint.own_threads().zip(0..).flat_map(move |(thread, own_core)| {
        let places = blueprint.peers(thread).into_iter();
        places.map(move |Place { worker, core }| Route { worker, own_core, their_core: core })
    })
}

/// Where each worker is dialed.
fn addresses(assignment: &Assignment) -> BTreeMap<u64, String> {
    assignment.workers.iter().map(|worker| (worker.number, worker.address.clone())).collect()
}
