//! Whatever happens in whatever order: nothing of the past is accepted, and nothing ends a worker but what a fresh look
//! has seen.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringstorm_records::records::TopologyStatus;
use ringstorm_records::znode::Node;
use ringstorm_store::memory::Loss;
use ringstorm_worker::{CoresEvent, PeerEvent, WorkerEffect, WorkerInput};

use crate::rig::{Rig, base, peer, topology};

/// Something that happens.
#[derive(Clone, Debug)]
enum Happening {
    /// An assignment with this version and one of three shapes is written.
    Assign(i64, usize),
    Garbage,
    Status(bool),
    Offered(usize, u64, i64),
    Lost(usize),
    Turns,
    Pass(u64),
    Disconnect,
    Reconnect(usize),
    Expire,
    Reopen(usize),
    LoseNext(bool),
    HoldMember(usize),
    ReleaseMember(usize),
    DropWatches,
}

const PEERS: [&str; 2] = ["beta", "gamma"];
/// In each alpha has the same.
const SHAPES: [&[(&str, &[i64])]; 3] = [
    &[("alpha", &[1, 4]), ("beta", &[2, 3])],
    &[("alpha", &[1, 4]), ("beta", &[2]), ("gamma", &[3])],
    &[("alpha", &[1, 4]), ("gamma", &[2, 3])],
];

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (1_i64..20, 0..SHAPES.len()).prop_map(|(version, shape)| Happening::Assign(version, shape)),
        1 => Just(Happening::Garbage),
        1 => any::<bool>().prop_map(Happening::Status),
        6 => (0..PEERS.len(), 1_u64..8, 1_i64..20).prop_map(|(peer, it, version)| Happening::Offered(peer, it, version)),
        1 => (0..PEERS.len()).prop_map(Happening::Lost),
        2 => Just(Happening::Turns),
        4 => (0_u64..20).prop_map(Happening::Pass),
        1 => Just(Happening::Disconnect),
        1 => (0_usize..2).prop_map(Happening::Reconnect),
        1 => Just(Happening::Expire),
        1 => (0_usize..2).prop_map(Happening::Reopen),
        1 => any::<bool>().prop_map(Happening::LoseNext),
        1 => (0_usize..2).prop_map(Happening::HoldMember),
        1 => (0_usize..2).prop_map(Happening::ReleaseMember),
        1 => Just(Happening::DropWatches),
    ]
}

fn happen(rig: &mut Rig, happening: &Happening) {
    match happening {
        Happening::Assign(version, shape) => rig.assign(*version, SHAPES[*shape]),
        Happening::Garbage => rig.write_bytes(&Node::Assignment { topology: topology() }, b"garbage".to_vec()),
        Happening::Status(active) => {
            let status = if *active { TopologyStatus::Active } else { TopologyStatus::Inactive };
            rig.write(&Node::Storm { topology: topology() }, &base(status, None));
        }
        Happening::Offered(index, incarnation, version) => rig
            .tell(WorkerInput::Peer(PeerEvent::Offered { peer: peer(PEERS[*index], *incarnation), version: *version })),
        Happening::Lost(index) => rig.tell(WorkerInput::Peer(PeerEvent::Lost { peer: peer(PEERS[*index], 1) })),
        Happening::Turns => rig.turns(),
        Happening::Pass(seconds) => rig.pass(*seconds),
        Happening::Disconnect => rig.store.disconnect(),
        Happening::Reconnect(member) => drop(rig.store.reconnect(*member)),
        Happening::Expire => rig.store.expire(),
        Happening::Reopen(member) => {
            rig.store.expire();
            rig.store.reopen(*member);
        }
        Happening::LoseNext(done) => {
            rig.store.lose_next(if *done { Loss::AfterItWasDone } else { Loss::BeforeItWasDone });
        }
        Happening::HoldMember(member) => rig.ensemble.with(|ensemble| ensemble.hold(*member)),
        Happening::ReleaseMember(member) => rig.ensemble.with(|ensemble| ensemble.release(*member)),
        Happening::DropWatches => rig.store.drop_held_watches(),
    }
    rig.settle();
}

