//! A world that is driven by hand: nothing goes wrong in it but what is made to, to whom it is meant.
//!
//! A scenario reads as a list of what was done and of what then was the case. The seed still decides how long things take,
//! how clocks drift, and in which order what is due at about the same time comes; so one scenario is tried with many.
//!
//! - [`people`](Stage::ask): what users ask for.
//! - [`trouble`](Stage::kill): what goes wrong.
//! - [`looks`](Stage::running): what is the case.
//! - [`offers`](Stage::offer): supervisors that are only nodes.
//!
//! Times are those of the world, and settings are Storm's defaults unless a [`Setup`] has others. Invariant: the laws of
//! [`checks`](crate::checks) hold at each step. Threading: one caller at a time. Errors: a [`Violation`] of a law, or of
//! something that should have come true in time; whoever drives the scenario ends it.

mod looks;
mod offers;
mod people;
mod trouble;

use std::time::Duration;

use ringstorm_client::ClientSettings;
use ringstorm_nimbus::NimbusSettings;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_supervisor::{Host, Settings};

pub use looks::Running;
pub use offers::Offer;
pub use people::Wanted;

use crate::actor::{At, Role};
use crate::checks::Violation;
use crate::daemons::{clients, nimbus, supervisor};
use crate::world::process::{HostId, ProcessId};
use crate::world::{World, host_name};

/// Between two looks at what should come true.
const LOOK_PERIOD: Duration = Duration::from_millis(250);
/// The first host with a supervisor; those before are of nimbuses.
const FIRST_HOST: usize = 10;
const CLIENT_HOST: usize = 80;

/// Who is there.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How many nimbuses.
    pub nimbuses: usize,
    /// How many hosts with a supervisor each.
    pub hosts: usize,
    /// How many slots each of them has.
    pub slots: u16,
    /// After how long a silence the ensemble ends a session (`storm.zookeeper.session.timeout`), 20 s.
    pub session_timeout: Duration,
    /// Of each nimbus.
    pub nimbus: NimbusSettings,
    /// Of each supervisor, but for its ports.
    pub supervisor: Settings,
    /// How many of the newest lines of the trace are kept.
    pub lines_kept: usize,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            nimbuses: 1,
            hosts: 2,
            slots: 4,
            session_timeout: Duration::from_secs(20),
            nimbus: NimbusSettings::default(),
            supervisor: Settings::default(),
            lines_kept: 0,
        }
    }
}

/// A world, and who is in it.
pub struct Stage {
    world: World,
    nimbuses: Vec<ProcessId>,
    supervisors: Vec<ProcessId>,
    client: ProcessId,
    wishes: u64,
}

impl Stage {
    /// The world of a seed in which everybody starts within some seconds.
    pub fn new(seed: u64, setup: &Setup) -> Self {
        let mut world = World::new(seed, setup.lines_kept);
        world.zookeeper.timeout = setup.session_timeout;
        world.notes = Some(Vec::new());
        let addresses: Vec<NimbusAddress> = (0..setup.nimbuses)
            .map(|index| {
                let host = host_name(HostId(index));
                NimbusAddress::new(&host, 6627, 0).expect("the names of hosts are names of hosts")
            })
            .collect();
        let nimbuses = addresses.iter().enumerate().map(|(index, address)| {
            let factory = nimbus(world.cluster.clone(), address.clone(), setup.nimbus.clone(), None);
            let delay = world.random.millis(0, 2_000);
            let id = world.add(&format!("nimbus-{index}"), Role::Nimbus, HostId(index), delay, factory);
            world.addresses.insert(address.to_string(), id);
            id
        });
        let nimbuses = nimbuses.collect();
        let ports = (6700..).take(setup.slots.into()).collect();
        let settings = Settings { ports, ..setup.supervisor.clone() };
        let supervisors = (0..setup.hosts).map(|index| {
            let host = HostId(FIRST_HOST + index);
            let at = Host { name: host_name(host), mark: host_name(host) };
            let factory = supervisor(world.cluster.clone(), at, &format!("sup{index}"), settings.clone(), None);
            let delay = world.random.millis(0, 3_000);
            world.add(&format!("supervisor-{index}"), Role::Supervisor, host, delay, factory)
        });
        let supervisors = supervisors.collect();
        world.slots = setup.hosts * usize::from(setup.slots);
        let patient = ClientSettings {
            seeds: addresses,
            retry_times: 60,
            retry_interval: Duration::from_millis(500),
            retry_interval_max: Duration::from_secs(2),
            ..ClientSettings::default()
        };
        let client = world.add("client", Role::Client, HostId(CLIENT_HOST), Duration::ZERO, clients(patient));
        Self { world, nimbuses, supervisors, client, wishes: 0 }
    }

    /// The time since the beginning.
    pub fn now(&self) -> At {
        self.world.now
    }

    /// Lets so much time pass.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn run_for(&mut self, duration: Duration) -> Result<(), Violation> {
        let until = self.world.now + duration;
        self.world.run_until(until)
    }

    /// Lets time pass until something is the case, and says how long that took.
    ///
    /// # Errors
    /// The law that was broken; or it was not the case within the limit.
    pub fn until(
        &mut self,
        what: &str,
        limit: Duration,
        mut is_so: impl FnMut(&Self) -> bool,
    ) -> Result<Duration, Violation> {
        self.until_none(limit, |stage| (!is_so(stage)).then(|| what.to_owned()))
    }

    /// As [`Self::until`] nothing is missing; what still is at the end is told.
    ///
    /// # Errors
    /// As [`Self::until`].
    pub fn until_none(
        &mut self,
        limit: Duration,
        mut missing: impl FnMut(&Self) -> Option<String>,
    ) -> Result<Duration, Violation> {
        let begun = self.world.now;
        loop {
            let Some(what) = missing(self) else { return Ok(self.world.now - begun) };
            let passed = self.world.now - begun;
            if passed >= limit {
                return Err(Violation::new("what should come true does", format!("not within {limit:?}: {what}")));
            }
            self.run_for(LOOK_PERIOD.min(limit - passed))?;
        }
    }

    /// Lets time pass until every topology runs as it should, and nothing else does.
    ///
    /// # Errors
    /// As [`Self::until`].
    pub fn until_all_run(&mut self, limit: Duration) -> Result<Duration, Violation> {
        self.until_none(limit, Self::not_running)
    }

    /// The lines of the trace, oldest first.
    pub fn trace(&self) -> impl Iterator<Item = &str> {
        self.world.trace.lines()
    }
}
