//! The first look, in memory.

use std::ops::ControlFlow;

use ringstorm_control::runner::Runner;
use ringstorm_records::payload;
use ringstorm_records::records::TopologyStatus;
use ringstorm_records::znode::{Root, Slot};
use ringstorm_store::acl::Acl;
use ringstorm_store::memory::{Ensemble, MemoryStore, SharedEnsemble};
use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_store::path::ZnodePath;
use ringstorm_worker::{StopReason, WorkerEffect};

use super::*;
use crate::launch::Known;
use crate::launch::tests::{base, launch, topology};

struct Rig {
    ensemble: SharedEnsemble,
    runner: Runner<Beginning, MemoryStore>,
    known: Known,
    now: Now,
}

impl Rig {
    fn new() -> Self {
        let ensemble = SharedEnsemble::new(Ensemble::new(1));
        let store = MemoryStore::open(&ensemble, 0, &[]);
        let known = Known::of(&launch()).unwrap();
        let beginning = Beginning::new(known.cluster.clone(), known.identity.topology.clone());
        Self {
            ensemble,
            runner: Runner::new(beginning, store, Told::Store, Beginning::sort),
            known,
            now: Now::default(),
        }
    }

    /// Writes the base as nimbus does, or something in its place.
    fn write(&self, bytes: Vec<u8>) {
        let path = ZnodePath::of(
            &Root::new("/storm").unwrap(),
            &Node::Storm { topology: self.known.identity.topology.clone() },
        );
        let mut nodes = vec![(path.clone(), Vec::new())];
        while let Some(parent) = nodes.last().unwrap().0.parent().filter(|parent| parent.as_str() != "/") {
            nodes.push((parent, vec![7]));
        }
        self.ensemble.with(|ensemble| {
            let nimbus = ensemble.open(0, &[]);
            for (node, data) in nodes.into_iter().rev() {
                let create = Operation::create(node, data, CreateMode::Persistent, [Acl::anyone()].into());
                let _ = ensemble.perform(nimbus, &create);
            }
            let _ = ensemble.perform(nimbus, &Operation::set(path, bytes));
        });
    }

    /// What is wanted, besides operations of the tree.
    fn settle(&mut self, told: Option<Told>) -> Vec<Wanted> {
        let mut all = Vec::new();
        let mut act = |wanted| {
            all.push(wanted);
            ControlFlow::Continue(())
        };
        if let Some(told) = told {
            assert!(self.runner.tell(self.now, told, &mut act).is_continue());
        }
        // What was asked for in one step is answered in the next.
        let mut quiet_steps = 0;
        while quiet_steps < 3 {
            let is_more = self.runner.step(self.now, &mut act) == ControlFlow::Continue(true);
            quiet_steps = if is_more { 0 } else { quiet_steps + 1 };
        }
        all
    }

    fn pass(&mut self, duration: Duration) {
        self.now.moment = self.now.moment + duration;
    }
}

#[test]
fn the_base_is_given_once_and_the_control_goes_on_in_the_same_session() {
    let mut rig = Rig::new();
    rig.write(payload::encode(&base(&[("__acker", 1), ("words", 3)])));
    let wanted = rig.settle(None);
    let [Wanted::Base(found)] = &wanted[..] else { panic!("{wanted:?}") };
    assert_eq!((found.status, found.num_workers), (TopologyStatus::Active, 2));
    assert_eq!(rig.runner.wake_at(), None, "whoever runs it makes the control");
    let (_, facts) = rig.known.with_base(topology(&rig.known.config), found).unwrap();
    let Known { identity, settings, cluster, .. } = &rig.known;
    let control = WorkerControl::new(rig.now, identity.clone(), facts, settings.clone(), cluster.clone());
    let wanted = rig.settle(Some(Told::Begin(Box::new(control))));
    assert!(wanted.iter().all(|it| matches!(it, Wanted::Worker(WorkerEffect::Note(_)))), "{wanted:?}");
    // Its first beat, which it has written in the session that was there.
    let slot = Slot { supervisor: rig.known.identity.slot.supervisor.clone(), port: 6700 };
    let beat = Node::WorkerBeat { topology: rig.known.identity.topology.clone(), slot };
    let path = ZnodePath::of(&Root::new("/storm").unwrap(), &beat);
    let exists = Operation::Exists { path, watch: false };
    let outcome = rig.ensemble.with(|ensemble| {
        let session = ensemble.open(0, &[]);
        ensemble.perform(session, &exists)
    });
    assert!(format!("{outcome:?}").contains("Some"), "{outcome:?}");
    // There is no assignment, which two looks confirm.
    rig.pass(Duration::from_secs(2));
    let wanted = rig.settle(None);
    let is_stop = |it: &Wanted| matches!(it, Wanted::Worker(WorkerEffect::Stop { why: StopReason::NoAssignment }));
    assert!(wanted.iter().any(is_stop), "{wanted:?}");
}

#[test]
fn a_topology_without_a_base_is_gone() {
    let mut rig = Rig::new();
    assert!(matches!(rig.settle(None)[..], [Wanted::Gone]));
    rig.pass(Duration::from_secs(100));
    assert!(rig.settle(None).is_empty());
}

#[test]
fn what_cannot_be_read_is_noted_once_and_read_again() {
    let mut rig = Rig::new();
    rig.write(b"garbage".to_vec());
    let wanted = rig.settle(None);
    assert!(matches!(&wanted[..], [Wanted::Note(note)] if note.contains("cannot be read")), "{wanted:?}");
    for _ in 0..5 {
        rig.pass(Duration::from_secs(3));
        assert!(rig.settle(None).is_empty());
    }
    rig.write(payload::encode(&base(&[("words", 1)])));
    rig.pass(Duration::from_secs(3));
    assert!(matches!(rig.settle(None)[..], [Wanted::Base(_)]));
}
