//! The bodies of the fuzz targets in `fuzz/`, as plain functions, so that the tests can replay inputs with them.
//!
//! Each panics, or worse, if it finds a fault, and returns otherwise.

use crate::nimbus::{METHODS, NimbusCall};
use crate::payload::{self, INFLATED_BYTES_MAX, NimbusAddress, NimbusInfo};
use crate::thrift::frame::FrameReader;
use crate::thrift::message::{Head, MessageKind};
use crate::thrift::{Encoder, RecordType, Tree};
use crate::{records, render};

/// Bytes as every record there is: what is read is written and read again as the same.
pub fn record(bytes: &[u8]) {
    records::all().for_each(|of| rewritten(of, bytes));
    if let Ok(tree) = Tree::of_struct(bytes) {
        let mut output = Encoder::default();
        tree.write(&mut output);
        assert_eq!(Tree::of_struct(&output.into_bytes()).as_ref(), Ok(&tree));
        records::all().for_each(|of| drop(render::bare_record(of.schema, bytes).expect("any struct can be shown")));
    }
}

fn rewritten(of: &RecordType, bytes: &[u8]) {
    match (of.rewrite)(bytes) {
        Ok(written) => {
            assert_eq!((of.rewrite)(&written).as_ref(), Ok(&written), "{}", of.schema.name);
            assert!(written.len() <= 2 * bytes.len() + 256, "only what has a default is added");
        }
        Err(error) => assert!(!error.to_string().is_empty() && error.at <= bytes.len()),
    }
}

/// Bytes as a message and as a stream of frames.
pub fn message(bytes: &[u8]) {
    let mut reader = FrameReader::new(1 << 16);
    for piece in bytes.chunks(7) {
        reader.push(piece);
        while let Ok(Some(message)) = reader.next_message() {
            assert!(!message.is_empty());
            exchange(message);
        }
        assert!(reader.memory_bytes() <= 2 * bytes.len() + 64, "no claim costs memory");
    }
    exchange(bytes);
}

fn exchange(bytes: &[u8]) {
    let Ok((head, input)) = Head::read(bytes) else { return };
    if head.kind == MessageKind::Call
        && let Ok(Some(call)) = NimbusCall::read(head.method, input)
    {
        assert_eq!(call.method(), head.method);
        let message = call.to_message(head.sequence);
        let (again, input) = Head::read(&message).expect("what was written is a message");
        assert_eq!(again, head);
        let again = NimbusCall::read(again.method, input).expect("its arguments can be read").expect("it is known");
        assert_eq!(again.to_message(head.sequence), message);
    }
    for method in METHODS.iter().filter(|method| method.name == head.method) {
        if let Ok(written) = (method.rewrite_reply)(head.sequence, bytes) {
            assert_eq!((method.rewrite_reply)(head.sequence, &written).as_ref(), Ok(&written));
        }
    }
}

/// Bytes as what lies in a znode.
pub fn znode_payload(bytes: &[u8]) {
    match payload::bare(bytes) {
        Ok(bare) => {
            assert!(bare.len() <= INFLATED_BYTES_MAX.max(bytes.len()));
            let packed = payload::gzip(&bare);
            assert_eq!(payload::bare(&packed).as_deref(), Ok(&*bare));
            if bare.len() <= 1 << 16 {
                records::all().for_each(|of| rewritten(of, &bare));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(info) = NimbusInfo::from_bytes(bytes) {
        assert_eq!(NimbusInfo::from_bytes(&info.to_bytes()).as_ref(), Ok(&info));
    }
    if let Ok(address) = String::from_utf8_lossy(bytes).parse::<NimbusAddress>() {
        assert_eq!(address.to_string().parse().as_ref(), Ok(&address));
    }
}
