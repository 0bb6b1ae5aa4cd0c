//! Where the contract is tried.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringstorm_ensemble::{Ensemble, Link};
use ringstorm_records::znode::Root;
use ringstorm_store::acl::{Acl, Acls, Credential};
use ringstorm_store::cluster::{Cluster, ClusterAcls, Tree, Trouble};
use ringstorm_store::control::Control;
use ringstorm_store::memory::{Ensemble as MemoryEnsemble, MemoryStore, SharedEnsemble};
use ringstorm_store::operation::{Answer, CreateMode, Operation};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::{Event, SessionEvent, SessionId, Store};
use ringstorm_zookeeper::{Settings, ZooKeeperStore};

/// For anything that must happen, on a machine that is busy with something else.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// For what must not happen.
const QUIET: Duration = Duration::from_millis(100);

/// The time-out of sessions that shall not expire.
const LONG: Duration = Duration::from_secs(20);

/// The time-out of sessions that shall.
const SHORT: Duration = Duration::from_secs(2);

/// A tree and its clients.
pub(crate) trait World {
    type Store: Store;

    /// A client whose session is open.
    fn client(&self, credentials: Option<&Credential>) -> Client<Self>;
    /// As [`Self::client`], with a session that ends soon when it is cut off.
    fn short_client(&self) -> Client<Self>;
    /// Where this case may do what it likes; nobody has made it yet.
    fn root(&self) -> Root;

    /// Cuts a client off, or connects it again.
    fn cut(&self, client: &mut Client<Self>, is_cut: bool);
    /// Submits an operation and cuts the client off before it hears of it.
    fn lose(&self, client: &mut Client<Self>, operation: Operation, is_done: bool) -> Outcome;
    /// Cuts a client off until its session is over, and connects it again.
    fn expire(&self, client: &mut Client<Self>);
    /// The tree at the root.
    fn cluster(&self) -> Cluster {
        Cluster::new(self.root(), ClusterAcls::open())
    }
}

/// A store in the hands of the test, and the session that it opened last.
pub(crate) struct Client<W: World + ?Sized> {
    pub(crate) control: Control<W::Store>,
    pub(crate) session: SessionId,
    link: Option<Link>,
    root: Root,
}

impl<W: World + ?Sized> Client<W> {
    fn new(store: W::Store, link: Option<Link>, root: Root) -> Self {
        let mut control = Control::new(store);
        let session = control.opened(LIMIT).unwrap();
        let mut client = Self { control, session, link, root };
        client.session_event();
        client
    }

    pub(crate) fn ask(&mut self, operation: Operation) -> Outcome {
        self.control.ask(self.session, operation, LIMIT).unwrap()
    }

    pub(crate) fn done(&mut self, operation: Operation) -> Answer {
        match self.ask(operation.clone()) {
            Outcome::Done(answer) => answer,
            other => panic!("{operation:?}: {other:?}"),
        }
    }

    /// Runs a conversation.
    pub(crate) fn tree<T, B>(&mut self, cluster: &Cluster, body: impl FnOnce(Tree) -> B) -> Result<T, Trouble>
    where
        B: Future<Output = Result<T, Trouble>> + Send + 'static,
    {
        self.control.run(self.session, cluster.procedure(body), LIMIT).unwrap()
    }

    pub(crate) fn path(&self, below: &str) -> ZnodePath {
        ZnodePath::new(&format!("{}{below}", self.root.as_str())).unwrap()
    }

