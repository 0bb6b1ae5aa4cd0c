//! Settings of worker processes that have no effect in the way a topology is run. Pure.

use ringstorm_types::config::{Config, keys};

/// How a topology is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// In this process.
    OneProcess,
    /// In so many worker processes that this one leads.
    Processes(usize),
    /// As the worker of this number, which a file leads.
    LedByFile(u64),
}

/// Keys that only act on worker processes, the lists by worker first.
const KEYS: [&str; 5] =
    [keys::WORKER_LISTEN, keys::WORKER_DIAL, keys::WORKER_LAUNCH, keys::WORKER_ABSENCE_SECS, keys::WORKER_SOCKETS];

/// What to say of settings that are there and act on nothing, a line each.
pub(super) fn without_effect(config: &Config, way: Way) -> Vec<String> {
    let line = |key: &str| {
        let listed = config.get(key)?.as_array().map(Vec::len);
        let why = why(key, listed, way)?;
        Some(format!("{key} has no effect here: {why}; change or remove it"))
    };
    KEYS.into_iter().filter_map(line).collect()
}

/// Why a key that is set, to a list of so many if it is one, has no effect, or only a part of it has.
fn why(key: &str, listed: Option<usize>, way: Way) -> Option<String> {
    match (way, listed) {
        (Way::OneProcess, _) => Some("the run is one process, and more by --workers".into()),
        (Way::Processes(count), Some(listed)) if listed > count => {
            Some(format!("it lists {listed} workers and the run has {count}, which are the first ones"))
        }
        (Way::LedByFile(number), Some(listed)) => match key {
            keys::WORKER_LISTEN => (number >= listed as u64).then(|| {
                format!("it has no address for worker {number}, which listens at its address in the assignment")
            }),
            keys::WORKER_DIAL => Some("others dial a worker at its address in the assignment".into()),
            _ => Some("whoever starts the workers decides what stands before their command".into()),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    //! Each key and each way.

    use ringstorm_types::config::Origin;

    use super::*;

    fn config(settings: &[&str]) -> Config {
        let mut config = Config::new();
        settings.iter().for_each(|setting| config.set_from_text(setting, Origin::COMMAND_LINE).unwrap());
        config
    }

    #[test]
    fn a_run_in_one_process_has_no_use_for_settings_of_workers() {
        let settings = [
            r#"ringstorm.worker.listen=["127.0.0.1:1"]"#,
            r#"ringstorm.worker.dial=["127.0.0.1:1"]"#,
            "ringstorm.worker.launch=[[]]",
            "ringstorm.worker.absence.secs=3",
            "ringstorm.worker.sockets=auto",
        ];
        for setting in settings {
            let key = setting.split('=').next().unwrap();
            let lines = without_effect(&config(&[setting]), Way::OneProcess);
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(lines[0].starts_with(&format!("{key} has no effect here: ")), "{lines:?}");
        }
        assert!(without_effect(&config(&["topology.workers=3"]), Way::OneProcess).is_empty());
    }

    #[test]
    fn a_list_that_is_longer_than_the_run_has_workers_is_named() {
        let config = config(&[r#"ringstorm.worker.listen=["127.0.0.1:1","127.0.0.1:2"]"#]);
        assert!(without_effect(&config, Way::Processes(2)).is_empty());
        assert!(without_effect(&config, Way::Processes(3)).is_empty());
        let lines = without_effect(&config, Way::Processes(1));
        assert!(lines.len() == 1 && lines[0].contains("lists 2 workers and the run has 1"), "{lines:?}");
    }

    #[test]
    fn a_worker_that_a_file_leads_is_dialed_where_that_says() {
        let listen = r#"ringstorm.worker.listen=["127.0.0.1:1","127.0.0.1:2"]"#;
        assert!(without_effect(&config(&[listen]), Way::LedByFile(1)).is_empty());
        let lines = without_effect(&config(&[listen]), Way::LedByFile(2));
        assert!(lines.len() == 1 && lines[0].contains("no address for worker 2"), "{lines:?}");
        let lines = without_effect(
            &config(&[r#"ringstorm.worker.dial=["127.0.0.1:1"]"#, "ringstorm.worker.launch=[[]]"]),
            Way::LedByFile(0),
        );
        assert_eq!(lines.len(), 2, "{lines:?}");
    }
}
