//! Reads from the system which CPUs this process may use. The rules are in `ringstorm_types::cpus`; here are the files.
//!
//! A file that cannot be read or understood is left out: the facts only make a worker faster.

use std::collections::BTreeMap;
use std::fs;

use ringstorm_types::cpus::{CpuFacts, UsableCpus, parse_cpu_list, parse_cpu_quota, usable_cpus};

/// The CPUs that a worker of this process may use, in the order in which cores take them.
pub(crate) fn usable() -> UsableCpus {
    // The affinity mask is that of the calling thread; this is asked before any thread is pinned.
    let allowed: Vec<usize> = core_affinity::get_core_ids().unwrap_or_default().iter().map(|core| core.id).collect();
    let fallback = UsableCpus { cpus: vec![0], physical_count: 1, quota_count: None, node: None };
    let facts = CpuFacts {
        thread_siblings: allowed.iter().filter_map(|cpu| Some((*cpu, siblings(*cpu)?))).collect(),
        node_cpus: nodes(),
        cpu_max: quotas(),
        allowed,
    };
    usable_cpus(&facts).unwrap_or(fallback)
}

fn siblings(cpu: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")).ok()?;
    parse_cpu_list(&text).ok().map(|_| text)
}

fn nodes() -> BTreeMap<usize, String> {
    let entries = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let node = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("cpulist")).ok()?;
            parse_cpu_list(&text).ok().map(|_| (node, text))
        })
        .collect()
}

/// `cpu.max` of the process's control group and of those above it.
fn quotas() -> Vec<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::")) else { return Vec::new() };
    let root = std::path::Path::new("/sys/fs/cgroup");
    let own = root.join(path.trim_start_matches('/'));
    own.ancestors()
        .take_while(|group| group.starts_with(root))
        .filter_map(|group| fs::read_to_string(group.join("cpu.max")).ok())
        .filter(|text| parse_cpu_quota(text).is_ok())
        .collect()
}
