//! The machine: kernel, io_uring, limits, CPUs and memory.
//!
//! Threading: pure judgements over facts that are read here once. Errors: findings.

use std::fs;

use ringstorm_conf::Conf;
use rustix::process::{Resource, getrlimit};

use super::{Finding, Supervisors};

/// The first kernel on which everything that workers use of io_uring is there.
const KERNEL_WANTED: (u32, u32) = (6, 1);
/// The first kernel on which anything works: pidfds that can be waited for.
const KERNEL_LEAST: (u32, u32) = (5, 4);
/// Fewer open files than this are soon used up by a worker: a socket for each pair of cores, and what user code opens.
const OPEN_FILES_WANTED: u64 = 65_536;
const OPEN_FILES_LEAST: u64 = 1024;
/// What the rings of a worker's cores need to be locked in memory.
const LOCKED_BYTES_LEAST: u64 = 512 << 10;

/// What is found.
pub(super) fn findings(supervisors: &Supervisors) -> Vec<Finding> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut findings = vec![kernel(&release)];
    let open = getrlimit(Resource::Nofile);
    findings.push(open_files(open.current, open.maximum));
    if !supervisors.confs.is_empty() {
        let ring = io_uring::IoUring::new(8).map(drop).map_err(|error| error.to_string());
        let disabled = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
        findings.push(io_uring(ring, disabled.as_deref().map(str::trim)));
        findings.push(locked_memory(getrlimit(Resource::Memlock).current));
        let settings: Vec<_> = supervisors.confs.iter().map(Conf::supervisor_settings).collect();
        let slots = settings.iter().map(|it| it.ports.len()).sum();
        if supervisors.are_of_dev {
            findings.push(Finding::good("CPUs", format!("the {slots} slots of `ringstorm dev` share {} CPUs", cpus())));
            return findings;
        }
        for it in settings {
            findings.push(capacity_cpu(it.cpu_capacity, cpus(), slots));
            findings.push(capacity_memory(it.memory_capacity_mb, memory_mb()));
        }
    }
    findings
}

/// CPUs that this process may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// `6.18.3-amd64`: the first two numbers.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

pub(super) fn kernel(release: &str) -> Finding {
    let said = format!("Linux {release}");
    match version(release) {
        Some(found) if found >= KERNEL_WANTED => Finding::good("kernel", said),
        Some(found) if found >= KERNEL_LEAST => {
            Finding::warning("kernel", said, "6.1 or later gives the latency that was measured; this one works")
        }
        Some(_) => Finding::bad("kernel", said, "install Linux 5.4 or later, better 6.1 or later"),
        None => Finding::warning("kernel", said, "its version cannot be read; 6.1 or later is what was tried"),
    }
}

pub(super) fn io_uring(ring: Result<(), String>, disabled: Option<&str>) -> Finding {
    let why = match ring {
        Ok(()) => return Finding::good("io_uring", "a ring can be made"),
        Err(why) => why,
    };
    let mend = match disabled {
        Some("1" | "2") => "allow it: sysctl -w kernel.io_uring_disabled=0",
        _ => {
            "allow the calls io_uring_setup, io_uring_enter and io_uring_register, for instance in the seccomp profile of \
              the container"
        }
    };
    let said = format!("no ring can be made ({why}); sockets of workers do without, and cores wait in another way");
    Finding::warning("io_uring", said, mend)
}

pub(super) fn open_files(soft: Option<u64>, hard: Option<u64>) -> Finding {
    // No limit is none.
    let (soft, hard) = (soft.unwrap_or(u64::MAX), hard.unwrap_or(u64::MAX));
    let said = format!("{soft} open files at most, {hard} if a process asks");
    let mend = "raise it: LimitNOFILE=1048576 in the service unit, or ulimit -n 1048576";
    match soft {
        OPEN_FILES_WANTED.. => Finding::good("open files", said),
        OPEN_FILES_LEAST.. => Finding::warning("open files", said, mend),
        _ => Finding::bad("open files", said, mend),
    }
}

pub(super) fn locked_memory(soft: Option<u64>) -> Finding {
    let said = soft.map_or_else(|| "no limit".to_owned(), |bytes| format!("{} KiB at most", bytes >> 10));
    if soft.is_none_or(|bytes| bytes >= LOCKED_BYTES_LEAST) {
        return Finding::good("locked memory", said);
    }
    Finding::bad("locked memory", said, "raise it: LimitMEMLOCK=infinity in the service unit, or ulimit -l unlimited")
}

pub(super) fn capacity_cpu(capacity: f64, cpus: usize, slots: usize) -> Finding {
    let said = format!(
        "supervisor.cpu.capacity offers {capacity} hundredths of a CPU, there are {cpus} CPUs and {slots} slots"
    );
    if capacity > 100.0 * cpus as f64 {
        let mend = format!("set supervisor.cpu.capacity to {}, so that no topology counts on more", 100 * cpus);
        return Finding::warning("CPUs", said, mend);
    }
    if slots > cpus {
        let mend = "cores of workers share CPUs then; give as many supervisor.slots.ports as there are CPUs, or fewer";
        return Finding::warning("CPUs", said, mend);
    }
    Finding::good("CPUs", said)
}

pub(super) fn capacity_memory(capacity_mb: f64, there_mb: Option<u64>) -> Finding {
    let Some(there) = there_mb else {
        return Finding::warning("memory", "how much there is cannot be read", "look at /proc/meminfo");
    };
    let said = format!("supervisor.memory.capacity.mb offers {capacity_mb} MB, there are {there} MB");
    if capacity_mb > there as f64 {
        return Finding::warning("memory", said, "set supervisor.memory.capacity.mb to less than there is");
    }
    Finding::good("memory", said)
}

fn memory_mb() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes >> 10)
}
