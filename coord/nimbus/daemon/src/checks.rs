//! What a submission is looked at for before the machine sees it: whether what it is can run here at all.
//!
//! A topology of Ringstorm is an executable for this machine, whose tuples have the wire format of this cluster. Its
//! components are Rust types, written as `java_object` of [`COMPONENT_CLASS`]; everything else that Storm's records can
//! hold is refused with words that say why. Threading: pure functions. Errors: every reason at once.

use ringstorm_nimbus::interface::Conf;
use ringstorm_records::records::{ComponentCommon, ComponentObject, Grouping, StormTopology};
use ringstorm_submission::component::COMPONENT_CLASS;
use ringstorm_submission::executable::{Built, Unfit};
use ringstorm_types::config::keys::WIRE_FORMAT;

/// How many components are named in one reason.
const NAMED_MAX: usize = 10;

/// What can run in this cluster.
#[derive(Clone, Debug)]
pub(crate) struct Runnable {
    /// The machine of this nimbus, by its number in ELF files.
    pub(crate) machine: u16,
    /// The wire format of this build.
    pub(crate) wire_format: String,
}

/// Everything against a topology: its file, by what it was found to be, its components, its configuration.
pub(crate) fn reasons(
    runnable: &Runnable,
    file: &Result<Built, Unfit>,
    topology: &StormTopology,
    conf: &Conf,
) -> Vec<String> {
    let mut reasons = Vec::new();
    reasons.extend(of_file(runnable, file));
    reasons.extend(of_components(topology));
    // A Java topology has none, and is refused for what it is.
    if reasons.is_empty() {
        reasons.extend(of_conf(runnable, conf));
    }
    reasons
}

fn of_file(runnable: &Runnable, file: &Result<Built, Unfit>) -> Option<String> {
    match file {
        Ok(built) => of_wire_format(runnable, &built.wire_format),
        Err(unfit) => Some(unfit.to_string()),
    }
}

/// What the file says is said by the configuration, too, in which workers and tools find it.
fn of_conf(runnable: &Runnable, conf: &Conf) -> Option<String> {
    match conf.get(WIRE_FORMAT).and_then(|format| format.as_str()) {
        Some(format) => of_wire_format(runnable, format),
        None => Some(format!(
            "the configuration does not say {WIRE_FORMAT}, which a topology of Ringstorm says when it is submitted by \
             its own executable"
        )),
    }
}

fn of_wire_format(runnable: &Runnable, format: &str) -> Option<String> {
    let own = &runnable.wire_format;
    (format != own).then(|| {
        format!(
            "the topology was built with the wire format {format:?}, and this cluster speaks {own:?}; build it with the \
             Ringstorm of this cluster"
        )
    })
}

fn of_components(topology: &StormTopology) -> Vec<String> {
    let spouts = topology.spouts.iter().map(|(id, spout)| (id, &spout.spout_object, &spout.common));
    let bolts = topology.bolts.iter().map(|(id, bolt)| (id, &bolt.bolt_object, &bolt.common));
    let [mut java, mut shell, mut unknown, mut groupings] = [const { Vec::new() }; 4];
    for (id, object, common) in spouts.chain(bolts) {
        match object {
            ComponentObject::JavaObject(object) if object.full_class_name == COMPONENT_CLASS => {}
            ComponentObject::JavaObject(_) | ComponentObject::SerializedJava(_) => java.push(id.as_str()),
            ComponentObject::Shell(_) => shell.push(id.as_str()),
            ComponentObject::Unrecognized(_) => unknown.push(id.as_str()),
        }
        if has_java_grouping(common) {
            groupings.push(id.as_str());
        }
    }
    let mut reasons = Vec::new();
    let mut add = |ids: &[&str], words: &str| {
        if !ids.is_empty() {
            reasons.push(format!("{words}: {}", named(ids)));
        }
    };
    add(&java, "these components are Java objects, and Ringstorm runs topologies that are written in Rust, no Java");
    add(&shell, "these components are shell components, and components in other languages are not supported");
    add(&unknown, "these components are of a kind that is not known");
    add(&groupings, "these components have a grouping that is a serialized Java object, which cannot be run");
    if topology.worker_hooks.iter().flatten().next().is_some() {
        reasons.push("it has worker hooks, which are serialized Java objects, and cannot be run".into());
    }
    let dependencies = topology.dependency_jars.iter().chain(&topology.dependency_artifacts).flatten();
    if dependencies.count() > 0 {
        reasons.push("it depends on jars or artifacts, of which an executable can make no use".into());
    }
    reasons
}

