//! Nobody accepts what is of the past, once it has heard of something newer.

use ringstorm_worker::Peer;

use super::Violation;

const LAW: &str = "nothing of an older generation is accepted";

/// Looks at a process that a worker accepts something from. `learned` is the newest incarnation of that worker that it
/// has heard of.
///
/// # Errors
/// A newer one is known.
pub fn check_accepted(who: &str, what: &str, peer: Peer, learned: u64) -> Result<(), Violation> {
    if peer.incarnation >= learned {
        return Ok(());
    }
    let Peer { worker, incarnation } = peer;
    let message = format!("{who} accepts {what} of incarnation {incarnation} of {worker}, and knows of {learned}");
    Err(Violation::new(LAW, message))
}

/// Looks at an assignment that a worker takes over.
///
/// # Errors
/// It has heard of a higher version.
pub fn check_assigned(who: &str, learned: i64, version: i64) -> Result<(), Violation> {
    if version >= learned {
        return Ok(());
    }
    Err(Violation::new(LAW, format!("{who} takes assignment {version}, and has heard of {learned}")))
}
