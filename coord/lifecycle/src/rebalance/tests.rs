//! Which options are taken, and what they do.

use ringstorm_records::records::{Bolt, ComponentCommon, ComponentObject, ShellComponent};
use serde_json::json;

use super::*;

fn topology() -> StormTopology {
    let json_conf = json!({"topology.component.resources.onheap.memory.mb": 128, "mine": 1}).to_string();
    let common = ComponentCommon { json_conf: Some(json_conf), ..ComponentCommon::default() };
    let bolt = |common: &ComponentCommon| Bolt {
        bolt_object: ComponentObject::Shell(ShellComponent::default()),
        common: common.clone(),
    };
    let bolts = ["count", "sink"].map(|id| (id.to_owned(), bolt(&common))).into();
    StormTopology { bolts, ..StormTopology::default() }
}

fn executors(counts: &[(&str, i32)]) -> RebalanceOptions {
    let num_executors = counts.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect();
    RebalanceOptions { num_executors: Some(num_executors), ..RebalanceOptions::default() }
}

#[test]
fn every_reason_is_told_in_storms_words() {
    let json = Some("{\"topology.workers\":0,\"topology.debug\":3}".to_owned());
    let options = RebalanceOptions {
        num_workers: Some(-1),
        topology_conf_overrides: json,
        ..executors(&[("count", 0), ("cuont", 2), ("__any", 1)])
    };
    let refusal = check("words", &topology(), &Conf::new(), &options, None).unwrap_err();
    let Refusal::Invalid(reasons) = refusal else { panic!("{refusal}") };
    assert_eq!(
        reasons,
        [
            "Invalid component __any for topology words, valid values are count,sink",
            "Number of executors must be greater than 0; component count is given 0",
            "Invalid component cuont for topology words, valid values are count,sink",
            "Number of workers must not be less than 0; it is -1",
            "Field topology.workers must be a Positive Number",
            "Field topology.debug must be of type class java.lang.Boolean. Object: 3 actual type: class java.lang.Integer",
        ]
    );
    let options = RebalanceOptions { topology_conf_overrides: Some("{".to_owned()), ..RebalanceOptions::default() };
    let refusal = check("words", &topology(), &Conf::new(), &options, None).unwrap_err().to_string();
    assert!(refusal.starts_with("The configuration of the rebalance is not JSON"), "{refusal}");
}

#[test]
fn settings_that_would_stop_every_worker_are_refused_as_at_a_submission() {
    let refused = |overrides: Value| {
        let options =
            RebalanceOptions { topology_conf_overrides: Some(overrides.to_string()), ..RebalanceOptions::default() };
        check("words", &topology(), &Conf::new(), &options, None).err().map(|refusal| refusal.to_string())
    };
    for (overrides, wanted) in [
        (json!({"topology.max.spout.pendin": 7}), "did you mean \"topology.max.spout.pending\"?"),
        (json!({"topology.debgu2": true}), "did you mean \"topology.debug\"?"),
        (json!({"ringstorm.turbo": true}), "\"ringstorm.turbo\" (set by the rebalance) is not a key of Ringstorm"),
        (json!({"ringstorm.worker.cores": "many"}), "ringstorm.worker.cores is \"many\""),
        (json!({"topology.max.spout.pending": "7"}), "topology.max.spout.pending"),
        (json!({"ringstorm.main.args": []}), "ringstorm.main.args goes with the executable"),
    ] {
        let refusal = refused(overrides.clone()).unwrap_or_else(|| panic!("{overrides} is taken"));
        assert!(refusal.contains(wanted), "{overrides}: {refusal}");
    }
    for own in [json!({"topology.depth": "x", "my.key": {}, "words.limit": null}), json!({"topology.debug": true})] {
        assert_eq!(refused(own.clone()), None, "{own}");
    }
}

#[test]
fn no_component_gets_more_executors_than_it_has_tasks() {
    let mut topology = topology();
    for (id, tasks) in [("count", 4), ("sink", 1)] {
        let json_conf = json!({ "topology.tasks": tasks }).to_string();
        topology.bolts.get_mut(id).unwrap().common.json_conf = Some(json_conf);
    }
    let stored = Conf::from_iter([("topology.acker.executors".to_owned(), 2.into())]);
    let asked = executors(&[("count", 8), ("sink", 1), ("__acker", 3)]);
    let refusal = check("words", &topology, &stored, &asked, None).unwrap_err();
    let Refusal::Invalid(reasons) = refusal else { panic!("{refusal}") };
    let of = |id, tasks, executors| {
        format!(
            "Component {id} has {tasks} tasks, which {executors} executors cannot share; ask for no more executors than \
             tasks"
        )
    };
    assert_eq!(reasons, [of("__acker", 2, 3), of("count", 4, 8)]);
    let all = executors(&[("count", 4), ("sink", 1), ("__acker", 2)]);
    assert!(check("words", &topology, &stored, &all, None).is_ok());
    let topology_conf_overrides = Some("{\"topology.acker.executors\":3}".to_owned());
    let with_more = RebalanceOptions { topology_conf_overrides, ..executors(&[("__acker", 3)]) };
    assert!(check("words", &topology, &stored, &with_more, None).is_ok());
}

#[test]
fn nobody_rebalances_into_anothers_name_or_secret() {
    let overrides = json!({
        "topology.submitter.user": "root", conf::WORKER_SECRET: "mine", "topology.debug": true,
    });
    let options = RebalanceOptions {
        principal: Some("root".to_owned()),
        topology_conf_overrides: Some(overrides.to_string()),
        ..RebalanceOptions::default()
    };
    let taken = check("words", &topology(), &Conf::new(), &options, Some("me")).unwrap();
    assert_eq!(taken.principal.as_deref(), Some("me"));
    assert_eq!(taken.topology_conf_overrides.as_deref(), Some("{\"topology.debug\":true}"));
    let stored = Conf::from_iter([(conf::WORKER_SECRET.to_owned(), "secret".into())]);
    let expected = json!({conf::WORKER_SECRET: "secret", "topology.debug": true});
    assert_eq!(overridden(&stored, &taken).unwrap().map(Value::Object), Some(expected));
    assert_eq!(check("words", &topology(), &Conf::new(), &options, None).unwrap().principal, None);
}

#[test]
fn without_overrides_nothing_is_written() {
    let options = executors(&[("count", 2)]);
    assert_eq!(overridden(&Conf::new(), &options), Ok(None));
    assert_eq!(with_resources(&topology(), &options), Ok(None));
}

#[test]
fn resources_take_the_place_of_those_of_older_names() {
    let of_count = BTreeMap::from([("onheap.memory.mb".to_owned(), 256.0), ("gpu".to_owned(), 1.0)]);
    let overrides = BTreeMap::from([("count".to_owned(), of_count), ("nobody".to_owned(), BTreeMap::new())]);
    let options = RebalanceOptions { topology_resources_overrides: Some(overrides), ..RebalanceOptions::default() };
    let after = with_resources(&topology(), &options).unwrap().unwrap();
    let own = conf::of_component("count", &after.bolts["count"].common).unwrap();
    let expected = json!({"mine": 1, RESOURCES_MAP: {"onheap.memory.mb": 256.0, "gpu": 1.0}});
    assert_eq!(Value::Object(own), expected);
    assert_eq!(after.bolts["sink"], topology().bolts["sink"]);
    assert_eq!(with_resources(&after, &options).unwrap(), Some(after));
}
