//! What is asked of the operating system about connections.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use ringstorm_protocol::KernelView;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

/// Sets what every connection has: no waiting for fuller segments, and keepalive that knows within three seconds that the
/// peer's machine is silent.
pub(crate) fn prepare(socket: impl AsFd) -> io::Result<()> {
    let socket = socket.as_fd();
    rustix::io::ioctl_fionbio(socket, true)?;
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(1))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(1))?;
    sockopt::set_tcp_keepcnt(socket, 2)?;
    Ok(())
}

/// Raises this process's limit of open files as far as it may: each connection takes two, and the usual limit is 1024.
pub(super) fn allow_descriptors() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    // One that cannot be raised is met later, by whoever needs a descriptor.
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
}

/// Whether an error says that this process, or the system, has too many files open.
pub(super) fn lacks_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Begins to connect; the socket is writable when that is over, see [`connected`].
pub(crate) fn begin_connect(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    prepare(&socket)?;
    match connect(&socket, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// How a connect went that is over.
pub(crate) fn connected(socket: &OwnedFd) -> io::Result<()> {
    sockopt::socket_error(socket)??;
    Ok(())
}

/// What the kernel knows of a connection.
pub(crate) fn kernel_view(socket: &OwnedFd) -> io::Result<KernelView> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open; the kernel writes at most `length` bytes of a structure of plain numbers, for which
    // zeros, which stand in what an older kernel leaves out, are valid.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: initialised with zeros above.
    let info = unsafe { info.assume_init() };
    Ok(KernelView {
        unacknowledged: info.tcpi_unacked,
        since_acknowledged: Duration::from_millis(info.tcpi_last_ack_recv.into()),
        probes: info.tcpi_probes.into(),
    })
}

/// Bytes that the kernel holds for a connection, in both directions; 0 if it does not say.
pub(crate) fn kernel_bytes(socket: &OwnedFd) -> usize {
    // The meaning of the numbers: `SK_MEMINFO_RMEM_ALLOC` and `SK_MEMINFO_WMEM_QUEUED` of the kernel's sock_diag.h.
    const RECEIVING: usize = 0;
    const SENDING: usize = 5;
    let mut numbers = [0_u32; 9];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the descriptor is open; the kernel writes at most `length` bytes of plain numbers.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 { (numbers[RECEIVING] + numbers[SENDING]) as usize } else { 0 }
}
