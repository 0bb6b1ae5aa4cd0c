//! The code directories of nimbuses: what they store, remove, and fetch from each other.
//!
//! What a nimbus asks of its directory takes a while; it dies meanwhile with it done or not. Invariants: what was
//! answered as done is on disk, and outlives the process.

use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_nimbus::NimbusInput;
use ringstorm_nimbus::interface::{CodeEvent, CodeFailure, CodeRequest, CodeTask, Content, HeldBlob};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::znode::NodeName;

use super::disk::Disk;
use super::process::ProcessId;
use super::{Event, World};
use crate::actor::Input;
use crate::checks::{Violation, cleaning};

impl World {
    /// A nimbus reads its directory, once, after its start.
    pub(crate) fn read_directory(&mut self, id: ProcessId) {
        let life = self.processes[id.0].life;
        let delay = self.random.millis(1, 200);
        self.queue.push(self.now + delay, Event::Code { process: id, life, request: None });
    }

    /// A nimbus wants something of its directory.
    pub(crate) fn ask_code(&mut self, id: ProcessId, request: CodeRequest) -> Result<(), Violation> {
        if let CodeRequest::Remove { key } = &request {
            cleaning::check_blob(&self.mirror, &self.processes[id.0].name, key)?;
        }
        let life = self.processes[id.0].life;
        let delay = if self.random.chance(self.weather.slow_per_mille) {
            self.random.millis(100, 10_000)
        } else {
            self.random.millis(1, 60)
        };
        self.queue.push(self.now + delay, Event::Code { process: id, life, request: Some(Box::new(request)) });
        Ok(())
    }

    /// The directory has done what it was asked, or not.
    pub(crate) fn code_done(
        &mut self,
        id: ProcessId,
        life: u64,
        request: Option<CodeRequest>,
    ) -> Result<(), Violation> {
        let is_same_life = self.processes[id.0].life == life;
        let Some(request) = request else {
            if !is_same_life {
                return Ok(());
            }
            let held = self.processes[id.0].disk.blobs.values().cloned().collect();
            return self.give_code(id, CodeEvent::Held(held));
        };
        if !is_same_life {
            // It died meanwhile; a later life has read the directory already.
            if !self.processes[id.0].is_up() && self.random.chance(500) {
                self.coverage.hit("code stored by a nimbus that died before it knew");
                change(&mut self.processes[id.0].disk, request);
            }
            return Ok(());
        }
        if self.random.chance(self.weather.failing_disk_per_mille) {
            self.coverage.hit("fault: code directory fails");
            let why = CodeFailure::Other("the disk does not do what it should".to_owned());
            return self.give_code(id, CodeEvent::Failed { task: task_of(&request), why });
        }
        let is_missing = match &request {
            CodeRequest::Store { upload, .. } => !self.processes[id.0].disk.uploads.contains(&upload.name),
            _ => false,
        };
        if is_missing {
            self.coverage.hit("upload missing");
            let why = CodeFailure::Upload("it is not here".to_owned());
            return self.give_code(id, CodeEvent::Failed { task: task_of(&request), why });
        }
        let event = match request {
            CodeRequest::Fetch { key, from, .. } => match self.fetched(id, &key, &from) {
                Some(blob) => {
                    self.processes[id.0].disk.blobs.insert(key, blob.clone());
                    CodeEvent::Fetched(blob)
                }
                None => {
                    self.coverage.hit("code not fetched");
                    let why = CodeFailure::Other(format!("{from} does not give it"));
                    CodeEvent::Failed { task: CodeTask::Fetch(key), why }
                }
            },
            other => {
                let event = match &other {
                    CodeRequest::Store { topology, .. } => CodeEvent::Stored { topology: topology.clone() },
                    CodeRequest::Replace(blob) => CodeEvent::Replaced { key: blob.key.clone(), number: blob.number },
                    CodeRequest::Remove { key } | CodeRequest::Fetch { key, .. } => {
                        CodeEvent::Removed { key: key.clone() }
                    }
                };
                change(&mut self.processes[id.0].disk, other);
                event
            }
        };
        self.give_code(id, event)
    }

    fn give_code(&mut self, id: ProcessId, event: CodeEvent) -> Result<(), Violation> {
        self.give(id, Input::Nimbus(Box::new(NimbusInput::Code(event))))
    }

    fn fetched(&self, id: ProcessId, key: &NodeName, from: &NimbusAddress) -> Option<HeldBlob> {
        let other = *self.addresses.get(&from.to_string())?;
        self.reaches(id, other).then(|| self.processes[other.0].disk.blobs.get(key).cloned())?
    }

    /// Whether one process gets answers from another.
    pub(crate) fn reaches(&self, id: ProcessId, other: ProcessId) -> bool {
        let (here, there) = (self.processes[id.0].host, self.processes[other.0].host);
        let is_up = self.processes[other.0].is_up() && self.processes[other.0].frozen.is_none();
        is_up && self.network.carries(here, there) && self.network.carries(there, here)
    }
}

/// Does to a disk what was asked; what has to be fetched is none of its own.
fn change(disk: &mut Disk, request: CodeRequest) {
    match request {
        CodeRequest::Store { topology, code, conf, numbers, .. } => {
            let blobs = [
                (TopologyBlob::Jar, numbers.jar, Content::Opaque),
                (TopologyBlob::Code, numbers.code, Content::Code(code)),
                (TopologyBlob::Conf, numbers.conf, Content::Conf(conf)),
            ];
            for (blob, number, content) in blobs {
                if let Ok(key) = NodeName::new(&blob.key(topology.as_str())) {
                    disk.blobs.insert(key.clone(), HeldBlob { key, number, content });
                }
            }
        }
        CodeRequest::Replace(blob) => {
            disk.blobs.insert(blob.key.clone(), blob);
        }
        CodeRequest::Remove { key } => {
            disk.blobs.remove(&key);
        }
        CodeRequest::Fetch { .. } => {}
    }
}

fn task_of(request: &CodeRequest) -> CodeTask {
    match request {
        CodeRequest::Store { topology, .. } => CodeTask::Store(topology.clone()),
        CodeRequest::Replace(blob) => CodeTask::Replace(blob.key.clone()),
        CodeRequest::Fetch { key, .. } => CodeTask::Fetch(key.clone()),
        CodeRequest::Remove { key } => CodeTask::Remove(key.clone()),
    }
}
