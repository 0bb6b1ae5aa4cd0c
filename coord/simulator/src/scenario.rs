//! What a seed makes: who runs where, what users want, what goes wrong; and the run of it.

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_client::ClientSettings;
use ringstorm_nimbus::NimbusSettings;
use ringstorm_nimbus::interface::{Request, SUBMISSION_TOKEN, Submission, Upload};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::{KillOptions, RebalanceOptions, SubmitOptions, TopologyInitialStatus};
use ringstorm_supervisor::{Host, Settings};
use serde_json::json;

use crate::actor::{At, Role};
use crate::checks::Violation;
use crate::coverage::Coverage;
use crate::daemons::{clients, nimbus, supervisor};
use crate::liveness;
use crate::plants::PlantedBug;
use crate::random::Random;
use crate::topology::{BOLT, Counts, topology};
use crate::trace::Trace;
use crate::world::faults::{Fault, Faults};
use crate::world::process::{HostId, ProcessId};
use crate::world::{Weather, World, host_name};

/// By when after the faults everything has come right.
const BOUND: Duration = Duration::from_secs(240);
/// Between two looks at that.
const LOOK_PERIOD: Duration = Duration::from_secs(2);

/// How a seed is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How many lines of the trace are kept; with none, none are made.
    pub lines_kept: usize,
    /// A rule that some machine breaks.
    pub planted: Option<PlantedBug>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    /// The law that was broken, if one was.
    pub violation: Option<Violation>,
    /// How often what happened.
    pub coverage: Coverage,
    /// What happened, if it was wanted.
    pub trace: Trace,
    /// How many events there were.
    pub events: u64,
    /// How long it took in its world.
    pub time: At,
}

/// Runs a seed.
pub fn run(seed: u64, options: Options) -> Run {
    let mut world = World::new(seed, options.lines_kept);
    world.planted = options.planted;
    let until = people(&mut world);
    let violation = come_right(&mut world, until).err();
    if let Some(violation) = &violation {
        let line = violation.to_string();
        world.trace.line(world.now, "law", || format!("== broken: {line}"));
    }
    Run {
        violation,
        events: world.events(),
        time: world.now,
        coverage: std::mem::take(&mut world.coverage),
        trace: std::mem::replace(&mut world.trace, Trace::new(0)),
    }
}

/// Lets everything come right after the faults, which end then.
pub(crate) fn come_right(world: &mut World, until: At) -> Result<(), Violation> {
    world.run_until(until)?;
    let (mut is_well, mut last) = (false, String::new());
    let mut look = until;
    while look < until + BOUND {
        look += LOOK_PERIOD;
        world.run_until(look)?;
        match liveness::unmet(world) {
            None if is_well => return Ok(()),
            None => is_well = true,
            Some(unmet) => (is_well, last) = (false, unmet),
        }
    }
    Err(Violation::new("everything comes right after the faults", last))
}

/// How many of whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) nimbuses: usize,
    pub(crate) supervisors: usize,
    /// Hosts of clients.
    pub(crate) clients: usize,
}

/// Puts everybody and everything in, and says when the faults end.
fn people(world: &mut World) -> At {
    let size = Size {
        nimbuses: 1 + world.random.below(3),
        supervisors: 2 + world.random.below(3),
        clients: 1 + world.random.below(2),
    };
    let clients = daemons(world, size);
    let until = world.random.millis(30_000, 90_000);
    let original = world.processes.iter().position(|process| process.role == Role::Supervisor).map(ProcessId);
    if let Some(original) = original.filter(|_| world.random.chance(150)) {
        let at = world.random.duration(Duration::from_secs(5), until - Duration::from_secs(5));
        world.plan_clone(original, "supervisor-clone", HostId(90), at, |world, host| {
            let settings = supervisor_settings(2);
            let host = Host { name: host_name(host), mark: "clone".to_owned() };
            supervisor(world.cluster.clone(), host, "supervisor-clone", settings, world.planted)
        });
    }
    wishes(world, &clients, until);
    if world.random.chance(950) {
        faults(world, until);
    } else {
        world.plan_faults(Faults { kinds: Vec::new(), gap: until, until });
    }
    until
}

/// Adds the daemons, and the hosts of clients, which are returned.
pub(crate) fn daemons(world: &mut World, size: Size) -> Vec<ProcessId> {
    let addresses: Vec<NimbusAddress> = (0..size.nimbuses)
        .map(|index| {
            NimbusAddress::new(&host_name(HostId(index)), 6627, 0).expect("the names of hosts are names of hosts")
        })
        .collect();
    for (index, address) in addresses.iter().enumerate() {
        let factory = nimbus(world.cluster.clone(), address.clone(), nimbus_settings(), world.planted);
        let delay = world.random.millis(0, 2_000);
        let id = world.add(&format!("nimbus-{index}"), Role::Nimbus, HostId(index), delay, factory);
        world.addresses.insert(address.to_string(), id);
    }
    let first_host = if world.random.chance(500) { 0 } else { size.nimbuses };
    for index in 0..size.supervisors {
        let slots = 2 + world.random.below(2);
        add_supervisor(world, index, HostId(first_host + index), slots);
        world.slots += slots;
    }
    let hosts = (0..size.clients).map(|index| {
        let settings = ClientSettings {
            seeds: addresses.clone(),
            retry_times: 8,
            retry_interval: Duration::from_millis(500),
            retry_interval_max: Duration::from_secs(10),
            ..ClientSettings::default()
        };
        world.add(&format!("client-{index}"), Role::Client, HostId(80 + index), Duration::ZERO, clients(settings))
    });
    hosts.collect()
}

