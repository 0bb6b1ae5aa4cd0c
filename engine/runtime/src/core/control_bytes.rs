//! Control messages as bytes, for other workers: 32 of them each, as `net/protocol/WIRE.md` specifies.
//!
//! Invariants: what is written is read back; foreign bytes give a message or `None`, never a panic. Bounds of ranges are
//! for whoever applies them to check (the ledger and the pending table do).

use ringstorm_acking::{AckMessage, FailReason, Outcome, RootId};

use crate::core::control::ControlMessage;

/// Bytes of one message.
pub(crate) const MESSAGE_BYTES: usize = 32;

const INIT_RANGE: u8 = 1;
const INIT: u8 = 2;
const ACK_RANGE: u8 = 3;
const ACK_MASK: u8 = 4;
const ACK: u8 = 5;
const FAIL: u8 = 6;
const RESET_TIMEOUT: u8 = 7;
const FORGET: u8 = 8;
const ACKED_RANGE: u8 = 16;
const ACKED: u8 = 17;
const FAILED: u8 = 18;
const TIMEOUT_RESET: u8 = 19;
const PAUSE: u8 = 32;
const RESUME: u8 = 33;
const LOAD: u8 = 34;

const FAILED_BY: u8 = 0;
const TIMED_OUT: u8 = 1;
const LOST: u8 = 2;
const PANICKED: u8 = 3;

/// The columns of the table in `WIRE.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Columns {
    what: u8,
    detail: u8,
    position: u16,
    task: u32,
    root: u64,
    value: u64,
    count: u32,
    by: u32,
}

/// Appends a message.
pub(crate) fn write(message: &ControlMessage, bytes: &mut Vec<u8>) {
    let columns = match *message {
        ControlMessage::Ack { acker, message } => Columns { task: acker, ..of_ack(message) },
        ControlMessage::Outcome { spout, outcome } => Columns { task: spout, ..of_outcome(outcome) },
        ControlMessage::Pause { first, last } => {
            Columns { what: PAUSE, task: first, count: last, ..Columns::default() }
        }
        ControlMessage::Resume { first, last } => {
            Columns { what: RESUME, task: first, count: last, ..Columns::default() }
        }
        ControlMessage::Load { first, last, wait_us, tuple_us, over_limit } => Columns {
            what: LOAD,
            detail: over_limit.into(),
            task: first,
            count: last,
            root: wait_us.into(),
            value: tuple_us.into(),
            ..Columns::default()
        },
    };
    let Columns { what, detail, position, task, root, value, count, by } = columns;
    bytes.extend_from_slice(&[what, detail]);
    bytes.extend_from_slice(&position.to_le_bytes());
    bytes.extend_from_slice(&task.to_le_bytes());
    bytes.extend_from_slice(&root.to_le_bytes());
    bytes.extend_from_slice(&value.to_le_bytes());
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(&by.to_le_bytes());
}

fn of_ack(message: AckMessage) -> Columns {
    let range = |what, first: RootId, stride: u32, count, position| Columns {
        what,
        root: first.0,
        value: u64::from(stride),
        count,
        position,
        ..Columns::default()
    };
    let single = |what, root: RootId| Columns { what, root: root.0, ..Columns::default() };
    match message {
        AckMessage::InitRange { first, stride, count, positions } => range(INIT_RANGE, first, stride, count, positions),
        AckMessage::AckRange { first, stride, count, position } => range(ACK_RANGE, first, stride, count, position),
        AckMessage::Init { root, value } => Columns { value, ..single(INIT, root) },
        AckMessage::AckMask { first, mask, position } => Columns { value: mask, position, ..single(ACK_MASK, first) },
        AckMessage::Ack { root, value } => Columns { value, ..single(ACK, root) },
        AckMessage::Fail { root, by } => Columns { by, ..single(FAIL, root) },
        AckMessage::ResetTimeout { root } => single(RESET_TIMEOUT, root),
        AckMessage::Forget { root } => single(FORGET, root),
    }
}

fn of_outcome(outcome: Outcome) -> Columns {
    let single = |what, root: RootId| Columns { what, root: root.0, ..Columns::default() };
    match outcome {
        Outcome::AckedRange { first, stride, count } => {
            Columns { value: u64::from(stride), count, ..single(ACKED_RANGE, first) }
        }
        Outcome::Acked { root } => single(ACKED, root),
        Outcome::ResetTimeout { root } => single(TIMEOUT_RESET, root),
        Outcome::Failed { root, reason } => {
            let failed = single(FAILED, root);
            match reason {
                FailReason::FailedBy { task } => Columns { detail: FAILED_BY, by: task, ..failed },
                FailReason::TimedOut => Columns { detail: TIMED_OUT, ..failed },
                FailReason::Lost { worker } => Columns { detail: LOST, value: worker, ..failed },
                FailReason::Panicked { task } => Columns { detail: PANICKED, by: task, ..failed },
            }
        }
    }
}

