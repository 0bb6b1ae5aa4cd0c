//! Whether what is here is still what the cluster has.
//!
//! A topology's executable never changes; its configuration does, by a rebalance that brings settings. Storm looks each
//! half minute. What differs is looked at once more a little later: a nimbus that was asked may have been about to learn of
//! the change, or of an older one. Threading: a thread of its own. Errors: what cannot be fetched is looked at the next
//! time.

use std::sync::Arc;
use std::time::Duration;

use ringstorm_lifecycle::conf;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_supervisor::events::CodeEvent;

use super::Shared;

/// Storm's `supervisor.localizer.update.blob.interval.secs`.
const PERIOD: Duration = Duration::from_secs(30);

/// How much later what differs is looked at again.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

pub(super) fn run(shared: &Arc<Shared>) {
    loop {
        std::thread::sleep(PERIOD);
        look(shared, AGAIN_AFTER);
    }
}

/// Looks at every topology that is here.
pub(super) fn look(shared: &Shared, again_after: Duration) {
    for topology in shared.local.topologies() {
        let Some(theirs) = differing(shared, &topology) else { continue };
        std::thread::sleep(again_after);
        if differing(shared, &topology) == Some(theirs) {
            (shared.tell)(CodeEvent::Changed { topology });
        }
    }
}

/// What the cluster has, if it is a configuration, and another one than is here.
fn differing(shared: &Shared, topology: &str) -> Option<Vec<u8>> {
    let ours = shared.local.conf_bytes(topology).ok()?;
    let theirs = shared.blob(topology, TopologyBlob::Conf).ok()?;
    (theirs != ours && conf::decode(&theirs).is_ok()).then_some(theirs)
}
