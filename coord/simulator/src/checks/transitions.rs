//! A topology goes from one state to another as Storm's do.

use ringstorm_records::payload;
use ringstorm_records::records::{StormBase, TopologyStatus};
use ringstorm_records::znode::Node;

use super::{Mirror, Seen, Violation};

const LAW: &str = "only legal transitions";

/// Looks at one change.
///
/// # Errors
/// The transition is none of Storm's.
pub fn check(mirror: &Mirror, seen: Seen<'_>) -> Result<(), Violation> {
    let Some(Node::Storm { topology }) = seen.node else { return Ok(()) };
    let breach = |what: String| Err(Violation::new(LAW, format!("{} let {topology} {what}", seen.who)));
    let before = mirror.bases.get(topology);
    let after: Option<StormBase> = match seen.after.map(payload::decode) {
        None => None,
        Some(Ok(base)) => Some(base),
        Some(Err(why)) => return breach(format!("become what cannot be read: {why}")),
    };
    use TopologyStatus::{Active, Inactive, Killed, Rebalancing};
    if before.is_none() && seen.before.is_some() {
        // What cannot be read is nobody's to change, but for a kill, and its removal by hand.
        return match after {
            Some(StormBase { status: Killed, prev_status: None, .. }) => Ok(()),
            _ => breach("go on from what cannot be read".to_owned()),
        };
    }
    let is_legal = match (before, &after) {
        (None, None) => true,
        (None, Some(after)) => matches!(after.status, Active | Inactive) && after.prev_status.is_none(),
        (Some(before), None) => before.status == Killed,
        (Some(before), Some(after)) => {
            let is_same = before.name == after.name && before.launch_time_secs == after.launch_time_secs;
            let is_step = match (&before.status, &after.status) {
                (Active | Inactive, Active | Inactive) => true,
                (Active | Inactive, Rebalancing) => after.prev_status.as_ref() == Some(&before.status),
                // It waits on.
                (Rebalancing, Rebalancing) => after.prev_status == before.prev_status,
                (Rebalancing, status @ (Active | Inactive)) => before.prev_status.as_ref() == Some(status),
                (Active | Inactive | Rebalancing | Killed, Killed) => true,
                _ => false,
            };
            is_same && is_step
        }
    };
    if is_legal {
        return Ok(());
    }
    breach(format!("go from {} to {}", told(before), told(after.as_ref())))
}

fn told(base: Option<&StormBase>) -> String {
    base.map_or("nothing".to_owned(), |base| {
        let then = base.prev_status.as_ref().map(|then| format!(" then {then:?}")).unwrap_or_default();
        format!("{:?}{then} ({}, launched {:?})", base.status, base.name, base.launch_time_secs)
    })
}
