//! Which session of the tree may be used now.
//!
//! Invariant: a session that is suspended or over is never given out. Threading: plain data.

use std::time::Duration;

use ringstorm_store::store::{SessionEvent, SessionId};

/// What is known of the session with the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Session {
    /// There is none.
    #[default]
    None,
    /// It is open.
    Open(SessionId),
    /// The connection is lost; the session may be over, and others may act on that.
    Suspended(SessionId),
}

/// What a session event means to whoever has ephemeral nodes and watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A new session: nothing of an earlier one is left. Everything is to be said and read anew.
    Began {
        /// It.
        session: SessionId,
        /// After how long a silence it expires.
        timeout: Duration,
    },
    /// The session goes on; what was read may be stale, and what was under way may have failed.
    GoesOn(SessionId),
    /// Nothing may be relied on until one of the others comes.
    Stops,
}

impl Session {
    /// The session that may be used now.
    pub fn usable(self) -> Option<SessionId> {
        match self {
            Self::Open(session) => Some(session),
            Self::None | Self::Suspended(_) => None,
        }
    }

    /// Takes what the tree said of it.
    pub fn take(&mut self, event: &SessionEvent) -> Meaning {
        let (next, meaning) = match event {
            SessionEvent::Opened { session, timeout } => {
                (Self::Open(*session), Meaning::Began { session: *session, timeout: *timeout })
            }
            SessionEvent::Resumed { session } => (Self::Open(*session), Meaning::GoesOn(*session)),
            SessionEvent::Suspended { session } => (Self::Suspended(*session), Meaning::Stops),
            SessionEvent::Expired { .. } | SessionEvent::Unreachable { .. } => (Self::None, Meaning::Stops),
        };
        *self = next;
        meaning
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_usable_while_it_is_open() {
        let (first, timeout) = (SessionId(1), Duration::from_secs(20));
        let mut session = Session::default();
        assert_eq!(session.usable(), None);
        let began = Meaning::Began { session: first, timeout };
        assert_eq!(session.take(&SessionEvent::Opened { session: first, timeout }), began);
        assert_eq!(session.usable(), Some(first));
        assert_eq!(session.take(&SessionEvent::Suspended { session: first }), Meaning::Stops);
        assert_eq!(session.usable(), None);
        assert_eq!(session.take(&SessionEvent::Resumed { session: first }), Meaning::GoesOn(first));
        assert_eq!(session.usable(), Some(first));
        assert_eq!(session.take(&SessionEvent::Expired { session: first }), Meaning::Stops);
        assert_eq!(session.usable(), None);
    }
}
