//! Runs a command that may not make an io_uring, as in a container whose seccomp filter forbids it:
//! `without_io_uring COMMAND ARGUMENTS...`.

#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Where a filter finds the number of a system call.
const NUMBER: u32 = 0;

fn filter(code: u32, value: u32, (jump_true, jump_false): (u8, u8)) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: jump_true, jf: jump_false, k: value }
}

fn main() {
    let io_uring_setup = libc::SYS_io_uring_setup as u32;
    let mut program = [
        filter(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER, (0, 0)),
        filter(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, io_uring_setup, (0, 1)),
        filter(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, (0, 0)),
        filter(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, (0, 0)),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: both calls change this process alone; the filter is read within the second and lives as long.
    let (promised, filtered) = unsafe {
        let promised = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        (promised, libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program))
    };
    assert_eq!((promised, filtered), (0, 0), "{}", std::io::Error::last_os_error());
    let mut words = std::env::args_os().skip(1);
    let error = Command::new(words.next().expect("usage: without_io_uring COMMAND ARGUMENTS...")).args(words).exec();
    panic!("the command cannot be run: {error}");
}
