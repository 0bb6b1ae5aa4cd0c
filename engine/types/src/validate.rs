//! The rules that a topology must keep before it may run. Pure: data in, every violation out.
//!
//! The rules are Storm's (its basic and its structure validation at submit), plus those that only typed tuples and
//! cores can have. All of them are tried, so that one round of corrections is enough. Each violation says what is
//! wrong, with what, and what to change; the person who wrote the topology recovers from it, nobody else can.

mod components;
mod inputs;
mod name;
mod settings;
mod violation;

use crate::config::Config;
use crate::topology::Topology;

pub use name::{InvalidTopologyName, validate_topology_name};
pub use violation::{Violation, Violations, Warning};

/// Checks a topology and the configuration that it is to run with.
///
/// `config` is the topology's configuration, defaults and command line included; the configurations of components are
/// laid over it where they count.
///
/// ```
/// use ringstorm_types::config::Config;
/// use ringstorm_types::topology::Topology;
/// use ringstorm_types::validate::{Violation, validate};
///
/// let violations = validate(&Topology::default(), &Config::new()).unwrap_err();
/// assert_eq!(violations.0, [Violation::NoSpouts]);
/// ```
///
/// # Errors
/// [`Violations`]: every rule that is broken, as often as it is broken.
pub fn validate(topology: &Topology, config: &Config) -> Result<Vec<Warning>, Violations> {
    let mut findings = Findings::default();
    components::check(topology, config, &mut findings);
    inputs::check(topology, &mut findings);
    settings::check(topology, config, &mut findings);
    if findings.violations.is_empty() { Ok(findings.warnings) } else { Err(Violations(findings.violations)) }
}

/// What the checks have found so far.
#[derive(Default)]
struct Findings {
    violations: Vec<Violation>,
    warnings: Vec<Warning>,
}

impl Findings {
    fn violation(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    fn warning(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }
}

#[cfg(test)]
mod tests;
