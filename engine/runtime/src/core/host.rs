//! Where cores run: a pinned glommio executor for each core, an unpinned thread for each blocking executor.
//!
//! This is the only module that names glommio. A core's turns run as the one long-lived job of its executor; nothing is
//! ever cancelled, since cancelled glommio tasks leak. Where io_uring is refused, which glommio cannot do without, a core
//! runs on a plain thread, pinned all the same: nothing of the engine awaits what only glommio has. A panic that gets this
//! far is a fault of the runtime, not of user code: it ends the worker.

use std::io;
use std::thread::JoinHandle;

use core_affinity::CoreId;
use glommio::{LocalExecutorBuilder, Placement};
use ringstorm_net::SocketsWay;
use ringstorm_ring::{Doorbell, Parker};

use crate::core::Core;
use crate::core::failure::caught;
use crate::core::parking::CoreParker;
use crate::core::status::Event;

/// The size of the memory that glommio registers for its own files, which are not used here.
const IO_MEMORY_BYTES: usize = 64 << 10;

/// On what a core runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// A glommio executor pinned to this CPU.
    Pinned { cpu: usize },
    /// A glommio executor that the kernel places.
    Unbound,
    /// A plain thread, for executors whose user code may wait.
    Thread,
}

/// Starts the thread of a core, whose sockets go `way`. `build` makes the core there; `ended` is told why it stopped, a panic's text if so.
pub(crate) fn start(
    host: Host,
    name: String,
    doorbell: Doorbell,
    way: SocketsWay,
    build: impl FnOnce() -> Core + Send + 'static,
    ended: impl FnOnce(Option<String>) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.clone());
    thread.spawn(move || {
        let result = caught(|| {
            let parker = Parker::new(&doorbell).map_err(|error| format!("it cannot park: {error}"))?;
            let has_uring = parker.has_uring();
            let body = move || run(build(), parker, way);
            match host {
                Host::Pinned { cpu } if has_uring => run_in_glommio(Placement::Fixed(cpu), &name, body),
                Host::Unbound if has_uring => run_in_glommio(Placement::Unbound, &name, body),
                Host::Pinned { cpu } if !core_affinity::set_for_current(CoreId { id: cpu }) => {
                    Err(format!("it cannot be pinned to CPU {cpu}"))
                }
                _ => body(),
            }
        });
        ended(match result {
            Ok(Ok(())) => None,
            Ok(Err(text)) | Err(text) => Some(text),
        });
    })
}

fn run(mut core: Core, parker: Parker, way: SocketsWay) -> Result<(), String> {
    if way == SocketsWay::Uring && !parker.has_uring() {
        // The process may have io_urings, but not this one more.
        let text = format!(
            "core {} got no io_uring (limit: open files, or locked memory): it waits with ppoll, and its sockets go by epoll",
            core.index
        );
        core.send_event(Event::Noted { text });
    }
    let parker = CoreParker::new(parker, way, core.transfer.sockets.is_some());
    core.parker =
        Some(parker.map_err(|error| format!("it has no descriptor for its sockets (limit: open files): {error}"))?);
    core.run();
    Ok(())
}

/// Makes a glommio executor on this thread and runs the core as its main job.
fn run_in_glommio(placement: Placement, name: &str, body: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let executor = LocalExecutorBuilder::new(placement)
        .name(name)
        .io_memory(IO_MEMORY_BYTES)
        .make()
        .map_err(|error| format!("glommio could not make an executor: {error}"))?;
    executor.run(async move { body() })
}
