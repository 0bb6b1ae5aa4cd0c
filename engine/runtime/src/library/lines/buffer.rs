//! Cuts what is read into whole lines.
//!
//! Bytes are read into one buffer that is used again and again: what is behind the last line end moves to the front
//! before the next read. A line that is longer than allowed is counted and dropped while it is read, so that the buffer
//! holds no more than one line of the allowed length and one read.
//!
//! Whether bytes are UTF-8 is checked for many lines at once, which costs a tenth of checking each.
//!
//! Invariants: [`LineBuffer::lines`] holds whole lines, each with its line end but perhaps the last one of the input;
//! every byte of the input is in a line that was shown, in one that was too long, or was skipped on request.
//!
//! Threading: plain data. Errors of reading go to the caller; the buffer can be used on.

use std::io;

use memchr::{memchr, memrchr};

/// How much is read at once: fits in the cache beside what is made of it.
pub(crate) const READ_BYTES: usize = 128 << 10;
/// A buffer that grew beyond this for a long line is given back after it.
const KEPT_BYTES: usize = 16 * READ_BYTES;

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// There are lines.
    Lines,
    /// No line end yet: fill again.
    More,
    /// The input has ended.
    End,
}

/// A line that was longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong {
    /// Where it starts in the input.
    pub(crate) offset: u64,
    /// Its length, without the line end.
    pub(crate) length_bytes: u64,
}

/// The text of a line, without its line end (`\n` or `\r\n`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text<'a> {
    /// Checked.
    Utf8(&'a str),
    /// Perhaps UTF-8 and perhaps not.
    Bytes(&'a [u8]),
}

impl<'a> Text<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Utf8(text) => text.as_bytes(),
            Self::Bytes(text) => text,
        }
    }
}

/// Whole lines that are kept.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// As [`LineBuffer`] has it.
    utf8: usize,
}

impl Block {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The line that starts at a position, and its length with its line end.
    #[inline]
    pub(crate) fn line(&self, position: usize) -> (Text<'_>, usize) {
        // SAFETY: `LineBuffer::to_block` took both from a buffer that upholds it; neither has changed since.
        unsafe { line_at(&self.bytes, self.utf8, position) }
    }
}

/// What is done with bytes up to the next line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They are kept.
    Keep,
    /// They belong to a line that is too long and starts at this offset.
    Drop { start: u64 },
    /// They are not asked for.
    Skip,
}

#[derive(Debug)]
pub(crate) struct LineBuffer {
    /// Only `..end` has been read.
    bytes: Vec<u8>,
    /// Whole lines are in `..whole`.
    whole: usize,
    /// `..utf8` is valid UTF-8; at most `whole`.
    utf8: usize,
    end: usize,
    /// Where `bytes` starts in the input.
    offset: u64,
    line_bytes_max: usize,
    mode: Mode,
    too_long: Option<TooLong>,
}

