//! Our own client, which finds the leader, tries again, and goes on with what broke.

use std::time::{Duration, Instant};

use ringstorm_caller::{ClientSettings, Success, download, perform, read};
use ringstorm_nimbus::interface::{Reply, Request, Submission, Upload};
use ringstorm_records::nimbus::{GetClusterInfo, GetTopologySummaries};
use ringstorm_records::records::{SubmitOptions, TopologyInitialStatus};

use crate::client::{address, done, executable, leads, submission};
use crate::cluster::{Cluster, SESSION, eventually};
use crate::process::Process;

fn settings(ports: &[u16]) -> ClientSettings {
    ClientSettings {
        seeds: ports.iter().map(|port| address(*port)).collect(),
        retry_times: 100,
        retry_interval: Duration::from_millis(100),
        retry_interval_max: Duration::from_millis(200),
        ..ClientSettings::default()
    }
}

fn submit(name: &str) -> Request {
    let call = submission(name, "");
    Request::Submit(Box::new(Submission {
        name: name.into(),
        topology: call.topology.unwrap(),
        conf: call.json_conf.unwrap(),
        options: SubmitOptions { initial_status: TopologyInitialStatus::Active, creds: None },
        upload: Upload { name: String::new(), checksum: String::new() },
        worker_secret: String::new(),
    }))
}

#[test]
fn when_the_leader_is_killed_the_next_submission_goes_to_the_other_nimbus() {
    let Some(cluster) = Cluster::start_or_skip() else { return };
    let file = cluster.folder.path().join("topology");
    let bytes = executable(2_000_000);
    std::fs::write(&file, &bytes).unwrap();
    let mut first = Process::start(&cluster, "n1");
    leads(first.port);
    let second = Process::start(&cluster, "n2");
    eventually("both are there", || (done(second.port, &GetClusterInfo {}).nimbuses.len() == 2).then_some(()));
    let settings = settings(&[first.port, second.port]);
    let submitted = |name: &str| match perform(&settings, submit(name), Some(&file), &mut |_| {}) {
        Ok(Success::Answered(Reply::Submitted { topology })) => topology.to_string(),
        other => panic!("{name}: {other:?}"),
    };
    let id = submitted("words");
    assert_eq!(read(&settings, &GetTopologySummaries {}).unwrap().len(), 1);

    first.kill();
    let begins = Instant::now();
    submitted("more");
    let took = begins.elapsed();
    assert!(took < SESSION + Duration::from_secs(8), "it took {took:?}");
    // What the first held the other gives, from where a download broke.
    let mut rest = Vec::new();
    download(&settings, &format!("{id}-stormjar.jar"), 1_500_000, &mut rest).unwrap();
    assert!(rest == bytes[1_500_000..]);
    perform(&settings, Request::Deactivate { name: "words".into() }, None, &mut |_| {}).unwrap();
    let statuses: Vec<String> =
        read(&settings, &GetTopologySummaries {}).unwrap().into_iter().map(|topology| topology.status).collect();
    assert!(statuses.contains(&"INACTIVE".to_owned()), "{statuses:?}");
    // People look at the figure with --nocapture.
    eprintln!("a submission took {took:?} from the death of the leader on; its session ends after {SESSION:?}");
}
