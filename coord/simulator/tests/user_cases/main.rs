//! What users of such systems ran into elsewhere, tried on the machines of the control plane: placement and rebalances,
//! trouble with ZooKeeper, and nimbuses that come and go.
//!
//! Each case is a scenario that is driven by hand, tried with several seeds and inputs: what is shown is a kind of fault,
//! not the one input that somebody met. Times are Storm's defaults, and pass in the world only.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod leaders;
mod placement;
mod rebalances;
mod sessions;
mod sizes;

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_simulator::actor::Verdict;
use ringstorm_simulator::checks::Violation;
use ringstorm_simulator::random::Random;
use ringstorm_simulator::stage::{Running, Setup, Stage, Wanted};

/// Far above what anything takes that no case sets a bound for.
const AMPLE: Duration = Duration::from_secs(120);
/// Storm's `nimbus.monitor.freq.secs`.
const ROUND: Duration = Duration::from_secs(10);
/// How many lines are shown of a run that failed.
const LINES: usize = 150;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Runs a scenario under several seeds; one that fails is run again for its last steps.
fn each_seed(
    seeds: u64,
    setup: impl Fn(&mut Random) -> Setup,
    scenario: impl Fn(&mut Stage, &mut Random) -> Result<(), Violation>,
) {
    for seed in 0..seeds {
        let run = |lines_kept| {
            let _named = Named(seed);
            let mut random = Random::new(seed);
            let mut stage = Stage::new(seed, &Setup { lines_kept, ..setup(&mut random) });
            let result = scenario(&mut stage, &mut random);
            (result, stage)
        };
        if let (Err(violation), _) = run(0) {
            let (_, stage) = run(LINES);
            stage.trace().for_each(|line| println!("{line}"));
            panic!("seed {seed}: {violation}");
        }
    }
}

/// Says under which seed a test panics.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("under seed {}", self.0);
        }
    }
}

/// Submits topologies, and waits until they run.
fn run_all(stage: &mut Stage, topologies: &[Wanted]) -> Result<(), Violation> {
    for wanted in topologies {
        let verdict = stage.submit(wanted, AMPLE)?;
        assert!(matches!(verdict, Verdict::Done(_)), "{verdict:?}");
    }
    stage.until_all_run(AMPLE)?;
    Ok(())
}

/// What must not change while nothing should: versions of assignments, and processes.
fn as_it_is(stage: &Stage) -> (BTreeMap<String, Option<i64>>, Vec<Running>) {
    (stage.versions(), stage.running())
}

fn is_done(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Done(_))
}

/// What a user was told who did not get what was asked for.
fn refused(verdict: Verdict) -> String {
    match verdict {
        Verdict::NotDone(why) => why,
        other => panic!("it was not refused: {other:?}"),
    }
}
