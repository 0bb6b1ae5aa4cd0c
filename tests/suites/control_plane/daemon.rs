//! A machine on a thread of its own, over a client of a real ensemble.
//!
//! Invariant: the thread ends when it is told to, when an effect breaks off, or with the [`Daemon`]. Threading: whoever has
//! a sender may talk to it. Errors: a thread that cannot be started fails the test.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringstorm_control::machine::Machine;
use ringstorm_control::runner::Runner;
use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_control::time::{Moment, Now};
use ringstorm_zookeeper::{Settings, ZooKeeperStore};

/// How often [`Program::tick`] is called.
const TICK: Duration = Duration::from_millis(100);

/// What a daemon's thread is told.
#[derive(Debug)]
pub(crate) enum Word<I> {
    /// An input of its machine.
    Input(I),
    /// The store has something to say.
    Store,
    /// To end, now.
    End,
}

/// By which a daemon is told something.
pub(crate) type Words<I> = Sender<Word<I>>;

/// What a daemon is, besides what all of them are.
pub(crate) trait Program: Send + 'static {
    type Machine: Machine<Input: Send>;

    /// Makes the machine, on its thread; `None` when it cannot be, and the thread ends.
    fn make(&mut self, now: Now) -> Option<Self::Machine>;
    /// What the tree says, as an input.
    fn telling(said: FromStore) -> InputOf<Self>;
    /// What an effect asks of the tree, or the effect.
    fn sorting(effect: EffectOf<Self>) -> Result<ToStore, EffectOf<Self>>;
    /// Does an effect that is not for the tree. Answers go to its own words.
    fn act(&mut self, now: Now, effect: EffectOf<Self>, own: &Words<InputOf<Self>>) -> ControlFlow<()>;
    /// Called a few times in a second.
    fn tick(&mut self, _: Now, _: &Self::Machine, _: &Words<InputOf<Self>>) {}
    /// The thread is about to end; its session is over, unless it was cut off.
    fn ended(&mut self) {}
}

pub(crate) type InputOf<P> = <<P as Program>::Machine as Machine>::Input;
pub(crate) type EffectOf<P> = <<P as Program>::Machine as Machine>::Effect;

/// The time as all daemons of a test are told it.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// How much was skipped.
    skipped_ms: AtomicU64,
    /// The second of the time of day that it stands at; 0 while it goes on.
    stands_at: AtomicU64,
}

impl Clock {
    /// The time of day goes on.
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), skipped_ms: AtomicU64::new(0), stands_at: AtomicU64::new(0) }
    }

    /// Stops the time of day at a second since 1970.
    pub(crate) fn stand(&self, secs: u64) {
        self.stands_at.store(secs, Ordering::SeqCst);
    }

    /// Lets all daemons believe that so much time has passed.
    pub(crate) fn skip(&self, duration: Duration) {
        self.skipped_ms.fetch_add(u64::try_from(duration.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Now {
        let skipped = Duration::from_millis(self.skipped_ms.load(Ordering::SeqCst));
        let wall = match self.stands_at.load(Ordering::SeqCst) {
            0 => SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
            secs => Duration::from_secs(secs),
        };
        Now { moment: Moment(self.start.elapsed() + skipped), wall }
    }
}

/// A daemon that runs.
#[derive(Debug)]
pub(crate) struct Daemon<I> {
    words: Words<I>,
    thread: Option<JoinHandle<()>>,
}

impl<I: Send + 'static> Daemon<I> {
    /// Starts one whose client reaches the ensemble at these addresses.
    pub(crate) fn start<P>(clock: &'static Clock, servers: &[SocketAddr], session: Duration, program: P) -> Self
    where
        P: Program<Machine: Machine<Input = I>>,
    {
        let (words, said) = channel();
        let mut settings = Settings::of_servers(servers.iter().map(ToString::to_string).collect());
        settings.session_timeout = session;
        settings.connection_timeout = Duration::from_secs(2);
        settings.retry_interval = Duration::from_millis(50);
        settings.retry_ceiling = Duration::from_millis(200);
        let own = words.clone();
        let thread = std::thread::spawn(move || {
            let mut program = program;
            let notify = own.clone();
            let store = ZooKeeperStore::open(settings, move || drop(notify.send(Word::Store))).unwrap();
            let Some(machine) = program.make(clock.now()) else { return program.ended() };
            let mut runner = Runner::new(machine, store, P::telling, P::sorting);
            let mut ticks_at = Instant::now();
            loop {
                let now = clock.now();
                match runner.step(now, |effect| program.act(now, effect, &own)) {
                    ControlFlow::Break(()) => break,
                    ControlFlow::Continue(true) => continue,
                    ControlFlow::Continue(false) => {}
                }
                if Instant::now() >= ticks_at {
                    program.tick(now, runner.machine(), &own);
                    ticks_at = Instant::now() + TICK;
                }
                let wakes_in = runner.wake_at().map_or(TICK, |at| at.since(now.moment));
                let wait = wakes_in.min(ticks_at.saturating_duration_since(Instant::now()));
                let now = clock.now();
                match said.recv_timeout(wait) {
                    Ok(Word::Input(input)) => {
                        if runner.tell(now, input, |effect| program.act(now, effect, &own)).is_break() {
                            break;
                        }
                    }
                    Ok(Word::Store) | Err(RecvTimeoutError::Timeout) => {}
                    Ok(Word::End) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            drop(runner);
            program.ended();
        });
        Self { words, thread: Some(thread) }
    }

    /// By which it is told something.
    pub(crate) fn words(&self) -> &Words<I> {
        &self.words
    }

    /// Ends its thread.
    pub(crate) fn end(&mut self) {
        let _ = self.words.send(Word::End);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "a daemon's thread panicked");
        }
    }
}
