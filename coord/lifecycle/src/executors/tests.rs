//! Tasks and executors of small topologies.

use ringstorm_records::records::{Bolt, ComponentCommon, ComponentObject, ShellComponent};

use super::*;
use crate::conf::Conf;
use crate::system::system_topology;

fn topology(components: &[(&str, i32)]) -> StormTopology {
    let bolt = |tasks| Bolt {
        bolt_object: ComponentObject::Shell(ShellComponent::default()),
        common: ComponentCommon {
            parallelism_hint: Some(tasks),
            json_conf: Some(format!("{{\"topology.tasks\":{tasks}}}")),
            ..ComponentCommon::default()
        },
    };
    let bolts = components.iter().map(|(id, tasks)| ((*id).to_owned(), bolt(*tasks))).collect();
    StormTopology { bolts, ..StormTopology::default() }
}

fn shown(executors: &BTreeMap<ExecutorId, ComponentId>) -> String {
    executors.iter().map(|(id, component)| format!("{component}{id}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn tasks_follow_javas_order_of_component_ids() {
    let tasks = Tasks::number(&topology(&[("b", 1), ("B", 2), ("\u{ffff}", 1), ("\u{10000}", 1), ("$", 1)])).unwrap();
    let ids: Vec<_> = tasks.components().map(|(id, _)| id.as_str().to_owned()).collect();
    assert_eq!(ids, ["$", "B", "b", "\u{10000}", "\u{ffff}"]);
    assert_eq!((tasks.of("B"), tasks.of("nobody"), tasks.count()), (2..4, 1..1, 6));
    let of = |task| tasks.component_of(TaskId(task)).map(ComponentId::as_str);
    assert_eq!((of(-1), of(0), of(1), of(3), of(4), of(7)), (None, None, Some("$"), Some("B"), Some("b"), None));
}

#[test]
fn executors_share_tasks_evenly_and_there_are_never_more_than_tasks() {
    let tasks = Tasks::number(&topology(&[("a", 5), ("b", 2), ("c", 3), ("d", 2)])).unwrap();
    let counts = [("a", 3), ("b", 7), ("c", 0), ("nobody", 4)].map(|(id, count)| (id.to_owned(), count)).into();
    assert_eq!(shown(&tasks.executors(&counts)), "a[1,2] a[3,4] a[5,5] b[6,6] b[7,7]");
}

#[test]
fn the_system_has_its_share() {
    let conf = serde_json::json!({
        "topology.workers": 2, "topology.eventlogger.executors": 1,
        "topology.metrics.consumer.register": [
            {"class": "x.M"}, {"class": "x.N", "parallelism.hint": 2}, {"class": "x.M"}
        ],
    });
    let system = system_topology(conf.as_object().unwrap(), &topology(&[("b", 1)])).unwrap();
    let executors = Tasks::number(&system).unwrap().executors(&first_executors(&system));
    assert_eq!(
        shown(&executors),
        "__acker[1,1] __acker[2,2] __eventlogger[3,3] __metrics_x.M[4,4] __metrics_x.M#2[5,5] __metrics_x.N[6,6] \
         __metrics_x.N[7,7] b[8,8]"
    );
    assert_eq!(first_executors(&system)["__system"], 0);
}

#[test]
fn without_ackers_there_is_an_acker_with_nothing_to_do() {
    let conf = Conf::from_iter([("topology.acker.executors".to_owned(), 0.into())]);
    let system = system_topology(&conf, &topology(&[("b", 1)])).unwrap();
    assert_eq!(first_executors(&system)["__acker"], 0);
    let tasks = Tasks::number(&system).unwrap();
    // An event logger in each worker, unless it is said otherwise.
    assert_eq!(shown(&tasks.executors(&first_executors(&system))), "__eventlogger[1,1] b[2,2]");
}

#[test]
fn tasks_beyond_number_are_refused_before_there_are_any() {
    let refusal = Tasks::number(&topology(&[("a", i32::MAX), ("b", i32::MAX)])).unwrap_err().to_string();
    assert!(refusal.starts_with("The topology has 4294967294 tasks"), "{refusal}");
    let mut lacking = topology(&[("a", 1)]);
    lacking.bolts.get_mut("a").unwrap().common.json_conf = None;
    let refusal = Tasks::number(&lacking).unwrap_err().to_string();
    assert_eq!(refusal, "Component: [a] has no topology.tasks in its configuration");
}
