//! Which CPUs a worker may use, and in which order it takes them. Pure: whoever calls has read the files.
//!
//! Usable are the CPUs of the affinity mask, within one NUMA node, no more than the quota of the control group pays
//! for. One hardware thread of each physical core comes first: two cores of ours that share one physical core would
//! slow each other down. Facts that the system does not tell are left out, and the rule for them with them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// The highest CPU number that a list may name. Linux allows 8192 CPUs; the bound keeps a damaged text from filling
/// the memory.
pub const MAX_CPU: usize = 65_535;

/// What the system says about its CPUs, as texts where the kernel gives texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuFacts {
    /// The CPUs of the affinity mask, in any order.
    pub allowed: Vec<usize>,
    /// For each CPU the text of `/sys/devices/system/cpu/cpuN/topology/thread_siblings_list`: the hardware threads of
    /// the same physical core. A CPU without one is taken for a physical core.
    pub thread_siblings: BTreeMap<usize, String>,
    /// For each NUMA node the text of `/sys/devices/system/node/nodeN/cpulist`. CPUs that no node names are taken for
    /// one node more.
    pub node_cpus: BTreeMap<usize, String>,
    /// The text of `cpu.max` of each control group from the process's own up to the root, such as `150000 100000` or
    /// `max 100000`. A group of version 1 fits with its `cpu.cfs_quota_us` and `cpu.cfs_period_us`, -1 being no limit.
    pub cpu_max: Vec<String>,
}

/// A text of the system that cannot be read. The facts are only a help to run fast: whoever calls may leave the text
/// out and ask again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuFactsError {
    /// Not a list of CPUs.
    #[error(
        "{text:?} is not a list of CPUs, because of {part:?}; a list looks like 0-3,8 and names CPUs up to {MAX_CPU}"
    )]
    NotAList {
        /// The whole text.
        text: String,
        /// The part of it that is wrong.
        part: String,
    },
    /// Not a quota.
    #[error("{text:?} is not a CPU quota; a quota is a number or \"max\" and a period, such as 150000 100000")]
    NotAQuota {
        /// The whole text.
        text: String,
    },
    /// The affinity mask is empty.
    #[error("the process may run on no CPU at all; ask the system for its affinity mask again")]
    NoCpu,
}

/// The CPUs that a worker may use, and what limited them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsableCpus {
    /// The CPUs in the order in which cores take them; at least one.
    pub cpus: Vec<usize>,
    /// How many of them, from the first on, are physical cores of their own.
    pub physical_count: usize,
    /// The number of CPUs that the control groups pay for, rounded down but at least 1; `None` without a quota.
    pub quota_count: Option<NonZeroUsize>,
    /// The NUMA node that the CPUs belong to; `None` when the system names none.
    pub node: Option<usize>,
}