impl LineBuffer {
    /// A buffer for lines of up to `line_bytes_max` bytes, a little more where they come in one read.
    pub(crate) fn new(line_bytes_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            whole: 0,
            utf8: 0,
            end: 0,
            offset: 0,
            line_bytes_max,
            mode: Mode::Keep,
            too_long: None,
        }
    }

    /// Starts anew at another place of the input; `skip_line`: behind the first line end from there on.
    pub(crate) fn restart(&mut self, offset: u64, skip_line: bool) {
        (self.whole, self.utf8, self.end, self.offset) = (0, 0, 0, offset);
        self.mode = if skip_line { Mode::Skip } else { Mode::Keep };
    }

    /// The whole lines of the last read.
    #[inline]
    pub(crate) fn lines(&self) -> &[u8] {
        &self.bytes[..self.whole]
    }

    /// The line that starts at a position in `lines`, and its length with its line end.
    #[inline]
    pub(crate) fn line(&self, position: usize) -> (Text<'_>, usize) {
        // SAFETY: `show` has checked the bytes up to `utf8`, and whatever changes bytes sets it to zero first.
        unsafe { line_at(&self.bytes[..self.whole], self.utf8, position) }
    }

    /// A copy of `lines`.
    pub(crate) fn to_block(&self) -> Block {
        Block { bytes: self.lines().to_vec(), utf8: self.utf8 }
    }

    /// Where the lines start in the input.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Where the first line starts, or is looked for, that is not in `lines`.
    pub(crate) fn next_offset(&self) -> u64 {
        match self.mode {
            Mode::Drop { start } => start,
            Mode::Keep | Mode::Skip => self.offset + self.whole as u64,
        }
    }

    /// Where the next read goes on.
    pub(crate) fn read_offset(&self) -> u64 {
        self.offset + self.end as u64
    }

    /// A line before `lines` that was too long; to be asked after every fill.
    pub(crate) fn take_too_long(&mut self) -> Option<TooLong> {
        self.too_long.take()
    }

    /// Reads once, in place of the lines that were shown.
    pub(crate) fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<Filled> {
        self.forget_lines();
        self.make_room();
        let count = read(&mut self.bytes[self.end..])?;
        if count == 0 {
            return Ok(self.end_input());
        }
        let new = self.end..self.end + count;
        self.end = new.end;
        if self.mode != Mode::Keep {
            let Some(position) = memchr(b'\n', &self.bytes[new.clone()]) else {
                self.drop_front(new.end);
                return Ok(Filled::More);
            };
            self.end_dropped(self.offset + position as u64);
            // Nothing was kept before this read, so that it starts at the front.
            self.drop_front(position + 1);
            self.show(memrchr(b'\n', &self.bytes[..self.end]).map_or(0, |last| last + 1));
        } else {
            self.show(memrchr(b'\n', &self.bytes[new.clone()]).map_or(0, |last| new.start + last + 1));
        }
        if self.whole == 0 && self.end > self.line_bytes_max {
            self.mode = Mode::Drop { start: self.offset };
            self.drop_front(self.end);
        }
        Ok(if self.whole > 0 || self.too_long.is_some() { Filled::Lines } else { Filled::More })
    }

    fn show(&mut self, whole: usize) {
        self.whole = whole;
        self.utf8 = match std::str::from_utf8(&self.bytes[..whole]) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
    }

    fn forget_lines(&mut self) {
        self.utf8 = 0;
        self.drop_front(self.whole);
        self.whole = 0;
    }

    fn drop_front(&mut self, count: usize) {
        self.bytes.copy_within(count..self.end, 0);
        self.end -= count;
        self.offset += count as u64;
    }

    fn make_room(&mut self) {
        if self.bytes.len() > KEPT_BYTES && self.end < READ_BYTES {
            self.bytes.truncate(2 * READ_BYTES);
            self.bytes.shrink_to_fit();
        }
        if self.bytes.len() - self.end < READ_BYTES {
            let grown = (2 * self.bytes.len()).min(self.line_bytes_max.saturating_add(2 * READ_BYTES));
            self.bytes.resize(grown.max(self.end + READ_BYTES), 0);
        }
    }

    /// A line end was found at an offset while bytes were dropped.
    fn end_dropped(&mut self, offset: u64) {
        if let Mode::Drop { start } = self.mode {
            self.too_long = Some(TooLong { offset: start, length_bytes: offset - start });
        }
        self.mode = Mode::Keep;
    }

    fn end_input(&mut self) -> Filled {
        if self.mode != Mode::Keep {
            self.end_dropped(self.offset);
        } else {
            self.show(self.end);
        }
        if self.whole > 0 || self.too_long.is_some() { Filled::Lines } else { Filled::End }
    }
}

/// The line that starts at a position of whole lines, and its length with its line end.
///
/// # Safety
/// `bytes[..utf8]` is valid UTF-8.
#[inline]
unsafe fn line_at(bytes: &[u8], utf8: usize, position: usize) -> (Text<'_>, usize) {
    let (text, length) = first_line(&bytes[position..]);
    // Callers walk line by line; that a line starts here is checked all the same, since `position` could be any.
    let starts = position == 0 || bytes[position - 1] == b'\n';
    if !starts || position + text.len() > utf8 {
        return (Text::Bytes(text), length);
    }
    // SAFETY: the text lies in `bytes[..utf8]`, which the caller promises to be UTF-8, and starts at its start or behind
    // a line end, so with a whole character. It ends before a byte of ASCII or where `bytes` ends, so with one too.
    // Attacked by `lines_do_not_depend_on_reads`, with input that is UTF-8 and input that is not.
    (Text::Utf8(unsafe { std::str::from_utf8_unchecked(text) }), length)
}

