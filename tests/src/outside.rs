//! A source outside of the workers, as a broker would be: it hands out numbered messages to spouts that connect, hears of
//! acks and fails, and hands out again what failed or whose spout is gone. It knows the fate of each message.
//!
//! Threading: a thread accepts, two for each spout read and write, one hands messages out; nobody writes while it holds the
//! state, since a spout may first want to say something. Errors: a spout whose
//! connection breaks loses nothing: its messages go to another, or to it when it comes back.
//!
//! To a spout go numbers of 8 bytes, little-endian; [`END`] says that nothing more will come. From a spout come 9 bytes:
//! [`ACK`] or [`FAIL`], and the number.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From a spout: a message and all that came of it is done.
pub const ACK: u8 = 1;
/// From a spout: a message failed.
pub const FAIL: u8 = 2;
/// To a spout, in the place of a number: its input has ended.
pub const END: u64 = u64::MAX;

/// Messages that a spout has and has not answered, at most.
const UNDER_WAY_MAX: usize = 20_000;

/// The source.
#[derive(Debug)]
pub struct Outside {
    state: Arc<Mutex<State>>,
    path: PathBuf,
}

/// What became of the messages so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fates {
    /// Handed out for the first time.
    pub begun: u64,
    /// Acked, each counted once.
    pub acked: u64,
    /// Fails heard.
    pub failed: u64,
    /// Handed out again because their spout was gone.
    pub orphaned: u64,
    /// Acks of messages that were acked before: they were handed out again before their ack was heard.
    pub acked_again: u64,
    /// The longest time from handing out to an answer, or to the loss of the spout.
    pub slowest: Duration,
}

#[derive(Debug, Default)]
struct State {
    /// Messages in all; their rate.
    count: u64,
    per_second: f64,
    started: Option<Instant>,
    next: u64,
    again: VecDeque<u64>,
    is_acked: Vec<bool>,
    spouts: BTreeMap<u64, SpoutEnd>,
    fates: Fates,
}

#[derive(Debug)]
struct SpoutEnd {
    outbox: Sender<Vec<u8>>,
    under_way: BTreeMap<u64, Instant>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outside {
    /// A source of `count` messages at a rate, which listens at a path, so that it is in every network namespace.
    pub fn start(path: &Path, count: u64, per_second: f64) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let is_acked = vec![false; usize::try_from(count).unwrap()];
        let state = Arc::new(Mutex::new(State { count, per_second, is_acked, ..State::default() }));
        let accepting = Arc::clone(&state);
        std::thread::spawn(move || {
            for (number, stream) in (0..).zip(listener.incoming().flatten()) {
                let (reader, mut writer) = (stream.try_clone().unwrap(), stream);
                let (outbox, batches) = channel::<Vec<u8>>();
                std::thread::spawn(move || {
                    // One that is gone is noticed by its reader.
                    batches.into_iter().take_while(|batch| writer.write_all(batch).is_ok()).for_each(drop);
                });
                lock(&accepting).spouts.insert(number, SpoutEnd { outbox, under_way: BTreeMap::new() });
                let state = Arc::clone(&accepting);
                std::thread::spawn(move || listen(&state, number, reader));
            }
        });
        let handing = Arc::clone(&state);
        std::thread::spawn(move || {
            while !hand_out(&mut lock(&handing)) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { state, path: path.to_owned() }
    }

    /// Where spouts connect.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// No further message is handed out for the first time: those that were begun are all there are.
    pub fn end(&self) {
        let mut state = lock(&self.state);
        state.count = state.next;
    }

    /// What became of the messages so far.
    pub fn fates(&self) -> Fates {
        lock(&self.state).fates
    }

    /// As [`Outside::under_way`], by spout, in the order in which they connected.
    pub fn under_way_by_spout(&self) -> Vec<(u64, usize)> {
        lock(&self.state).spouts.iter().map(|(number, spout)| (*number, spout.under_way.len())).collect()
    }

    /// Messages that were handed out and not answered.
    pub fn under_way(&self) -> usize {
        lock(&self.state).spouts.values().map(|spout| spout.under_way.len()).sum()
    }
}

/// Hands out what is due. Returns whether all is done.
fn hand_out(state: &mut State) -> bool {
    if state.fates.acked == state.count {
        for spout in state.spouts.values_mut() {
            let _ = spout.outbox.send(END.to_le_bytes().to_vec());
        }
        return true;
    }
    if state.spouts.is_empty() {
        return false;
    }
    let started = *state.started.get_or_insert_with(Instant::now);
    let due = (started.elapsed().as_secs_f64() * state.per_second) as u64;
    let State { spouts, again, next, count, fates, is_acked, .. } = state;
    let due = due.min(*count);
    let mut batches: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let numbers: Vec<u64> = spouts.keys().copied().collect();
    let (mut turn, mut full) = (0, 0);
    while full < numbers.len() {
        let number = numbers[turn % numbers.len()];
        turn += 1;
        let Some(spout) = spouts.get_mut(&number).filter(|spout| spout.under_way.len() < UNDER_WAY_MAX) else {
            full += 1;
            continue;
        };
        let id = loop {
            match again.pop_front() {
                Some(id) if is_acked[id as usize] => {}
                Some(id) => break Some(id),
                None if *next < due => {
                    *next += 1;
                    fates.begun += 1;
                    break Some(*next - 1);
                }
                None => break None,
            }
        };
        let Some(id) = id else { break };
        full = 0;
        spout.under_way.insert(id, Instant::now());
        batches.entry(number).or_default().extend_from_slice(&id.to_le_bytes());
    }
    for (number, batch) in batches {
        if let Some(spout) = spouts.get_mut(&number) {
            let _ = spout.outbox.send(batch);
        }
    }
    false
}

/// Hears what a spout says until it is gone.
fn listen(state: &Mutex<State>, number: u64, mut stream: UnixStream) {
    let mut answer = [0; 9];
    while stream.read_exact(&mut answer).is_ok() {
        let id = u64::from_le_bytes(answer[1..].try_into().unwrap());
        let mut state = lock(state);
        let State { spouts, fates, is_acked, again, .. } = &mut *state;
        let under_way = spouts.get_mut(&number).and_then(|spout| spout.under_way.remove(&id));
        let since = under_way.unwrap_or_else(|| panic!("message {id} is answered twice, or was never handed out"));
        fates.slowest = fates.slowest.max(since.elapsed());
        match answer[0] {
            ACK if std::mem::replace(&mut is_acked[id as usize], true) => fates.acked_again += 1,
            ACK => fates.acked += 1,
            _ => {
                fates.failed += 1;
                again.push_back(id);
            }
        }
    }
    let mut state = lock(state);
    let State { spouts, fates, again, .. } = &mut *state;
    let Some(spout) = spouts.remove(&number) else { return };
    for (id, since) in spout.under_way {
        fates.orphaned += 1;
        fates.slowest = fates.slowest.max(since.elapsed());
        again.push_back(id);
    }
}
