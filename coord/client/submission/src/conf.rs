//! The configuration that is submitted: the topology's own, and what makes a worker of its file.
//!
//! A topology's own keys pass through to its components. What would make nimbus add components that Ringstorm does not
//! run, and so number tasks that nobody has, is switched off, whoever set it: event loggers and metrics consumers.
//!
//! Threading: pure. Errors: none.

use ringstorm_types::config::Config;
use ringstorm_types::config::keys::{MAIN_ARGS, WIRE_FORMAT};
use ringstorm_types::wire_format;
use serde_json::{Map, Value};

/// As many executors of `__eventlogger`; unset means one for each worker.
const EVENTLOGGER_EXECUTORS: &str = "topology.eventlogger.executors";
/// Each of these becomes a component.
const METRICS_CONSUMERS: &str = "topology.metrics.consumer.register";

/// The configuration of a topology that is submitted with these words as its own options. A worker builds the topology
/// from the same words; nimbus takes only what was made for the wire format that its cluster has.
pub fn submitted_conf(config: &Config, own_words: &[String]) -> Map<String, Value> {
    let mut conf: Map<String, Value> = config.iter().map(|(key, value, _)| (key.to_owned(), value.clone())).collect();
    conf.insert(MAIN_ARGS.to_owned(), own_words.into());
    conf.insert(WIRE_FORMAT.to_owned(), wire_format::WIRE_FORMAT.into());
    // Written out, since the cluster may have other defaults.
    conf.insert(EVENTLOGGER_EXECUTORS.to_owned(), 0.into());
    conf.insert(METRICS_CONSUMERS.to_owned(), Value::Array(Vec::new()));
    conf
}

#[cfg(test)]
mod tests {
    use ringstorm_types::config::Origin;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_set_passes_through_with_the_words_of_main() {
        let mut config = Config::new();
        config.set("own.key", json!({"deep": [1, null]}), Origin::COMMAND_LINE);
        config.set("topology.workers", 3, Origin::TOPOLOGY);
        // Whoever wants to say other words than were typed is not heard.
        config.set(MAIN_ARGS, json!(["--other"]), Origin::COMMAND_LINE);
        let conf = submitted_conf(&config, &["--count".to_owned(), "two words".to_owned()]);
        assert_eq!(conf["own.key"], json!({"deep": [1, null]}));
        assert_eq!(conf["topology.workers"], 3);
        assert_eq!(conf[MAIN_ARGS], json!(["--count", "two words"]));
        assert_eq!(conf[WIRE_FORMAT], wire_format::WIRE_FORMAT);
        assert_eq!((&conf[EVENTLOGGER_EXECUTORS], &conf[METRICS_CONSUMERS]), (&json!(0), &json!([])));
    }
}
