//! Handshakes between two sides, with strangers and with other programs.

use proptest::prelude::*;

use super::*;

fn claims(worker: u64, to_worker: u64) -> Claims {
    let stream =
        |component: &str, layout| StreamLayout { component: component.into(), stream: "default".into(), layout };
    Claims {
        payload_format: "rkyv 0.8".into(),
        topology: "words-1-1700000000".into(),
        worker,
        incarnation: 1_700_000_000_000_000,
        to_worker,
        assignment_version: 3,
        cores: CorePair { dialer: 0, acceptor: 2 },
        streams: vec![stream("count", 7), stream("words", 8)],
    }
}

/// Carries bytes between both sides until nobody has anything to say, in pieces of `piece` bytes.
fn shake(
    dialer: &mut Handshake,
    acceptor: &mut Handshake,
    judge: &mut dyn Judge,
    piece: usize,
) -> [Option<Result<Progress, HandshakeError>>; 2] {
    let mut results = [None, None];
    let mut agree = |_: &Claims| Ok(claims(0, 1));
    for _ in 0..10 {
        for (from, to) in [(0, 1), (1, 0)] {
            let said = if from == 0 { dialer.output() } else { acceptor.output() };
            for piece in said.chunks(piece) {
                let listener = if to == 0 { &mut *dialer } else { &mut *acceptor };
                if matches!(results[to], Some(Err(_))) {
                    continue;
                }
                listener.space()[..piece.len()].copy_from_slice(piece);
                let judge: &mut dyn Judge = if to == 0 { &mut agree } else { judge };
                let result = listener.received(piece.len(), judge);
                if result != Ok(Progress::Waiting) {
                    results[to] = Some(result);
                }
            }
        }
    }
    results
}

fn pair(dialer_secret: &str, acceptor_secret: &str, claims: Claims) -> (Handshake, Handshake) {
    let dialer = Handshake::dial(Secret::new(dialer_secret), [1; NONCE_BYTES], claims);
    (dialer, Handshake::accept(Secret::new(acceptor_secret), [2; NONCE_BYTES]))
}

#[test]
fn both_agree_and_know_each_other() {
    for piece in [1, 7, 64, 1000] {
        let (mut dialer, mut acceptor) = pair("secret", "secret", claims(0, 1));
        let results = shake(&mut dialer, &mut acceptor, &mut |_: &Claims| Ok(claims(1, 0)), piece);
        let agreed = |claims| Some(Ok(Progress::Agreed(Box::new(claims))));
        assert_eq!(results, [agreed(claims(1, 0)), agreed(claims(0, 1))]);
        assert_eq!((dialer.rest(), acceptor.rest()), ([].as_slice(), [].as_slice()));
    }
}

#[test]
fn who_does_not_know_the_secret_is_refused_by_either_side_and_learns_nothing() {
    let (mut dialer, mut acceptor) = pair("secret", "another", claims(0, 1));
    let [at_dialer, at_acceptor] =
        shake(&mut dialer, &mut acceptor, &mut |_: &Claims| unreachable!("it said nothing"), 64);
    assert_eq!(at_dialer, Some(Err(HandshakeError::WrongSecret)));
    assert!(matches!(at_acceptor, Some(Err(HandshakeError::Refused(_)))), "{at_acceptor:?}");

    // A dialer that does not check the acceptor's proof.
    let mut acceptor = Handshake::accept(Secret::new("secret"), [2; NONCE_BYTES]);
    let mut stranger = Handshake::dial(Secret::new("another"), [1; NONCE_BYTES], claims(0, 1));
    let hello = stranger.output();
    acceptor.space()[..hello.len()].copy_from_slice(&hello);
    assert_eq!(acceptor.received(hello.len(), &mut |_: &Claims| unreachable!()), Ok(Progress::Waiting));
    acceptor.output();
    stranger.say(Kind::Proof, &[7; 32]);
    let proof = stranger.output();
    acceptor.space()[..proof.len()].copy_from_slice(&proof);
    let refused = acceptor.received(proof.len(), &mut |_: &Claims| unreachable!());
    assert_eq!(refused, Err(HandshakeError::WrongSecret));
}

#[test]
fn a_proof_cannot_be_sent_back() {
    let secret = Secret::new("secret");
    let (own, other) = ([1; NONCE_BYTES], [2; NONCE_BYTES]);
    let proof = proof::prove(&secret, Role::Acceptor, &own, &other);
    assert!(proof::holds(&secret, Role::Acceptor, &own, &other, &proof));
    assert!(!proof::holds(&secret, Role::Dialer, &own, &other, &proof));
    assert!(!proof::holds(&secret, Role::Dialer, &other, &own, &proof));
    assert!(!proof::holds(&secret, Role::Acceptor, &own, &[3; NONCE_BYTES], &proof));
}

