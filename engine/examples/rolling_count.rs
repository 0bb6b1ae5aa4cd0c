//! Trending words: counts over a sliding window, ranked, for as long as it runs.
//!
//! ```text
//! cargo run --release -p ringstorm --example rolling_count -- local
//! ```
//!
//! prints the most frequent words of the last nine seconds on standard output every second, from the tenth line on about
//! `golda 4500, mike 2250, jackson 1125`, until Ctrl-C; then it drains and shows the metrics on standard error.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use ringstorm::prelude::*;

#[derive(clap::Args)]
struct Options {
    /// Words per second
    #[arg(long, default_value_t = 1000.0)]
    rate: f64,
    /// Seconds between two rankings; the window is nine of them
    #[arg(long, default_value_t = 1.0)]
    every: f64,
}

#[derive(Tuple)]
struct Word<'a> {
    word: &'a str,
}

#[derive(Tuple)]
struct WordCount<'a> {
    word: &'a str,
    count: u64,
}

/// Emits words at a steady rate, some more often than others.
struct Words {
    emitted: u64,
    period: Duration,
    started: Instant,
}

impl Spout for Words {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Word>();
    }
    fn activate(&mut self) {
        (self.started, self.emitted) = (Instant::now(), 0);
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        const WORDS: [&str; 6] = ["golda", "mike", "jackson", "nathan", "bertels", "storm"];
        let due = self.started + self.period.mul_f64(self.emitted as f64);
        if due > Instant::now() {
            return Ok(Next::Until(due));
        }
        // The position of the lowest set bit: half of all numbers have it at 0, a quarter at 1, and so on.
        let rank = (self.emitted + 1).trailing_zeros() as usize;
        collector.emit_with_id(self.emitted, &Word { word: WORDS[rank.min(WORDS.len() - 1)] });
        self.emitted += 1;
        Ok(Next::Emitted)
    }
}

/// Counts words within a window of slots; each tick emits the totals and opens a new slot.
struct RollingCount {
    slots: VecDeque<HashMap<String, u64>>,
}

const SLOTS: usize = 9;

impl SimpleBolt for RollingCount {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<WordCount>();
    }
    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        if !input.is_tick() {
            let newest = self.slots.back_mut().ok_or("there is always a slot")?;
            *newest.entry(input.view::<Word>()?.word().to_owned()).or_default() += 1;
            return Ok(());
        }
        let mut totals: HashMap<&str, u64> = HashMap::new();
        for (word, count) in self.slots.iter().flatten() {
            *totals.entry(word).or_default() += count;
        }
        // Shown by `ringstorm set_log_level NAME -l rolling_count=DEBUG:60`.
        ringstorm::log::debug!("{} words in the last {SLOTS} slots", totals.len());
        for (word, count) in totals {
            emitter.emit(&WordCount { word, count });
        }
        self.slots.push_back(HashMap::new());
        if self.slots.len() > SLOTS {
            self.slots.pop_front();
        }
        Ok(())
    }
}

/// Ranks what the counters said last; prints at each tick, once there is something. The counters' ticks come at other
/// moments than its own, so that the first line may lack the words of one of them.
#[derive(Default)]
struct Rank {
    counts: HashMap<String, u64>,
}

impl SimpleBolt for Rank {
    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        if !input.is_tick() {
            let count = input.view::<WordCount>()?;
            self.counts.insert(count.word().to_owned(), count.count());
            return Ok(());
        }
        let mut ranking: Vec<_> = self.counts.iter().collect();
        ranking.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(a.cmp(b)));
        let texts: Vec<String> = ranking.iter().take(3).map(|(word, count)| format!("{word} {count}")).collect();
        if !texts.is_empty() {
            println!("{}", texts.join(", "));
        }
        Ok(())
    }
}

fn build(Options { rate, every }: Options) -> Result<TopologyBuilder> {
    if !(rate > 0.0 && rate <= 1e9) {
        return Err("--rate is not a number of words per second between 0 and 1,000,000,000; give one".into());
    }
    let every = Duration::try_from_secs_f64(every).ok().filter(|every| !every.is_zero());
    let every = every.ok_or("--every is not a number of seconds above 0; give one, such as 0.5")?;
    let period = Duration::from_secs_f64(1.0 / rate);
    let mut topology = TopologyBuilder::new();
    topology.spout("words", move || Words { emitted: 0, period, started: Instant::now() });
    topology
        .simple_bolt("count", || RollingCount { slots: VecDeque::from([HashMap::new()]) })
        .parallelism(2)
        .fields_grouping("words", ["word"])
        .tick_every(every);
    topology.simple_bolt("rank", Rank::default).global_grouping("count").tick_every(every).blocking();
    Ok(topology)
}

fn main() -> ExitCode {
    ringstorm::main("rolling_count", build)
}
