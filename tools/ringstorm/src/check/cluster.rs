//! The cluster: whether ZooKeeper and a nimbus can be reached.
//!
//! Threading: one thread, and those of a session with ZooKeeper. Errors: findings.

use std::time::Duration;

use ringstorm_caller::{ClientSettings, read};
use ringstorm_conf::Conf;
use ringstorm_records::nimbus::GetLeader;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_store::control::Control;
use ringstorm_store::store::{Event, SessionEvent};
use ringstorm_zookeeper::{Settings, ZooKeeperStore};

use super::{Finding, Wanted};

/// How long a session may take to open.
const SESSION_LIMIT: Duration = Duration::from_secs(10);
/// How long a nimbus may take for one thing.
const NIMBUS_LIMIT: Duration = Duration::from_secs(5);

/// What is found.
pub(super) fn findings(conf: &Conf, wanted: Wanted) -> Vec<Finding> {
    let mut findings = Vec::new();
    let settings = conf.zookeeper_settings();
    if wanted.nimbus || wanted.supervisor {
        let servers = settings.servers.clone();
        findings.push(zookeeper(&servers, session(settings)));
    }
    findings.push(nimbus(&leader(&conf.nimbus_seeds()), wanted));
    findings
}

/// Opens a session; how long a silence it outlives.
pub(crate) fn session(settings: Settings) -> Result<Duration, String> {
    let store = ZooKeeperStore::open(settings, || {}).map_err(|error| error.to_string())?;
    let mut control = Control::new(store);
    let opened = control.opened(SESSION_LIMIT);
    let mut why = format!("no session within {SESSION_LIMIT:?}");
    while let Some(event) = control.next_event(Duration::ZERO) {
        match event {
            Event::Session(SessionEvent::Opened { timeout, .. }) if opened.is_ok() => return Ok(timeout),
            Event::Session(SessionEvent::Unreachable { why: said }) => why = said,
            _ => {}
        }
    }
    Err(why)
}

pub(super) fn zookeeper(servers: &[String], session: Result<Duration, String>) -> Finding {
    let servers = servers.join(", ");
    match session {
        Ok(timeout) => {
            Finding::good("ZooKeeper", format!("a session at {servers}, which outlives {timeout:?} of silence"))
        }
        Err(why) => Finding::bad(
            "ZooKeeper",
            format!("no session at {servers}: {why}"),
            "start it, or correct storm.zookeeper.servers and storm.zookeeper.port",
        ),
    }
}

/// Who leads, asked once, of these.
pub(super) fn leader(seeds: &[NimbusAddress]) -> Result<String, String> {
    let mut settings = ClientSettings { seeds: seeds.to_vec(), retry_times: 0, ..ClientSettings::default() };
    settings.timeouts.connect = NIMBUS_LIMIT;
    settings.timeouts.answer = NIMBUS_LIMIT;
    let leader = read(&settings, &GetLeader {}).map_err(|error| error.to_string())?;
    Ok(format!("{}:{}", leader.host, leader.port))
}

/// Without a nimbus commands fail; daemons start all the same.
pub(super) fn nimbus(leader: &Result<String, String>, wanted: Wanted) -> Finding {
    let mend = "start one with `ringstorm nimbus`, or correct nimbus.seeds and nimbus.thrift.port";
    match leader {
        Ok(leader) => Finding::good("nimbus", format!("{leader} leads")),
        Err(why) if wanted.nimbus || wanted.supervisor => Finding::warning("nimbus", why, mend),
        Err(why) => Finding::bad("nimbus", why, mend),
    }
}
