//! Laws of the frame format: what was appended is read back, whatever the mix of runs and columns; foreign bytes never
//! panic; and one frame is checked byte by byte against the specification.

use proptest::prelude::*;
use ringstorm_frame::{Anchors, FrameReader, FrameWriter, ManyAnchors, validate};

#[derive(Clone, Debug)]
enum OwnedAnchors {
    None,
    Derived { root: u64, position: u16 },
    Pair { root: u64, edge: u64 },
    Many(Vec<(u64, u64)>),
}

#[derive(Clone, Debug)]
struct OwnedTuple {
    source: u32,
    stream: u16,
    target: u32,
    anchors: OwnedAnchors,
    payload: Vec<u8>,
}

fn anchors() -> impl Strategy<Value = OwnedAnchors> {
    prop_oneof![
        Just(OwnedAnchors::None),
        // A small range of roots makes runs with strides, breaks and steps back.
        (100u64..110, 0u16..2).prop_map(|(root, position)| OwnedAnchors::Derived { root, position }),
        (1u64..5, any::<u64>()).prop_map(|(root, edge)| OwnedAnchors::Pair { root, edge }),
        prop::collection::vec((1u64..5, any::<u64>()), 0..4).prop_map(OwnedAnchors::Many),
    ]
}

fn tuples() -> impl Strategy<Value = Vec<OwnedTuple>> {
    let tuple = (1u32..3, 0u16..2, 5u32..8, anchors(), prop_oneof![Just(8usize), 0usize..20], any::<u8>()).prop_map(
        |(source, stream, target, anchors, size, fill)| OwnedTuple {
            source,
            stream,
            target,
            anchors,
            payload: vec![fill; size],
        },
    );
    prop::collection::vec(tuple, 0..60)
}

fn append(writer: &mut FrameWriter, tuple: &OwnedTuple) {
    let mut pairs = Vec::new();
    let anchors = match &tuple.anchors {
        OwnedAnchors::None => Anchors::None,
        OwnedAnchors::Derived { root, position } => Anchors::Derived { root: *root, position: *position },
        OwnedAnchors::Pair { root, edge } => Anchors::Pair { root: *root, edge: *edge },
        OwnedAnchors::Many(all) => {
            for (root, edge) in all {
                ManyAnchors::push_pair(&mut pairs, *root, *edge);
            }
            Anchors::Many(ManyAnchors::from_bytes(&pairs))
        }
    };
    writer
        .append(tuple.source, tuple.stream, tuple.target, anchors, |bytes| {
            bytes.extend_from_slice(&tuple.payload);
            Ok::<(), ()>(())
        })
        .expect("the write cannot fail");
}

fn assert_reads_back(frame: &[u8], expected: &[OwnedTuple]) {
    validate(frame).expect("a written frame is valid");
    let mut expected = expected.iter();
    for run in FrameReader::new(frame) {
        let mut cursor = run.start();
        while let Some(read) = run.next(&mut cursor) {
            let wanted = expected.next().expect("no tuple that was not written");
            assert_eq!((run.source(), run.stream(), read.target), (wanted.source, wanted.stream, wanted.target));
            assert_eq!(read.payload, wanted.payload);
            match (&wanted.anchors, read.anchors) {
                (OwnedAnchors::None, Anchors::None) => {}
                (OwnedAnchors::Derived { root, position }, Anchors::Derived { root: r, position: p }) => {
                    assert_eq!((*root, *position), (r, p));
                }
                (OwnedAnchors::Pair { root, edge }, Anchors::Pair { root: r, edge: e }) => {
                    assert_eq!((*root, *edge), (r, e));
                }
                (OwnedAnchors::Many(all), Anchors::Many(many)) => {
                    assert_eq!(all, &many.iter().collect::<Vec<_>>());
                }
                other => panic!("anchors changed their kind: {other:?}"),
            }
        }
    }
    assert!(expected.next().is_none(), "a tuple was lost");
}

