//! The order of CPUs on machines of several shapes, and texts that no kernel writes.

use proptest::prelude::*;

use super::*;

/// A machine whose CPU `n` shares a physical core with CPU `n + physical`, in nodes of equal size.
fn machine(physical: usize, nodes: usize) -> CpuFacts {
    let mut facts = CpuFacts { allowed: (0..2 * physical).collect(), ..CpuFacts::default() };
    for cpu in 0..2 * physical {
        let first = cpu % physical;
        facts.thread_siblings.insert(cpu, format!("{first},{}\n", first + physical));
    }
    let size = physical / nodes;
    for node in 0..nodes {
        let (start, end) = (node * size, (node + 1) * size - 1);
        facts.node_cpus.insert(node, format!("{start}-{end},{}-{}\n", start + physical, end + physical));
    }
    facts
}

#[test]
fn one_thread_of_each_physical_core_comes_first() {
    let usable = usable_cpus(&machine(2, 1)).unwrap();
    assert_eq!(usable, UsableCpus { cpus: vec![0, 1, 2, 3], physical_count: 2, quota_count: None, node: Some(0) });
    let mut facts = machine(2, 1);
    facts.allowed = vec![3, 1, 2];
    assert_eq!(usable_cpus(&facts).unwrap().cpus, [1, 2, 3]);
    facts.allowed = vec![1, 3];
    let usable = usable_cpus(&facts).unwrap();
    assert_eq!((usable.cpus, usable.physical_count), (vec![1, 3], 1));
}

#[test]
fn adjacent_threads_are_told_apart_too() {
    let mut facts = CpuFacts { allowed: vec![0, 1, 2, 3], ..CpuFacts::default() };
    for cpu in 0..4 {
        facts.thread_siblings.insert(cpu, format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1));
    }
    assert_eq!(usable_cpus(&facts).unwrap().cpus, [0, 2, 1, 3]);
}

#[test]
fn a_worker_stays_in_the_node_with_most_physical_cores() {
    assert_eq!(usable_cpus(&machine(4, 2)).unwrap().cpus, [0, 1, 4, 5]);
    let mut facts = machine(4, 2);
    facts.allowed = vec![0, 4, 2, 3];
    let usable = usable_cpus(&facts).unwrap();
    assert_eq!((usable.node, usable.cpus), (Some(1), vec![2, 3]));
    facts.node_cpus.remove(&0);
    facts.allowed = vec![0, 1, 2];
    let usable = usable_cpus(&facts).unwrap();
    assert_eq!((usable.node, usable.cpus), (None, vec![0, 1]));
}

#[test]
fn the_tightest_quota_limits_the_cpus() {
    for (texts, cpus) in [
        (vec!["max 100000"], 4),
        (vec!["150000 100000"], 1),
        (vec!["50000 100000"], 1),
        (vec!["max 100000", "300000 100000", "200000 100000\n"], 2),
        (vec!["-1 100000"], 4),
        (vec!["1000000 100000"], 4),
    ] {
        let facts = CpuFacts { cpu_max: texts.iter().map(ToString::to_string).collect(), ..machine(2, 1) };
        assert_eq!(usable_cpus(&facts).unwrap().cpus.len(), cpus, "{texts:?}");
    }
}

#[test]
fn without_facts_the_mask_is_what_there_is() {
    let facts = CpuFacts { allowed: vec![1, 0, 1], ..CpuFacts::default() };
    let usable = usable_cpus(&facts).unwrap();
    assert_eq!(usable, UsableCpus { cpus: vec![0, 1], physical_count: 2, quota_count: None, node: None });
    assert_eq!(usable_cpus(&CpuFacts::default()), Err(CpuFactsError::NoCpu));
}

#[test]
fn lists_are_read_as_the_kernel_writes_them() {
    assert_eq!(parse_cpu_list(""), Ok(vec![]));
    assert_eq!(parse_cpu_list("\n"), Ok(vec![]));
    assert_eq!(parse_cpu_list("0"), Ok(vec![0]));
    assert_eq!(parse_cpu_list("2-3,0-1,1-2"), Ok(vec![0, 1, 2, 3]));
    for text in ["a", "3-1", "0-", "-1", "1,,2", "0-99999999999999999999", "0-65536", "1 2"] {
        let error = parse_cpu_list(text).unwrap_err().to_string();
        assert!(error.contains("not a list of CPUs"), "{error}");
    }
    assert_eq!(parse_cpu_list("0-65535,".repeat(200).trim_end_matches(',')).unwrap().len(), MAX_CPU + 1);
}

#[test]
fn other_quotas_are_refused() {
    for text in ["", "max", "1 0", "a 100000", "-2 100000", "1 2 3", "1.5 1"] {
        assert!(parse_cpu_quota(text).unwrap_err().to_string().contains("not a CPU quota"), "{text}");
    }
}

proptest! {
    #[test]
    fn usable_cpus_are_allowed_ones_once_each(
        allowed in proptest::collection::vec(0_usize..16, 1..20), nodes in 1_usize..4, quota in 0_u64..2_000_000
    ) {
        let facts = CpuFacts { allowed: allowed.clone(), cpu_max: vec![format!("{quota} 100000")], ..machine(8, nodes) };
        let usable = usable_cpus(&facts).unwrap();
        prop_assert!(!usable.cpus.is_empty() && usable.cpus.iter().all(|cpu| allowed.contains(cpu)));
        prop_assert!(usable.cpus.len() <= usize::try_from(quota / 100_000).unwrap().max(1));
        let mut physical: Vec<usize> = usable.cpus[..usable.physical_count].iter().map(|cpu| cpu % 8).collect();
        physical.sort_unstable();
        physical.dedup();
        prop_assert_eq!(physical.len(), usable.physical_count);
        let mut distinct = usable.cpus.clone();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), usable.cpus.len());
        prop_assert_eq!(usable_cpus(&facts).unwrap(), usable);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "[-0-9,max \n]{0,30}") {
        let _ = (parse_cpu_list(&text), parse_cpu_quota(&text));
    }
}
