//! A topology that harms its worker, in the way that is asked for: a spout counts, and a bolt does the harm.
//!
//! Threading: the components'. Errors: all of them are on purpose.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ringstorm::Value;
use ringstorm::prelude::*;

/// The words with which a supervisor starts a worker: the command, and where its launch file is.
const WORKER_COMMAND: &str = "ringstorm-worker";

/// A harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Harm {
    /// The definition reads from a component that there is not
    Refused,
    /// Panics when it is prepared
    Panics,
    /// Exits with code 3 when it is prepared
    Exits,
    /// Aborts when it is prepared
    Aborts,
    /// Reads where no memory is
    Segfaults,
    /// Never ends its preparation
    HangsInPrepare,
    /// Never reaches the worker
    HangsInMain,
    /// Takes 100 MB more each second
    Leaks,
    /// Never ends the execution of a tuple
    Loops,
    /// Writes into its folder without end
    FillsFolder,
    /// Writes to its standard output without end
    FillsOutput,
    /// Panics on the first tuple in a process
    PanicsOnce,
    /// Returns an error on the first tuple in a process
    FailsOnce,
    /// Returns the time-out of a socket as an error on the first tuple in a process
    TimesOutOnce,
    /// Emits what cannot be encoded for each tenth tuple
    EmitsTheUnencodable,
}

#[derive(clap::Args)]
struct Options {
    /// What it does
    #[arg(long, value_enum)]
    harm: Harm,
    /// Where it notes each tuple that it has executed
    #[arg(long)]
    notes: Option<PathBuf>,
}

#[derive(Tuple)]
struct Number {
    number: u64,
}

/// Emits a number each ten milliseconds.
#[derive(Default)]
struct Count {
    next: u64,
    due: Option<Instant>,
}

impl Spout for Count {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let now = Instant::now();
        if let Some(due) = self.due.filter(|due| now < *due) {
            return Ok(Next::Until(due));
        }
        self.due = Some(now + Duration::from_millis(10));
        collector.emit_with_id(MessageId(self.next), &Number { number: self.next });
        self.next += 1;
        Ok(Next::Emitted)
    }
}

struct Harmful {
    harm: Harm,
    notes: Option<PathBuf>,
    kept: Vec<Vec<u8>>,
}

impl SimpleBolt for Harmful {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.reads::<Number>().fields_to("loose", ["first", "second"]);
    }

    fn prepare(&mut self, _: &TopologyContext) -> Result {
        match self.harm {
            Harm::Panics => panic!("this bolt cannot be prepared"),
            Harm::Exits => std::process::exit(3),
            Harm::Aborts => std::process::abort(),
            Harm::Segfaults => segfault(),
            Harm::HangsInPrepare => sleep_for_ever(),
            Harm::FillsFolder => drop(std::thread::spawn(fill_folder)),
            Harm::FillsOutput => drop(std::thread::spawn(fill_output)),
            _ => {}
        }
        Ok(())
    }

    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        let number = input.view::<Number>()?.number();
        match self.harm {
            Harm::Leaks => self.kept.push(vec![1; 1_000_000]),
            Harm::Loops => loop {
                std::hint::spin_loop();
            },
            Harm::PanicsOnce if is_first() => panic!("this tuple is too much"),
            Harm::FailsOnce if is_first() => return Err("this tuple is fatal".into()),
            Harm::TimesOutOnce if is_first() => {
                let silent = std::net::UdpSocket::bind("127.0.0.1:0")?;
                silent.set_read_timeout(Some(Duration::from_millis(10)))?;
                // A core is interrupted by its own clock.
                let is_interrupt = |error: &std::io::Error| error.kind() == std::io::ErrorKind::Interrupted;
                let mut answers = std::iter::repeat_with(|| silent.recv(&mut [0]));
                let answer = answers.find(|answer| !answer.as_ref().is_err_and(is_interrupt));
                answer.transpose().map_err(|error| format!("asking the store: {error}"))?;
            }
            Harm::EmitsTheUnencodable if number % 10 == 0 => {
                let mut deep = Value::Null;
                for _ in 0..100 {
                    deep = Value::List(vec![deep]);
                }
                emitter.emit_to("loose", &values![1, deep.field_ref()]);
            }
            _ => {}
        }
        if let Some(notes) = &self.notes {
            let mut file = std::fs::File::options().create(true).append(true).open(notes)?;
            file.write_all(format!("{} {number}\n", std::process::id()).as_bytes())?;
        }
        Ok(())
    }
}

/// Takes what comes on the stream that the other bolt seldom emits to.
#[derive(Default)]
struct Sink;

impl SimpleBolt for Sink {
    fn execute(&mut self, _: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        Ok(())
    }
}

fn is_first() -> bool {
    static WAS_ASKED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    !WAS_ASKED.swap(true, std::sync::atomic::Ordering::Relaxed)
}

fn segfault() -> ! {
    // SAFETY: none; a process that does this is ended by the system, which is what is wanted here.
    let nothing = unsafe { std::ptr::read_volatile(std::ptr::without_provenance::<u8>(4096)) };
    unreachable!("{nothing} was read where no memory is")
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// Two hundred megabytes a second at most: more would show how long the host's disk takes to write them.
fn fill_folder() -> std::io::Result<()> {
    let mut file = std::fs::File::create("filled")?;
    let bytes = vec![1_u8; 1 << 20];
    loop {
        file.write_all(&bytes)?;
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn fill_output() -> std::io::Result<()> {
    let line = [&[b'x'; 99][..], b"\n"].concat().repeat(100);
    loop {
        std::io::stdout().write_all(&line)?;
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether this is a worker whose topology is to hang before it is one, as one would that first asks a database which does
/// not answer.
fn is_to_hang_in_main() -> bool {
    let mut words = std::env::args().skip_while(|word| word != WORKER_COMMAND);
    let launch = words.nth(1).and_then(|path| std::fs::read_to_string(path).ok());
    launch.is_some_and(|text| text.contains("hangs-in-main"))
}

fn main() -> ExitCode {
    if is_to_hang_in_main() {
        sleep_for_ever();
    }
    ringstorm::main("misbehaving", |Options { harm, notes }: Options| {
        let mut topology = TopologyBuilder::new();
        topology.spout("count", Count::default);
        let source = if harm == Harm::Refused { "nobody" } else { "count" };
        topology
            .simple_bolt("harmful", move || Harmful { harm, notes: notes.clone(), kept: Vec::new() })
            .shuffle_grouping(source);
        topology.simple_bolt("sink", Sink::default).shuffle_grouping(("harmful", "loose"));
        Ok(topology)
    })
}
