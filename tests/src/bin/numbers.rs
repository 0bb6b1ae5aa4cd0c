//! A topology whose messages come from outside: spouts fetch numbers, relays pass each on twice, sinks take them.
//!
//! Every component has as many executors as there are workers, so that each worker has some of each, and most tuples go
//! from worker to worker.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use ringstorm::prelude::*;
use ringstorm_tests::outside::{ACK, END, FAIL};

#[derive(clap::Args)]
struct Options {
    /// Where the numbers come from
    #[arg(long)]
    source: PathBuf,
    /// Executors of each component
    #[arg(long, default_value_t = 3)]
    executors: u32,
}

#[derive(Tuple)]
struct Number {
    number: u64,
    padding: [u8; 48],
}

/// Fetches numbers from outside, and says there what became of them.
struct Fetch {
    source: PathBuf,
    stream: Option<UnixStream>,
    received: VecDeque<u8>,
    has_ended: bool,
}

impl Fetch {
    fn tell(&mut self, what: u8, id: MessageId) {
        let mut answer = [what; 9];
        answer[1..].copy_from_slice(&id.0.to_le_bytes());
        if let Some(stream) = &mut self.stream {
            // A source that is gone has no use for it.
            let _ = stream.write_all(&answer);
        }
    }
}

impl Spout for Fetch {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }

    fn open(&mut self, _: &TopologyContext) -> Result {
        let stream = UnixStream::connect(&self.source)?;
        stream.set_read_timeout(Some(Duration::from_millis(1)))?;
        self.stream = Some(stream);
        Ok(())
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.has_ended {
            return Ok(Next::Finished);
        }
        if self.received.len() < 8 {
            let Some(stream) = &mut self.stream else { return Err("the source is gone".into()) };
            let mut bytes = [0; 4096];
            match stream.read(&mut bytes) {
                Ok(0) => return Err("the source has closed".into()),
                Ok(count) => self.received.extend(&bytes[..count]),
                Err(error) if is_for_now(error.kind()) => {
                    return Ok(Next::Until(std::time::Instant::now()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        while self.received.len() >= 8 {
            let mut bytes = [0; 8];
            self.received.iter().zip(&mut bytes).for_each(|(from, to)| *to = *from);
            self.received.drain(..8);
            let number = u64::from_le_bytes(bytes);
            if number == END {
                self.has_ended = true;
                return Ok(Next::Finished);
            }
            collector.emit_with_id(MessageId(number), &Number { number, padding: [number as u8; 48] });
        }
        Ok(Next::Emitted)
    }

    fn ack(&mut self, id: MessageId) {
        self.tell(ACK, id);
    }

    fn fail(&mut self, id: MessageId, _: FailReason) {
        self.tell(FAIL, id);
    }
}

/// Nothing has come, or a signal did.
fn is_for_now(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[derive(Default)]
struct Relay;

impl SimpleBolt for Relay {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>().reads::<Number>();
    }

    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        let number = input.view::<Number>()?.number();
        if number % 100 < 2 {
            ringstorm::log::debug!("relayed {number}");
        }
        for copy in 0..2 {
            let number = number.wrapping_mul(31).wrapping_add(copy);
            emitter.emit(&Number { number, padding: [number as u8; 48] });
        }
        Ok(())
    }
}

/// Checks that every byte came as it was sent.
#[derive(Default)]
struct Sink;

impl SimpleBolt for Sink {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.reads::<Number>();
    }

    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        let view = input.view::<Number>()?;
        let number = view.number();
        if view.padding().iter().any(|byte| *byte != number as u8) {
            return Err(format!("the padding of {number} is of another number").into());
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    ringstorm::main("numbers", |Options { source, executors }: Options| {
        let mut topology = TopologyBuilder::new();
        let fetch = move || Fetch { source: source.clone(), stream: None, received: VecDeque::new(), has_ended: false };
        topology.spout("fetch", fetch).parallelism(executors).blocking();
        topology.simple_bolt("relay", Relay::default).parallelism(executors).fields_grouping("fetch", ["number"]);
        topology.simple_bolt("sink", Sink::default).parallelism(executors).fields_grouping("relay", ["number"]);
        Ok(topology)
    })
}