fn add_supervisor(world: &mut World, index: usize, host: HostId, slots: usize) {
    let settings = supervisor_settings(slots);
    let at = Host { name: host_name(host), mark: host_name(host) };
    let id = format!("sup{index}");
    let factory = supervisor(world.cluster.clone(), at, &id, settings, world.planted);
    let delay = world.random.millis(0, 15_000);
    world.add(&format!("supervisor-{index}"), Role::Supervisor, host, delay, factory);
}

fn faults(world: &mut World, until: At) {
    let share = [100, 300, 600][world.random.below(3)];
    let kinds = Fault::ALL.iter().copied().filter(|_| world.random.chance(share)).collect();
    let gap = world.random.millis(500, 8_000);
    world.plan_faults(Faults { kinds, gap, until });
    let some = |random: &mut Random, often: u32, per_mille: u32| if random.chance(often) { per_mille } else { 0 };
    world.weather = Weather {
        slow_per_mille: some(&mut world.random, 200, 30),
        slow_watch_per_mille: some(&mut world.random, 200, 100),
        slow_starts_per_mille: some(&mut world.random, 300, 200),
        failing_starts_per_mille: some(&mut world.random, 300, 200),
        failing_operations_per_mille: some(&mut world.random, 200, 20),
        failing_disk_per_mille: some(&mut world.random, 200, 100),
        lost_answers_per_mille: some(&mut world.random, 300, 100),
    };
}

/// Times are shorter than Storm's where only patience is tried.
fn nimbus_settings() -> NimbusSettings {
    let conf = json!({
        "nimbus.task.launch.secs": 30,
        "nimbus.task.timeout.secs": 30,
        "topology.eventlogger.executors": 0,
        "topology.max.replication.wait.time.sec": 10,
    });
    NimbusSettings {
        deletion_delay: Duration::from_secs(20),
        code_sync_period: Duration::from_secs(10),
        lost_code_wait: Duration::from_secs(15),
        conf: conf.as_object().cloned().unwrap_or_default(),
        ..NimbusSettings::default()
    }
}

fn supervisor_settings(slots: usize) -> Settings {
    let ports = (6700..).take(slots).collect();
    Settings {
        ports,
        cpu_capacity: 100.0 * slots as f64,
        worker_start_timeout: Duration::from_secs(40),
        withdrawn_for: Duration::from_secs(5),
        withdrawn_for_max: Duration::from_secs(20),
        restart_pause_max: Duration::from_secs(8),
        fetch_pause_max: Duration::from_secs(4),
        tree_pause_max: Duration::from_secs(4),
        ..Settings::default()
    }
}

const NAMES: [&str; 3] = ["ants", "bees", "cats"];

fn wishes(world: &mut World, clients: &[ProcessId], until: At) {
    let count = 3 + world.random.below(8);
    for number in 0..count {
        let at = if number == 0 {
            world.random.millis(2_000, 8_000)
        } else {
            world.random.duration(Duration::from_secs(2), until + Duration::from_secs(10))
        };
        let name = NAMES[world.random.below(NAMES.len().min(count))].to_owned();
        let what = if number == 0 { 0 } else { world.random.below(100) };
        let request = match what {
            0..40 => submission(&mut world.random, name, number),
            40..60 => {
                let wait_secs = world.random.chance(600).then(|| world.random.below(8) as i32);
                Request::Kill { name, options: KillOptions { wait_secs, ..KillOptions::default() } }
            }
            60..80 => rebalance(&mut world.random, name),
            80..90 => Request::Activate { name },
            _ => Request::Deactivate { name },
        };
        let client = clients[world.random.below(clients.len())];
        world.plan_wish(at, client, number as u64, request);
    }
}

fn rebalance(random: &mut Random, name: String) -> Request {
    let executors = BTreeMap::from([(BOLT.to_owned(), 1 + random.below(3) as i32)]);
    let options = RebalanceOptions {
        wait_secs: random.chance(600).then(|| random.below(8) as i32),
        num_workers: random.chance(600).then(|| 1 + random.below(3) as i32),
        num_executors: random.chance(500).then_some(executors),
        ..RebalanceOptions::default()
    };
    Request::Rebalance { name, options }
}

pub(crate) fn submission(random: &mut Random, name: String, number: usize) -> Request {
    let conf = json!({
        "topology.workers": 1 + random.below(3),
        "topology.acker.executors": random.below(3),
        "topology.message.timeout.secs": 2 + random.below(8),
        SUBMISSION_TOKEN: format!("token-{number}"),
    });
    let status = if random.chance(900) { TopologyInitialStatus::Active } else { TopologyInitialStatus::Inactive };
    let (spouts, bolts) = (1 + random.below(2) as i32, 1 + random.below(3) as i32);
    // The bolt has more tasks than executors, or not.
    let more_tasks = random.below(2) as i32;
    Request::Submit(Box::new(Submission {
        name,
        topology: topology(Counts::plain(spouts), Counts { executors: bolts, tasks: bolts * (1 + more_tasks) }),
        conf: conf.to_string(),
        options: SubmitOptions { initial_status: status, creds: None },
        upload: Upload { name: "topology".to_owned(), checksum: String::new() },
        worker_secret: "0123456789abcdef0123456789abcdef".to_owned(),
    }))
}
