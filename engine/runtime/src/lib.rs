//! The runtime of one worker: topology API, executors, groupings, cores, acking, metrics and local mode.
