//! The file that names a worker's process for good: its number, when it started, and since which start of the host.
//! Threading: plain data. Errors: a file that cannot be read names nobody.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::host::boot_id;
use crate::layout::PID_FILE;
use crate::procfs::Stat;

/// More bytes than the file has.
const BYTES_MAX: usize = 4096;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessRecord {
    pid: i32,
    /// In clock ticks since the host's start.
    started: u64,
    /// The kernel's number of that start.
    boot: String,
}

impl ProcessRecord {
    /// Of a process that is held, so that its number is its own.
    pub(super) fn of(pid: Pid) -> Option<Self> {
        Some(Self { pid: pid.as_raw_nonzero().get(), started: Stat::of(pid)?.started, boot: boot_id() })
    }

    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(self).expect("texts and numbers can always be written");
        disk::write_plain(&folder.join(PID_FILE), &bytes, 0o644)
    }

    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&disk::read_bounded(&folder.join(PID_FILE), BYTES_MAX).ok()?).ok()
    }

    /// The process, if it is still that one.
    pub(super) fn hold(&self) -> Option<(Pid, OwnedFd)> {
        let is_of_now = self.pid > 0 && self.boot == boot_id();
        let pid = if is_of_now { Pid::from_raw(self.pid)? } else { return None };
        hold(pid, |stat| stat.started == self.started)
    }
}

/// A process that has not ended, by a handle that stays its own, if it is the one that is meant. Whether it is, is looked
/// at when it is held.
pub(super) fn hold(pid: Pid, is_meant: impl FnOnce(&Stat) -> bool) -> Option<(Pid, OwnedFd)> {
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let stat = Stat::of(pid).filter(|stat| !stat.is_over())?;
    is_meant(&stat).then_some((pid, pidfd))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_record_names_its_process_and_never_another_one_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ProcessRecord::read(folder.path()), None);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let record = ProcessRecord::of(Pid::from_child(&child)).unwrap();
        record.write(folder.path()).unwrap();
        assert_eq!(ProcessRecord::read(folder.path()), Some(record.clone()));
        assert_eq!(record.hold().unwrap().0, Pid::from_child(&child));
        for other in [
            ProcessRecord { started: record.started + 1, ..record.clone() },
            ProcessRecord { boot: "another".into(), ..record.clone() },
            ProcessRecord { pid: 0, ..record.clone() },
            ProcessRecord { pid: -1, ..record.clone() },
        ] {
            assert!(other.hold().is_none(), "{other:?}");
        }
        child.kill().unwrap();
        // Also while it waits for its parent.
        while record.hold().is_some() {}
        child.wait().unwrap();
        assert!(record.hold().is_none());
        std::fs::write(folder.path().join(PID_FILE), "{").unwrap();
        assert_eq!(ProcessRecord::read(folder.path()), None);
    }
}
