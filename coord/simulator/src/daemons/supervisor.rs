//! The supervisor in the words of the world.

use std::rc::Rc;

use ringstorm_control::machine::Machine;
use ringstorm_control::time::{Moment, Now};
use ringstorm_store::cluster::Cluster;
use ringstorm_supervisor::{Host, Settings, Start, Supervisor, SupervisorEffect, SupervisorInput};

use crate::actor::{Actor, Effect, Factory, Input};
use crate::plants::PlantedBug;

struct Adapter(Supervisor);

/// A supervisor of a host. Its id at the first start is `first_id`; `mark` tells its host from all others.
pub fn supervisor(
    cluster: Cluster,
    host: Host,
    first_id: &str,
    settings: Settings,
    planted: Option<PlantedBug>,
) -> Factory {
    let first_id = first_id.to_owned();
    Rc::new(move |birth| {
        let start = Start {
            settings: settings.clone(),
            host: host.clone(),
            cluster: cluster.clone(),
            local_state: birth.disk.local_state.clone(),
            first_id: first_id.clone(),
            found: birth.found,
            code: birth.disk.code.iter().map(|(topology, code)| (topology.clone(), code.timeouts)).collect(),
        };
        let supervisor = Supervisor::new(start, birth.now).expect("the ids of the simulator are names of nodes");
        Some(Box::new(Adapter(crate::plants::in_supervisor(supervisor, planted))))
    })
}

impl Actor for Adapter {
    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect> {
        match input {
            Input::Store(said) => said_by(self.0.handle(now, SupervisorInput::Store(said))),
            Input::Supervisor(input) => said_by(self.0.handle(now, *input)),
            Input::Nimbus(_) | Input::Worker(_) | Input::Client(_) => Vec::new(),
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        said_by(self.0.wake(now))
    }

    fn wake_at(&self) -> Option<Moment> {
        self.0.wake_at()
    }
}

fn said_by(effects: Vec<SupervisorEffect>) -> Vec<Effect> {
    let turned = effects.into_iter().map(|effect| match effect {
        SupervisorEffect::Store(asked) => Effect::Store(asked),
        SupervisorEffect::Note(line) => Effect::Note(line),
        other => Effect::Supervisor(Box::new(other)),
    });
    turned.collect()
}
