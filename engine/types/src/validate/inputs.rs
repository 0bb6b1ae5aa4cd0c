//! Rules about who reads what: subscriptions, groupings, tuple types.

use std::collections::BTreeSet;

use super::violation::STREAMS_MAX;
use super::{Findings, Violation, Warning};
use crate::id::{ComponentId, StreamId};
use crate::names;
use crate::topology::{Component, ComponentKind, Grouping, Input, Output, Reads, Topology};

pub(super) fn check(topology: &Topology, findings: &mut Findings) {
    for (id, component) in &topology.components {
        match component.kind {
            ComponentKind::Spout => {
                for input in &component.inputs {
                    findings.violation(Violation::SpoutWithInputs {
                        spout: id.clone(),
                        source_component: input.component.clone(),
                    });
                }
            }
            ComponentKind::Bolt => {
                if component.inputs.is_empty() {
                    findings.violation(Violation::BoltWithoutInputs { bolt: id.clone() });
                } else {
                    check_bolt(topology, id, component, findings);
                }
            }
        }
    }
}

fn check_bolt(topology: &Topology, bolt: &ComponentId, component: &Component, findings: &mut Findings) {
    check_input_count(bolt, component, findings);
    for input in &component.inputs {
        let Some(source) = topology.components.get(&input.component) else {
            let existing = topology.components.keys().map(ComponentId::as_str);
            findings.violation(Violation::UnknownComponent {
                bolt: bolt.clone(),
                missing: input.component.clone(),
                hint: names::hint(&input.component, "components", existing),
            });
            continue;
        };
        let Some(output) = source.outputs.get(&input.stream) else {
            let existing = source.outputs.keys().map(StreamId::as_str);
            findings.violation(Violation::UnknownStream {
                bolt: bolt.clone(),
                source_component: input.component.clone(),
                missing: input.stream.clone(),
                hint: names::hint(&input.stream, &format!("streams of {:?}", input.component), existing),
            });
            continue;
        };
        check_grouping(bolt, input, output, findings);
        for reads in component.reads.iter().filter(|reads| reads.covers(input)) {
            check_reads(bolt, input, output, reads, findings);
        }
    }
    warn_of_doubles(bolt, component, findings);
    for reads in &component.reads {
        if !component.inputs.iter().any(|input| reads.covers(input)) {
            findings.violation(Violation::ReadsWithoutSubscription { bolt: bolt.clone(), reads: place_of(reads) });
        }
    }
}

fn warn_of_doubles(bolt: &ComponentId, component: &Component, findings: &mut Findings) {
    let (mut seen, mut doubles) = (BTreeSet::new(), BTreeSet::new());
    for Input { component, stream, .. } in &component.inputs {
        if !seen.insert((component, stream)) && doubles.insert((component, stream)) {
            findings.warning(Warning::SubscribedTwice {
                bolt: bolt.clone(),
                source_component: component.clone(),
                stream: stream.clone(),
            });
        }
    }
}

/// Several subscriptions to one stream count once. Ticks are one more input, for which the limit leaves room.
fn check_input_count(bolt: &ComponentId, component: &Component, findings: &mut Findings) {
    if component.inputs.len() <= STREAMS_MAX {
        return;
    }
    let streams: BTreeSet<_> = component.inputs.iter().map(|input| (&input.component, &input.stream)).collect();
    if streams.len() > STREAMS_MAX {
        findings.violation(Violation::TooManyInputs { bolt: bolt.clone(), streams: streams.len() });
    }
}

fn check_grouping(bolt: &ComponentId, input: &Input, output: &Output, findings: &mut Findings) {
    let (bolt, source_component, stream) = (bolt.clone(), input.component.clone(), input.stream.clone());
    match (&input.grouping, output.direct) {
        (Grouping::Direct, true) => {}
        (Grouping::Direct, false) => {
            findings.violation(Violation::DirectGroupingOfPlainStream { bolt, source_component, stream });
        }
        (grouping, true) => {
            let grouping = grouping.name().to_owned();
            findings.violation(Violation::PlainGroupingOfDirectStream { bolt, source_component, stream, grouping });
        }
        (Grouping::PartialKey(fields), false) if fields.is_empty() && output.fields.is_empty() => {
            findings.violation(Violation::PartialKeyWithoutFields { bolt, source_component, stream });
        }
        (Grouping::Fields(fields), false) if fields.is_empty() => {
            findings.violation(Violation::FieldsGroupingWithoutFields { bolt, source_component, stream });
        }
        (Grouping::Fields(fields) | Grouping::PartialKey(fields), false) => {
            for missing in fields.iter().filter(|field| !output.fields.contains(field)) {
                findings.violation(Violation::UnknownField {
                    bolt: bolt.clone(),
                    source_component: source_component.clone(),
                    stream: stream.clone(),
                    missing: missing.clone(),
                    hint: field_hint(missing, output),
                });
            }
        }
        (_, false) => {}
    }
}

fn check_reads(bolt: &ComponentId, input: &Input, output: &Output, reads: &Reads, findings: &mut Findings) {
    if reads.layout != 0 && output.layout != 0 {
        if reads.layout != output.layout {
            findings.violation(Violation::WrongTupleType {
                bolt: bolt.clone(),
                source_component: input.component.clone(),
                stream: input.stream.clone(),
                reads: type_with_fields(&reads.type_name, &reads.fields),
                carries: carried_type(output),
            });
        }
        return;
    }
    // One side knows its tuples only by the names of their fields, so that the names are what must agree.
    let mut is_complete = true;
    for (missing, _) in reads.fields.iter().filter(|(field, _)| !output.fields.contains(field)) {
        is_complete = false;
        findings.violation(Violation::UnknownReadField {
            bolt: bolt.clone(),
            source_component: input.component.clone(),
            stream: input.stream.clone(),
            missing: missing.clone(),
            hint: field_hint(missing, output),
        });
    }
    if is_complete && reads.layout != 0 {
        check_order(bolt, input, output, reads, findings);
    }
}

/// Dynamic tuples are read as a type by position: only the same names in the same order make sense of that.
fn check_order(bolt: &ComponentId, input: &Input, output: &Output, reads: &Reads, findings: &mut Findings) {
    if !reads.fields.iter().map(|(field, _)| field).eq(&output.fields) {
        findings.violation(Violation::OtherFieldOrder {
            bolt: bolt.clone(),
            source_component: input.component.clone(),
            stream: input.stream.clone(),
            reads: type_with_fields(&reads.type_name, &reads.fields),
            carries: carried_type(output),
        });
    }
}

/// What a stream carries: its type with fields and kinds, or the fields of its dynamic tuples.
fn carried_type(output: &Output) -> String {
    if output.layout == 0 {
        return format!("dynamic tuples ({})", output.fields.join(", "));
    }
    let fields: Vec<_> = output.fields.iter().cloned().zip(output.kinds.iter().cloned()).collect();
    type_with_fields(&output.layout_name, &fields)
}

fn field_hint(missing: &str, output: &Output) -> String {
    names::hint(missing, "fields of the stream", output.fields.iter().map(String::as_str))
}

fn type_with_fields(name: &str, fields: &[(String, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(field, kind)| format!("{field}: {kind}")).collect();
    format!("{name} ({})", fields.join(", "))
}

fn place_of(reads: &Reads) -> String {
    match (&reads.component, &reads.stream) {
        (Some(component), Some(stream)) => format!("stream {stream:?} of component {component:?}"),
        (Some(component), None) => format!("component {component:?}"),
        (None, Some(stream)) => format!("stream {stream:?}"),
        (None, None) => "some stream".to_owned(),
    }
}
