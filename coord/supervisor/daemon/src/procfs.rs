//! What `/proc` says of processes.
//!
//! A process may be gone at any moment, and its number given to another one: what is read here is a picture that may be
//! old. Whoever acts on it holds the process by a pidfd, and looks again after he has it. Threading: any thread. Errors:
//! what cannot be read is left out; processes of other users mostly cannot.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Pid;

/// The most that is read of a file, in bytes: an environment may be large, and is not worth more.
const READ_MAX: u64 = 4 << 20;

/// What is read of an environment at first, in bytes: most are smaller.
const READ_AT_ONCE: usize = 16 << 10;

/// Among the flags of a process (PF_KTHREAD of Linux).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// How often a process in the middle of `exec` is looked at again, and after which pause: until it has an environment it
/// cannot be told from one that never had any. It takes microseconds, unless the host or its disk is held up.
const EXEC_LOOKS: u32 = 5000;
const EXEC_PAUSE: Duration = Duration::from_micros(20);

/// What `/proc/<pid>/stat` says (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// `R`, `S`, `Z` and so on.
    state: char,
    /// The process group.
    pub(crate) group: i32,
    /// When it started, in clock ticks since the host did: with the number of the process it names it for good.
    pub(crate) started: u64,
    /// Its resident memory, in pages. The kernel counts it with a small error.
    pub(crate) resident_pages: u64,
    /// Whether it was started without any variable. One in the middle of `exec` has no environment yet, not an empty one.
    is_bare: bool,
    /// Whether it has let go of its memory: it is about to be over.
    is_leaving: bool,
}

impl Stat {
    /// Of a process that is there.
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        Self::parse(&String::from_utf8_lossy(&read(&format!("{}/stat", pid.as_raw_nonzero()))?))
    }

    fn parse(text: &str) -> Option<Self> {
        // The name is in brackets and may hold anything.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let is_of_kernel = number(6)? & KERNEL_THREAD != 0;
        Some(Self {
            state: fields.first()?.chars().next()?,
            group: fields.get(2)?.parse().ok()?,
            started: number(19)?,
            resident_pages: number(21)?,
            // Threads of the kernel have no memory. Where the code ends is known only after `exec` has laid out the
            // environment (create_elf_tables and load_elf_binary of Linux).
            is_bare: is_of_kernel || number(24).is_some_and(|end| end > 0) && number(47) == number(48),
            is_leaving: !is_of_kernel && number(20)? == 0,
        })
    }

    /// Whether it has ended, and only its parent has not asked how.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// Every process.
pub(crate) fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| pid_of(entry.file_name().to_str()?))
}

fn pid_of(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok().filter(|number| *number > 0)?)
}

/// What a process was started with as the value of a variable; `None` if it has none, or it cannot be read.
pub(crate) fn variable(pid: Pid, name: &str) -> Option<Vec<u8>> {
    for _ in 0..EXEC_LOOKS {
        match variable_now(pid, name) {
            Now::InExec => std::thread::sleep(EXEC_PAUSE),
            Now::Is(value) => return value,
            Now::Gone => return None,
        }
    }
    None
}

/// What can be said of a process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Now<T> {
    /// This.
    Is(T),
    /// It is in the middle of `exec`, and has no environment yet.
    InExec,
    /// It is not there, or is over.
    Gone,
}

/// As [`variable`], without waiting.
pub(crate) fn variable_now(pid: Pid, name: &str) -> Now<Option<Vec<u8>>> {
    let bytes = match environment(pid) {
        Ok(bytes) => bytes,
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOENT | Errno::SRCH)) => return Now::Gone,
        // It is of another user.
        Err(_) => return Now::Is(None),
    };
    if bytes.is_empty() {
        match Stat::of(pid) {
            Some(stat) if stat.is_over() || stat.is_leaving => return Now::Gone,
            Some(stat) if stat.is_bare => return Now::Is(None),
            Some(_) => return Now::InExec,
            None => return Now::Gone,
        }
    }
    let value = |setting: &[u8]| setting.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    Now::Is(bytes.split(|byte| *byte == 0).find_map(value))
}

/// By one call: what comes by several breaks off where the process calls `exec` in between.
fn environment(pid: Pid) -> io::Result<Vec<u8>> {
    let file = File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()))?;
    let mut bytes = vec![0; READ_AT_ONCE];
    loop {
        let count = file.read_at(&mut bytes, 0)?;
        if count < bytes.len() || count >= READ_MAX as usize {
            bytes.truncate(count);
            return Ok(bytes);
        }
        bytes.resize(bytes.len() * 4, 0);
    }
}