/// The first line of some whole lines: its text without the line end (`\n` or `\r\n`), and its length with it.
#[inline]
pub(crate) fn first_line(lines: &[u8]) -> (&[u8], usize) {
    let Some(end) = memchr(b'\n', lines) else { return (lines, lines.len()) };
    let text = &lines[..end];
    (text.strip_suffix(b"\r").unwrap_or(text), end + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Everything that a buffer makes of an input that comes in pieces of these lengths.
    fn cut(input: &[u8], reads: &[usize], line_bytes_max: usize) -> (Vec<(u64, Vec<u8>)>, Vec<TooLong>) {
        let mut buffer = LineBuffer::new(line_bytes_max);
        let (mut lines, mut too_long, mut read) = (Vec::new(), Vec::new(), reads.iter().cycle());
        loop {
            let at = buffer.read_offset() as usize;
            let filled = buffer.fill(|space| {
                let count = (*read.next().unwrap()).min(space.len()).min(input.len() - at);
                space[..count].copy_from_slice(&input[at..at + count]);
                Ok(count)
            });
            too_long.extend(buffer.take_too_long());
            let mut position = 0;
            while position < buffer.lines().len() {
                let (text, length) = buffer.line(position);
                assert_eq!(buffer.to_block().line(position), (text, length));
                match text {
                    Text::Utf8(text) => assert!(std::str::from_utf8(text.as_bytes()).is_ok()),
                    Text::Bytes(_) => assert!(buffer.utf8 < buffer.whole, "all is checked"),
                }
                lines.push((buffer.offset() + position as u64, text.bytes().to_vec()));
                position += length;
            }
            if filled.unwrap() == Filled::End {
                return (lines, too_long);
            }
        }
    }

    #[test]
    fn ends_of_lines_and_of_the_input() {
        let texts = |input: &str| -> Vec<String> {
            let lines = cut(input.as_bytes(), &[3], 100).0;
            lines.into_iter().map(|(_, text)| String::from_utf8(text).unwrap()).collect()
        };
        assert!(texts("").is_empty());
        assert_eq!(texts("\n"), [""]);
        assert_eq!(texts("one"), ["one"]);
        assert_eq!(texts("one\ntwo\n"), ["one", "two"]);
        assert_eq!(texts("one\r\n\r\n\nt\rwo\r"), ["one", "", "", "t\rwo\r"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_counted_and_dropped() {
        let mut input = vec![b'a'; 1_000_000];
        input.extend_from_slice(b"\nshort\n");
        input.extend_from_slice(&[b'b'; 600_000]);
        let (lines, too_long) = cut(&input, &[usize::MAX], 1000);
        assert_eq!(lines, [(1_000_001, b"short".to_vec())]);
        let expected = [(0, 1_000_000), (1_000_007, 600_000)];
        assert_eq!(too_long, expected.map(|(offset, length_bytes)| TooLong { offset, length_bytes }));
    }

    #[test]
    fn a_long_line_grows_the_buffer_and_the_next_shrinks_it() {
        let mut input = vec![b'a'; 10_000_000];
        input.extend_from_slice(b"\nb\n");
        let mut buffer = LineBuffer::new(64 << 20);
        let mut reads = 0;
        while buffer.lines().is_empty() {
            let at = buffer.read_offset() as usize;
            let read = |space: &mut [u8]| {
                let count = space.len().min(input.len() - at);
                space[..count].copy_from_slice(&input[at..at + count]);
                Ok(count)
            };
            buffer.fill(read).unwrap();
            reads += 1;
        }
        assert_eq!(buffer.lines(), input);
        assert!(reads < 10, "{reads} reads");
        buffer.fill(|_| Ok(0)).unwrap();
        assert!(buffer.bytes.capacity() < KEPT_BYTES);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// However it is read, the lines are those of `split`, but for those that are too long.
        #[test]
        fn lines_do_not_depend_on_reads(
            input in prop::collection::vec(
                prop_oneof![
                    8 => Just("x".as_bytes()),
                    2 => Just("\n".as_bytes()),
                    2 => Just("\r".as_bytes()),
                    2 => Just("\u{20AC}".as_bytes()),
                    1 => Just(b"\xF0\x9F".as_slice()),
                ],
                0..200,
            ),
            reads in prop::collection::vec(1..20_usize, 1..10),
            line_bytes_max in 1..30_usize,
        ) {
            let input = input.concat();
            let (lines, too_long) = cut(&input, &reads, line_bytes_max);
            let (mut offset, mut expected) = (0, Vec::new());
            for line in input.split_inclusive(|byte| *byte == b'\n') {
                expected.push((offset, first_line(line).0.to_vec()));
                offset += line.len() as u64;
            }
            for TooLong { offset, length_bytes } in too_long {
                let position = expected.iter().position(|line| line.0 == offset);
                let (_, text) = expected.remove(position.expect("a line starts there"));
                prop_assert!(length_bytes as usize > line_bytes_max && length_bytes as usize - text.len() <= 1);
            }
            prop_assert_eq!(lines, expected);
        }
    }
}
