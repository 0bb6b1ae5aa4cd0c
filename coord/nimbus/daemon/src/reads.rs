//! What only looks: the read methods, on a thread with a session of its own.
//!
//! So a page with very many workers never stands in the way of rounds, and a leader's writes never in that of people who
//! look. Threading: belongs to the thread for reads. Errors: [`Failure`]; what could not be read on the way is named once
//! in the log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_nimbus::interface::{Conf, Content, Refusal};
use ringstorm_store::cluster::{Cluster, Skipped};
use ringstorm_store::control::Control;
use ringstorm_views::reads::Local;
use ringstorm_views::{Definition, NoAnswer, Read, Reads};
use ringstorm_zookeeper::ZooKeeperStore;

use crate::code::Held;
use crate::service::Failure;

/// How long a session is waited for.
const SESSION_LIMIT: Duration = Duration::from_secs(2);

/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Of how many nodes that cannot be read it is remembered that this was said.
const NAMED_MAX: usize = 10_000;

/// Who reads.
pub(crate) struct Reader {
    control: Control<ZooKeeperStore>,
    reads: Reads,
    named: BTreeMap<String, String>,
    note: Box<dyn Fn(&str) + Send>,
}

impl Reader {
    /// Reads through a store, with what is held on disk and the configuration of this daemon.
    pub(crate) fn new(
        store: ZooKeeperStore,
        cluster: Cluster,
        daemon: &Arc<Conf>,
        held: Held,
        note: impl Fn(&str) + Send + 'static,
    ) -> Self {
        let local = Definitions { held, daemon: Arc::clone(daemon), known: Mutex::default() };
        let reads = Reads::new(cluster, Arc::clone(daemon), Arc::new(local));
        Self { control: Control::new(store), reads, named: BTreeMap::new(), note: Box::new(note) }
    }

    /// The answer of a method.
    pub(crate) fn answer<M: Read>(&mut self, method: M) -> Result<M::Success, Failure> {
        // Whatever the session said meanwhile is of no use here.
        while self.control.next_event(Duration::ZERO).is_some() {}
        let no_session = || Refusal::TryAgain("this nimbus has no connection with ZooKeeper".into());
        let session = self.control.opened(SESSION_LIMIT).map_err(|_| no_session())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let procedure = self.reads.ask(method, i32::try_from(now.as_secs()).unwrap_or(i32::MAX));
        let answered = self.control.run(session, procedure, ANSWER_LIMIT);
        let answer = answered.map_err(|stuck| Refusal::TryAgain(stuck.to_string()))??;
        self.name(answer.skipped);
        Ok(answer.value)
    }

    /// Says once of each node that it cannot be read, and again when it cannot be read for another reason.
    fn name(&mut self, skipped: Vec<Skipped>) {
        for Skipped { path, why } in skipped {
            if self.named.get(path.as_str()) != Some(&why) {
                if self.named.len() >= NAMED_MAX {
                    self.named.clear();
                }
                (self.note)(&format!("{path} cannot be read and is passed over in answers: {why}"));
                self.named.insert(path.to_string(), why);
            }
        }
    }
}

impl From<NoAnswer> for Failure {
    fn from(no_answer: NoAnswer) -> Self {
        if let Some(exception) = no_answer.exception() {
            return Self::Exception(exception);
        }
        let why = no_answer.to_string();
        Self::Refusal(match no_answer {
            NoAnswer::NoCode(_) | NoAnswer::NobodyLeads | NoAnswer::Tree(_) => Refusal::TryAgain(why),
            _ => Refusal::IllegalState(why),
        })
    }
}

/// The numbers of a topology's code and configuration, and what they make.
type Known = ((u32, u32), Arc<Definition>);

/// The definitions of topologies whose blobs are held, each made once for each content.
struct Definitions {
    held: Held,
    daemon: Arc<Conf>,
    known: Mutex<BTreeMap<String, Known>>,
}

impl Local for Definitions {
    fn definition(&self, topology: &str) -> Result<Option<Arc<Definition>>, String> {
        let blob = |blob: TopologyBlob| self.held.get(&blob.key(topology));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(code), Some(conf)) = (blob(TopologyBlob::Code), blob(TopologyBlob::Conf)) else {
            known.remove(topology);
            return Ok(None);
        };
        let numbers = (code.number, conf.number);
        if let Some((of, definition)) = known.get(topology)
            && *of == numbers
        {
            return Ok(Some(Arc::clone(definition)));
        }
        let (Content::Code(code), Content::Conf(conf)) = (code.content, conf.content) else {
            return Err("its blobs hold something else than a topology and a configuration".into());
        };
        let definition = Definition::new(&self.daemon, conf, code).map_err(|refusal| refusal.to_string())?;
        let definition = Arc::new(definition);
        // What is held no more is forgotten when something new comes.
        known.retain(|id, _| self.held.get(&TopologyBlob::Code.key(id)).is_some());
        known.insert(topology.to_owned(), (numbers, Arc::clone(&definition)));
        Ok(Some(definition))
    }
}
