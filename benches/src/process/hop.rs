//! One hop between two processes: a spout that emits 64 bytes, a bolt that reads them, fields grouping.
//!
//! The body of a tuple holds when its leg began and, for one in 1,024, when it was emitted; the rest follows from its
//! number. Under an open loop tuple `i` is due at `start + i / rate`, and its latency counts from then.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ringstorm::prelude::*;

use super::now_ns;
use super::result::Window;

/// Bytes of a tuple.
pub const TUPLE_BYTES: usize = 64;
/// Without an open loop, the clock is read for one tuple in so many.
const STAMP_EVERY: u64 = 1024;
/// How long the source goes on after its window.
const COOL_DOWN_MS: u64 = 100;

/// What a leg is to do.
#[derive(Debug, Clone, clap::Args)]
pub struct LegOptions {
    /// Where the ends leave what they saw
    #[arg(long)]
    pub result: PathBuf,
    /// Before the measured window, in milliseconds
    #[arg(long, default_value_t = 300)]
    pub warm_up_ms: u64,
    /// The measured window, in milliseconds
    #[arg(long, default_value_t = 1000)]
    pub measured_ms: u64,
    /// Tuples per second of an open loop; 0: as many as go
    #[arg(long, default_value_t = 0)]
    pub rate: u64,
    /// Track each tuple until it is acked
    #[arg(long)]
    pub acked: bool,
}

#[derive(Tuple)]
struct Body {
    sequence: u64,
    start_ns: u64,
    emitted_ns: u64,
    rest: [u8; 40],
}

fn rest_of(sequence: u64) -> [u8; 40] {
    let mut rest = [0; 40];
    let (words, _) = rest.as_chunks_mut::<8>();
    for (word, salt) in words.iter_mut().zip(1_u64..) {
        *word = sequence.wrapping_add(salt << 32).to_le_bytes();
    }
    rest
}

struct Source {
    options: LegOptions,
    window: Window,
    next: u64,
    start_ns: u64,
    done: u64,
}

impl Source {
    fn due_ns(&self) -> u64 {
        self.start_ns + (u128::from(self.next) * 1_000_000_000 / u128::from(self.options.rate)) as u64
    }
}

impl Spout for Source {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Body>();
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let mut emitted_ns = 0;
        if self.options.rate > 0 || self.next.is_multiple_of(STAMP_EVERY) {
            let now_ns = now_ns();
            if self.start_ns == 0 {
                self.start_ns = now_ns;
            }
            let length_ms = self.options.warm_up_ms + self.options.measured_ms + COOL_DOWN_MS;
            if now_ns > self.start_ns + length_ms * 1_000_000 {
                return Ok(Next::Finished);
            }
            if self.options.rate > 0 && now_ns < self.due_ns() {
                return Ok(Next::Until(Instant::now() + Duration::from_nanos(self.due_ns() - now_ns)));
            }
            self.window.look(now_ns, self.next);
            emitted_ns = now_ns;
        }
        let (sequence, start_ns) = (self.next, self.start_ns);
        let body = Body { sequence, start_ns, emitted_ns, rest: rest_of(sequence) };
        if self.options.acked {
            collector.emit_with_id(MessageId(sequence), &body);
        } else {
            collector.emit(&body);
        }
        self.next += 1;
        Ok(Next::Emitted)
    }

    fn ack(&mut self, _: MessageId) {
        self.done += 1;
    }

    fn close(&mut self) {
        self.window.seen.tuples = self.next;
        self.window.seen.intact = !self.options.acked || self.done == self.next;
        // Whoever waits for it says that it is missing.
        let _ = self.window.seen.write(&self.options.result, "source");
    }
}

struct Sink {
    options: LegOptions,
    window: Window,
    tuples: u64,
    differences: u64,
}

impl SimpleBolt for Sink {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.reads::<Body>();
    }

    #[inline]
    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        let body = input.view::<Body>()?;
        let sequence = body.sequence();
        let (words, _) = body.rest().as_chunks::<8>();
        let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        let expected = sequence.wrapping_mul(5).wrapping_add(15 << 32);
        self.differences += u64::from(sum != expected) + u64::from(sequence != self.tuples);
        self.tuples += 1;
        if self.options.rate > 0 {
            let now_ns = now_ns();
            if self.window.look(now_ns, self.tuples) && !self.window.is_over() {
                let due_ns =
                    body.start_ns() + (u128::from(sequence) * 1_000_000_000 / u128::from(self.options.rate)) as u64;
                self.window.seen.latency.saturating_record(now_ns.saturating_sub(due_ns));
            }
        } else if sequence.is_multiple_of(STAMP_EVERY) {
            let now_ns = now_ns();
            if self.window.look(now_ns, self.tuples) {
                self.window.seen.latency.saturating_record(now_ns.saturating_sub(body.emitted_ns()));
            }
        }
        Ok(())
    }

    fn cleanup(&mut self) {
        self.window.seen.tuples = self.tuples;
        self.window.seen.intact = self.differences == 0;
        // Whoever waits for it says that it is missing.
        let _ = self.window.seen.write(&self.options.result, "sink");
    }
}

/// The topology of a leg.
///
/// # Errors
/// None.
pub fn build(options: LegOptions) -> Result<TopologyBuilder> {
    let mut topology = TopologyBuilder::new();
    let (at_source, at_sink) = (options.clone(), options);
    topology.spout("source", move || Source {
        window: Window::new(at_source.warm_up_ms, at_source.measured_ms),
        options: at_source.clone(),
        next: 0,
        start_ns: 0,
        done: 0,
    });
    let sink = move || Sink {
        window: Window::new(at_sink.warm_up_ms, at_sink.measured_ms),
        options: at_sink.clone(),
        tuples: 0,
        differences: 0,
    };
    topology.simple_bolt("sink", sink).fields_grouping("source", ["sequence"]);
    Ok(topology)
}
