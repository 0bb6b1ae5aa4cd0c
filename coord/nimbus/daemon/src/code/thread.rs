//! The threads that do what the machine wants of the code directory.
//!
//! One stores, replaces and removes, in the order of the requests; a few fetch, since another nimbus may be slow, and none
//! of them waits for the others. Invariant: each request gets one event. Threading: see there; what is stored is stored
//! under the lock of the directory. Errors: events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use ringstorm_nimbus::interface::{BlobNumbers, CodeEvent, CodeFailure, CodeRequest, CodeTask, Conf, Upload};
use ringstorm_records::records::StormTopology;
use ringstorm_records::znode::NodeName;

use super::{CodeDirectory, Fetcher};
use crate::files::Inbox;

/// How many contents are fetched at once.
const FETCHES_AT_ONCE: usize = 4;

/// Where events go.
pub(crate) type Tell = Arc<dyn Fn(CodeEvent) + Send + Sync>;

/// By which the threads are asked. They end when it is dropped, each after what it is doing.
#[derive(Debug)]
pub(crate) struct CodeThreads {
    changes: Sender<CodeRequest>,
    fetches: Sender<CodeRequest>,
}

impl CodeThreads {
    /// Starts them.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn start(directory: CodeDirectory, inbox: Inbox, fetcher: Fetcher, tell: Tell) -> io::Result<Self> {
        let work = Arc::new(Work { directory: Mutex::new(directory), inbox, fetcher });
        let (changes, fetches) = (line("code", 1, &work, &tell)?, line("fetch", FETCHES_AT_ONCE, &work, &tell)?);
        Ok(Self { changes, fetches })
    }

    /// Asks for something.
    pub(crate) fn ask(&self, request: CodeRequest) {
        let line = if matches!(request, CodeRequest::Fetch { .. }) { &self.fetches } else { &self.changes };
        // The threads live as long as this does.
        let _ = line.send(request);
    }
}

/// A line that so many threads serve.
fn line(name: &str, threads: usize, work: &Arc<Work>, tell: &Tell) -> io::Result<Sender<CodeRequest>> {
    let (requests, asked) = channel();
    let asked = Arc::new(Mutex::new(asked));
    for _ in 0..threads {
        let (work, asked, tell) = (Arc::clone(work), Arc::clone(&asked), Arc::clone(tell));
        thread::Builder::new().name(name.into()).spawn(move || {
            while let Some(request) = next(&asked) {
                // A fault of ours costs one request; the panic itself was told when it happened.
                let task = task_of(&request);
                let served = catch_unwind(AssertUnwindSafe(|| work.serve(request)));
                tell(served.unwrap_or_else(|_| {
                    let why = CodeFailure::Other("the code directory failed in itself; the log says more".into());
                    CodeEvent::Failed { task, why }
                }));
            }
        })?;
    }
    Ok(requests)
}

fn next(asked: &Mutex<Receiver<CodeRequest>>) -> Option<CodeRequest> {
    asked.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn task_of(request: &CodeRequest) -> CodeTask {
    match request {
        CodeRequest::Store { topology, .. } => CodeTask::Store(topology.clone()),
        CodeRequest::Replace(blob) => CodeTask::Replace(blob.key.clone()),
        CodeRequest::Remove { key } => CodeTask::Remove(key.clone()),
        CodeRequest::Fetch { key, .. } => CodeTask::Fetch(key.clone()),
    }
}

/// What the threads work with.
struct Work {
    directory: Mutex<CodeDirectory>,
    inbox: Inbox,
    fetcher: Fetcher,
}

impl Work {
    fn directory(&self) -> MutexGuard<'_, CodeDirectory> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, request: CodeRequest) -> CodeEvent {
        let task = task_of(&request);
        let done = match request {
            CodeRequest::Store { topology, upload, code, conf, numbers } => {
                let stored = self.store(&topology, &upload, &code, &conf, numbers);
                stored.map(|()| CodeEvent::Stored { topology })
            }
            CodeRequest::Replace(blob) => {
                let replaced = self.directory().replace(&blob);
                replaced.map(|()| CodeEvent::Replaced { key: blob.key, number: blob.number })
            }
            CodeRequest::Remove { key } => {
                let removed = self.directory().remove(&key);
                removed.map(|()| CodeEvent::Removed { key })
            }
            CodeRequest::Fetch { key, number, from } => {
                let fetched = self.fetcher.fetch(&key, number, &from);
                let stored =
                    fetched.and_then(|came| self.directory().adopt(&key, came.number, (came.path(), &came.sha256)));
                stored.map(CodeEvent::Fetched)
            }
        };
        done.unwrap_or_else(|why| CodeEvent::Failed { task, why })
    }

    fn store(
        &self,
        topology: &NodeName,
        upload: &Upload,
        code: &Arc<StormTopology>,
        conf: &Arc<Conf>,
        numbers: BlobNumbers,
    ) -> Result<(), CodeFailure> {
        let file = self.inbox.find(&upload.name).map_err(|error| CodeFailure::Upload(error.to_string()))?;
        if !upload.checksum.is_empty() && upload.checksum != file.sha256 {
            return Err(CodeFailure::Upload(format!("{} is not what its checksum says", upload.name)));
        }
        self.directory().store(topology, (&file.path, &file.sha256), code, conf, numbers)
    }
}