fn has_java_grouping(common: &ComponentCommon) -> bool {
    common.inputs.values().any(|grouping| matches!(grouping, Grouping::CustomSerialized(_)))
}

fn named(ids: &[&str]) -> String {
    let mut text = ids.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    if let Some(more) = ids.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        text += &format!(" and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ringstorm_records::records::{Bolt, JavaObject, ShellComponent, SpoutSpec};
    use ringstorm_records::thrift::Binary;
    use ringstorm_submission::executable::topology_for;
    use serde_json::json;

    use super::*;

    fn runnable() -> Runnable {
        Runnable { machine: 62, wire_format: "frame 1".into() }
    }

    fn rust() -> ComponentObject {
        let object = JavaObject { full_class_name: COMPONENT_CLASS.into(), args_list: Vec::new() };
        ComponentObject::JavaObject(object)
    }

    fn topology(spout: ComponentObject, bolt: ComponentObject) -> StormTopology {
        let common = ComponentCommon::default;
        StormTopology {
            spouts: [("words".to_owned(), SpoutSpec { spout_object: spout, common: common() })].into(),
            bolts: [("count".to_owned(), Bolt { bolt_object: bolt, common: common() })].into(),
            ..StormTopology::default()
        }
    }

    fn conf(format: &str) -> Conf {
        json!({ WIRE_FORMAT: format }).as_object().unwrap().clone()
    }

    fn built(format: &str) -> Result<Built, Unfit> {
        Ok(Built { wire_format: format.into(), version: "0.1.0".into() })
    }

    #[test]
    fn an_executable_for_this_machine_with_this_wire_format_is_taken() {
        let reasons = reasons(&runnable(), &built("frame 1"), &topology(rust(), rust()), &conf("frame 1"));
        assert_eq!(reasons, Vec::<String>::new());
    }

    #[test]
    fn a_java_topology_is_refused_with_every_reason() {
        let java = ComponentObject::SerializedJava(Binary(vec![0xac, 0xed]));
        let shell = ComponentObject::Shell(ShellComponent::default());
        let mut topology = topology(java, shell);
        topology.dependency_jars = Some(vec!["dep.jar".into()]);
        let file = topology_for(62, &mut std::io::Cursor::new(b"PK\x03\x04rest of a jar"));
        let reasons = reasons(&runnable(), &file, &topology, &Conf::new());
        let [file, java, shell, jars] = reasons.as_slice() else { panic!("{reasons:?}") };
        assert!(file.contains("a jar or another archive") && file.contains("executable"), "{file}");
        assert!(java.contains("no Java: words"), "{java}");
        assert!(shell.contains("not supported: count"), "{shell}");
        assert!(jars.contains("depends on jars"), "{jars}");
    }

    #[test]
    fn another_wire_format_is_named_with_what_would_be_right() {
        let found = |file: &str, conf: &Conf| reasons(&runnable(), &built(file), &topology(rust(), rust()), conf);
        let names_both =
            |reasons: &[String]| matches!(reasons, [one] if one.contains("\"frame 0\"") && one.contains("\"frame 1\""));
        // Whatever a client says of a file.
        for (file, said) in [("frame 0", "frame 1"), ("frame 1", "frame 0"), ("frame 0", "frame 0")] {
            let found = found(file, &conf(said));
            assert!(names_both(&found), "{found:?}");
        }
        let none = found("frame 1", &Conf::new());
        assert!(matches!(none.as_slice(), [one] if one.contains(WIRE_FORMAT)), "{none:?}");
    }

    #[test]
    fn many_components_are_counted_and_not_all_named() {
        let ids: BTreeMap<String, ()> = (0..12).map(|index| (format!("c{index:02}"), ())).collect();
        let ids: Vec<&str> = ids.keys().map(String::as_str).collect();
        assert!(named(&ids).ends_with("c09 and 2 more"));
    }
}
