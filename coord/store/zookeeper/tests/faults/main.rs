//! A real ensemble whose members are killed, paused, cut off, and parted from each other. Each test has an ensemble of its own.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ringstorm_ensemble::{Ensemble, Link};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::znode::{NodeName, Root};
use ringstorm_store::acl::{Acl, Acls};
use ringstorm_store::cluster::{Candidacy, Cluster, ClusterAcls, Standing, Trouble};
use ringstorm_store::control::Control;
use ringstorm_store::operation::{Answer, CreateMode, Operation};
use ringstorm_store::outcome::{Condition, Outcome};
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::{Event, SessionEvent, SessionId};
use ringstorm_zookeeper::{Settings, ZooKeeperStore};

/// For anything that must happen, on a machine that is busy with something else.
const LIMIT: Duration = Duration::from_secs(90);

/// The time-out of sessions that shall not expire, though their members may be away for a while.
const LONG: Duration = Duration::from_secs(40);

struct Client {
    control: Control<ZooKeeperStore>,
    session: SessionId,
}

impl Client {
    fn open(servers: &[SocketAddr], session_timeout: Duration) -> Self {
        let mut settings = Settings::of_servers(servers.iter().map(ToString::to_string).collect());
        settings.session_timeout = session_timeout;
        // A member that says nothing is noticed soon, as it would be after two fifths of a session that is short.
        settings.connection_timeout = Duration::from_secs(2);
        settings.retry_interval = Duration::from_millis(50);
        settings.retry_ceiling = Duration::from_millis(200);
        let mut control = Control::new(ZooKeeperStore::open(settings, || {}).unwrap());
        let session = control.opened(LIMIT).unwrap();
        let mut client = Self { control, session };
        assert!(matches!(client.session_event(), SessionEvent::Opened { .. }));
        client
    }

    fn ask(&mut self, operation: Operation) -> Outcome {
        self.control.ask(self.session, operation, LIMIT).unwrap()
    }

    fn session_event(&mut self) -> SessionEvent {
        loop {
            if let Event::Session(event) = self.control.next_event(LIMIT).expect("an event comes") {
                return event;
            }
        }
    }

    /// Waits until an operation is done, through interruptions. How often it was done already, without anybody knowing,
    /// at most.
    fn insist(&mut self, operation: &Operation) -> (Answer, i32) {
        let deadline = Instant::now() + LIMIT;
        let mut unknown = 0;
        loop {
            assert!(Instant::now() < deadline, "{operation:?} is not done within {LIMIT:?}");
            match self.ask(operation.clone()) {
                Outcome::Done(answer) => return (answer, unknown),
                Outcome::Unknown(_) => unknown += 1,
                Outcome::Failed(failure) if failure.condition == Condition::NotConnected => {
                    let resumed = SessionEvent::Resumed { session: self.session };
                    while self.session_event() != resumed {}
                }
                other => panic!("{operation:?}: {other:?}"),
            }
        }
    }
}

fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).unwrap()
}

fn create(at: &str, mode: CreateMode) -> Operation {
    let acl: Acls = [Acl::anyone()].into();
    Operation::create(path(at), *b"", mode, acl)
}

/// Counts the writes of a client to its node while something happens, and compares with what the tree says.
struct Counter {
    client: Client,
    node: ZnodePath,
    acknowledged: i32,
    unknown: i32,
}

impl Counter {
    fn new(mut client: Client, at: &str) -> Self {
        client.insist(&create(at, CreateMode::Ephemeral));
        Self { client, node: path(at), acknowledged: 0, unknown: 0 }
    }

    fn write(&mut self, times: i32) {
        for _ in 0..times {
            let (answer, unknown) = self.client.insist(&Operation::set(self.node.clone(), *b"x"));
            self.acknowledged += 1;
            self.unknown += unknown;
            self.check(&answer);
        }
    }

