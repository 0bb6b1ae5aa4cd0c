//! Names and ports: by which name others reach this host, and whether its ports can be had.
//!
//! Threading: a name is looked up on a thread of its own, which is left behind if that takes too long. Errors: findings.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use ringstorm_conf::Conf;
use ringstorm_records::payload::NimbusAddress;

use super::cluster::leader;
use super::{Finding, Supervisors, Wanted};
use crate::commands::supervisor_folders;

/// How long a look-up may take.
const LOOK_UP_LIMIT: Duration = Duration::from_secs(5);

/// What is found.
pub(super) fn findings(conf: &Conf, wanted: Wanted, supervisors: &Supervisors) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !wanted.nimbus && !wanted.supervisor {
        return findings;
    }
    let name = conf.local_hostname();
    let is_cluster = conf.client_settings().seeds.iter().any(|seed| !is_loopback_name(seed.host()));
    findings.push(host_name(&name, look_up(&name), is_cluster));
    let bind = conf.bind_address();
    findings.push(bind_address(bind, TcpListener::bind(SocketAddr::new(bind, 0)).map(drop)));
    if wanted.nimbus {
        let port = conf.nimbus_thrift_port();
        let tried = try_port(bind, port);
        let own = NimbusAddress::new(&name, port, 0).ok().filter(|_| tried.is_err());
        let user = own.is_some_and(|own| leader(&[own]).is_ok()).then_some("a nimbus that runs");
        findings.push(port_finding("nimbus.thrift.port", port, &tried, user));
    }
    let running = running_ports(&conf.local_dir());
    for port in supervisors.confs.iter().flat_map(Conf::slot_ports) {
        let user = running.contains(&port).then_some("a worker of this host");
        findings.push(port_finding("supervisor.slots.ports", port, &try_port(bind, port), user));
    }
    findings
}

fn try_port(bind: IpAddr, port: u16) -> io::Result<()> {
    TcpListener::bind(SocketAddr::new(bind, port)).map(drop)
}

fn is_loopback_name(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Addresses of a name, within a limit.
fn look_up(name: &str) -> Result<Vec<IpAddr>, String> {
    let (sender, receiver) = channel();
    let owned = name.to_owned();
    std::thread::spawn(move || {
        let found = (owned.as_str(), 0).to_socket_addrs();
        // Nobody may be waiting any more.
        let _ = sender.send(found.map(|found| found.map(|it| it.ip()).collect()).map_err(|error| error.to_string()));
    });
    receiver.recv_timeout(LOOK_UP_LIMIT).unwrap_or_else(|_| Err(format!("no answer within {LOOK_UP_LIMIT:?}")))
}

/// The name that this host gives itself.
pub(super) fn host_name(name: &str, addresses: Result<Vec<IpAddr>, String>, is_cluster: bool) -> Finding {
    let mend = "set storm.local.hostname to a name or address by which the other hosts reach this one";
    match addresses {
        Err(why) => Finding::bad("host name", format!("{name} cannot be looked up: {why}"), mend),
        Ok(addresses) if addresses.is_empty() => Finding::bad("host name", format!("{name} has no address"), mend),
        Ok(addresses) => {
            let distinct: BTreeSet<String> = addresses.iter().map(ToString::to_string).collect();
            let said = format!("{name} is {}", distinct.into_iter().collect::<Vec<_>>().join(", "));
            if is_cluster && addresses.iter().all(IpAddr::is_loopback) {
                return Finding::bad("host name", format!("{said}, which other hosts take for themselves"), mend);
            }
            Finding::good("host name", said)
        }
    }
}

pub(super) fn bind_address(address: IpAddr, tried: io::Result<()>) -> Finding {
    match tried {
        Ok(()) => Finding::good("bind address", format!("{address} can be listened on")),
        Err(error) => Finding::bad(
            "bind address",
            format!("{address} cannot be listened on: {error}"),
            "set ringstorm.bind.address to an address of this host, or leave it out for all",
        ),
    }
}

/// A port, and whether it could be had. `user` is who has it, if that is one of ours.
pub(super) fn port_finding(key: &str, port: u16, tried: &io::Result<()>, user: Option<&str>) -> Finding {
    let what = format!("port {port}");
    match (tried, user) {
        (Ok(()), _) => Finding::good(what, format!("free, for {key}")),
        (Err(_), Some(user)) => Finding::good(what, format!("used by {user}, for {key}")),
        (Err(error), None) => Finding::bad(
            what,
            format!("cannot be listened on: {error}"),
            format!(
                "find who has it (ss -ltnp 'sport = :{port}'), or set {key}; a daemon of this host that runs has it rightly"
            ),
        ),
    }
}

/// The ports whose workers have a folder here.
fn running_ports(local_dir: &Path) -> BTreeSet<u16> {
    let folders = supervisor_folders(local_dir).into_iter().map(|folder| folder.join("workers"));
    let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    entries.filter_map(|entry| entry.file_name().to_str()?.split_once('-')?.0.parse().ok()).collect()
}
