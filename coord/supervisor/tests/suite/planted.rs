//! Each fault that is there on purpose breaks what it is meant to break; that is how the simulator can find it.

use ringstorm_supervisor::Settings;
use ringstorm_supervisor::plants::{Plant, Plants};
use ringstorm_supervisor::supervisor::Standing;

use crate::host::Host;
use crate::world::World;

fn running(plant: Plant) -> (World, Host) {
    let world = World::new();
    world.assign("words-1-1", Some(1), &[(6700, 1)]);
    let mut host = Host::new(&world);
    host.plant(plant);
    host.pass(1);
    (world, host)
}

#[test]
fn a_cloned_id_that_is_accepted_runs_everything_twice() {
    let (world, host) = running(Plant::ClonedIdAccepted);
    let mut copy = Host::with(&world, host.disk.clone(), "boot-2", Settings::default());
    copy.plant(Plant::ClonedIdAccepted);
    copy.pass(1);
    assert_eq!(copy.machine.standing(), Standing::Admitted);
    assert_eq!((host.runs(6700), copy.runs(6700)), (Some(("words-1-1", 1)), Some(("words-1-1", 1))));
}

#[test]
fn what_is_not_read_again_after_an_interruption_stays_as_it_was() {
    let (world, mut host) = running(Plant::StaleAfterInterruption);
    host.store.disconnect();
    host.run();
    world.assign("words-1-1", Some(2), &[(6701, 1)]);
    host.store.reconnect(0).unwrap();
    host.pass(600);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
}

#[test]
#[should_panic(expected = "comes after")]
fn an_incarnation_that_is_used_again_does_not_grow() {
    let (_, mut host) = running(Plant::OldIncarnationReused);
    host.crash(6700);
}

impl Host {
    fn plant(&mut self, plant: Plant) {
        let machine = std::mem::replace(&mut self.machine, Host::new(&World::new()).machine);
        self.machine = machine.planted(Plants::new([plant]));
    }
}
