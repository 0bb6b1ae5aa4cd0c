//! `word_count` against an independent count, over inputs that are easy to get wrong.

use std::collections::BTreeMap;
use std::path::Path;

use crate::processes::{Process, run};

/// What the example's first lines promise, in the simplest way.
fn counted(input: &[u8]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in input.split(|byte| *byte == b'\n') {
        for word in String::from_utf8_lossy(line).split_whitespace() {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// The output, in which each word must stand once.
fn written(output: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in output.lines() {
        let (word, count) = line.split_once('\t').unwrap_or_else(|| panic!("no tab in {line:?}"));
        assert_eq!(counts.insert(word.to_owned(), count.parse().unwrap()), None, "{word:?} stands twice");
    }
    counts
}

#[track_caller]
fn check(input: &[u8], cores: &str, code: i32) {
    check_with(input, &["--workers-cores", cores], code);
}

#[track_caller]
fn check_with(input: &[u8], options: &[&str], code: i32) {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("input"), directory.path().join("output"));
    std::fs::write(&from, input).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (from, written_to) = (text(&from), text(&to));
    let paths = ["--input", from.as_str(), "--output", written_to.as_str()];
    let ended = run("word_count", &[&["local"], options, &paths].concat()).expect_code(code);
    assert!(!ended.errors.contains("note: "), "nothing happens to connections: {}", ended.errors);
    assert_eq!(written(&std::fs::read_to_string(&to).unwrap()), counted(input));
}

/// Words over a vocabulary that is larger than any inbox, with odd spaces between them.
fn text(words: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let mut state = 1_u64;
    for number in 0..words {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let rank = (state >> 33) % (1 + (state >> 45) % 20_000);
        text.extend_from_slice(format!("w\u{f6}rt\\{rank}").as_bytes());
        let space = [" ", "\n", "  ", "\t", " \u{2003}", "\r\n"][number % 6];
        text.extend_from_slice(space.as_bytes());
    }
    text
}

#[test]
fn inputs_that_are_easy_to_get_wrong() {
    check(b"", "2", 0);
    check(b"\n", "2", 0);
    check(b"no final newline", "2", 0);
    check(b"  \n\n a  b\ta \n", "1", 0);
}

#[test]
fn on_any_number_of_cores() {
    let text = text(200_000);
    for cores in ["1", "2", "5"] {
        check(&text, cores, 0);
    }
}

#[test]
fn in_several_processes() {
    let text = text(200_000);
    for options in [&["--workers", "1"][..], &["--workers", "2", "--workers-cores", "1"], &["--workers", "3"]] {
        check_with(&text, options, 0);
    }
    for (input, code) in [(&b""[..], 0), (b"no final newline", 0), (b"bad\xff", 4)] {
        check_with(input, &["--workers", "3"], code);
    }
}

/// A line of five megabytes rests half pulled until its words are counted.
#[test]
fn one_long_line() {
    let mut line = text(500_000);
    line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    assert!(line.len() > 5 << 20);
    check(&line, "2", 0);
}

/// Counted all the same; the exit code says that the spout reported it.
#[test]
fn what_is_not_utf_8() {
    check(b"good \xff\xfebad\xc3 g\xc3\xa4ste\n\x80 good", "2", 4);
}

#[test]
fn from_standard_input_to_standard_output() {
    let input = text(50_000);
    let mut process = Process::start("word_count", &["local", "--quiet"]);
    process.send(&input);
    let ended = process.finish().expect_code(0);
    assert_eq!(written(&ended.output), counted(&input));
    assert_eq!(ended.errors, "");
}

#[test]
fn from_standard_input_to_standard_output_in_several_processes() {
    let input = text(50_000);
    let mut process = Process::start("word_count", &["local", "--quiet", "--workers", "3"]);
    process.send(&input);
    let ended = process.finish().expect_code(0);
    assert_eq!(written(&ended.output), counted(&input));
    assert_eq!(ended.errors, "");
}

#[test]
fn a_missing_file_is_one_line() {
    let ended = run("word_count", &["local", "--input", "/no/such/file", "--output", "/dev/null"]).expect_code(1);
    assert_eq!(ended.errors.lines().count(), 1, "{}", ended.errors);
    assert!(ended.errors.starts_with("error: ") && ended.errors.contains("/no/such/file"), "{}", ended.errors);
}

#[test]
fn an_output_that_cannot_be_written_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("input");
    std::fs::write(&input, "a b c").unwrap();
    for output in ["/no/such/directory/output", "/dev/full"] {
        let ended = run("word_count", &["local", "--quiet", "--input", input.to_str().unwrap(), "--output", output]);
        let ended = ended.expect_code(1);
        assert_eq!(ended.errors.lines().count(), 1, "{}", ended.errors);
        assert!(ended.errors.contains(output), "{}", ended.errors);
    }
}
