//! Lines on a screen and in a file.

use std::sync::mpsc;

use super::*;
use crate::rotated::Rotation;

const LIMIT: Duration = Duration::from_secs(20);

/// A log whose screen a test reads.
fn log(file: RotatedFile) -> (Log, mpsc::Receiver<String>) {
    let (screen, lines) = mpsc::channel();
    let screen = move |line: &[u8]| {
        let _ = screen.send(String::from_utf8(line.to_vec()).unwrap());
    };
    (Log::with_screen("nimbus", file, screen).unwrap(), lines)
}

/// A line without its time.
fn words(line: &str) -> &str {
    let (time, words) = line.split_once(' ').unwrap();
    assert!(humantime::parse_rfc3339(time).is_ok(), "{time}");
    words
}

#[test]
fn each_note_is_one_line_on_the_screen_and_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nimbus.log");
    let (log, screen) = log(RotatedFile::new(&path, Rotation::default()));
    log.note("this nimbus leads");
    log.clone().note(format_args!("{}\n2026-01-01T00:00:00.000Z nimbus forged\x1b[2J", "words"));
    log.note("grün");
    assert!(log.flush(LIMIT));
    let file = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = file.lines().map(words).collect();
    let forged = r"nimbus words\n2026-01-01T00:00:00.000Z nimbus forged\u{1b}[2J";
    assert_eq!(lines, ["nimbus this nimbus leads", forged, "nimbus grün"]);
    assert_eq!(screen.try_iter().collect::<String>(), file);
}

#[test]
fn a_note_without_end_is_cut() {
    let line = line("nimbus", &"ü".repeat(NOTE_BYTES_MAX));
    assert!(line.ends_with(&format!("ü... and {NOTE_BYTES_MAX} bytes more\n")), "{}", line.len());
    assert!(line.len() < NOTE_BYTES_MAX + 100);
}

#[test]
fn a_file_that_cannot_be_written_is_said_once_on_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    let (log, screen) = log(RotatedFile::new(folder.path(), Rotation::default()));
    for number in 0..100 {
        log.note(number);
    }
    assert!(log.flush(LIMIT));
    let lines: Vec<_> = screen.try_iter().collect();
    assert_eq!(lines.len(), 101);
    assert_eq!(lines.iter().filter(|line| line.contains("cannot be written")).count(), 1);
}

#[test]
fn whoever_notes_never_waits_for_whoever_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let screen = move |_: &[u8]| {
        // Until the test lets go.
        let _ = held.lock().unwrap().recv();
    };
    let log = Log::with_screen("nimbus", RotatedFile::new(&path, Rotation::default()), screen).unwrap();
    let note = "x".repeat(1_000);
    for _ in 0..5_000 {
        log.note(&note);
    }
    assert!(!log.flush(Duration::from_millis(10)), "nothing is written yet");
    drop(release);
    assert!(log.flush(LIMIT));
    log.note("last");
    drop(log);
    let text = std::fs::read_to_string(&path).unwrap();
    let missing =
        text.lines().map(words).find_map(|line| line.strip_prefix("nimbus ")?.split_once(" lines are missing"));
    let missing: usize = missing.expect("lines were left out").0.parse().unwrap();
    let written = text.lines().filter(|line| line.contains(&note)).count();
    assert_eq!(missing + written, 5_000);
    assert!(written * 1_000 <= QUEUE_BYTES_MAX + 2_000, "{written}");
    assert!(text.ends_with(" nimbus last\n"), "the last line is waited for");
}
