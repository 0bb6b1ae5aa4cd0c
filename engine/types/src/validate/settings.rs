//! Rules about settings: misspelled keys, values that no getter takes, and pairs that are legal and dangerous.

use super::{Findings, Violation, Warning};
use crate::config::{Config, check_keys};
use crate::topology::{ComponentKind, Topology};

pub(super) fn check(topology: &Topology, config: &Config, findings: &mut Findings) {
    check_config(config, findings);
    for (id, component) in &topology.components {
        check_config(&component.config, findings);
        if component.kind != ComponentKind::Spout {
            continue;
        }
        let config = config.merged_with(&component.config);
        if let (Ok(false), Ok(Some(max_spout_pending))) = (config.enable_message_timeouts(), config.max_spout_pending())
        {
            findings.warning(Warning::PendingNeverTimesOut { spout: id.clone(), max_spout_pending });
        }
    }
}

fn check_config(config: &Config, findings: &mut Findings) {
    match check_keys(config) {
        Ok(notes) => notes.into_iter().map(Warning::WithoutEffect).for_each(|warning| findings.warning(warning)),
        Err(errors) => errors.0.into_iter().map(Violation::Config).for_each(|violation| findings.violation(violation)),
    }
    for error in config.check_values() {
        findings.violation(Violation::Config(error));
    }
}
