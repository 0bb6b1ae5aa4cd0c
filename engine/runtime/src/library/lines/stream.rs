//! Lines of what can be read only once and may make its reader wait: standard input, a pipe, a terminal, a device.
//!
//! A thread of its own reads and hands on blocks of whole lines through a bounded queue, so that no core ever waits for
//! input. A block is kept until every line of it is acked or given up; while too much is kept, nothing more is taken,
//! and the thread, and whoever writes the input, wait.
//!
//! A line is known by the number of its block and its offset in it.
//!
//! Invariants: at most [`QUEUED_BLOCKS`] blocks are queued; the thread ends when its input does, when nobody takes blocks
//! any more, or at its next look when it was told to.
//!
//! Threading: [`StreamLines`] belongs to one spout task; the thread shares the queue and a signal with it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Stdin};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;

use memchr::memchr_iter;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use crate::library::lines::buffer::{Block, Filled, LineBuffer, Text};
use crate::library::lines::reading::{Cut, Place};
use crate::library::queue::{Pulled, Queue};

/// Blocks that the thread may be ahead.
const QUEUED_BLOCKS: usize = 8;

/// What is read.
#[derive(Debug)]
pub(crate) enum Input {
    Standard(Stdin),
    /// Opened as non-blocking.
    File(File),
}

impl AsFd for Input {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Standard(input) => input.as_fd(),
            Self::File(file) => file.as_fd(),
        }
    }
}

/// What the thread hands on.
#[derive(Debug)]
enum Item {
    Lines(Numbered),
    TooLong { number: u64, length_bytes: u64 },
    Failed(io::Error),
}

/// Whole lines.
#[derive(Debug)]
struct Numbered {
    block: Block,
    /// The number of the first line, from 1.
    first_number: u64,
}

/// A block that was taken.
struct Held {
    /// Gone when every line is done.
    lines: Option<Numbered>,
    /// Lines that are neither acked nor given up, and one more while lines are still cut from it.
    open: u32,
}

pub(crate) struct StreamLines {
    reader: Reader,
    waker: Waker,
    taken: VecDeque<Item>,
    /// Items that were taken since room was last given back.
    done: usize,
    /// In the order of the input; the last is the one that lines are cut from, unless all are cut.
    held: VecDeque<Held>,
    /// The number of the first block in `held`. Numbers wrap around; far fewer blocks than that are ever held.
    first_block: u32,
    cutting: bool,
    position: usize,
    held_bytes: usize,
    held_bytes_max: usize,
    /// Too much is held: the next line that is done wakes the task.
    stalled: bool,
}

impl StreamLines {
    /// Starts the thread.
    pub(crate) fn start(input: Input, line_bytes_max: usize, held_bytes_max: usize, waker: Waker) -> io::Result<Self> {
        let reader = Reader::start(input, line_bytes_max)?;
        Ok(Self {
            reader,
            waker,
            taken: VecDeque::new(),
            done: 0,
            held: VecDeque::new(),
            first_block: 0,
            cutting: false,
            position: 0,
            held_bytes: 0,
            held_bytes_max,
            stalled: false,
        })
    }

