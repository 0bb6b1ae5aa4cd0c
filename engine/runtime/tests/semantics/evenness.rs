//! How evenly the default shuffle, which looks at the load of its targets, serves targets that are alike.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringstorm_runtime::{
    Bolt, BoltCollector, Declarer, Input, Next, Result, Spout, SpoutCollector, TopologyBuilder, TopologyContext,
};

use crate::harness::*;

const PRODUCERS: u64 = 4;
const TARGETS: u64 = 8;

/// Emits a number of tuples, some in each call, at a pace or as fast as it may.
#[derive(Clone)]
struct Producer {
    left: u64,
    per_call: u64,
    pace: Option<Duration>,
}

impl Spout for Producer {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.left == 0 {
            return Ok(Next::Finished);
        }
        let count = self.per_call.min(self.left);
        (0..count).for_each(|value| collector.emit(&Number { value }));
        self.left -= count;
        Ok(self.pace.map_or(Next::Emitted, |pace| Next::Until(Instant::now() + pace)))
    }
}

/// Counts what comes and tells at the end.
struct Count {
    task: usize,
    count: u64,
    counts: Arc<Mutex<BTreeMap<usize, u64>>>,
}

impl Bolt for Count {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.task = context.task_index();
        Ok(())
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        self.count += 1;
        collector.ack(input);
        Ok(())
    }
    fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
        self.counts.lock().unwrap().insert(self.task, self.count);
        Ok(())
    }
}

/// What each of the targets gets.
fn shares(producer: Producer) -> Vec<u64> {
    let counts = Arc::<Mutex<BTreeMap<usize, u64>>>::default();
    let shared = Arc::clone(&counts);
    let mut topology = TopologyBuilder::new();
    topology.spout("producer", move || producer.clone()).parallelism(PRODUCERS as u32);
    topology
        .bolt("count", move || Count { task: 0, count: 0, counts: Arc::clone(&shared) })
        .parallelism(TARGETS as u32)
        .shuffle_grouping("producer");
    assert_clean(&run(topology, &config(&[])));
    let counts: Vec<u64> = counts.lock().unwrap().values().copied().collect();
    assert_eq!(counts.len() as u64, TARGETS);
    counts
}

/// Storm's B017: targets that have time get the same, however many producers there are: to the tuple, while nobody else
/// takes the machine's time. What is held up in the middle of a call is spared for a while, as a slow one is.
#[test]
fn targets_that_have_time_get_the_same() {
    const EACH: u64 = 20_000;
    let shares = shares(Producer { left: EACH, per_call: 40, pace: Some(Duration::from_millis(2)) });
    eprintln!("paced: {shares:?}");
    let fair = PRODUCERS * EACH / TARGETS;
    assert_eq!(shares.iter().sum::<u64>(), PRODUCERS * EACH);
    assert!(shares.iter().all(|share| share.abs_diff(fair) <= fair / 8), "{shares:?}");
}

/// Storm's B017, with targets that are always behind: what waits for them differs by chance, and so does what they get, but
/// none gets less than a quarter of its share or more than three times it.
#[test]
fn flooded_targets_get_about_the_same() {
    const EACH: u64 = 200_000;
    let shares = shares(Producer { left: EACH, per_call: 1, pace: None });
    eprintln!("flooding: {shares:?}");
    let fair = PRODUCERS * EACH / TARGETS;
    assert_eq!(shares.iter().sum::<u64>(), PRODUCERS * EACH);
    assert!(shares.iter().all(|share| (fair / 4..=3 * fair).contains(share)), "{shares:?}");
}
