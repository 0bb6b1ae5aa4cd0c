//! Lines of a regular file: read in blocks from the page cache, read again where a line is replayed.
//!
//! A line is known by the offset at which it starts, so that nothing is kept of a line that is pending. Several tasks
//! share a file by chunks of fixed size, dealt out in turn: a line belongs to the chunk in which it starts. The size of
//! the file plays no part, so that tasks that see a growing file at different sizes still agree.
//!
//! Threading: belongs to one spout task. Errors of reading go to the caller, who ends the run.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::{memchr, memchr_iter};

use crate::library::lines::buffer::{Filled, LineBuffer, READ_BYTES, first_line};
use crate::library::lines::reading::{Cut, Place};

/// The chunks of a file that go to one task.
const CHUNK_BYTES: u64 = 4 << 20;

pub(crate) struct FileLines {
    file: File,
    buffer: LineBuffer,
    /// Within the lines of the buffer.
    position: usize,
    /// The end of the chunk in hand.
    chunk_end: u64,
    chunk_bytes: u64,
    /// From the start of one chunk of this task to that of the next.
    stride_bytes: u64,
    /// A line that is replayed.
    again: Vec<u8>,
    /// Lines that were shown are not longer than this.
    again_bytes_max: usize,
    numbers: LineNumbers,
}

impl FileLines {
    /// The share of task `index` of `count`.
    pub(crate) fn new(file: File, index: usize, count: usize, line_bytes_max: usize) -> Self {
        // One task reads straight on.
        let chunk_bytes = if count > 1 { CHUNK_BYTES } else { u64::MAX };
        Self::with_chunks(file, index, count, line_bytes_max, chunk_bytes)
    }

    fn with_chunks(file: File, index: usize, count: usize, line_bytes_max: usize, chunk_bytes: u64) -> Self {
        // Only a hint: reading works as well without.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
        let mut lines = Self {
            file,
            buffer: LineBuffer::new(line_bytes_max),
            position: 0,
            chunk_end: 0,
            chunk_bytes,
            stride_bytes: chunk_bytes.saturating_mul(count as u64),
            again: Vec::new(),
            again_bytes_max: line_bytes_max.saturating_add(4 * READ_BYTES),
            numbers: LineNumbers::default(),
        };
        lines.start_chunk(chunk_bytes.saturating_mul(index as u64));
        lines
    }

    fn start_chunk(&mut self, start: u64) {
        self.chunk_end = start.saturating_add(self.chunk_bytes);
        self.position = 0;
        // A line starts at the chunk's first byte if the byte before it ends one.
        self.buffer.restart(start.saturating_sub(1), start > 0);
    }

    /// The next line of this task; its id is its offset.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Cut<'_>> {
        let id = self.buffer.offset() + self.position as u64;
        if self.position == self.buffer.lines().len() || id >= self.chunk_end {
            return self.refill();
        }
        let (text, length) = self.buffer.line(self.position);
        self.position += length;
        Ok(Cut::Line { id, text })
    }

    #[cold]
    fn refill(&mut self) -> io::Result<Cut<'_>> {
        let shown = self.position == self.buffer.lines().len();
        let next = if shown { self.buffer.next_offset() } else { self.buffer.offset() + self.position as u64 };
        if next >= self.chunk_end {
            self.start_chunk((self.chunk_end - self.chunk_bytes).saturating_add(self.stride_bytes));
        }
        self.position = 0;
        let Self { file, buffer, .. } = self;
        let at = buffer.read_offset();
        match buffer.fill(|space| retrying(|| file.read_at(space, at)))? {
            Filled::End => Ok(Cut::End),
            Filled::Lines | Filled::More => Ok(match buffer.take_too_long() {
                Some(line) => Cut::TooLong { place: Place::Offset(line.offset), length_bytes: line.length_bytes },
                None => Cut::Working,
            }),
        }
    }

    /// The text of a line that was shown before.
    pub(crate) fn again(&mut self, id: u64) -> io::Result<&[u8]> {
        let mut filled = 0;
        loop {
            if filled > self.again_bytes_max {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the file has changed"));
            }
            self.again.resize((2 * filled).max(READ_BYTES / 64), 0);
            let (file, space) = (&self.file, &mut self.again[filled..]);
            let count = retrying(|| file.read_at(space, id + filled as u64))?;
            let found = memchr(b'\n', &self.again[filled..filled + count]);
            filled += count;
            if filled == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter"));
            }
            if found.is_some() || count == 0 {
                return Ok(first_line(&self.again[..filled]).0);
            }
        }
    }

    /// The number of the line that starts at an offset, from 1. `None` when more of the file has to be counted first:
    /// ask again.
    pub(crate) fn number(&mut self, offset: u64) -> io::Result<Option<u64>> {
        self.numbers.number(&self.file, offset)
    }
}

