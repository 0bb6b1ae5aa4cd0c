//! A way between two ends that misbehaves on purpose: it cuts, delays, stalls, ends in the middle, and flips bytes; or it is
//! down: what was connected is cut, and nobody comes through; or it is slow to answer those who ask for something.
//!
//! Threading: a thread accepts; two for each connection carry bytes, one for each direction. Errors: whatever breaks on one
//! side is broken on the other.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A proxy to one address.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<String>,
    is_faulty: AtomicBool,
    is_down: AtomicBool,
    random: AtomicU64,
    faults: AtomicU64,
    beginnings: Mutex<Vec<Vec<u8>>>,
    /// What was connected since it was down last.
    streams: Mutex<Vec<TcpStream>>,
    /// Who says this is answered slowly.
    slow: Mutex<Option<Slow>>,
}

#[derive(Clone, Debug)]
struct Slow {
    words: Vec<String>,
    bytes_per_second: usize,
}

/// What is kept of the beginning of what a connection said, in bytes.
const BEGINNING_BYTES: usize = 4096;

/// What may happen to a piece of bytes.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Cut,
    Delay,
    Stall,
    Truncate,
    Flip,
}

impl Proxy {
    /// A proxy to `target`, with faults from a seed.
    pub fn start(target: &str, seed: u64) -> Self {
        Self::start_at("127.0.0.1:0", target, seed)
    }

    /// The same, at an address of one's choice.
    pub fn start_at(address: &str, target: &str, seed: u64) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            target: Mutex::new(target.to_owned()),
            is_faulty: AtomicBool::new(false),
            is_down: AtomicBool::new(false),
            random: AtomicU64::new(seed),
            faults: AtomicU64::new(0),
            beginnings: Mutex::default(),
            streams: Mutex::default(),
            slow: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if accepting.is_down.load(Ordering::Relaxed) {
                    continue;
                }
                let target = accepting.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // The other side dials again.
                let Ok(server) = TcpStream::connect(target) else { continue };
                let rate = Arc::new(AtomicUsize::new(usize::MAX));
                for (from, to, is_dialer) in [(&client, &server, true), (&server, &client, false)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (shared, rate) = (Arc::clone(&accepting), Arc::clone(&rate));
                    shared.streams().push(from.try_clone().unwrap());
                    std::thread::spawn(move || shared.carry(from, to, is_dialer, &rate));
                }
            }
        });
        Self { address, shared }
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it misbehaves from now on.
    pub fn set_faulty(&self, is_faulty: bool) {
        self.shared.is_faulty.store(is_faulty, Ordering::Relaxed);
    }

    /// Whether it is down.
    pub fn set_down(&self, is_down: bool) {
        self.shared.is_down.store(is_down, Ordering::Relaxed);
        if is_down {
            self.shared.streams().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        }
    }

    /// From now on a connection on which somebody says all these words at once is answered slowly from then on.
    pub fn set_slow(&self, words: &[&str], bytes_per_second: usize) {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        *self.shared.slow.lock().unwrap_or_else(PoisonError::into_inner) = Some(Slow { words, bytes_per_second });
    }

    /// What those that connected said at first, of connections that are over.
    pub fn beginnings(&self) -> Vec<Vec<u8>> {
        self.shared.beginnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often it did.
    pub fn faults(&self) -> u64 {
        self.shared.faults.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Bytes for the one that dialed go at the rate that is set by what it says, in bytes a second.
    fn carry(&self, mut from: TcpStream, mut to: TcpStream, is_dialer: bool, rate: &AtomicUsize) {
        let mut bytes = [0; 16 << 10];
        let mut beginning = Vec::new();
        while let Ok(count) = from.read(&mut bytes) {
            if is_dialer && beginning.len() < BEGINNING_BYTES {
                beginning.extend_from_slice(&bytes[..count]);
            }
            let piece = &mut bytes[..count];
            if let Some(slow) = is_dialer.then(|| self.slow_of(piece)).flatten() {
                rate.store(slow, Ordering::Relaxed);
            }
            let goes_on = count > 0
                && match self.fault() {
                    None if is_dialer => to.write_all(piece).is_ok(),
                    None => write_at(rate, piece, &mut to).is_ok(),
                    Some(fault) => self.misbehave(fault, piece, &mut to),
                };
            if !goes_on {
                break;
            }
        }
        if !beginning.is_empty() {
            self.beginnings.lock().unwrap_or_else(PoisonError::into_inner).push(beginning);
        }
        for end in [&from, &to] {
            // One that is closed already is as good.
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// How fast the one that says this is answered from now on, if that changes.
    fn slow_of(&self, said: &[u8]) -> Option<usize> {
        let slow = self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        let slow = slow.as_ref()?;
        let says = |word: &String| said.windows(word.len()).any(|bytes| bytes == word.as_bytes());
        slow.words.iter().all(says).then_some(slow.bytes_per_second)
    }

    fn streams(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn misbehave(&self, fault: Fault, piece: &mut [u8], to: &mut TcpStream) -> bool {
        self.faults.fetch_add(1, Ordering::Relaxed);
        match fault {
            Fault::Cut => false,
            Fault::Delay => {
                std::thread::sleep(Duration::from_millis(self.below(30)));
                to.write_all(piece).is_ok()
            }
            // As if the other end had gone without a word; then it is back, or the connection is cut.
            Fault::Stall => {
                std::thread::sleep(Duration::from_millis(500 + self.below(1500)));
                self.below(2) == 0 && to.write_all(piece).is_ok()
            }
            Fault::Truncate => {
                let kept = self.below(piece.len() as u64) as usize;
                // It is cut whatever comes of this.
                let _ = to.write_all(&piece[..kept]);
                false
            }
            Fault::Flip => {
                let at = self.below(piece.len() as u64) as usize;
                piece[at] ^= 1 << self.below(8);
                to.write_all(piece).is_ok()
            }
        }
    }

    /// Whether something happens to the next piece; seldom, so that much passes.
    fn fault(&self) -> Option<Fault> {
        if !self.is_faulty.load(Ordering::Relaxed) {
            return None;
        }
        Some(match self.below(4000) {
            0..4 => Fault::Cut,
            4..30 => Fault::Delay,
            30..32 => Fault::Stall,
            32..36 => Fault::Truncate,
            36..40 => Fault::Flip,
            _ => return None,
        })
    }

    fn below(&self, bound: u64) -> u64 {
        let state = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

/// Writes at most as many bytes a second as the rate says.
fn write_at(rate: &AtomicUsize, mut piece: &[u8], to: &mut TcpStream) -> std::io::Result<()> {
    const PARTS_PER_SECOND: usize = 8;
    while !piece.is_empty() {
        let rate = rate.load(Ordering::Relaxed);
        let count = piece.len().min((rate / PARTS_PER_SECOND).max(1));
        to.write_all(&piece[..count])?;
        piece = &piece[count..];
        if rate != usize::MAX {
            std::thread::sleep(Duration::from_secs(1) / PARTS_PER_SECOND as u32);
        }
    }
    Ok(())
}
