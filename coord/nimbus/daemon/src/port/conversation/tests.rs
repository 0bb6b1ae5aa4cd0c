//! Conversations, by example, by Storm's own bytes, and whatever comes.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use ringstorm_records::nimbus::{GetTopologyInfo, KillTopology, call};
use ringstorm_records::thrift::frame::frame;
use ringstorm_records::thrift::message::{ApplicationException, body};
use serde_json::Value;

use super::*;

const MAX: usize = 1 << 20;

/// All that follows from these bytes, in these pieces.
fn heard<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Step> {
    let mut conversation = Conversation::new(MAX);
    let mut steps = Vec::new();
    for piece in pieces {
        conversation.push(piece);
        loop {
            match conversation.next() {
                Step::Read => break,
                Step::Broken(why) => {
                    steps.push(Step::Broken(why));
                    return steps;
                }
                step => steps.push(step),
            }
        }
    }
    steps
}

fn kill(sequence: i32) -> Vec<u8> {
    frame(&call(sequence, &KillTopology { name: Some("words".into()) }))
}

fn exception(message: &[u8]) -> (ApplicationExceptionKind, i32, String) {
    let (head, input) = Head::read(message).unwrap();
    assert_eq!(head.kind, MessageKind::Exception);
    let exception: ApplicationException = body(input).unwrap();
    (exception.kind.unwrap(), head.sequence, exception.message.unwrap())
}

#[test]
fn calls_come_out_in_order_in_whatever_pieces_they_come() {
    let bytes = [kill(1), kill(2), frame(&call(3, &GetTopologyInfo { id: None }))].concat();
    for size in [1, 2, 3, 7, 64, 4096] {
        let steps = heard(bytes.chunks(size));
        let sequences: Vec<i32> = steps
            .iter()
            .map(|step| match step {
                Step::Call { sequence, .. } => *sequence,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(sequences, [1, 2, 3], "in pieces of {size}");
    }
}

#[test]
fn every_call_that_a_real_storm_was_sent_is_heard() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records/tests/golden");
    let mut methods = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().ends_with(".thrift.jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let hex = line["call_hex"].as_str().unwrap();
            let message: Vec<u8> =
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
            let steps = heard(frame(&message).chunks(1000));
            let [Step::Call { call, sequence }] = steps.as_slice() else { panic!("{steps:?}") };
            assert_eq!(call.method(), line["method"]);
            assert_eq!(call.to_message(*sequence).len(), message.len(), "{}", call.method());
            methods.insert(call.method());
        }
    }
    assert!(methods.len() > 30, "{methods:?}");
}

#[test]
fn an_unknown_method_and_arguments_that_cannot_be_read_are_answered_and_the_conversation_goes_on() {
    let unknown = frame(&Head { kind: MessageKind::Call, method: "launchRocket", sequence: 4 }.write().into_bytes());
    let mut cut = call(5, &KillTopology { name: Some("words".into()) });
    cut.truncate(cut.len() - 3);
    let reply = frame(&Head { kind: MessageKind::Reply, method: "killTopology", sequence: 6 }.write().into_bytes());
    let bytes = [unknown, frame(&cut), reply, kill(7)].concat();
    let steps = heard([bytes.as_slice()]);
    let [
        Step::Answer { message: unknown, .. },
        Step::Answer { message: cut, .. },
        Step::Answer { message: reply, .. },
        Step::Call { sequence: 7, .. },
    ] = steps.as_slice()
    else {
        panic!("{steps:?}")
    };
    let (kind, sequence, words) = exception(unknown);
    assert_eq!((kind, sequence), (ApplicationExceptionKind::UnknownMethod, 4));
    assert_eq!(words, "Invalid method name: 'launchRocket'");
    assert_eq!(exception(cut).0, ApplicationExceptionKind::ProtocolError);
    assert_eq!((exception(reply).0, exception(reply).1), (ApplicationExceptionKind::InvalidMessageType, 6));
}

#[test]
fn a_huge_length_ends_the_conversation_before_anything_is_allocated() {
    for length in [0x7fff_ffff_u32, 0xffff_ffff, 0, MAX as u32 + 1] {
        let mut conversation = Conversation::new(MAX);
        conversation.push(&length.to_be_bytes());
        assert!(matches!(conversation.next(), Step::Broken(_)), "{length:x}");
        assert!(conversation.memory_bytes() < 64);
    }
    // Of what may come only what came is held.
    let mut conversation = Conversation::new(MAX);
    conversation.push(&(MAX as u32).to_be_bytes());
    assert!(matches!(conversation.next(), Step::Read));
    assert!(conversation.memory_bytes() < 64 && conversation.is_in_the_middle());
}

#[test]
fn after_a_large_call_nothing_is_held() {
    let mut conversation = Conversation::new(MAX);
    conversation.push(&frame(&call(1, &KillTopology { name: Some("x".repeat(500_000)) })));
    assert!(conversation.memory_bytes() > 500_000);
    assert!(matches!(conversation.next(), Step::Call { .. }));
    assert_eq!((conversation.memory_bytes(), conversation.is_in_the_middle()), (0, false));
}

#[test]
fn a_peer_that_speaks_http_is_told_apart() {
    let steps = heard([b"GET / HTTP/1.1\r\n\r\n".as_slice()]);
    assert!(matches!(steps.as_slice(), [Step::Broken(why)] if why.contains("speaks another protocol")), "{steps:?}");
}

proptest! {
    #[test]
    fn whatever_comes_costs_one_error_and_no_more_memory_than_came(
        bytes in prop::collection::vec(any::<u8>(), 0..4000),
        size in 1..700_usize,
    ) {
        let steps = heard(bytes.chunks(size));
        prop_assert!(steps.iter().filter(|step| matches!(step, Step::Broken(_))).count() <= 1);
    }

    #[test]
    fn a_call_with_any_byte_changed_is_answered_or_ends_the_conversation(at in 0..60_usize, by in 1..=255_u8) {
        let mut bytes = kill(9);
        let length = bytes.len();
        let at = 4 + at % (length - 4);
        bytes[at] = bytes[at].wrapping_add(by);
        bytes.extend_from_slice(&kill(10));
        let steps = heard([bytes.as_slice()]);
        // The frame kept the place, unless its head is gone.
        let is_second = matches!(steps.last(), Some(Step::Call { sequence: 10, .. }));
        prop_assert!(is_second || matches!(steps.as_slice(), [Step::Broken(_)]), "{steps:?}");
    }
}
