//! Which CPUs belong to which slot.
//!
//! The CPUs that the process may use (its affinity mask, within the quota of its control group) are divided among the
//! slots: whole physical cores in runs that lie next to each other, so that a slot shares neither a core nor, mostly, a
//! memory node with another one. With more slots than physical cores hardware threads are dealt, and with more slots than
//! those they are shared. Every slot has one at least.
//!
//! A worker is told its CPUs and pins its cores to them. Its other threads keep the mask of the supervisor: bound to the
//! same CPUs they would stand in the way of its cores.
//!
//! Threading: plain data; [`facts`] asks for the mask of the calling thread. Errors: facts that cannot be read are left
//! out, and so is the rule for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ringstorm_types::cpus::{CpuFacts, parse_cpu_list, parse_cpu_quota};
use rustix::thread::{CpuSet, sched_getaffinity};

/// Divides the CPUs. Texts among the facts that cannot be read count as absent.
pub(crate) fn divide(facts: &CpuFacts, ports: &BTreeSet<u16>) -> BTreeMap<u16, BTreeSet<u32>> {
    let units = units(facts, ports.len());
    let (unit_count, port_count) = (units.len(), ports.len());
    let share = |index: usize| -> BTreeSet<u32> {
        if unit_count < port_count {
            return units[index % unit_count].iter().copied().collect();
        }
        let bound = |index: usize| index * unit_count / port_count;
        units[bound(index)..bound(index + 1)].iter().flatten().copied().collect()
    };
    ports.iter().enumerate().map(|(index, port)| (*port, share(index))).collect()
}

/// What is dealt: physical cores if there are enough of them, else hardware threads. At least one, and none is empty.
fn units(facts: &CpuFacts, port_count: usize) -> Vec<Vec<u32>> {
    let mut threads_used: BTreeMap<usize, usize> = BTreeMap::new();
    let allowed: BTreeSet<usize> = facts.allowed.iter().copied().collect();
    // By thread of its core, node, core: the second threads of all cores come behind the first ones.
    let mut cpus: Vec<(usize, usize, usize, usize)> = Vec::new();
    for cpu in allowed {
        let siblings = facts.thread_siblings.get(&cpu).and_then(|text| parse_cpu_list(text).ok());
        let core = siblings.and_then(|siblings| siblings.first().copied()).unwrap_or(cpu);
        let thread = threads_used.entry(core).or_insert(0);
        cpus.push((*thread, node_of(facts, cpu), core, cpu));
        *thread += 1;
    }
    cpus.sort_unstable();
    let quota = facts.cpu_max.iter().filter_map(|text| parse_cpu_quota(text).ok().flatten()).min();
    cpus.truncate(quota.map_or(usize::MAX, |quota| quota.get()));

    let mut cores: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
    for (_, node, core, cpu) in cpus {
        cores.entry((node, core)).or_default().extend(u32::try_from(cpu));
    }
    let cores: Vec<Vec<u32>> = cores.into_values().collect();
    let units =
        if cores.len() < port_count { cores.into_iter().flatten().map(|cpu| vec![cpu]).collect() } else { cores };
    if units.is_empty() { vec![vec![0]] } else { units }
}

fn node_of(facts: &CpuFacts, cpu: usize) -> usize {
    let holds = |text: &String| parse_cpu_list(text).is_ok_and(|cpus| cpus.binary_search(&cpu).is_ok());
    facts.node_cpus.iter().find(|(_, text)| holds(text)).map_or(usize::MAX, |(node, _)| *node)
}

/// What the system says of its CPUs.
pub(crate) fn facts() -> CpuFacts {
    let mask = sched_getaffinity(None).unwrap_or_default();
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).collect();
    let siblings = |cpu: &usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        Some((*cpu, fs::read_to_string(path).ok()?))
    };
    CpuFacts {
        thread_siblings: allowed.iter().filter_map(siblings).collect(),
        node_cpus: nodes(),
        cpu_max: quotas(),
        allowed,
    }
}

