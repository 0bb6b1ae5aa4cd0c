//! A tuple of 64 bytes there and back between two processes: the spout emits the next when the last has come back.

use std::cell::Cell;
use std::rc::Rc;

use ringstorm::prelude::*;

use super::hop::LegOptions;
use super::now_ns;
use super::result::Window;

#[derive(Tuple)]
struct Ball {
    emitted_ns: u64,
    rest: [u8; 56],
}

thread_local! {
    /// Spout and catcher live on one core; this is how the one knows what the other has seen.
    static RETURNED: Rc<Cell<u64>> = Rc::default();
}

struct Thrower {
    options: LegOptions,
    returned: Rc<Cell<u64>>,
    thrown: u64,
    start_ns: u64,
}

impl Spout for Thrower {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Ball>();
    }

    fn open(&mut self, _: &TopologyContext) -> Result {
        self.returned = RETURNED.with(Rc::clone);
        Ok(())
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let now_ns = now_ns();
        if self.start_ns == 0 {
            self.start_ns = now_ns;
        }
        if now_ns > self.start_ns + (self.options.warm_up_ms + self.options.measured_ms + 50) * 1_000_000 {
            return Ok(Next::Finished);
        }
        if self.returned.get() < self.thrown {
            // What comes back runs on this core, which then asks again.
            return Ok(Next::Until(std::time::Instant::now()));
        }
        self.thrown += 1;
        collector.emit(&Ball { emitted_ns: now_ns, rest: [self.thrown as u8; 56] });
        Ok(Next::Emitted)
    }
}

#[derive(Default)]
struct Echo;

impl SimpleBolt for Echo {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Ball>().reads::<Ball>();
    }

    fn execute(&mut self, _: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        emitter.forward();
        Ok(())
    }
}

struct Catcher {
    options: LegOptions,
    returned: Rc<Cell<u64>>,
    window: Window,
    caught: u64,
    differences: u64,
}

impl SimpleBolt for Catcher {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.reads::<Ball>();
    }

    fn prepare(&mut self, _: &TopologyContext) -> Result {
        self.returned = RETURNED.with(Rc::clone);
        Ok(())
    }

    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        let ball = input.view::<Ball>()?;
        let now_ns = now_ns();
        self.caught += 1;
        self.differences += u64::from(ball.rest().iter().any(|byte| *byte != self.caught as u8));
        if self.window.look(now_ns, self.caught) && !self.window.is_over() {
            self.window.seen.latency.saturating_record(now_ns - ball.emitted_ns());
        }
        self.returned.set(self.caught);
        Ok(())
    }

    fn cleanup(&mut self) {
        self.window.seen.tuples = self.caught;
        self.window.seen.intact = self.differences == 0;
        // Whoever waits for it says that it is missing.
        let _ = self.window.seen.write(&self.options.result, "sink");
    }
}

/// The topology of a leg: thrower and catcher in the first worker, echo in the second.
///
/// # Errors
/// None.
pub fn build(options: LegOptions) -> Result<TopologyBuilder> {
    let mut topology = TopologyBuilder::new();
    let (at_thrower, at_catcher) = (options.clone(), options);
    topology.spout("a-thrower", move || Thrower {
        options: at_thrower.clone(),
        returned: Rc::default(),
        thrown: 0,
        start_ns: 0,
    });
    topology.simple_bolt("b-echo", Echo::default).shuffle_grouping("a-thrower");
    let catcher = move || Catcher {
        window: Window::new(at_catcher.warm_up_ms, at_catcher.measured_ms),
        options: at_catcher.clone(),
        returned: Rc::default(),
        caught: 0,
        differences: 0,
    };
    topology.simple_bolt("c-catcher", catcher).shuffle_grouping("b-echo");
    Ok(topology)
}
