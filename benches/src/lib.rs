//! Benchmark programs: storm-perf topologies, raw controls, HdrHistogram reports.