    pub(crate) fn create(&mut self, below: &str, mode: CreateMode) -> ZnodePath {
        let operation = self.creation(below, mode);
        match self.done(operation) {
            Answer::Created { path } => path,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn creation(&self, below: &str, mode: CreateMode) -> Operation {
        Operation::create(self.path(below), *b"x", mode, open_to_all())
    }

    pub(crate) fn set(&mut self, below: &str, data: &[u8]) {
        let path = self.path(below);
        self.done(Operation::set(path, data));
    }

    pub(crate) fn exists(&mut self, below: &str, watch: bool) -> bool {
        let path = self.path(below);
        match self.done(Operation::Exists { path, watch }) {
            Answer::Exists(stat) => stat.is_some(),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a node is there, or gone. No watch stays behind, unless it comes or goes at that moment.
    pub(crate) fn wait_until(&mut self, below: &str, is_there: bool) {
        let path = self.path(below);
        self.done(Operation::Sync { path });
        while self.exists(below, false) != is_there && self.exists(below, true) != is_there {
            while !matches!(self.event(), Event::Watch(_)) {}
        }
    }

    /// The next event.
    pub(crate) fn event(&mut self) -> Event {
        self.control.next_event(LIMIT).expect("an event comes")
    }

    /// The next event of the session; others are passed over.
    pub(crate) fn session_event(&mut self) -> SessionEvent {
        loop {
            if let Event::Session(event) = self.event() {
                return event;
            }
        }
    }

    /// Asserts that nothing more happens.
    pub(crate) fn assert_quiet(&mut self) {
        assert_eq!(self.control.next_event(QUIET), None);
    }
}

pub(crate) fn open_to_all() -> Acls {
    [Acl::anyone()].into()
}

/// An ensemble in memory.
pub(crate) struct Memory {
    ensemble: SharedEnsemble,
    next_member: AtomicUsize,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let world = Self { ensemble: SharedEnsemble::new(MemoryEnsemble::new(3)), next_member: AtomicUsize::new(0) };
        make_root(&world);
        world
    }
}

impl World for Memory {
    type Store = MemoryStore;

    fn client(&self, credentials: Option<&Credential>) -> Client<Self> {
        let member = self.next_member.fetch_add(1, Ordering::Relaxed);
        let credentials: Vec<_> = credentials.into_iter().cloned().collect();
        Client::new(MemoryStore::open(&self.ensemble, member, &credentials), None, self.root())
    }

    fn short_client(&self) -> Client<Self> {
        self.client(None)
    }

    fn root(&self) -> Root {
        Root::new("/contract/storm").unwrap()
    }

    fn cut(&self, client: &mut Client<Self>, is_cut: bool) {
        let store = client.control.store();
        if is_cut { store.disconnect() } else { store.reconnect(0).unwrap() }
    }

    fn lose(&self, client: &mut Client<Self>, operation: Operation, is_done: bool) -> Outcome {
        client.control.store().hold_operations();
        let ticket = client.control.store().submit(client.session, operation);
        client.control.store().do_held_and_disconnect(usize::from(is_done));
        outcome_of(client, ticket)
    }

    fn expire(&self, client: &mut Client<Self>) {
        client.control.store().expire();
        client.control.store().reopen(0);
        client.session = expired_and_opened(client);
    }
}

/// Three members of ZooKeeper.
pub(crate) struct RealEnsemble {
    ensemble: &'static Ensemble,
    root: Root,
}

impl RealEnsemble {
    /// `None` when ZooKeeper is not installed here, which was said.
    pub(crate) fn new(case: &str) -> Option<Self> {
        static ENSEMBLE: OnceLock<Option<Ensemble>> = OnceLock::new();
        let ensemble = ENSEMBLE.get_or_init(|| Ensemble::start_or_skip(3)).as_ref()?;
        let world = Self { ensemble, root: Root::new(&format!("/{case}/storm")).unwrap() };
        make_root(&world);
        Some(world)
    }

    fn open(&self, credentials: Option<&Credential>, session_timeout: Duration) -> Client<Self> {
        let link = Link::to(self.ensemble.addresses());
        let mut settings = Settings::of_servers(link.addresses().iter().map(ToString::to_string).collect());
        settings.session_timeout = session_timeout;
        settings.retry_interval = Duration::from_millis(50);
        settings.retry_ceiling = Duration::from_millis(200);
        settings.credential = credentials.cloned();
        Client::new(ZooKeeperStore::open(settings, || {}).unwrap(), Some(link), self.root())
    }
}

impl World for RealEnsemble {
    type Store = ZooKeeperStore;

    fn client(&self, credentials: Option<&Credential>) -> Client<Self> {
        self.open(credentials, LONG)
    }

    fn short_client(&self) -> Client<Self> {
        self.open(None, SHORT)
    }

    fn root(&self) -> Root {
        self.root.clone()
    }

    fn cut(&self, client: &mut Client<Self>, is_cut: bool) {
        let link = client.link.as_ref().unwrap();
        if is_cut { link.cut() } else { link.heal() }
    }

    fn lose(&self, client: &mut Client<Self>, operation: Operation, is_done: bool) -> Outcome {
        let link = client.link.as_ref().unwrap();
        if is_done {
            link.silence_answers();
        } else {
            link.silence();
        }
        let path = match &operation {
            Operation::Write(write) => write.path().clone(),
            other => panic!("{other:?} loses nothing"),
        };
        let ticket = client.control.store().submit(client.session, operation);
        if is_done {
            // Until it is there, as others see it.
            let mut other = self.client(None);
            while other.done(Operation::Exists { path: path.clone(), watch: true }) == Answer::Exists(None) {
                while !matches!(other.event(), Event::Watch(_)) {}
            }
        } else {
            assert!(client.link.as_ref().unwrap().wait_until_holding(LIMIT));
        }
        self.cut(client, true);
        outcome_of(client, ticket)
    }

    fn expire(&self, client: &mut Client<Self>) {
        self.cut(client, true);
        loop {
            if matches!(client.session_event(), SessionEvent::Expired { session } if session == client.session) {
                break;
            }
        }
        self.cut(client, false);
        client.session = client.control.opened(LIMIT).unwrap();
        while client.session_event() != opened(client.session, SHORT) {}
    }
}

fn opened(session: SessionId, timeout: Duration) -> SessionEvent {
    SessionEvent::Opened { session, timeout }
}

/// The session that follows on one that is over.
fn expired_and_opened<W: World>(client: &mut Client<W>) -> SessionId {
    loop {
        if let SessionEvent::Opened { session, .. } = client.session_event() {
            return session;
        }
    }
}

/// The outcome of a submit, after whatever else happens.
fn outcome_of<W: World>(client: &mut Client<W>, wanted: ringstorm_store::store::Ticket) -> Outcome {
    loop {
        match client.event() {
            Event::Outcome { ticket, outcome } if ticket == wanted => return outcome,
            _ => {}
        }
    }
}

/// Makes the root of a case, so that each can start at once.
fn make_root<W: World>(world: &W) {
    let mut client = world.client(None);
    let root = client.path("");
    for path in [root.parent().unwrap(), root] {
        client.done(Operation::create(path, [7], CreateMode::Persistent, open_to_all()));
    }
}