    fn check(&self, answer: &Answer) {
        let stat = match answer {
            Answer::Set { stat } | Answer::Exists(Some(stat)) => stat,
            other => panic!("{other:?}"),
        };
        let range = self.acknowledged..=self.acknowledged + self.unknown;
        assert!(range.contains(&stat.version), "{} writes are there, {range:?} were done", stat.version);
        assert_eq!(stat.owner, Some(self.client.session), "the session goes on");
    }

    fn look(&mut self) {
        self.client.insist(&Operation::Sync { path: self.node.clone() });
        let (answer, _) = self.client.insist(&Operation::Exists { path: self.node.clone(), watch: false });
        self.check(&answer);
    }
}

#[test]
fn killed_members_lose_nothing_that_was_acknowledged() {
    let Some(mut ensemble) = Ensemble::start_or_skip(3) else { return };
    let mut counters: Vec<_> = (0..3)
        .map(|index| {
            // Each prefers another member, so that the one that is killed has clients.
            let servers = [ensemble.addresses(), ensemble.addresses()].concat();
            Counter::new(Client::open(&servers[index..index + 3], LONG), &format!("/count-{index}"))
        })
        .collect();
    for _ in 0..2 {
        counters.iter_mut().for_each(|counter| counter.write(20));
        let leader = ensemble.leader();
        ensemble.kill(leader);
        counters.iter_mut().for_each(|counter| counter.write(20));
        ensemble.restart(leader);
    }
    // All of them at once: sessions outlive it, since members remember them.
    (0..3).for_each(|index| ensemble.kill(index));
    ensemble.restart_all(&[0, 1, 2]);
    counters.iter_mut().for_each(|counter| counter.write(5));
    counters.iter_mut().for_each(Counter::look);
}

#[test]
fn a_paused_leader_costs_an_interruption_and_no_write() {
    let Some(ensemble) = Ensemble::start_or_skip(3) else { return };
    let leader = ensemble.leader();
    // One on the leader alone, which must wait for it; one that may go elsewhere.
    let mut held = Counter::new(Client::open(&ensemble.addresses()[leader..=leader], LONG), "/held");
    let mut free = Counter::new(Client::open(ensemble.addresses(), LONG), "/free");
    held.write(10);
    free.write(10);
    ensemble.pause(leader);
    free.write(10);
    let suspended = SessionEvent::Suspended { session: held.client.session };
    while held.client.session_event() != suspended {}
    let refused = held.client.ask(Operation::set(held.node.clone(), *b"x"));
    assert_eq!(refused, Outcome::failed(Condition::NotConnected));
    ensemble.resume(leader);
    held.write(10);
    held.look();
    free.look();
}

#[test]
fn members_that_are_parted_lose_nothing_that_was_acknowledged() {
    let Some(ensemble) = Ensemble::start_partible_or_skip(3) else { return };
    let leader = ensemble.leader();
    // One on the side of the leader alone, which does not lead any more; one that may go elsewhere.
    let mut held = Counter::new(Client::open(&ensemble.addresses()[leader..=leader], LONG), "/held");
    let mut free = Counter::new(Client::open(ensemble.addresses(), LONG), "/free");
    held.write(10);
    free.write(10);
    ensemble.part(&[leader]);
    free.write(10);
    let suspended = SessionEvent::Suspended { session: held.client.session };
    while held.client.session_event() != suspended {}
    let refused = held.client.ask(Operation::set(held.node.clone(), *b"x"));
    assert_eq!(refused, Outcome::failed(Condition::NotConnected));
    ensemble.join();
    held.write(10);
    free.write(10);
    // Now nobody has a majority, and nobody is served.
    ensemble.part_all();
    while free.client.session_event() != (SessionEvent::Suspended { session: free.client.session }) {}
    let refused = free.client.ask(Operation::set(free.node.clone(), *b"x"));
    assert_eq!(refused, Outcome::failed(Condition::NotConnected));
    ensemble.join();
    held.write(10);
    free.write(10);
    held.look();
    free.look();
}