#[test]
fn every_difference_between_two_programs_is_named() {
    let ours = claims(1, 0);
    type Change = fn(&mut Claims);
    let differences: [(Change, &str); 6] = [
        (|claims| claims.payload_format = "rkyv 0.9".into(), "rkyv 0.9"),
        (|claims| claims.topology = "other-1-1".into(), "other-1-1"),
        (|claims| claims.streams[1].layout = 9, "stream \"default\" of component \"words\" has another layout"),
        (|claims| drop(claims.streams.pop()), "\"words\""),
        (|claims| claims.streams[0].component = "a".into(), "\"a\""),
        (|claims| claims.streams[1].stream = "errors".into(), "\"words\" \"default\""),
    ];
    ours.check_same_program(&claims(0, 1)).unwrap();
    for (change, named) in differences {
        let mut theirs = claims(0, 1);
        change(&mut theirs);
        let (mut dialer, mut acceptor) = pair("secret", "secret", theirs);
        let mut judge = |theirs: &Claims| ours.check_same_program(theirs).map(|()| ours.clone());
        let [at_dialer, at_acceptor] = shake(&mut dialer, &mut acceptor, &mut judge, 64);
        let Some(Err(refusal)) = at_acceptor else { panic!("{at_acceptor:?}") };
        assert!(refusal.to_string().contains(named), "{refusal}");
        // The dialer is told why.
        assert_eq!(at_dialer, Some(Err(HandshakeError::Refused(refusal.to_string()))));
    }
}

#[test]
fn whoever_is_refused_as_stale_learns_which_incarnation_is_current() {
    let stale = HandshakeError::StaleIncarnation { worker: 7, found: 41, newest: u64::MAX };
    assert_eq!(HandshakeError::Refused(stale.to_string()).newest_known_to_peer(), Some(u64::MAX));
    assert_eq!(stale.newest_known_to_peer(), None, "it is the peer that is stale");
    for other in ["", "incarnation ", "incarnation 1 of worker 2 is stale: x is known", "the handshake failed"] {
        assert_eq!(HandshakeError::Refused(other.into()).newest_known_to_peer(), None, "{other}");
    }
}

#[test]
fn a_stranger_that_claims_much_or_speaks_out_of_turn_is_refused() {
    let mut frame = Vec::new();
    begin(Kind::Frame, 0, &mut frame);
    frame[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut early = Vec::new();
    begin(Kind::Claims, 0, &mut early);
    early.extend_from_slice(&claims(0, 1).encode());
    seal(&mut early, &Stamp::default());
    for bytes in [frame, early, b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![0; 500]] {
        let mut acceptor = Handshake::accept(Secret::new("secret"), [2; NONCE_BYTES]);
        acceptor.space()[..bytes.len()].copy_from_slice(&bytes);
        let refused = acceptor.received(bytes.len(), &mut |_: &Claims| unreachable!("it has proven nothing"));
        assert!(matches!(refused, Err(HandshakeError::Protocol(_))), "{refused:?}");
        let said = String::from_utf8_lossy(&acceptor.output()).into_owned();
        assert!(said.contains("the handshake failed"), "{said}");
    }
}

fn any_claims() -> impl Strategy<Value = Claims> {
    let streams = prop::collection::btree_map(("[a-c]{0,3}", "[a-c]{0,3}"), any::<u64>(), 0..8);
    (any::<(u64, u64, u64, i64, u32, u32)>(), ".{0,20}", streams).prop_map(|(numbers, topology, streams)| {
        let (worker, incarnation, to_worker, assignment_version, dialer, acceptor) = numbers;
        let streams = streams.into_iter();
        Claims {
            payload_format: "format".into(),
            topology,
            worker,
            incarnation,
            to_worker,
            assignment_version,
            cores: CorePair { dialer, acceptor },
            streams: streams.map(|((component, stream), layout)| StreamLayout { component, stream, layout }).collect(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn claims_are_read_as_they_were_written(claims in any_claims()) {
        prop_assert_eq!(Claims::decode(&claims.encode()), Ok(claims));
    }

    #[test]
    fn mutated_claims_never_panic(claims in any_claims(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut bytes = claims.encode();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = Claims::decode(&bytes);
    }

    #[test]
    fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for mut side in [
            Handshake::accept(Secret::new("secret"), [2; NONCE_BYTES]),
            Handshake::dial(Secret::new("secret"), [1; NONCE_BYTES], claims(0, 1)),
        ] {
            side.space()[..bytes.len()].copy_from_slice(&bytes);
            let result = side.received(bytes.len(), &mut |_: &Claims| Ok(claims(1, 0)));
            prop_assert!(!matches!(result, Ok(Progress::Agreed(_))));
        }
    }
}
