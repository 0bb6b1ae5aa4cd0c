//! The fuzzers' corpora, replayed.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::path::Path;

fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        body(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 10, "{} holds {count} inputs", folder.display());
}

#[test]
fn the_corpus_of_the_fuzzers_still_passes() {
    replay("record", ringstorm_records::fuzz::record);
    replay("message", ringstorm_records::fuzz::message);
    replay("znode_payload", ringstorm_records::fuzz::znode_payload);
}