#[test]
fn who_leads_on_the_side_of_the_few_writes_nothing_once_another_one_leads() {
    let Some(ensemble) = Ensemble::start_partible_or_skip(3) else { return };
    let cluster = Cluster::new(Root::new("/storm").unwrap(), ClusterAcls::open());
    let few = ensemble.leader();
    let many: Vec<_> = (0..3).filter(|index| *index != few).map(|index| ensemble.addresses()[index]).collect();
    let mut first = Client::open(&ensemble.addresses()[few..=few], Duration::from_secs(4));
    let mut second = Client::open(&many, LONG);
    let own = stand(&mut first, &cluster, "first");
    let Ok(Standing::Leads(leadership)) = standing(&mut first, &cluster, &own) else { panic!() };
    let candidacy = stand(&mut second, &cluster, "second");
    assert!(matches!(standing(&mut second, &cluster, &candidacy), Ok(Standing::Waits { .. })));
    ensemble.part(&[few]);
    let deadline = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < deadline, "nobody leads on the side of the many");
        // Its own session is interrupted as well while a member there becomes the one that orders writes.
        second.control.next_event(Duration::from_millis(100));
        if let Ok(Standing::Leads(_)) = standing(&mut second, &cluster, &candidacy) {
            break;
        }
    }
    let session = first.session;
    assert_eq!(first.session_event(), SessionEvent::Suspended { session });
    ensemble.join();
    while first.session_event() != (SessionEvent::Expired { session }) {}
    first.session = first.control.opened(LIMIT).unwrap();
    let write = cluster
        .procedure(|tree| async move { tree.remove_topology(&leadership, &NodeName::new("words").unwrap()).await });
    assert_eq!(first.control.run(first.session, write, LIMIT).unwrap(), Err(Trouble::Deposed));
}

#[test]
fn a_client_that_is_cut_off_from_one_member_goes_to_another() {
    let Some(ensemble) = Ensemble::start_or_skip(3) else { return };
    let links: Vec<_> = ensemble.addresses().iter().map(|address| Link::to(&[*address])).collect();
    let servers: Vec<_> = links.iter().map(|link| link.addresses()[0]).collect();
    let mut counter = Counter::new(Client::open(&servers, LONG), "/count");
    for (index, link) in links.iter().enumerate() {
        // Whether it breaks, or just says nothing more.
        if index % 2 == 0 {
            link.cut();
        } else {
            link.silence();
        }
        counter.write(10);
        link.heal();
    }
    counter.look();
}

/// Reads a node whenever it is told to, until it reads the last value.
fn follow(client: &mut Client, node: &ZnodePath, last: u8) -> usize {
    let read = Operation::Get { path: node.clone(), watch: true };
    let mut reads = 0;
    loop {
        reads += 1;
        match client.insist(&read).0 {
            Answer::Data { data, .. } if data == [last] => return reads,
            Answer::Data { .. } => {}
            other => panic!("{other:?}"),
        }
        let told = |event: Option<Event>| matches!(event.expect("a change is told"), Event::Watch(_));
        while !told(client.control.next_event(LIMIT)) {}
    }
}

#[test]
fn a_watcher_whose_connection_breaks_over_and_over_sees_the_last_change() {
    let Some(ensemble) = Ensemble::start_or_skip(3) else { return };
    let (node, last) = (path("/watched"), 200);
    let mut writer = Client::open(ensemble.addresses(), LONG);
    writer.insist(&create("/watched", CreateMode::Persistent));
    let link = Link::to(ensemble.addresses());
    let mut watcher = Client::open(link.addresses(), LONG);
    watcher.insist(&Operation::Sync { path: node.clone() });
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| follow(&mut watcher, &node, last));
        for value in 1..=last {
            writer.insist(&Operation::set(node.clone(), [value]));
            if value % 5 == 0 {
                link.cut();
                link.heal();
            }
        }
        assert!(watching.join().unwrap() > 1);
    });
}