/// Numbers of lines by their offsets. Nothing is counted before the first question, then everything at most once, in
/// steps short enough for a core.
#[derive(Debug, Default)]
struct LineNumbers {
    /// The line ends before each multiple of [`STEP_BYTES`], as far as was counted.
    before: Vec<u64>,
    bytes: Vec<u8>,
}

const STEP_BYTES: usize = 256 << 10;

impl LineNumbers {
    fn number(&mut self, file: &File, offset: u64) -> io::Result<Option<u64>> {
        let (step, rest) = ((offset / STEP_BYTES as u64) as usize, (offset % STEP_BYTES as u64) as usize);
        if self.before.is_empty() {
            self.before.push(0);
        }
        if step < self.before.len() {
            return Ok(Some(self.before[step] + self.count(file, step, rest)? + 1));
        }
        let last = self.before.len() - 1;
        let count = self.count(file, last, STEP_BYTES)?;
        self.before.push(self.before[last] + count);
        Ok(None)
    }

    /// Line ends in the first bytes of a step.
    fn count(&mut self, file: &File, step: usize, bytes: usize) -> io::Result<u64> {
        self.bytes.resize(STEP_BYTES, 0);
        let mut filled = 0;
        while filled < bytes {
            let (space, at) = (&mut self.bytes[filled..bytes], (step * STEP_BYTES + filled) as u64);
            match retrying(|| file.read_at(space, at))? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(memchr_iter(b'\n', &self.bytes[..filled]).count() as u64)
    }
}

/// Tries again when a signal came in between.
fn retrying(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    /// The lines of one task with their offsets, and the offsets of lines that were too long.
    fn read(lines: &mut FileLines) -> (Vec<(u64, Vec<u8>)>, Vec<u64>) {
        let (mut found, mut too_long) = (Vec::new(), Vec::new());
        loop {
            match lines.next().unwrap() {
                Cut::Line { id, text } => found.push((id, text.bytes().to_vec())),
                Cut::TooLong { place, .. } => {
                    let Place::Offset(offset) = place else { panic!("{place:?}") };
                    too_long.push(offset);
                }
                Cut::Working => {}
                Cut::End => return (found, too_long),
                Cut::NotYet => unreachable!("a file has everything"),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Tasks share the lines of a file: each goes to one of them, and can be read again and numbered.
        #[test]
        fn tasks_share_lines(
            content in prop::collection::vec(prop_oneof![5 => Just(b'x'), 1 => Just(b'\n')], 0..300),
            count in 1..4_usize,
            chunk_bytes in 1..40_u64,
            line_bytes_max in prop_oneof![Just(1000_usize), 5..20_usize],
        ) {
            let file = file(&content);
            let (mut lines, mut too_long) = (Vec::new(), Vec::new());
            for index in 0..count {
                let share = file.try_clone().unwrap();
                let mut share = FileLines::with_chunks(share, index, count, line_bytes_max, chunk_bytes);
                let (found, dropped) = read(&mut share);
                for (id, text) in &found {
                    prop_assert_eq!(share.again(*id).unwrap(), text);
                    let number = content[..*id as usize].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
                    prop_assert_eq!(share.number(*id).unwrap(), Some(number));
                }
                lines.extend(found);
                too_long.extend(dropped);
            }
            lines.sort();
            let (mut offset, mut expected) = (0, Vec::new());
            for line in content.split_inclusive(|byte| *byte == b'\n') {
                if !too_long.contains(&offset) {
                    expected.push((offset, first_line(line).0.to_vec()));
                }
                offset += line.len() as u64;
            }
            prop_assert_eq!(lines, expected);
        }
    }

    #[test]
    fn numbers_are_counted_in_steps() {
        let content = b"123456789abcdef\n".repeat(3 * STEP_BYTES / 16 + 10);
        let mut lines = FileLines::new(file(&content), 0, 1, 1000);
        let last = content.len() as u64 - 16;
        assert_eq!([lines.number(last).unwrap(), lines.number(last).unwrap(), lines.number(last).unwrap()], [None; 3]);
        assert_eq!(lines.number(last).unwrap(), Some(content.len() as u64 / 16));
        assert_eq!(lines.number(16).unwrap(), Some(2));
        assert_eq!(lines.number(0).unwrap(), Some(1));
    }

    #[test]
    fn a_line_that_is_gone_is_an_error() {
        let file = file(b"one\ntwo\n");
        let mut lines = FileLines::new(file.try_clone().unwrap(), 0, 1, 1000);
        file.set_len(4).unwrap();
        assert_eq!(lines.again(0).unwrap(), b"one");
        assert_eq!(lines.again(4).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
