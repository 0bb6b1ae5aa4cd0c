//! What a control thread orders, carried out; and what it is told of peers.

use std::time::Instant;

use ringstorm_net::{KeeperEvent, Lost};

use super::commanded::{WorkerOrder, WorkerReport};
use super::{Agent, QUIET_BRIEF};
use crate::worker::members::{Members, Order};

/// What an order means for the run of a worker.
pub(super) enum Then {
    /// It goes on.
    GoOn,
    /// It ends now, with a reason for whoever reads its log if there is something to say.
    End(Option<&'static str>),
}

impl Agent {
    /// Carries out an order.
    pub(super) fn carry_out(&mut self, order: WorkerOrder) -> Then {
        match order {
            WorkerOrder::Assign(assignment) => {
                if let Some(why) = self.reassign(*assignment) {
                    return Then::End(Some(why));
                }
            }
            WorkerOrder::SetActive(active) => {
                self.asks_until = None;
                if self.draining.is_none() {
                    self.cores.tell_all(if active { Order::Activate } else { Order::Deactivate });
                }
            }
            WorkerOrder::Drain { limit } => {
                self.asks_until = Some(Instant::now() + limit);
                self.cores.tell_all(Order::AskForReplays);
            }
            WorkerOrder::Renew { worker, incarnation } => self.peers.renew(worker, incarnation),
            WorkerOrder::End { drain: Some(limit) } => self.begin_to_drain(limit, QUIET_BRIEF),
            WorkerOrder::End { drain: None } => return Then::End(None),
        }
        Then::GoOn
    }

    /// The time to replay is over.
    pub(super) fn end_replays(&mut self) {
        if self.asks_until.take_if(|until| *until <= Instant::now()).is_some() {
            self.cores.tell_all(Order::Deactivate);
        }
    }

    /// Tells a control thread of whom a connection was made with, or who refuses this process.
    pub(super) fn report_peer(&self, event: &KeeperEvent) {
        self.speech.superior().report(|| match event {
            KeeperEvent::Connected { claims, .. } => Some(WorkerReport::Met {
                worker: claims.worker,
                incarnation: claims.incarnation,
                version: claims.assignment_version,
            }),
            KeeperEvent::Unreachable { newest, .. } => newest.map(|newest| WorkerReport::Stale { newest }),
            KeeperEvent::Refused { .. } | KeeperEvent::Silent { .. } => None,
        });
    }

    /// Tells a control thread of a connection that is lost.
    pub(super) fn report_loss(&self, core: usize, peer: usize, lost: &Lost) {
        let superior = self.speech.superior();
        superior.report(|| {
            let (worker, incarnation) = self.peers.process_of(core, peer)?;
            Some(WorkerReport::PeerLost { worker, incarnation })
        });
        if let Lost::RefusedByPeer(why) = lost {
            superior.report(|| why.newest_known_to_peer().map(|newest| WorkerReport::Stale { newest }));
        }
    }
}