fn stand(client: &mut Client, cluster: &Cluster, id: &'static str) -> Candidacy {
    let session = client.session;
    let body = move |tree: ringstorm_store::cluster::Tree| async move {
        let address = NimbusAddress::new(id, 6627, 0).unwrap();
        tree.stand(session, &NodeName::new(id).unwrap(), &address).await
    };
    client.control.run(session, cluster.procedure(body), LIMIT).unwrap().unwrap()
}

fn standing(client: &mut Client, cluster: &Cluster, candidacy: &Candidacy) -> Result<Standing, Trouble> {
    let (session, candidacy) = (client.session, candidacy.clone());
    let body = |tree: ringstorm_store::cluster::Tree| async move { tree.standing(&candidacy).await };
    client.control.run(session, cluster.procedure(body), LIMIT).unwrap()
}

#[test]
fn a_leader_that_hears_nothing_knows_before_another_one_leads() {
    let Some(ensemble) = Ensemble::start_or_skip(3) else { return };
    let cluster = Cluster::new(Root::new("/storm").unwrap(), ClusterAcls::open());
    let link = Link::to(ensemble.addresses());
    let mut first = Client::open(link.addresses(), Duration::from_secs(4));
    let mut second = Client::open(ensemble.addresses(), LONG);
    let own = stand(&mut first, &cluster, "first");
    let Ok(Standing::Leads(leadership)) = standing(&mut first, &cluster, &own) else { panic!() };
    let candidacy = stand(&mut second, &cluster, "second");
    assert!(matches!(standing(&mut second, &cluster, &candidacy), Ok(Standing::Waits { .. })));
    // No packet comes or goes; no connection breaks.
    link.silence();
    loop {
        assert!(matches!(second.control.next_event(LIMIT), Some(Event::Watch(_))));
        if let Ok(Standing::Leads(_)) = standing(&mut second, &cluster, &candidacy) {
            break;
        }
    }
    // The first one was told in time, and has nothing to wait for.
    let session = first.session;
    let told = first.control.next_event(Duration::ZERO);
    assert!(
        matches!(told, Some(Event::Session(SessionEvent::Suspended { session: of })) if of == session),
        "the second leads, and the first was told {told:?}"
    );
    link.heal();
    while first.session_event() != (SessionEvent::Expired { session }) {}
    first.session = first.control.opened(LIMIT).unwrap();
    let write = cluster
        .procedure(|tree| async move { tree.remove_topology(&leadership, &NodeName::new("words").unwrap()).await });
    let refused = first.control.run(first.session, write, LIMIT).unwrap();
    assert_eq!(refused, Err(Trouble::Deposed));
}

#[test]
fn an_ensemble_that_is_away_is_said_to_be_and_waited_for() {
    let Some(mut ensemble) = Ensemble::start_or_skip(1) else { return };
    ensemble.kill(0);
    let address = ensemble.addresses()[0];
    let mut settings = Settings::of_servers(vec![address.to_string()]);
    settings.retry_interval = Duration::from_millis(50);
    let (notify, notified) = std::sync::mpsc::channel();
    let notify = move || notify.send(()).unwrap();
    let mut control = Control::new(ZooKeeperStore::open(settings, notify).unwrap());
    // Whoever waits for other things too is woken.
    notified.recv_timeout(LIMIT).unwrap();
    let told = control.next_event(Duration::ZERO);
    let Some(Event::Session(SessionEvent::Unreachable { why })) = told else { panic!("{told:?}") };
    assert!(why.contains(&address.to_string()), "{why}");
    let nobody = control.ask(SessionId(7), create("/a", CreateMode::Persistent), LIMIT);
    assert_eq!(nobody, Ok(Outcome::failed(Condition::SessionOver)));
    ensemble.restart(0);
    control.opened(LIMIT).unwrap();
}
