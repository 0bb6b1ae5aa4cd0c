//! The leader dies after each single write of what a client asked for, and the client tries again.
//!
//! Nothing else goes wrong, so that each of these runs shows one thing: what was there before, or what was asked for,
//! exactly one topology, and a truthful answer.

use std::time::Duration;

use ringstorm_nimbus::interface::Request;
use ringstorm_records::records::{KillOptions, RebalanceOptions, TopologyStatus};

use crate::actor::Verdict;
use crate::checks::Violation;
use crate::scenario::{Size, come_right, daemons, submission};
use crate::world::World;

const NAME: &str = "ants";

/// What a client asks for while the leader dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new topology.
    Submit,
    /// More workers for one that is there.
    Rebalance,
    /// The end of one that is there.
    Kill,
}

/// Lets the leader die after a write, counted from 1 since the action was asked for. Returns whether there were as many.
///
/// # Errors
/// The law that was broken.
pub fn kill_leader_after(action: Action, write: u64) -> Result<bool, Violation> {
    let mut world = World::new(write, 0);
    let clients = daemons(&mut world, Size { nimbuses: 2, supervisors: 2, clients: 1 });
    let submit = submission(&mut world.random, NAME.to_owned(), 1);
    let mut begun = Duration::from_secs(15);
    if action != Action::Submit {
        world.plan_wish(begun, clients[0], 1, submit.clone());
        begun = Duration::from_secs(45);
    }
    world.run_until(begun)?;
    world.kill_leader_after = Some(write);
    let request = match action {
        Action::Submit => submit,
        Action::Rebalance => {
            let options = RebalanceOptions { num_workers: Some(3), wait_secs: Some(2), ..RebalanceOptions::default() };
            Request::Rebalance { name: NAME.to_owned(), options }
        }
        Action::Kill => {
            let options = KillOptions { wait_secs: Some(2), ..KillOptions::default() };
            Request::Kill { name: NAME.to_owned(), options }
        }
    };
    world.plan_wish(begun, clients[0], 2, request);
    // Long enough for what is delayed, so that its writes are reached.
    world.run_until(begun + Duration::from_secs(40))?;
    let was_hit = world.kill_leader_after.take().is_none();
    come_right(&mut world, begun + Duration::from_secs(40))?;
    judge(&world, action)?;
    Ok(was_hit)
}

fn judge(world: &World, action: Action) -> Result<(), Violation> {
    let is_told_done = !matches!(world.verdict(2), None | Some(Verdict::NotDone(_) | Verdict::Unknown(_)));
    let there: Vec<_> = world.mirror.bases.values().filter(|base| base.name == NAME).collect();
    let is_so = match action {
        Action::Submit => {
            there.len() == 1 && matches!(there[0].status, TopologyStatus::Active | TopologyStatus::Inactive)
        }
        Action::Rebalance => there.len() == 1 && there[0].num_workers == 3,
        Action::Kill => there.is_empty(),
    };
    if is_told_done && is_so {
        return Ok(());
    }
    let message = format!("{action:?} ended as {:?}, with {there:?}", world.verdict(2));
    Err(Violation::new("a leader's death changes no outcome", message))
}
