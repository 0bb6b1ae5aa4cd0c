//! The bolt: notes how many tuples it took and whether they came in order, and has the accidents that were asked for.

use std::fs::File;
use std::io::ErrorKind;

use ringstorm::prelude::*;
use ringstorm_tests::journal::Journal;

use crate::{Number, Options, spout};

/// So many tuples of another process settle what was kept of the first.
const SETTLED_BY: u64 = 10;

/// See the module.
pub(crate) struct Sink {
    options: Options,
    taken: u64,
    /// What a gap, a repetition or a step back would show.
    next: u64,
    out_of_order: u64,
    kept: Vec<ringstorm::AckHandle>,
    first_process: Option<u32>,
    others: u64,
    journal: Option<Journal>,
}

impl Sink {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            taken: 0,
            next: 0,
            out_of_order: 0,
            kept: Vec::new(),
            first_process: None,
            others: 0,
            journal: None,
        }
    }

    fn note(&mut self, line: &str) {
        if let Some(journal) = &mut self.journal {
            journal.note(line);
        }
    }

    /// Whether nobody in the run has panicked on purpose yet.
    fn is_first_panic(&self) -> bool {
        match File::create_new(self.options.notes.join("has-panicked")) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => panic!("the directory of notes cannot be written: {error}"),
        }
    }

    fn settle_late(&mut self, process: u32, input: &Input<'_>, collector: &mut BoltCollector<'_>) {
        if *self.first_process.get_or_insert(process) == process {
            self.kept.push(input.defer());
            return;
        }
        collector.ack(input);
        self.others += 1;
        if self.others == SETTLED_BY {
            let kept = std::mem::take(&mut self.kept);
            self.note(&format!("settled {}", kept.len()));
            for (handle, is_acked) in kept.into_iter().zip([true, false].into_iter().cycle()) {
                if is_acked { collector.ack_deferred(handle) } else { collector.fail_deferred(handle) }
            }
        }
    }
}

impl Bolt for Sink {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.reads::<Number>();
    }

    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.journal = Some(Journal::open(&self.options.notes, &format!("sink-{}", context.task_index())));
        self.note("preparing");
        std::thread::sleep(self.options.prepare_ms);
        if let Some(code) = self.options.exit_in_prepare {
            std::process::exit(code);
        }
        Ok(())
    }

    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        let view = input.view::<Number>()?;
        let value = view.value();
        if self.options.exit_on == Some(value) {
            std::process::exit(7);
        }
        if self.options.panic_once_on == Some(value) && self.is_first_panic() {
            panic!("on {value}, as was asked for");
        }
        let time = if spout::is_here() { self.options.here_ms } else { self.options.elsewhere_ms };
        if !time.is_zero() {
            std::thread::sleep(time);
        }
        self.taken += 1;
        self.out_of_order += u64::from(value != self.next);
        self.next = value + 1;
        if self.options.settle_late {
            self.settle_late(view.process(), input, collector);
        } else {
            collector.ack(input);
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
        self.note("finishing");
        std::thread::sleep(self.options.finish_ms);
        self.note("finished");
        Ok(())
    }

    fn cleanup(&mut self) {
        self.note("cleaning");
        std::thread::sleep(self.options.cleanup_ms);
        let is_here = u8::from(spout::is_here());
        self.note(&format!("taken {} out_of_order {} here {is_here}", self.taken, self.out_of_order));
    }
}
