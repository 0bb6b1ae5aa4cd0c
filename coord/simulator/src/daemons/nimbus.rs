//! Nimbus in the words of the world.

use std::rc::Rc;

use ringstorm_control::machine::Machine;
use ringstorm_control::time::{Moment, Now};
use ringstorm_nimbus::{Identity, Nimbus, NimbusEffect, NimbusInput, NimbusSettings};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_store::cluster::Cluster;

use crate::actor::{Actor, Effect, Factory, Input};
use crate::plants::PlantedBug;

struct Adapter(Nimbus);

/// A nimbus at an address.
pub fn nimbus(
    cluster: Cluster,
    address: NimbusAddress,
    settings: NimbusSettings,
    planted: Option<PlantedBug>,
) -> Factory {
    Rc::new(move |birth| {
        let random = u128::from(birth.random.number());
        let identity = Identity { address: address.clone(), version: "2.8.2-ringstorm.0".to_owned(), random };
        let nimbus = Nimbus::new(cluster.clone(), identity, settings.clone(), birth.now);
        Some(Box::new(Adapter(crate::plants::in_nimbus(nimbus, planted))))
    })
}

impl Actor for Adapter {
    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect> {
        match input {
            Input::Store(said) => said_by(self.0.handle(now, NimbusInput::Store(said))),
            Input::Nimbus(input) => said_by(self.0.handle(now, *input)),
            Input::Supervisor(_) | Input::Worker(_) | Input::Client(_) => Vec::new(),
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        said_by(self.0.wake(now))
    }

    fn wake_at(&self) -> Option<Moment> {
        self.0.wake_at()
    }
}

fn said_by(effects: Vec<NimbusEffect>) -> Vec<Effect> {
    let turned = effects.into_iter().map(|effect| match effect {
        NimbusEffect::Store(asked) => Effect::Store(asked),
        NimbusEffect::Note(line) => Effect::Note(line),
        other => Effect::Nimbus(Box::new(other)),
    });
    turned.collect()
}
