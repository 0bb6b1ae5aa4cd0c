//! What operators ask for: options of submit, kill, rebalance, debug, log levels and profiling.
//!
//! Those that end up in a znode which nimbus reads, changes and writes back keep fields that they do not know.
//! Source: `storm.thrift` of Storm 2.8.2; the meaning of fields from its Java code.

use std::collections::BTreeMap;

use super::cluster::NodeInfo;
use crate::thrift::{enumerations, records};

enumerations! {
    /// What a topology is after it was submitted.
    TopologyInitialStatus {
        1: Active as "ACTIVE",
        2: Inactive as "INACTIVE",
    }

    /// What a topology is doing.
    TopologyStatus {
        1: Active as "ACTIVE",
        2: Inactive as "INACTIVE",
        3: Rebalancing as "REBALANCING",
        4: Killed as "KILLED",
    }

    /// How many errors of each component are wanted.
    NumErrorsChoice {
        0: All as "ALL",
        1: None as "NONE",
        2: One as "ONE",
    }

    /// What a worker's profiler should do.
    ProfileAction {
        0: JprofileStop as "JPROFILE_STOP",
        1: JprofileStart as "JPROFILE_START",
        2: JprofileDump as "JPROFILE_DUMP",
        3: JmapDump as "JMAP_DUMP",
        4: JstackDump as "JSTACK_DUMP",
        5: JvmRestart as "JVM_RESTART",
    }

    /// What becomes of a logger's level.
    LogLevelAction {
        1: Unchanged as "UNCHANGED",
        2: Update as "UPDATE",
        3: Remove as "REMOVE",
    }
}

records! {
    in OPTIONS;

    /// How a topology is submitted.
    struct SubmitOptions {
        1: initial_status: TopologyInitialStatus,
        2: creds: Option<Credentials>,
    }

    /// Secrets of a topology, given to its workers.
    #[derive(Default)]
    struct Credentials {
        /// Names and secrets.
        1: creds: BTreeMap<String, String>,
        2: topo_owner as "topoOwner": Option<String>,
        ..unknown
    }

    /// How a topology is killed.
    #[derive(Default)]
    struct KillOptions {
        /// Time from the deactivation to the end, in seconds; not set stands for the time-out of messages.
        1: wait_secs: Option<i32>,
        ..unknown
    }

    /// How a topology is rebalanced. What is not set stays as it is.
    #[derive(Default)]
    struct RebalanceOptions {
        /// Time from the deactivation to the new assignment, in seconds; not set stands for the time-out of messages.
        1: wait_secs: Option<i32>,
        2: num_workers: Option<i32>,
        /// Components and their new numbers of executors.
        3: num_executors: Option<BTreeMap<String, i32>>,
        /// Components, resources of each, amounts.
        4: topology_resources_overrides: Option<BTreeMap<String, BTreeMap<String, f64>>>,
        /// Configuration as JSON text.
        5: topology_conf_overrides: Option<String>,
        /// Set by nimbus, whatever the caller says; not set for an anonymous caller.
        6: principal: Option<String>,
        ..unknown
    }

    /// The options of the last kill or rebalance.
    union TopologyActionOptions {
        1: KillOptions as "kill_options"(KillOptions),
        2: RebalanceOptions as "rebalance_options"(RebalanceOptions),
    }

    /// What an answer about a topology should hold.
    #[derive(Default)]
    struct GetInfoOptions {
        1: num_err_choice: Option<NumErrorsChoice>,
    }

    /// A request to profile a worker.
    struct ProfileRequest {
        /// The node is a host name here.
        1: node_info as "nodeInfo": NodeInfo,
        2: action: ProfileAction,
        3: time_stamp: Option<i64>,
    }

    /// A logger's level and how long it holds.
    struct LogLevel {
        1: action: LogLevelAction,
        2: target_log_level: Option<String>,
        /// 0 for ever.
        3: reset_log_level_timeout_secs: Option<i32>,
        /// When the level ends, in milliseconds since 1970. Set by nimbus.
        4: reset_log_level_timeout_epoch: Option<i64>,
        5: reset_log_level: Option<String>,
        ..unknown
    }

    /// Levels of loggers of a topology.
    #[derive(Default)]
    struct LogConfig {
        /// By logger; `ROOT` for the root. Id 1 is not used.
        2: named_logger_level: Option<BTreeMap<String, LogLevel>>,
        ..unknown
    }

    /// Whether and how often tuples are written to the event logger.
    #[derive(Default)]
    struct DebugOptions {
        1: enable: Option<bool>,
        /// Per cent of the tuples.
        2: samplingpct: Option<f64>,
        ..unknown
    }

    /// Topologies that a user may see the logs of.
    #[derive(Default)]
    struct TopologyHistoryInfo {
        1: topo_ids: Option<Vec<String>>,
    }
}
