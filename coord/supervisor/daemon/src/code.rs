//! The code of topologies on this host: what is here, and how it comes here.
//!
//! - [`local`]: what lies on disk.
//! - [`fetch`]: how it is fetched.
//! - [`looks`]: whether it is still what the cluster has.
//!
//! Executables are kept by their content, so that topologies with the same file share it. Invariants: what lies under its
//! final name is whole and was checked; what somebody uses is not removed. Threading: fetches have threads of their own,
//! and what they share on disk goes through one lock. Errors: events for the machine.

mod fetch;
mod local;
mod looks;

pub(crate) use local::Local;
#[cfg(test)]
use local::hex as hex_of;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ringstorm_caller::{ClientSettings, DownloadError, download};
use ringstorm_supervisor::events::{CodeEvent, FetchFailure};

/// Whence blobs come.
pub(crate) trait Source: Send + Sync + 'static {
    /// Gives a blob from a byte on.
    fn download(&self, key: &str, offset: u64, writer: &mut dyn Write) -> Result<(), DownloadError>;
}

/// The nimbuses of the cluster.
pub(crate) struct Nimbuses(ClientSettings);

impl Nimbuses {
    /// The machine has pauses of its own, so that nobody is asked twice here.
    pub(crate) fn new(settings: &ClientSettings) -> Self {
        Self(ClientSettings { retry_times: 0, ..settings.clone() })
    }
}

impl Source for Nimbuses {
    fn download(&self, key: &str, offset: u64, writer: &mut dyn Write) -> Result<(), DownloadError> {
        download(&self.0, key, offset, writer).map(drop)
    }
}

/// By which the machine is told what became of code.
pub(crate) type Telling = Arc<dyn Fn(CodeEvent) + Send + Sync>;

/// The code of this host.
#[derive(Clone)]
pub(crate) struct Codes {
    shared: Arc<Shared>,
}

struct Shared {
    local: Local,
    source: Box<dyn Source>,
    tell: Telling,
    worker_timeout_max: Duration,
    /// Whoever puts something in place or removes it.
    placing: Mutex<()>,
    /// Executables that somebody fetches now, by content.
    fetching: Mutex<BTreeSet<String>>,
    fetched: Condvar,
}

impl Codes {
    pub(crate) fn new(local: Local, source: Box<dyn Source>, worker_timeout_max: Duration, tell: Telling) -> Self {
        let (placing, fetching, fetched) = Default::default();
        Self { shared: Arc::new(Shared { local, source, tell, worker_timeout_max, placing, fetching, fetched }) }
    }

    /// Fetches a topology's code; `Fetched` or `Failed` follows.
    pub(crate) fn fetch(&self, topology: String) {
        let shared = Arc::clone(&self.shared);
        let of_thread = topology.clone();
        let spawned = std::thread::Builder::new().name("fetch".into()).spawn(move || {
            let event = match shared.fetch(&of_thread) {
                Ok(timeouts) => CodeEvent::Fetched { topology: of_thread, timeouts },
                Err(failure) => {
                    let fetch::Failure { why, cause } = failure;
                    CodeEvent::Failed { topology: of_thread, why, cause }
                }
            };
            (shared.tell)(event);
        });
        if let Err(error) = spawned {
            let why = format!("no thread can be started: {error}");
            (self.shared.tell)(CodeEvent::Failed { topology, why, cause: FetchFailure::Host });
        }
    }

    /// Removes a topology's code; `Removed` follows. What cannot be removed is not usable, and is removed later.
    pub(crate) fn remove(&self, topology: String) {
        let shared = Arc::clone(&self.shared);
        let of_thread = topology.clone();
        let spawned = std::thread::Builder::new().name("remove".into()).spawn(move || {
            let _ = shared.remove(&of_thread);
            (shared.tell)(CodeEvent::Removed { topology: of_thread });
        });
        if spawned.is_err() {
            let _ = self.shared.remove(&topology);
            (self.shared.tell)(CodeEvent::Removed { topology });
        }
    }

    /// Looks from time to time whether what is here is still what the cluster has.
    pub(crate) fn watch(&self) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        std::thread::Builder::new().name("code".into()).spawn(move || looks::run(&shared)).map(drop)
    }
}

impl Shared {
    fn placing(&self) -> MutexGuard<'_, ()> {
        self.placing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, topology: &str) -> std::io::Result<()> {
        let _placing = self.placing();
        self.local.remove(topology)
    }
}
