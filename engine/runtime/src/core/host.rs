//! Where cores run: a pinned glommio executor for each core, an unpinned thread for each blocking executor.
//!
//! This is the only module that names glommio. A core's turns run as the one long-lived job of its executor; nothing is
//! ever cancelled, since cancelled glommio tasks leak. A panic that gets this far is a fault of the runtime, not of user
//! code: it ends the worker.

use std::io;
use std::thread::JoinHandle;

use glommio::{LocalExecutorBuilder, Placement};
use ringstorm_ring::{Doorbell, Parker};

use crate::core::Core;
use crate::core::failure::caught;

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

/// Starts the thread of a core. `build` makes the core there; `ended` is told why it stopped, a panic's text if so.
pub(crate) fn start(
    host: Host,
    name: String,
    doorbell: Doorbell,
    build: impl FnOnce() -> Core + Send + 'static,
    ended: impl FnOnce(Option<String>) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.clone());
    thread.spawn(move || {
        let body = move || {
            let mut core = build();
            match Parker::new(&doorbell) {
                Ok(parker) => core.parker = Some(parker),
                Err(error) => panic!("core {} cannot park: {error}", core.index),
            }
            core.run();
        };
        let result = caught(|| match host {
            Host::Thread => {
                body();
                Ok(())
            }
            Host::Pinned { cpu } => run_in_glommio(Placement::Fixed(cpu), &name, body),
            Host::Unbound => run_in_glommio(Placement::Unbound, &name, body),
        });
        ended(match result {
            Ok(Ok(())) => None,
            Ok(Err(text)) | Err(text) => Some(text),
        });
    })
}

/// Makes a glommio executor on this thread and runs the core as its main job.
fn run_in_glommio(placement: Placement, name: &str, body: impl FnOnce()) -> Result<(), String> {
    let executor = LocalExecutorBuilder::new(placement)
        .name(name)
        .io_memory(IO_MEMORY_BYTES)
        .make()
        .map_err(|error| format!("glommio could not make an executor: {error}"))?;
    executor.run(async move { body() });
    Ok(())
}