/// Reads a list of CPUs such as `0-3,8,10-11`; the empty text is the empty list. The result is in ascending order
/// and holds each CPU once.
///
/// ```
/// use ringstorm_types::cpus::parse_cpu_list;
///
/// assert_eq!(parse_cpu_list("8,0-2\n").unwrap(), [0, 1, 2, 8]);
/// ```
///
/// # Errors
/// [`CpuFactsError::NotAList`] for any other text and for CPUs above [`MAX_CPU`].
pub fn parse_cpu_list(text: &str) -> Result<Vec<usize>, CpuFactsError> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
        let range = part.split_once('-').unwrap_or((part, part));
        match (range.0.trim().parse::<usize>(), range.1.trim().parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last <= MAX_CPU => cpus.extend(first..=last),
            _ => return Err(CpuFactsError::NotAList { text: text.to_owned(), part: part.to_owned() }),
        }
        // Overlapping ranges would let a short text make a long list.
        if cpus.len() > MAX_CPU {
            cpus.sort_unstable();
            cpus.dedup();
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// Reads a CPU quota and rounds it down to whole CPUs, but to no less than one; `None` means no limit.
///
/// # Errors
/// [`CpuFactsError::NotAQuota`] when the text is not two numbers, the first of which may be `max` or -1.
pub fn parse_cpu_quota(text: &str) -> Result<Option<NonZeroUsize>, CpuFactsError> {
    let error = || CpuFactsError::NotAQuota { text: text.to_owned() };
    let mut words = text.split_whitespace();
    let (Some(quota), Some(period), None) = (words.next(), words.next(), words.next()) else { return Err(error()) };
    let period: u64 = period.parse().map_err(|_| error())?;
    if quota == "max" || quota == "-1" {
        return Ok(None);
    }
    let quota: u64 = quota.parse().map_err(|_| error())?;
    let whole = quota.checked_div(period).ok_or_else(error)?;
    Ok(Some(NonZeroUsize::new(usize::try_from(whole).unwrap_or(usize::MAX)).unwrap_or(NonZeroUsize::MIN)))
}

/// Orders and limits the CPUs of a worker. Of several NUMA nodes it takes the one with the most physical cores in the
/// affinity mask, the lowest of equals.
///
/// # Errors
/// [`CpuFactsError`] when a text cannot be read or the affinity mask is empty.
pub fn usable_cpus(facts: &CpuFacts) -> Result<UsableCpus, CpuFactsError> {
    let mut allowed = facts.allowed.clone();
    allowed.sort_unstable();
    allowed.dedup();
    let (node, ordered, physical_count) = best_node(facts, &allowed)?;
    if ordered.is_empty() {
        return Err(CpuFactsError::NoCpu);
    }
    let mut quota_count: Option<NonZeroUsize> = None;
    for text in &facts.cpu_max {
        let quota = parse_cpu_quota(text)?;
        quota_count = [quota_count, quota].into_iter().flatten().min();
    }
    let mut cpus = ordered;
    cpus.truncate(quota_count.map_or(usize::MAX, NonZeroUsize::get));
    Ok(UsableCpus { physical_count: physical_count.min(cpus.len()), cpus, quota_count, node })
}

/// The node with the most physical cores, its CPUs in order, and how many physical cores those are.
fn best_node(facts: &CpuFacts, allowed: &[usize]) -> Result<(Option<usize>, Vec<usize>, usize), CpuFactsError> {
    let mut nodes: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
    let mut homeless = allowed.to_vec();
    for (node, text) in &facts.node_cpus {
        let listed = parse_cpu_list(text)?;
        let (here, elsewhere) = homeless.into_iter().partition(|cpu| listed.binary_search(cpu).is_ok());
        nodes.push((Some(*node), here));
        homeless = elsewhere;
    }
    nodes.push((None, homeless));
    let mut best: (Option<usize>, Vec<usize>, usize) = (None, Vec::new(), 0);
    for (node, cpus) in nodes {
        let (ordered, physical_count) = physical_first(&facts.thread_siblings, &cpus)?;
        if (physical_count, ordered.len()) > (best.2, best.1.len()) {
            best = (node, ordered, physical_count);
        }
    }
    Ok(best)
}

/// The first hardware thread of each physical core, then the second of each, and so on; and the number of the first.
fn physical_first(
    thread_siblings: &BTreeMap<usize, String>,
    cpus: &[usize],
) -> Result<(Vec<usize>, usize), CpuFactsError> {
    let mut used_threads: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ordered = Vec::with_capacity(cpus.len());
    for &cpu in cpus {
        let siblings = match thread_siblings.get(&cpu) {
            Some(text) => parse_cpu_list(text)?,
            None => Vec::new(),
        };
        let physical = siblings.first().copied().unwrap_or(cpu);
        let thread = used_threads.entry(physical).or_insert(0);
        ordered.push((*thread, cpu));
        *thread += 1;
    }
    ordered.sort_unstable();
    Ok((ordered.into_iter().map(|(_, cpu)| cpu).collect(), used_threads.len()))
}

#[cfg(test)]
mod tests;
