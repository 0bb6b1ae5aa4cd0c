//! What waits for a slot, and why.

use ringstorm_records::records::SupervisorSummary;

use super::*;

fn topology(name: &str, tasks: i32) -> TopologySummary {
    TopologySummary {
        name: name.into(),
        id: format!("{name}-1-1"),
        num_tasks: tasks,
        status: "ACTIVE".into(),
        ..Default::default()
    }
}

fn cluster(slots: i32, used: i32, topologies: Vec<TopologySummary>) -> ClusterSummary {
    let supervisor =
        SupervisorSummary { host: "h".into(), num_workers: slots, num_used_workers: used, ..Default::default() };
    let supervisors = if slots > 0 { vec![supervisor] } else { Vec::new() };
    ClusterSummary { supervisors, topologies, ..Default::default() }
}

fn reasons(cluster: &ClusterSummary, wanted: i32) -> Vec<(Option<i32>, String)> {
    waiting(cluster, |_| Some(wanted)).into_iter().map(|it| (it.tasks, it.reason)).collect()
}

#[test]
fn who_has_all_does_not_wait() {
    assert_eq!(reasons(&cluster(4, 1, vec![topology("a", 5)]), 5), []);
    let mut killed = topology("a", 0);
    killed.status = "KILLED".into();
    assert_eq!(reasons(&cluster(4, 1, vec![killed]), 5), []);
    let mut said = topology("a", 5);
    said.sched_status = Some("Fully Scheduled".into());
    assert_eq!(reasons(&cluster(4, 1, vec![said]), 5), []);
}

#[test]
fn who_lacks_slots_is_named_with_the_reason() {
    let reason = |cluster: &ClusterSummary| reasons(cluster, 5).remove(0);
    let (tasks, why) = reason(&cluster(2, 2, vec![topology("a", 3)]));
    assert_eq!((tasks, why.contains("no slot is free")), (Some(2), true), "{why}");
    assert!(reason(&cluster(0, 0, vec![topology("a", 0)])).1.contains("there is no supervisor"));
    assert!(reason(&cluster(4, 2, vec![topology("a", 3)])).1.contains("its log says why"));
    let mut said = topology("a", 3);
    said.sched_status = Some("it has 1 of 2 workers".into());
    assert_eq!(reason(&cluster(2, 2, vec![said])).1, "it has 1 of 2 workers");
}

#[test]
fn a_supervisor_out_of_service_with_workers_has_no_free_slots_rather_than_fewer_than_none() {
    let mut both = cluster(4, 1, Vec::new());
    let (id, blacklisted) = ("id-1".into(), Some(true));
    both.supervisors.push(SupervisorSummary {
        host: "out".into(),
        supervisor_id: id,
        num_used_workers: 1,
        blacklisted,
        ..Default::default()
    });
    let shown = text(&both, &[]);
    let of = |host: &str| {
        let line = shown.lines().find(|line| line.starts_with(host)).unwrap_or_default();
        line.split_whitespace().skip(1).take(3).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!([of("h "), of("out")], [["4", "1", "3"], ["0", "1", "0"]], "{shown}");
    assert!(shown.contains("\nout is out of service (id-1): it takes no new work"), "{shown}");
    assert!(!shown.contains("h is out of service"));
    assert_eq!(json_of(&both, &[])["slots"], json!({ "all": 4, "used": 2, "free": 3 }));
}

#[test]
fn a_cluster_without_anything_is_shown_as_such() {
    let empty = cluster(0, 0, Vec::new());
    let shown = text(&empty, &waiting(&empty, |_| None));
    assert!(shown.contains("No nimbus leads at present.") && shown.contains("No supervisors.\n"), "{shown}");
    let json = json_of(&empty, &[]);
    assert_eq!((&json["leader"], &json["slots"]["all"]), (&Value::Null, &json!(0)));
}