/// The children of a process, and theirs: those that it did not give away.
pub(crate) fn descendants(pid: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())).into_iter().flatten();
        for task in tasks.flatten() {
            let path = format!("{}/task/{}/children", parent.as_raw_nonzero(), task.file_name().display());
            let text = read(&path).unwrap_or_default();
            let children = String::from_utf8_lossy(&text);
            for child in children.split_whitespace().filter_map(pid_of) {
                // A number that is used anew while this looks might make a circle.
                if child != pid && !found.contains(&child) {
                    found.push(child);
                    parents.push(child);
                }
            }
        }
    }
    found
}

/// The part of its memory that is a process's own: what it shares with others is divided among them. In bytes. Costs the
/// kernel a walk over all of it.
pub(crate) fn proportional_bytes(pid: Pid) -> Option<u64> {
    let text = read(&format!("{}/smaps_rollup", pid.as_raw_nonzero()))?;
    kibibytes(&String::from_utf8_lossy(&text), "Pss:")
}

/// The memory that can be had on the host without swapping, in bytes.
pub(crate) fn available_bytes() -> Option<u64> {
    kibibytes(&String::from_utf8_lossy(&read("meminfo")?), "MemAvailable:")
}

/// A number that stands behind a word, in kB (which are 1024 bytes), as bytes.
fn kibibytes(text: &str, word: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn read(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(format!("/proc/{path}")).ok()?.take(READ_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_stat_is_read_whatever_the_name_is() {
        let text = |flags: &str, memory: &str, code: &str, environment: &str| {
            let (counts, between) = ("1 2 3 4 5 6 7 8 20 0 3 0 777", " 0".repeat(22));
            let text =
                format!("12 (a) S b) R 1 11 11 0 -1 {flags} {counts} {memory} 42 18446744073709551615 {code}{between}");
            Stat::parse(&format!("{text} {environment} 0"))
        };
        let user = "4194560";
        let stat = Stat { state: 'R', group: 11, started: 777, resident_pages: 42, is_bare: false, is_leaving: false };
        assert_eq!(text(user, "1000", "1 2", "8 9"), Some(stat));
        assert_eq!(text(user, "1000", "1 2", "8 8"), Some(Stat { is_bare: true, ..stat }));
        // In the middle of exec, before and while the environment is laid out.
        assert_eq!((text(user, "1000", "0 0", "0 0"), text(user, "1000", "0 0", "8 8")), (Some(stat), Some(stat)));
        assert_eq!(text(user, "0", "0 0", "0 0"), Some(Stat { is_leaving: true, ..stat }));
        assert_eq!(text("2129984", "0", "0 0", "0 0"), Some(Stat { is_bare: true, ..stat }));
        for bad in ["", "12 (a", "12 (a) R", "12 (a) R 1 x"] {
            assert_eq!(Stat::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_child_is_found_with_what_it_was_started_with() {
        let mut child = Command::new("sleep").arg("60").env("RINGSTORM_TEST_MARK", "a=b").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let own = Pid::from_raw(std::process::id().try_into().unwrap()).unwrap();
        assert!(descendants(own).contains(&pid));
        assert!(processes().any(|other| other == pid));
        let stat = Stat::of(pid).unwrap();
        assert!(!stat.is_over() && stat.started >= Stat::of(own).unwrap().started);
        // Between fork and exec it still has its parent's.
        let found = std::iter::repeat_with(|| variable(pid, "RINGSTORM_TEST_MARK")).find(Option::is_some).flatten();
        assert_eq!(found.as_deref(), Some(&b"a=b"[..]));
        assert_eq!(variable(pid, "RINGSTORM_TEST_MAR"), None);
        assert!(proportional_bytes(own).unwrap() > 1 << 16);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((Stat::of(pid), variable(pid, "RINGSTORM_TEST_MARK")), (None, None));
        assert!(available_bytes().unwrap() > 1 << 20);
    }

    #[test]
    fn a_process_that_becomes_another_one_never_seems_to_be_without_its_environment() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("again");
        std::fs::write(&script, "exec sh \"$0\"\n").unwrap();
        let large = "x".repeat(2 * READ_AT_ONCE);
        let mut child =
            Command::new("sh").arg(&script).env("LARGE", &large).env("RINGSTORM_TEST_MARK", "a").spawn().unwrap();
        let pid = Pid::from_child(&child);
        while variable(pid, "RINGSTORM_TEST_MARK").is_none() {}
        for look in 0..20_000 {
            assert_eq!(variable(pid, "RINGSTORM_TEST_MARK").as_deref(), Some(&b"a"[..]), "look {look}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