fn nodes() -> BTreeMap<usize, String> {
    let entries = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let node = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        Some((number, fs::read_to_string(entry.path().join("cpulist")).ok()?))
    };
    entries.filter_map(node).collect()
}

/// `cpu.max` of the process's control group and of those above it.
fn quotas() -> Vec<String> {
    control_groups().iter().filter_map(|group| fs::read_to_string(group.join("cpu.max")).ok()).collect()
}

/// The folders of the process's control group (version 2) and of those above it.
pub(crate) fn control_groups() -> Vec<std::path::PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::")) else { return Vec::new() };
    let root = Path::new("/sys/fs/cgroup");
    let own = root.join(path.trim_start_matches('/'));
    own.ancestors().take_while(|group| group.starts_with(root)).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four cores of two threads each, in two nodes: CPUs 0 to 3 and then their siblings 4 to 7.
    fn two_nodes() -> CpuFacts {
        CpuFacts {
            allowed: (0..8).collect(),
            thread_siblings: (0..8).map(|cpu| (cpu, format!("{},{}", cpu % 4, cpu % 4 + 4))).collect(),
            node_cpus: [(0, "0-1,4-5".to_owned()), (1, "2-3,6-7".to_owned())].into(),
            cpu_max: Vec::new(),
        }
    }

    fn divided(facts: &CpuFacts, count: u16) -> Vec<Vec<u32>> {
        let ports = (6700..6700 + count).collect();
        divide(facts, &ports).into_values().map(|cpus| cpus.into_iter().collect()).collect()
    }

    #[test]
    fn slots_get_whole_cores_of_one_node() {
        assert_eq!(divided(&two_nodes(), 1), [[0, 1, 2, 3, 4, 5, 6, 7]]);
        assert_eq!(divided(&two_nodes(), 2), [[0, 1, 4, 5], [2, 3, 6, 7]]);
        assert_eq!(divided(&two_nodes(), 3), [vec![0, 4], vec![1, 5], vec![2, 3, 6, 7]]);
        assert_eq!(divided(&two_nodes(), 4), [[0, 4], [1, 5], [2, 6], [3, 7]]);
    }

    #[test]
    fn more_slots_than_cores_get_threads_and_more_than_threads_share_them() {
        assert_eq!(divided(&two_nodes(), 5), [vec![0], vec![1, 4], vec![5], vec![2, 6], vec![3, 7]]);
        assert_eq!(divided(&two_nodes(), 8).concat().len(), 8);
        let shared = divided(&two_nodes(), 20);
        assert!(shared.iter().all(|cpus| cpus.len() == 1));
        assert_eq!(shared[0], shared[8]);
    }

    #[test]
    fn the_mask_and_the_quota_are_kept() {
        let masked = CpuFacts { allowed: vec![6, 1, 3], ..two_nodes() };
        assert_eq!(divided(&masked, 3), [[1], [6], [3]]);
        let limited = CpuFacts { cpu_max: vec!["max 100000".into(), "250000 100000".into()], ..two_nodes() };
        assert_eq!(divided(&limited, 2), [[0], [1]]);
        assert_eq!(divided(&limited, 4), [[0], [1], [0], [1]]);
    }

    #[test]
    fn without_facts_every_slot_still_has_a_cpu() {
        assert_eq!(divided(&CpuFacts::default(), 2), [[0], [0]]);
        let bad = CpuFacts {
            thread_siblings: [(0, "x".to_owned())].into(),
            cpu_max: vec!["x".into()],
            allowed: vec![0, 1],
            ..CpuFacts::default()
        };
        assert_eq!(divided(&bad, 2), [[0], [1]]);
        let here = facts();
        assert!(!here.allowed.is_empty());
        assert!(divide(&here, &[6700].into())[&6700].len() <= here.allowed.len());
    }
}
