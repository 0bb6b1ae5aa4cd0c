//! Which way sockets go: what the kernel was found to allow against what is wanted.
//!
//! Invariants: the choice is a pure function of [`UringFacts`] and the wish. Threading: any. Errors: [`WayRefused`], for
//! whoever set the wish.

use std::io;

use io_uring::{IoUring, Probe, opcode};

/// How operations of sockets are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketsWay {
    /// On the io_uring of their core, [`OnUring`](super::OnUring).
    Uring,
    /// By readiness, [`Readiness`](super::Readiness).
    Readiness,
}

/// What was found out about io_uring in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UringFacts {
    /// Everything is there.
    Whole,
    /// Everything but deferred task work, which came with Linux 6.1.
    WithoutDeferredTaskWork,
    /// It cannot be used: why.
    Unusable(String),
}

/// What sockets and parkers queue.
const NEEDED: [(u8, &str); 3] = [
    (opcode::PollAdd::CODE, "IORING_OP_POLL_ADD"),
    (opcode::Recv::CODE, "IORING_OP_RECV"),
    (opcode::SendMsg::CODE, "IORING_OP_SENDMSG"),
];

impl UringFacts {
    /// Asks the kernel, by an io_uring that is made as a core's is and dropped at once.
    pub fn probe() -> Self {
        let deferred = IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(2);
        let (ring, facts) = match deferred {
            Ok(ring) => (ring, Self::Whole),
            Err(_) => match IoUring::new(2) {
                Ok(ring) => (ring, Self::WithoutDeferredTaskWork),
                Err(error) => return Self::Unusable(why_refused(&error)),
            },
        };
        // With this feature came polls that go on (Linux 5.13).
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_resource_tagging() {
            return Self::Unusable("this kernel's is older than Linux 5.13".into());
        }
        let mut probe = Probe::new();
        if let Err(error) = ring.submitter().register_probe(&mut probe) {
            return Self::Unusable(format!("it does not say which operations it has: {error}"));
        }
        let missing: Vec<&str> =
            NEEDED.iter().filter(|(code, _)| !probe.is_supported(*code)).map(|(_, name)| *name).collect();
        if missing.is_empty() { facts } else { Self::Unusable(format!("it lacks {}", missing.join(", "))) }
    }
}

fn why_refused(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has none".into(),
        Some(libc::EPERM | libc::EACCES) => {
            format!("it is forbidden, by kernel.io_uring_disabled or the seccomp filter of a container: {error}")
        }
        _ => format!("the kernel refuses one: {error}"),
    }
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenWay {
    /// The way.
    pub way: SocketsWay,
    /// What is to be told of it, unless it is the usual one.
    pub remark: Option<String>,
}

/// The way that is wanted cannot be gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("io_uring cannot be used: {why}")]
pub struct WayRefused {
    why: String,
}

impl SocketsWay {
    /// The way to go. `wanted` is `None` where io_uring is used if it can be.
    ///
    /// # Errors
    /// [`WayRefused`] when io_uring is wanted and cannot be used.
    pub fn choose(wanted: Option<Self>, facts: &UringFacts) -> Result<ChosenWay, WayRefused> {
        let (way, remark) = match (wanted, facts) {
            (Some(Self::Uring), UringFacts::Unusable(why)) => return Err(WayRefused { why: why.clone() }),
            (None, UringFacts::Unusable(why)) => (
                Self::Readiness,
                Some(format!("io_uring cannot be used: {why}. Cores wait with ppoll, and sockets go by epoll")),
            ),
            (Some(Self::Readiness), _) => (Self::Readiness, Some("sockets go by epoll, as is asked for".into())),
            (_, UringFacts::WithoutDeferredTaskWork) => {
                (Self::Uring, Some("io_uring is used without deferred task work, which came with Linux 6.1".into()))
            }
            (_, UringFacts::Whole) => (Self::Uring, None),
        };
        Ok(ChosenWay { way, remark })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_uring_is_used_where_it_can_be() {
        for wanted in [None, Some(SocketsWay::Uring)] {
            let chosen = SocketsWay::choose(wanted, &UringFacts::Whole).unwrap();
            assert_eq!(chosen, ChosenWay { way: SocketsWay::Uring, remark: None });
            let chosen = SocketsWay::choose(wanted, &UringFacts::WithoutDeferredTaskWork).unwrap();
            assert_eq!(chosen.way, SocketsWay::Uring);
            assert!(chosen.remark.unwrap().contains("6.1"));
        }
    }

    #[test]
    fn where_it_cannot_the_other_way_is_gone_and_told() {
        let facts = UringFacts::Unusable("it is forbidden".into());
        let chosen = SocketsWay::choose(None, &facts).unwrap();
        assert_eq!(chosen.way, SocketsWay::Readiness);
        assert!(chosen.remark.unwrap().contains("it is forbidden"));
        assert!(SocketsWay::choose(Some(SocketsWay::Readiness), &facts).is_ok());
        let refused = SocketsWay::choose(Some(SocketsWay::Uring), &facts).unwrap_err();
        assert_eq!(refused.to_string(), "io_uring cannot be used: it is forbidden");
    }

    #[test]
    fn a_wish_is_followed_and_told() {
        let chosen = SocketsWay::choose(Some(SocketsWay::Readiness), &UringFacts::Whole).unwrap();
        assert_eq!(chosen.way, SocketsWay::Readiness);
        assert!(chosen.remark.is_some());
    }

    #[test]
    fn a_refusal_says_who_may_have_refused() {
        let text = |code| why_refused(&io::Error::from_raw_os_error(code));
        assert!(text(libc::EPERM).contains("seccomp"));
        assert!(text(libc::ENOSYS).contains("this kernel has none"));
        assert!(text(libc::ENOMEM).contains("refuses"));
    }
}
