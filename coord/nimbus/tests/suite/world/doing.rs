//! What is done with the effects of a nimbus.

use std::collections::BTreeMap;

use ringstorm_control::talks::FromStore;
use ringstorm_nimbus::NimbusEffect;
use ringstorm_nimbus::interface::{CodeEvent, CodeFailure, CodeRequest, CodeTask, Content, HeldBlob};
use ringstorm_records::payload;
use ringstorm_records::records::{StormBase, TopologyStatus};
use ringstorm_store::memory::SharedEnsemble;
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::{Doubt, Outcome};
use ringstorm_store::store::SessionId;

use super::{World, name};

impl World {
    pub(super) fn perform(&mut self, index: usize, effects: Vec<NimbusEffect>) {
        for effect in effects {
            let daemon = &mut self.daemons[index];
            let Some(running) = &mut daemon.running else { return };
            match effect {
                NimbusEffect::Store(asked) => {
                    let is_write = asked.operation.is_write();
                    match &mut daemon.loses {
                        Some((0, loss)) if is_write => {
                            running.store.lose_next(*loss);
                            daemon.loses = None;
                        }
                        Some((left, _)) if is_write => *left -= 1,
                        _ => {}
                    }
                    if let Some(every) = daemon.fails_reads.filter(|_| !is_write) {
                        daemon.reads += 1;
                        if daemon.reads.is_multiple_of(every) {
                            let outcome = Outcome::Unknown(Doubt::TimedOut);
                            running.failed.push_back(FromStore::Outcome { question: asked.question, outcome });
                            continue;
                        }
                    }
                    let path = match &asked.operation {
                        Operation::Multi { writes, .. } => writes.first().map(|write| write.path().clone()),
                        Operation::Write(write) => Some(write.path().clone()),
                        _ => None,
                    };
                    let is_a_leaders = path.is_some_and(|path| {
                        ["/storm/storms/", "/storm/assignments/"].iter().any(|folder| path.as_str().starts_with(folder))
                    });
                    let before = is_a_leaders.then(|| leader_and_records(&self.ensemble));
                    running.tickets.submit(&mut running.store, asked);
                    if let Some((leader, records)) = before {
                        let written = leader_and_records(&self.ensemble).1;
                        let is_leading = leader.is_some() && leader == running.session;
                        assert!(is_leading || written == records, "{} wrote and does not lead", daemon.host);
                        check_removal(&records, &written);
                    }
                    daemon.writes += usize::from(is_write);
                    if is_write && let Some(left) = daemon.deposed_after {
                        daemon.deposed_after = left.checked_sub(1);
                        if left == 0 {
                            running.store.hold_watches(true);
                            delete_first_place(&self.ensemble, self.observer);
                        }
                    }
                    if let Some(left) = daemon.crashes_after.as_mut().filter(|_| is_write) {
                        *left -= 1;
                        if *left == 0 {
                            self.crash(index);
                        }
                    }
                }
                NimbusEffect::Reply { id, reply } => {
                    assert!(self.replies.insert(id, reply).is_none(), "{id:?} is answered twice");
                }
                NimbusEffect::Code(request) => self.do_code(index, request),
                NimbusEffect::Note(line) => {
                    let host = &self.daemons[index].host;
                    self.notes.push(format!("{:?} {host}: {line}", self.now));
                }
                NimbusEffect::Stop(why) => {
                    self.daemons[index].stopped = Some(why);
                    self.daemons[index].running = None;
                }
            }
        }
    }

    fn do_code(&mut self, index: usize, request: CodeRequest) {
        let event = match request {
            CodeRequest::Store { topology, code, conf, numbers, .. } => {
                if self.daemons[index].has_uploads {
                    let contents = [
                        ("-stormjar.jar", numbers.jar, Content::Opaque),
                        ("-stormcode.ser", numbers.code, Content::Code(code)),
                        ("-stormconf.ser", numbers.conf, Content::Conf(conf)),
                    ];
                    for (suffix, number, content) in contents {
                        let key = name(&format!("{topology}{suffix}"));
                        self.daemons[index].directory.insert(key.clone(), HeldBlob { key, number, content });
                    }
                    CodeEvent::Stored { topology }
                } else {
                    let why = CodeFailure::Upload("there is no such upload".into());
                    CodeEvent::Failed { task: CodeTask::Store(topology), why }
                }
            }
            CodeRequest::Replace(blob) => {
                let (key, number) = (blob.key.clone(), blob.number);
                self.daemons[index].directory.insert(key.clone(), blob);
                CodeEvent::Replaced { key, number }
            }
            CodeRequest::Fetch { key, from, .. } => {
                let holder = (0..self.daemons.len()).find(|other| self.address(*other) == from);
                let blob = holder.filter(|holder| self.is_running(*holder));
                match blob.and_then(|holder| self.daemons[holder].directory.get(&key)).cloned() {
                    Some(blob) => {
                        self.daemons[index].directory.insert(key, blob.clone());
                        CodeEvent::Fetched(blob)
                    }
                    None => {
                        let why = CodeFailure::Other(format!("{from} does not answer"));
                        CodeEvent::Failed { task: CodeTask::Fetch(key), why }
                    }
                }
            }
            CodeRequest::Remove { key } => {
                self.daemons[index].directory.remove(&key);
                CodeEvent::Removed { key }
            }
        };
        if let Some(running) = &mut self.daemons[index].running {
            running.code_events.push_back(event);
        }
    }
}

/// Somebody deletes the place of whoever is first in the queue.
pub(super) fn delete_first_place(ensemble: &SharedEnsemble, observer: SessionId) {
    let nodes = ensemble.with(|ensemble| ensemble.dump());
    let places =
        nodes.into_iter().map(|node| node.path).filter(|path| path.as_str().starts_with("/storm/leader-lock/"));
    if let Some(first) = places.min_by_key(|path| path.as_str().rsplit('-').next().map(str::to_owned)) {
        ensemble.with(|ensemble| {
            let _ = ensemble.perform(observer, &Operation::delete(first));
        });
    }
}

/// An assignment goes only when its topology is killed or gone.
pub(super) fn check_removal(before: &Records, after: &Records) {
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        let base = after.get(&path.replace("/assignments/", "/storms/"));
        let status = base.and_then(|base| Some(payload::decode::<StormBase>(base).ok()?.status));
        assert!(matches!(status, None | Some(TopologyStatus::Killed)), "{path} was removed of what is {status:?}");
    }
}

/// What only a leader writes, by path.
pub(super) type Records = BTreeMap<String, Vec<u8>>;

/// The session of whoever is first in the queue, and what only a leader writes.
pub(super) fn leader_and_records(ensemble: &SharedEnsemble) -> (Option<SessionId>, Records) {
    let nodes = ensemble.with(|ensemble| ensemble.dump());
    let number = |path: &str| path.rsplit('-').next().unwrap_or_default().to_owned();
    let candidates = nodes.iter().filter(|node| node.path.as_str().starts_with("/storm/leader-lock/"));
    let first = candidates.min_by_key(|node| number(node.path.as_str())).and_then(|node| node.stat.owner);
    let is_a_leaders = |path: &str| path.starts_with("/storm/storms/") || path.starts_with("/storm/assignments/");
    let records = nodes.iter().filter(|node| is_a_leaders(node.path.as_str()));
    (first, records.map(|node| (node.path.to_string(), node.data.clone())).collect())
}
