//! A nimbus with its code directory in memory. Threading and errors: as those of [`crate::daemon`].

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_control::time::Now;
use ringstorm_ensemble::Link;
use ringstorm_nimbus::interface::{
    CodeEvent, CodeFailure, CodeRequest, CodeTask, Content, HeldBlob, Refusal, Reply, Request, RequestId,
};
use ringstorm_nimbus::{Identity, Nimbus, NimbusEffect, NimbusInput, NimbusSettings};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::znode::NodeName;
use ringstorm_store::cluster::Cluster;

use crate::daemon::{Daemon, Program, Word, Words};
use crate::tree::VERSION;
use crate::world::{LIMIT, Notes, World, cluster};

/// The blobs of every nimbus, by its port.
pub(crate) type Directories = Arc<Mutex<BTreeMap<u16, BTreeMap<NodeName, HeldBlob>>>>;

/// A nimbus.
pub(crate) struct NimbusHost {
    daemon: Daemon<NimbusInput>,
    pub(crate) link: Link,
    leads: Arc<AtomicBool>,
    replies: Receiver<(RequestId, Answered)>,
    next_request: u64,
}

/// What came of a request.
pub(crate) type Answered = Result<Reply, Refusal>;

struct NimbusProgram {
    cluster: Cluster,
    identity: Identity,
    settings: NimbusSettings,
    directories: Directories,
    replies: Sender<(RequestId, Answered)>,
    leads: Arc<AtomicBool>,
    notes: Notes,
}

impl NimbusHost {
    /// Starts one at this port.
    pub(crate) fn start(world: &World, port: u16, random: u128, settings: NimbusSettings, session: Duration) -> Self {
        let link = Link::to(&world.addresses);
        let (sender, replies) = channel();
        let leads = Arc::new(AtomicBool::new(false));
        let address = NimbusAddress::new("127.0.0.1", port, 0).unwrap();
        let program = NimbusProgram {
            cluster: cluster(),
            identity: Identity { address, version: VERSION.into(), random },
            settings,
            directories: Arc::clone(&world.directories),
            replies: sender,
            leads: Arc::clone(&leads),
            notes: world.notes.of(&format!("nimbus {port}")),
        };
        let held = world.directories.lock().unwrap().entry(port).or_default().values().cloned().collect();
        let daemon = Daemon::start(world.clock, link.addresses(), session, program);
        daemon.words().send(Word::Input(NimbusInput::Code(CodeEvent::Held(held)))).unwrap();
        Self { daemon, link, leads, replies, next_request: 0 }
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.leads.load(Ordering::SeqCst)
    }

    /// Asks for something.
    pub(crate) fn ask(&mut self, request: Request) -> RequestId {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        self.daemon.words().send(Word::Input(NimbusInput::Request { id, request })).unwrap();
        id
    }

    /// The answer to what was asked last.
    pub(crate) fn answer(&mut self, wanted: RequestId) -> Answered {
        let (id, answer) = self.replies.recv_timeout(LIMIT).expect("each request is answered");
        assert_eq!(id, wanted);
        answer
    }

    /// Asks for something, and waits for the answer.
    pub(crate) fn request(&mut self, request: Request) -> Answered {
        let id = self.ask(request);
        self.answer(id)
    }
}

impl Drop for NimbusHost {
    fn drop(&mut self) {
        self.daemon.end();
    }
}

impl Program for NimbusProgram {
    type Machine = Nimbus;

    fn make(&mut self, now: Now) -> Option<Nimbus> {
        Some(Nimbus::new(self.cluster.clone(), self.identity.clone(), self.settings.clone(), now))
    }

    fn telling(said: FromStore) -> NimbusInput {
        NimbusInput::Store(said)
    }

    fn sorting(effect: NimbusEffect) -> Result<ToStore, NimbusEffect> {
        match effect {
            NimbusEffect::Store(asked) => Ok(asked),
            other => Err(other),
        }
    }

    fn act(&mut self, _: Now, effect: NimbusEffect, own: &Words<NimbusInput>) -> ControlFlow<()> {
        match effect {
            NimbusEffect::Store(_) => {}
            NimbusEffect::Reply { id, reply } => drop(self.replies.send((id, reply))),
            NimbusEffect::Code(request) => {
                let event = self.code(request);
                let _ = own.send(Word::Input(NimbusInput::Code(event)));
            }
            NimbusEffect::Note(line) => self.notes.add(&line),
            NimbusEffect::Stop(why) => {
                self.notes.add(&format!("STOPS: {why}"));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn tick(&mut self, _: Now, machine: &Nimbus, _: &Words<NimbusInput>) {
        self.leads.store(machine.is_leading(), Ordering::SeqCst);
    }
}

impl NimbusProgram {
    fn code(&self, request: CodeRequest) -> CodeEvent {
        let mut directories = self.directories.lock().unwrap();
        let fetched = match &request {
            CodeRequest::Fetch { key, from, .. } => {
                directories.get(&from.port()).and_then(|directory| directory.get(key)).cloned()
            }
            _ => None,
        };
        let own = directories.entry(self.identity.address.port()).or_default();
        match request {
            CodeRequest::Store { topology, code, conf, numbers, .. } => {
                let contents = [
                    ("-stormjar.jar", numbers.jar, Content::Opaque),
                    ("-stormcode.ser", numbers.code, Content::Code(code)),
                    ("-stormconf.ser", numbers.conf, Content::Conf(conf)),
                ];
                for (suffix, number, content) in contents {
                    let key = NodeName::new(&format!("{topology}{suffix}")).unwrap();
                    own.insert(key.clone(), HeldBlob { key, number, content });
                }
                CodeEvent::Stored { topology }
            }
            CodeRequest::Replace(blob) => {
                let (key, number) = (blob.key.clone(), blob.number);
                own.insert(key.clone(), blob);
                CodeEvent::Replaced { key, number }
            }
            CodeRequest::Fetch { key, from, .. } => match fetched {
                Some(blob) => {
                    own.insert(key, blob.clone());
                    CodeEvent::Fetched(blob)
                }
                None => {
                    let why = CodeFailure::Other(format!("{from} does not have it"));
                    CodeEvent::Failed { task: CodeTask::Fetch(key), why }
                }
            },
            CodeRequest::Remove { key } => {
                own.remove(&key);
                CodeEvent::Removed { key }
            }
        }
    }
}
