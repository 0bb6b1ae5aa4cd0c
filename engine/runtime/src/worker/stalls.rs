//! Who holds a core in one call for too long is named, once for each such call.

use std::time::Duration;

use crate::worker::members::{Held, Members};

/// A core that is longer in one call of user code is named.
const STALL: Duration = Duration::from_secs(1);

/// Which members were stalled at the last look.
pub(crate) struct Stalls {
    stalled: Vec<bool>,
    first_core: usize,
}

impl Stalls {
    pub(crate) fn new(count: usize, first_core: usize) -> Self {
        Self { stalled: vec![false; count], first_core }
    }

    /// The components that have begun to hold a core, and what to say of it.
    pub(crate) fn look(&mut self, members: &dyn Members) -> Vec<(String, String)> {
        let mut stalled = vec![false; self.stalled.len()];
        let mut news = Vec::new();
        for (member, Held { component, time }) in members.held() {
            stalled[member] = time > STALL;
            if stalled[member] && !self.stalled[member] {
                let text = format!(
                    "holds core {} for {:.1} s in one call: everything else on that core waits; declare it blocking",
                    self.first_core + member,
                    time.as_secs_f64()
                );
                news.push((component, text));
            }
        }
        self.stalled = stalled;
        news
    }
}
