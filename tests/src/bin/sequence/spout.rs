//! The spout: emits 0, 1, 2 and so on, and notes every fail and how many acks it heard.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ringstorm::prelude::*;
use ringstorm_tests::journal::Journal;

use crate::{Number, Options};

/// The spout lives in this process.
static IS_HERE: AtomicBool = AtomicBool::new(false);

/// Whether the spout lives in this process.
pub(crate) fn is_here() -> bool {
    IS_HERE.load(Ordering::Relaxed)
}

/// See the module.
pub(crate) struct Count {
    options: Options,
    next: u64,
    again: VecDeque<u64>,
    under_way: HashMap<u64, Instant>,
    due: Instant,
    emitted: u64,
    acked: u64,
    failed: u64,
    journal: Option<Journal>,
}

impl Count {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            next: 0,
            again: VecDeque::new(),
            under_way: HashMap::new(),
            due: Instant::now(),
            emitted: 0,
            acked: 0,
            failed: 0,
            journal: None,
        }
    }

    fn note(&mut self, line: &str) {
        if let Some(journal) = &mut self.journal {
            journal.note(line);
        }
    }
}

impl Spout for Count {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }

    fn open(&mut self, _: &TopologyContext) -> Result {
        IS_HERE.store(true, Ordering::Relaxed);
        self.journal = Some(Journal::open(&self.options.notes, "count"));
        self.note("opened");
        Ok(())
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let value = match self.again.pop_front() {
            Some(value) => value,
            None if self.next == self.options.count => return Ok(Next::Finished),
            None => {
                let now = Instant::now();
                if now < self.due {
                    return Ok(Next::Until(self.due));
                }
                self.due = now + self.options.pace_ms;
                self.next += 1;
                self.next - 1
            }
        };
        self.under_way.insert(value, Instant::now());
        self.emitted += 1;
        let stream = if self.options.refuse { "unknown" } else { "default" };
        collector.emit_to(stream, Some(MessageId(value)), &Number { value, process: std::process::id() });
        Ok(Next::Emitted)
    }

    fn ack(&mut self, id: MessageId) {
        self.acked += 1;
        if self.under_way.remove(&id.0).is_none() {
            self.note(&format!("unasked ack of {}", id.0));
        }
    }

    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.failed += 1;
        match self.under_way.remove(&id.0) {
            Some(_) if self.options.mute => {}
            Some(since) => self.note(&format!("fail of {} after_ms {}: {reason}", id.0, since.elapsed().as_millis())),
            None => self.note(&format!("unasked fail of {}: {reason}", id.0)),
        }
        if self.options.replay {
            self.again.push_back(id.0);
        }
    }

    fn close(&mut self) {
        self.note(&format!("closed emitted {} acked {} failed {}", self.emitted, self.acked, self.failed));
    }
}