proptest! {
    #[test]
    fn what_is_appended_is_read_back(tuples in tuples()) {
        let mut writer = FrameWriter::new();
        writer.begin(Vec::new());
        for tuple in &tuples {
            append(&mut writer, tuple);
        }
        prop_assert_eq!(writer.tuple_count() as usize, tuples.len());
        let frame = writer.take();
        assert_reads_back(&frame, &tuples);

        // Whole runs copied into another frame read the same.
        let mut copy = FrameWriter::new();
        copy.begin(Vec::new());
        for run in FrameReader::new(&frame) {
            copy.append_run(&run);
        }
        assert_reads_back(&copy.take(), &tuples);
    }

    #[test]
    fn a_failed_or_panicked_write_leaves_whole_tuples(tuples in tuples(), failures in prop::collection::vec(0u8..3, 60)) {
        let mut writer = FrameWriter::new();
        writer.begin(Vec::new());
        for (tuple, failure) in tuples.iter().zip(&failures) {
            if *failure == 1 {
                let failed = writer.append(tuple.source, tuple.stream, tuple.target, Anchors::None, |bytes| {
                    bytes.extend_from_slice(b"half");
                    Err("refused")
                });
                prop_assert_eq!(failed, Err("refused"));
            }
            if *failure == 2 {
                let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    writer.append(tuple.source, tuple.stream, tuple.target, Anchors::None, |bytes| {
                        bytes.extend_from_slice(b"half");
                        if bytes.len() > 1 { std::panic::resume_unwind(Box::new("user code")); }
                        Ok::<(), ()>(())
                    })
                }));
                prop_assert!(panicked.is_err());
            }
            append(&mut writer, tuple);
        }
        let count = tuples.len().min(failures.len());
        assert_reads_back(&writer.take(), &tuples[..count]);
    }

    #[test]
    fn foreign_bytes_never_panic(tuples in tuples(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut in any::<prop::sample::Index>(), cut_it in any::<bool>()) {
        let mut writer = FrameWriter::new();
        writer.begin(Vec::new());
        for tuple in &tuples {
            append(&mut writer, tuple);
        }
        let mut frame = writer.take();
        for (index, value) in flips {
            let at = index.index(frame.len());
            frame[at] = value;
        }
        if cut_it {
            frame.truncate(cut.index(frame.len()));
        }
        if validate(&frame).is_ok() {
            for run in FrameReader::new(&frame) {
                let mut cursor = run.start();
                while run.next(&mut cursor).is_some() {}
            }
        }
    }
}

#[test]
fn a_frame_lies_as_specified() {
    let mut writer = FrameWriter::new();
    writer.begin(Vec::new());
    for (root, target) in [(0x0102, 7), (0x0104, 8)] {
        writer
            .append(3, 1, target, Anchors::Derived { root, position: 5 }, |bytes| {
                bytes.extend_from_slice(b"ab");
                Ok::<(), ()>(())
            })
            .unwrap();
    }
    let frame = writer.take();
    let mut expected = b"RSFR\x01\0\0\0".to_vec();
    expected.extend(108u32.to_le_bytes());
    expected.extend(1u32.to_le_bytes());
    expected.extend(2u32.to_le_bytes());
    expected.resize(64, 0);
    expected.extend([3, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0b1001, 2, 2, 0, 5, 0, 2, 0, 0, 0, 44, 0, 0, 0]);
    expected.extend(0x0102u64.to_le_bytes());
    expected.extend(b"abab");
    expected.extend([7, 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(frame, expected);
}

proptest! {
    /// The short ways of writing and reading give the same frames and tuples as the long ones.
    #[test]
    fn short_ways_agree_with_long_ones(tuples in tuples(), limit in 64usize..4000) {
        let (mut long, mut short) = (FrameWriter::new(), FrameWriter::new());
        long.begin(Vec::new());
        short.begin(Vec::new());
        for tuple in &tuples {
            append(&mut long, tuple);
            short.set_limit(limit);
            let mut pairs = Vec::new();
            let anchors = match &tuple.anchors {
                OwnedAnchors::None => Anchors::None,
                OwnedAnchors::Derived { root, position } => Anchors::Derived { root: *root, position: *position },
                OwnedAnchors::Pair { root, edge } => Anchors::Pair { root: *root, edge: *edge },
                OwnedAnchors::Many(all) => {
                    all.iter().for_each(|(root, edge)| ManyAnchors::push_pair(&mut pairs, *root, *edge));
                    Anchors::Many(ManyAnchors::from_bytes(&pairs))
                }
            };
            let write = |bytes: &mut Vec<u8>| { bytes.extend_from_slice(&tuple.payload); Ok::<(), ()>(()) };
            let size = tuple.payload.len();
            if short.append_fixed(tuple.source, tuple.stream, tuple.target, anchors, size, write).is_none() {
                append(&mut short, tuple);
            }
            prop_assert_eq!(long.tuple_count(), short.tuple_count());
        }
        let (long, short) = (long.take(), short.take());
        prop_assert_eq!(&long, &short);
        for run in FrameReader::new(&long) {
            let Some(size) = run.plain_size() else { continue };
            let (mut plain, mut cursor) = (run.start(), run.start());
            while let Some(tuple) = run.next(&mut cursor) {
                prop_assert_eq!(run.next_plain(&mut plain, size), Some((tuple.payload, tuple.anchors)));
            }
            prop_assert_eq!(run.next_plain(&mut plain, size), None);
        }
    }
}