/// Reads a message; `None` if it is none.
pub(crate) fn read(bytes: &[u8; MESSAGE_BYTES]) -> Option<ControlMessage> {
    let columns = columns(bytes);
    let Columns { what, detail, position, task, root, value, count, by } = columns;
    let root = RootId(root);
    let stride = u32::try_from(value);
    let ack = |message| Some(ControlMessage::Ack { acker: task, message });
    let outcome = |outcome| Some(ControlMessage::Outcome { spout: task, outcome });
    match what {
        INIT_RANGE => ack(AckMessage::InitRange { first: root, stride: stride.ok()?, count, positions: position }),
        INIT => ack(AckMessage::Init { root, value }),
        ACK_RANGE => ack(AckMessage::AckRange { first: root, stride: stride.ok()?, count, position }),
        ACK_MASK => ack(AckMessage::AckMask { first: root, mask: value, position }),
        ACK => ack(AckMessage::Ack { root, value }),
        FAIL => ack(AckMessage::Fail { root, by }),
        RESET_TIMEOUT => ack(AckMessage::ResetTimeout { root }),
        FORGET => ack(AckMessage::Forget { root }),
        ACKED_RANGE => outcome(Outcome::AckedRange { first: root, stride: stride.ok()?, count }),
        ACKED => outcome(Outcome::Acked { root }),
        TIMEOUT_RESET => outcome(Outcome::ResetTimeout { root }),
        FAILED => {
            let reason = match detail {
                FAILED_BY => FailReason::FailedBy { task: by },
                TIMED_OUT => FailReason::TimedOut,
                LOST => FailReason::Lost { worker: value },
                PANICKED => FailReason::Panicked { task: by },
                _ => return None,
            };
            outcome(Outcome::Failed { root, reason })
        }
        PAUSE => Some(ControlMessage::Pause { first: task, last: count }),
        RESUME => Some(ControlMessage::Resume { first: task, last: count }),
        LOAD => Some(ControlMessage::Load {
            first: task,
            last: count,
            wait_us: u32::try_from(root.0).ok()?,
            tuple_us: u32::try_from(value).ok()?,
            over_limit: detail != 0,
        }),
        _ => None,
    }
}

fn columns(bytes: &[u8; MESSAGE_BYTES]) -> Columns {
    let four = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
    Columns {
        what: bytes[0],
        detail: bytes[1],
        position: u16::from_le_bytes([bytes[2], bytes[3]]),
        task: four(4),
        root: eight(8),
        value: eight(16),
        count: four(24),
        by: four(28),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ack() -> impl Strategy<Value = AckMessage> {
        let root = || any::<u64>().prop_map(RootId);
        prop_oneof![
            (root(), any::<(u32, u32, u16)>()).prop_map(|(first, (stride, count, positions))| {
                AckMessage::InitRange { first, stride, count, positions }
            }),
            (root(), any::<u64>()).prop_map(|(root, value)| AckMessage::Init { root, value }),
            (root(), any::<(u32, u32, u16)>()).prop_map(|(first, (stride, count, position))| {
                AckMessage::AckRange { first, stride, count, position }
            }),
            (root(), any::<(u64, u16)>())
                .prop_map(|(first, (mask, position))| { AckMessage::AckMask { first, mask, position } }),
            (root(), any::<u64>()).prop_map(|(root, value)| AckMessage::Ack { root, value }),
            (root(), any::<u32>()).prop_map(|(root, by)| AckMessage::Fail { root, by }),
            root().prop_map(|root| AckMessage::ResetTimeout { root }),
            root().prop_map(|root| AckMessage::Forget { root }),
        ]
    }

    fn outcome() -> impl Strategy<Value = Outcome> {
        let root = || any::<u64>().prop_map(RootId);
        let reason = prop_oneof![
            any::<u32>().prop_map(|task| FailReason::FailedBy { task }),
            Just(FailReason::TimedOut),
            any::<u64>().prop_map(|worker| FailReason::Lost { worker }),
            any::<u32>().prop_map(|task| FailReason::Panicked { task }),
        ];
        prop_oneof![
            (root(), any::<(u32, u32)>()).prop_map(|(first, (stride, count))| Outcome::AckedRange {
                first,
                stride,
                count
            }),
            root().prop_map(|root| Outcome::Acked { root }),
            (root(), reason).prop_map(|(root, reason)| Outcome::Failed { root, reason }),
            root().prop_map(|root| Outcome::ResetTimeout { root }),
        ]
    }

    fn message() -> impl Strategy<Value = ControlMessage> {
        prop_oneof![
            (any::<u32>(), ack()).prop_map(|(acker, message)| ControlMessage::Ack { acker, message }),
            (any::<u32>(), outcome()).prop_map(|(spout, outcome)| ControlMessage::Outcome { spout, outcome }),
            any::<(u32, u32)>().prop_map(|(first, last)| ControlMessage::Pause { first, last }),
            any::<(u32, u32)>().prop_map(|(first, last)| ControlMessage::Resume { first, last }),
            any::<(u32, u32, u32, u32, bool)>().prop_map(|(first, last, wait_us, tuple_us, over_limit)| {
                ControlMessage::Load { first, last, wait_us, tuple_us, over_limit }
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(message in message()) {
            let mut bytes = Vec::new();
            write(&message, &mut bytes);
            let read = read(bytes.as_slice().try_into().expect("32 bytes"));
            prop_assert_eq!(read.map(|read| format!("{read:?}")), Some(format!("{message:?}")));
        }

        #[test]
        fn foreign_bytes_never_panic(bytes: [u8; MESSAGE_BYTES]) {
            let _ = read(&bytes);
        }
    }
}