/// What was learned, by what was seen from outside.
#[derive(Debug, Default)]
struct Learned {
    version: i64,
    incarnations: BTreeMap<u64, u64>,
}

impl Learned {
    fn offered(&mut self, happening: &Happening) {
        if let Happening::Offered(index, incarnation, version) = happening {
            let worker = peer(PEERS[*index], 0).worker;
            let known = self.incarnations.entry(worker).or_default();
            *known = incarnation.max(known).to_owned();
            self.version = self.version.max(*version);
        }
    }

    /// Which law an effect breaks.
    fn check(&mut self, effect: &WorkerEffect) -> Result<(), String> {
        match effect {
            WorkerEffect::Assign(assignment) => {
                if assignment.version < self.version {
                    return Err(format!("assignment {} after {}", assignment.version, self.version));
                }
                self.version = assignment.version;
                for worker in &assignment.workers {
                    let known = self.incarnations.entry(worker.number).or_default();
                    if worker.incarnation < *known {
                        return Err(format!("worker {} falls to {}", worker.number, worker.incarnation));
                    }
                    *known = worker.incarnation;
                }
            }
            WorkerEffect::Renew { lowest } => {
                let known = self.incarnations.entry(lowest.worker).or_default();
                *known = lowest.incarnation.max(*known);
            }
            WorkerEffect::Accept { peer } => {
                let known = self.incarnations.entry(peer.worker).or_default();
                if peer.incarnation < *known {
                    return Err(format!("{peer:?} is accepted after {known}"));
                }
            }
            WorkerEffect::Stop { why } => return Err(format!("it ends: {why}")),
            _ => {}
        }
        Ok(())
    }
}

/// Goes through what happens. The worker's own share never changes and its assignment is never gone, so that it goes on.
fn judge(rig: &mut Rig, happenings: &[Happening]) -> Result<(), String> {
    let mut learned = Learned::default();
    rig.taken().iter().try_for_each(|effect| learned.check(effect))?;
    for happening in happenings {
        learned.offered(happening);
        happen(rig, happening);
        rig.taken()
            .iter()
            .try_for_each(|effect| learned.check(effect))
            .map_err(|why| format!("{happening:?}: {why}"))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_nothing_of_the_past_is_accepted_and_what_runs_goes_on(
        happenings in prop::collection::vec(happening(), 1..60),
    ) {
        let mut rig = Rig::running();
        prop_assert_eq!(judge(&mut rig, &happenings), Ok(()));
        // Then the faults stop, and a leader goes above every version: that is what runs in the end.
        rig.store.expire();
        rig.store.reopen(0);
        rig.ensemble.with(|ensemble| (0..2).for_each(|member| ensemble.release(member)));
        rig.assign(30, SHAPES[2]);
        rig.write(&Node::Storm { topology: topology() }, &base(TopologyStatus::Active, None));
        rig.cores(CoresEvent::Progress(vec![rig.now().moment; 2]));
        rig.work(15);
        let assignment = rig.control.assignment().unwrap();
        prop_assert_eq!((assignment.version, assignment.active), (30, true));
    }
}

/// Each rule that can be broken on purpose is found to be broken.
#[cfg(feature = "planted-bugs")]
#[test]
fn planted_bugs_are_found() {
    let mut rig = Rig::running();
    rig.control.plants.accepts_old_incarnations = true;
    let old = [Happening::Offered(0, 5, 7), Happening::Offered(0, 4, 7)];
    assert!(judge(&mut rig, &old).is_err_and(|why| why.contains("is accepted after")));
    let mut rig = Rig::running();
    rig.control.plants.takes_lower_versions = true;
    assert!(judge(&mut rig, &[Happening::Assign(6, 0)]).is_err_and(|why| why.contains("assignment 6 after 7")));
}