    /// The next line.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Cut<'_>> {
        if !self.cutting {
            return self.take();
        }
        let block_number = self.first_block.wrapping_add(self.held.len() as u32 - 1);
        // While it is cut, a block's own share in `open` keeps it.
        let Some(Held { lines: Some(lines), open }) = self.held.back_mut() else { return Ok(Cut::NotYet) };
        let (text, length) = lines.block.line(self.position);
        let id = u64::from(block_number) << 32 | self.position as u64;
        self.position += length;
        if self.position < lines.block.bytes().len() {
            *open += 1;
        } else {
            // The share of the cutting passes to the last line.
            self.cutting = false;
        }
        Ok(Cut::Line { id, text })
    }

    #[cold]
    fn take(&mut self) -> io::Result<Cut<'_>> {
        if self.held_bytes > self.held_bytes_max {
            self.stalled = true;
            return Ok(Cut::NotYet);
        }
        if self.taken.is_empty() {
            match self.reader.queue.pull(&mut self.taken, std::mem::take(&mut self.done), &self.waker) {
                Pulled::Items => {}
                Pulled::Waiting => return Ok(Cut::NotYet),
                Pulled::Ended => return Ok(Cut::End),
            }
        }
        let Some(item) = self.taken.pop_front() else { return Ok(Cut::NotYet) };
        self.done += 1;
        match item {
            Item::Lines(lines) => {
                self.held_bytes += lines.block.bytes().len();
                self.held.push_back(Held { lines: Some(lines), open: 1 });
                (self.cutting, self.position) = (true, 0);
                Ok(Cut::Working)
            }
            Item::TooLong { number, length_bytes } => Ok(Cut::TooLong { place: Place::Number(number), length_bytes }),
            Item::Failed(error) => Err(error),
        }
    }

    fn index(&self, id: u64) -> usize {
        ((id >> 32) as u32).wrapping_sub(self.first_block) as usize
    }

    /// The text of a line that is not done, and the number of the line.
    pub(crate) fn again(&self, id: u64) -> io::Result<(Text<'_>, u64)> {
        let lines = self.held.get(self.index(id)).and_then(|held| held.lines.as_ref());
        let lines = lines.ok_or_else(|| io::Error::other("the line is not held any more"))?;
        let position = id as u32 as usize;
        let before = memchr_iter(b'\n', &lines.block.bytes()[..position]).count() as u64;
        Ok((lines.block.line(position).0, lines.first_number + before))
    }

    /// The line is acked or given up.
    #[inline]
    pub(crate) fn done(&mut self, id: u64) {
        let index = self.index(id);
        let Some(held) = self.held.get_mut(index) else { return };
        held.open -= 1;
        if held.open == 0 {
            self.drop_block(index);
        }
    }

    #[cold]
    fn drop_block(&mut self, index: usize) {
        if let Some(lines) = self.held[index].lines.take() {
            self.held_bytes -= lines.block.bytes().len();
        }
        while self.held.front().is_some_and(|held| held.lines.is_none()) {
            self.held.pop_front();
            self.first_block = self.first_block.wrapping_add(1);
        }
        if self.stalled && self.held_bytes <= self.held_bytes_max {
            self.stalled = false;
            self.waker.wake_by_ref();
        }
    }
}

/// The thread that reads; dropping this tells it to end.
struct Reader {
    queue: Arc<Queue<Item>>,
    stop: Arc<OwnedFd>,
}

impl Reader {
    fn start(input: Input, line_bytes_max: usize) -> io::Result<Self> {
        let queue = Arc::new(Queue::new(QUEUED_BLOCKS, 1));
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (queue_there, stop_there) = (Arc::clone(&queue), Arc::clone(&stop));
        std::thread::Builder::new().name("ringstorm-lines".into()).spawn(move || {
            if let Err(error) = read_all(&input, &stop_there, &queue_there, line_bytes_max) {
                let _ = queue_there.push(Item::Failed(error));
            }
            queue_there.end();
        })?;
        Ok(Self { queue, stop })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.queue.close();
        // It wakes a thread that waits for input. One that is in the middle of a read ends when that does.
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

/// Reads until the input ends or nobody wants more.
fn read_all(input: &Input, stop: &OwnedFd, queue: &Queue<Item>, line_bytes_max: usize) -> io::Result<()> {
    let mut buffer = LineBuffer::new(line_bytes_max);
    let mut number = 1;
    loop {
        if !wait_for_input(input, stop)? {
            return Ok(());
        }
        let filled = buffer.fill(|space| match rustix::io::read(input, space) {
            Ok(count) => Ok(count),
            Err(error) => Err(error.into()),
        });
        let filled = match filled {
            Ok(filled) => filled,
            // Somebody else has taken what there was, or a signal came.
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::AGAIN | Errno::INTR)) => continue,
            Err(error) => return Err(error),
        };
        if let Some(too_long) = buffer.take_too_long() {
            let item = Item::TooLong { number, length_bytes: too_long.length_bytes };
            number += 1;
            if queue.push(item).is_err() {
                return Ok(());
            }
        }
        if !buffer.lines().is_empty() {
            let lines = Numbered { block: buffer.to_block(), first_number: number };
            number += memchr_iter(b'\n', buffer.lines()).count() as u64;
            if queue.push(Item::Lines(lines)).is_err() {
                return Ok(());
            }
        }
        if filled == Filled::End {
            return Ok(());
        }
    }
}

