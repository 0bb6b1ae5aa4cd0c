//! Requests to the machine, and their replies.
//!
//! Invariant: each request that was handed over gets one reply, or its asker hears that the daemon is ending. Threading:
//! requests belong to the thread of the port, replies to that of the machine; the map between them has a lock. Errors:
//! [`Refusal`].

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::oneshot;
use ringstorm_daemon::Sender;
use ringstorm_nimbus::NimbusInput;
use ringstorm_nimbus::interface::{Refusal, Reply, Request, RequestId};

type Answered = Result<Reply, Refusal>;

/// Who waits for a reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replies(Arc<Mutex<BTreeMap<RequestId, oneshot::Sender<Answered>>>>);

impl Replies {
    /// Hands over a reply.
    pub(crate) fn give(&self, id: RequestId, reply: Answered) {
        let waits = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(waits) = waits {
            // Its connection may be gone.
            let _ = waits.send(reply);
        }
    }

    fn add(&self, id: RequestId) -> oneshot::Receiver<Answered> {
        let (sender, receiver) = oneshot::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        receiver
    }
}

/// By which the machine is asked.
#[derive(Debug)]
pub(crate) struct Requests {
    sender: Sender<NimbusInput>,
    replies: Replies,
    next: Cell<u64>,
}

impl Requests {
    pub(crate) fn new(sender: Sender<NimbusInput>, replies: Replies) -> Self {
        Self { sender, replies, next: Cell::new(0) }
    }

    /// Asks, and waits for what comes of it.
    pub(crate) async fn ask(&self, request: Request) -> Answered {
        let id = RequestId(self.next.get());
        self.next.set(id.0 + 1);
        let reply = self.replies.add(id);
        if !self.sender.send(NimbusInput::Request { id, request }) {
            return Err(Refusal::TryAgain("this nimbus has ended".into()));
        }
        reply.await.unwrap_or_else(|_| Err(Refusal::Unknown("this nimbus ended meanwhile".into())))
    }
}
