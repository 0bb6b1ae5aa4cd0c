//! A slot has one live process at most, and each has a higher incarnation than those before.

use ringstorm_supervisor::LocalState;
use ringstorm_supervisor::events::StartWorker;

use super::Violation;

const LAW: &str = "a slot has one live process, with a new incarnation";

/// Looks at a worker that is started. `all` are the processes that the slot had, with whether they live.
///
/// # Errors
/// Another one lives, its incarnation is not new, or it is not on disk.
pub fn check_start(who: &str, saved: &LocalState, start: &StartWorker, all: &[(u64, bool)]) -> Result<(), Violation> {
    let StartWorker { port, incarnation, .. } = start;
    if let Some((other, _)) = all.iter().find(|(_, is_alive)| *is_alive) {
        let message = format!("{who} starts {incarnation} in slot {port}, where {other} lives");
        return Err(Violation::new(LAW, message));
    }
    if let Some((other, _)) = all.iter().find(|(other, _)| other >= incarnation) {
        let message = format!("{who} starts {incarnation} in slot {port}, which had {other}");
        return Err(Violation::new(LAW, message));
    }
    let on_disk = saved.slots.get(port).and_then(|slot| slot.running.as_ref()).map(|running| running.incarnation);
    if on_disk != Some(*incarnation) {
        let message = format!("{who} starts {incarnation} in slot {port}; on disk is {on_disk:?}");
        return Err(Violation::new(LAW, message));
    }
    Ok(())
}

/// Looks at what a supervisor saves.
///
/// # Errors
/// An incarnation, or the version of an assignment, falls.
pub fn check_saved(who: &str, before: &LocalState, after: &LocalState) -> Result<(), Violation> {
    for (port, slot) in &before.slots {
        let then = after.slots.get(port).map_or(u64::MAX, |slot| slot.last_incarnation);
        if then < slot.last_incarnation {
            let message = format!("{who} saves incarnation {then} of slot {port} after {}", slot.last_incarnation);
            return Err(Violation::new(LAW, message));
        }
    }
    for (topology, assigned) in &before.assigned {
        let then = after.assigned.get(topology).map_or(i64::MAX, |assigned| assigned.version);
        if then < assigned.version {
            let message = format!("{who} takes assignment {then} of {topology} after {}", assigned.version);
            return Err(Violation::new("no assignment is taken that is older than one that was seen", message));
        }
    }
    Ok(())
}