/// Returns false when the thread is to end.
fn wait_for_input(input: &Input, stop: &OwnedFd) -> io::Result<bool> {
    loop {
        let mut waiting = [PollFd::new(input, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut waiting, None) {
            Ok(_) if !waiting[1].revents().is_empty() => return Ok(false),
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, Instant};

    use super::*;

    fn pipe() -> (StreamLines, File) {
        let (output, input) = io::pipe().unwrap();
        let output = Input::File(OwnedFd::from(output).into());
        let lines = StreamLines::start(output, 1000, 10_000, Waker::noop().clone()).unwrap();
        (lines, OwnedFd::from(input).into())
    }

    /// So many lines, or as many as come before the input ends or too much is held.
    fn read(lines: &mut StreamLines, count: usize) -> Vec<(u64, String)> {
        let (mut found, until) = (Vec::new(), Instant::now() + Duration::from_secs(10));
        while found.len() < count && !lines.stalled {
            assert!(Instant::now() < until, "nothing comes after {found:?}");
            match lines.next().unwrap() {
                Cut::Line { id, text } => found.push((id, String::from_utf8(text.bytes().to_vec()).unwrap())),
                Cut::NotYet => std::thread::sleep(Duration::from_millis(1)),
                Cut::End => break,
                Cut::TooLong { place, length_bytes } => panic!("{place:?} {length_bytes}"),
                Cut::Working => {}
            }
        }
        found
    }

    #[test]
    fn lines_can_be_read_again_until_they_are_done() {
        let (mut lines, mut pipe) = pipe();
        pipe.write_all(b"one\ntwo\n").unwrap();
        let mut found = read(&mut lines, 2);
        pipe.write_all(b"three").unwrap();
        drop(pipe);
        found.extend(read(&mut lines, 2));
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["one", "two", "three"]);
        for (number, (id, text)) in found.iter().enumerate().skip(1) {
            assert_eq!(lines.again(*id).unwrap(), (Text::Utf8(text), number as u64 + 1));
        }
        lines.done(found[1].0);
        assert_eq!(lines.again(found[0].0).unwrap(), (Text::Utf8("one"), 1));
        lines.done(found[2].0);
        assert_eq!((lines.held.len(), lines.held_bytes), (2, 8), "the first block holds the place of the others");
        lines.done(found[0].0);
        assert_eq!((lines.held.len(), lines.held_bytes), (0, 0));
        assert!(lines.again(found[0].0).is_err());
    }

    #[test]
    fn too_much_that_is_held_stops_the_reader() {
        let (mut lines, mut pipe) = pipe();
        let writer = std::thread::spawn(move || {
            for number in 0..100_000 {
                writeln!(pipe, "{number}").unwrap();
            }
        });
        let mut found = read(&mut lines, usize::MAX);
        assert!(lines.stalled && lines.held_bytes > 10_000);
        let mut count = 0;
        while !found.is_empty() {
            count += found.len();
            found.drain(..).for_each(|(id, _)| lines.done(id));
            assert!(!lines.stalled && lines.held.is_empty());
            found = read(&mut lines, usize::MAX);
        }
        assert_eq!(count, 100_000);
        writer.join().unwrap();
    }

    #[test]
    fn block_numbers_wrap_around() {
        let (mut lines, mut pipe) = pipe();
        lines.first_block = u32::MAX;
        pipe.write_all(b"one\n").unwrap();
        let mut found = read(&mut lines, 1);
        pipe.write_all(b"two\n").unwrap();
        found.extend(read(&mut lines, 1));
        assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [u64::from(u32::MAX) << 32, 0]);
        assert_eq!(lines.again(found[1].0).unwrap(), (Text::Utf8("two"), 2));
        lines.done(found[0].0);
        assert_eq!(lines.again(found[1].0).unwrap(), (Text::Utf8("two"), 2));
    }

    #[test]
    fn the_thread_ends_when_it_is_told_to() {
        let (lines, pipe) = pipe();
        let queue = Arc::downgrade(&lines.reader.queue);
        std::thread::sleep(Duration::from_millis(10));
        drop(lines);
        let until = Instant::now() + Duration::from_secs(2);
        while queue.strong_count() > 0 {
            assert!(Instant::now() < until, "the thread still holds the queue");
            std::thread::yield_now();
        }
        drop(pipe);
    }
}
