//! What the figures of a report depend on besides the code: compiler, profile, commit, kernel, CPU, other load.
//!
//! Values that cannot be read are `unknown`. Threading and errors: none.

use serde_json::{Value, json};

/// The conditions of a run as a JSON object of texts and numbers.
pub fn conditions() -> Value {
    json!({
        "rustc": env!("RINGSTORM_BENCHES_RUSTC"),
        "profile": profile(),
        "commit": env!("RINGSTORM_BENCHES_COMMIT"),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "cpu_model": cpu_model(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        "cpus_usable": std::thread::available_parallelism().map_or(0, usize::from),
        "load_average": first_line("/proc/loadavg"),
    })
}

/// The profile of this binary.
pub fn profile() -> String {
    format!("{}, opt-level {}", env!("RINGSTORM_BENCHES_PROFILE"), env!("RINGSTORM_BENCHES_OPTIMISATION"))
}

/// Whether this binary was built for measuring.
pub fn is_optimised() -> bool {
    env!("RINGSTORM_BENCHES_PROFILE") == "release"
}

fn first_line(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().next().map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}

fn cpu_model(cpu_information: &str) -> String {
    let line = cpu_information.lines().find(|line| line.starts_with("model name"));
    let value = line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned());
    value.unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_model_is_found_or_unknown() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC");
        assert_eq!(cpu_model(""), "unknown");
    }

    #[test]
    fn every_condition_has_a_value() {
        let conditions = conditions();
        for (name, value) in conditions.as_object().unwrap() {
            assert!(value.as_str().is_none_or(|text| !text.is_empty()) && !value.is_null(), "{name}");
        }
        assert!(conditions["rustc"].as_str().unwrap().starts_with("rustc"));
    }
}
