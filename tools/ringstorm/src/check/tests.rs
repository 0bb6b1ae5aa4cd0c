//! What is said of facts, good and broken ones.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use super::*;

fn verdicts(findings: &[Finding]) -> Vec<Verdict> {
    findings.iter().map(|finding| finding.verdict).collect()
}

#[test]
fn whatever_is_not_good_says_what_to_do() {
    let error = || io::Error::from(io::ErrorKind::AddrInUse);
    let loopback: IpAddr = "127.0.1.1".parse().unwrap();
    let far: IpAddr = "192.0.2.7".parse().unwrap();
    let path = Path::new("/x");
    let bad = [
        host::kernel("4.19.0"),
        host::open_files(Some(256), Some(4096)),
        host::locked_memory(Some(64 << 10)),
        network::host_name("h", Err("no such name".into()), false),
        network::host_name("h", Ok(Vec::new()), false),
        network::host_name("h", Ok(vec![loopback]), true),
        network::bind_address(far, Err(error())),
        network::port_finding("supervisor.slots.ports", 6700, &Err(error()), None),
        storage::room("storm.local.dir", path, 1 << 20).unwrap(),
        storage::socket_path(Path::new(&"/long".repeat(30))),
        cluster::zookeeper(&["a:1".into()], Err("refused".into())),
        cluster::nimbus(&Err("refused".into()), Wanted { nimbus: false, supervisor: false }),
    ];
    assert!(verdicts(&bad).iter().all(|verdict| *verdict == Verdict::Bad), "{bad:#?}");
    let warnings = [
        host::kernel("5.10.0-30-amd64"),
        host::kernel("unreadable"),
        host::io_uring(Err("denied".into()), Some("2")),
        host::io_uring(Err("denied".into()), None),
        host::open_files(Some(1024), None),
        host::capacity_cpu(400.0, 2, 1),
        host::capacity_cpu(200.0, 2, 4),
        host::capacity_memory(4096.0, Some(2000)),
        host::capacity_memory(4096.0, None),
        storage::room("storm.local.dir", path, 500 << 20).unwrap(),
        cluster::nimbus(&Err("refused".into()), Wanted { nimbus: true, supervisor: false }),
    ];
    assert!(verdicts(&warnings).iter().all(|verdict| *verdict == Verdict::Warning), "{warnings:#?}");
    for finding in bad.iter().chain(&warnings) {
        assert!(!finding.mend.is_empty() && !finding.said.is_empty(), "{finding:?}");
    }
    let good = [
        host::kernel("6.18.3"),
        host::io_uring(Ok(()), None),
        host::open_files(None, None),
        host::locked_memory(None),
        host::capacity_cpu(200.0, 2, 2),
        host::capacity_memory(1000.0, Some(2000)),
        network::host_name("h", Ok(vec![loopback]), false),
        network::host_name("h", Ok(vec![far]), true),
        network::bind_address(far, Ok(())),
        network::port_finding("nimbus.thrift.port", 6627, &Ok(()), None),
        network::port_finding("supervisor.slots.ports", 6700, &Err(error()), Some("a worker of this host")),
        storage::socket_path(Path::new("/var/lib/ringstorm/supervisor/control.sock")),
        cluster::zookeeper(&["a:1".into()], Ok(Duration::from_secs(20))),
        cluster::nimbus(&Ok("a:6627".into()), Wanted { nimbus: true, supervisor: true }),
    ];
    assert!(verdicts(&good).iter().all(|verdict| *verdict == Verdict::Good), "{good:#?}");
    assert_eq!(storage::room("storm.local.dir", path, 2 << 30), None);
}

#[test]
fn each_finding_has_a_line_and_what_to_do_another_one() {
    let findings = [
        Finding::good("kernel", "Linux 6.18"),
        Finding::warning("CPUs", "few", "more"),
        Finding::bad("port 6700", "cannot be had\n", "find who has it"),
    ];
    let wanted = "ok       kernel: Linux 6.18\nwarning  CPUs: few\n         -> more\nfails    port 6700: cannot be had\n         \
                  -> find who has it\n1 thing fails; 1 warning.\n";
    assert_eq!(text(&findings), wanted);
    assert!(text(&findings[..2]).ends_with("Nothing fails; 1 warning.\n"));
    assert!(text(&findings[..1]).ends_with("Everything is as it should be.\n"));
}

#[test]
fn a_folder_that_is_not_there_yet_is_tried_above() {
    let folder = tempfile::tempdir().unwrap();
    let finding = storage::folder("storm.local.dir", &folder.path().join("a/b")).remove(0);
    assert_eq!(finding.verdict, Verdict::Good);
    assert!(finding.said.ends_with("and is made at the start"), "{finding:?}");
    assert!(!folder.path().join("a").exists());
}
