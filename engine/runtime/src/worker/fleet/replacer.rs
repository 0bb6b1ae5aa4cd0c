//! Puts other processes in the place of workers that have died.
//!
//! Threading: a thread of its own, which waits for news. Errors: of a process that cannot be started the coordinator hears,
//! which ends the run; one that dies before it has said hello has died like any other.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use super::processes::{accept, spawn};
use super::{HELLO_LOOK, HELLO_TIMEOUT, News, Shared, WorkerCommand};
use crate::clock::now_since_1970_us;
use crate::core::status::Event;

/// Puts other processes in the place of those that have died, each at once, however long others take to start.
///
/// The others hear at once that the process that died has a successor, so that they give up what they have for it and
/// their spouts fail what may have been there; where it is, they hear when it has said so.
pub(super) struct Replacer {
    pub(super) shared: Arc<Shared>,
    pub(super) listener: UnixListener,
    pub(super) command: WorkerCommand,
    pub(super) news: Receiver<News>,
}

impl Replacer {
    pub(super) fn run(mut self) {
        // By worker: until when its new process is to say hello.
        let mut starting: BTreeMap<usize, Instant> = BTreeMap::new();
        loop {
            let news = match starting.is_empty() {
                true => self.news.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => self.news.recv_timeout(HELLO_LOOK),
            };
            match news {
                Ok(News::Died(worker)) => {
                    // What it may have said before it died is not taken for the words of the next one.
                    self.welcome_all(&mut starting);
                    match self.start(worker) {
                        Ok(()) => drop(starting.insert(worker, Instant::now() + HELLO_TIMEOUT)),
                        Err(error) => self.give_up(worker, &error),
                    }
                }
                Ok(News::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.welcome_all(&mut starting);
            starting.retain(|worker, until| self.still_starts(*worker, *until));
        }
    }

    /// Starts another process of a worker.
    fn start(&mut self, worker: usize) -> io::Result<()> {
        {
            let mut state = self.shared.worker(worker);
            state.incarnation = now_since_1970_us().max(state.incarnation + 1);
            state.address.clear();
        }
        self.shared.reassign(worker);
        let process = spawn(&mut (self.command)(worker, &self.shared.path.socket()))?;
        self.shared.worker(worker).process = Some(process);
        Ok(())
    }

    /// Welcomes all that have said hello, if they are waited for.
    fn welcome_all(&self, starting: &mut BTreeMap<usize, Instant>) {
        while let Ok(Some((stream, worker, address))) = accept(&self.listener) {
            if starting.remove(&worker).is_some()
                && let Err(error) = self.welcome(worker, stream, address)
            {
                self.give_up(worker, &error);
            }
        }
    }

    /// Tells a new process what to do, and the others where it is.
    fn welcome(&self, worker: usize, stream: UnixStream, address: String) -> io::Result<()> {
        {
            let mut state = self.shared.worker(worker);
            state.stream = Some(stream);
            state.address = address;
        }
        self.shared.set_up(worker)?;
        self.shared.reassign(worker);
        Ok(())
    }

    /// Whether a process that has not said hello may still do so.
    fn still_starts(&self, worker: usize, until: Instant) -> bool {
        let ended = match &mut self.shared.worker(worker).process {
            Some(process) => process.try_wait(),
            None => Ok(None),
        };
        match ended {
            // Whoever leads decides whether yet another is tried.
            Ok(Some(_)) => self.shared.events.send(Event::Died { core: worker }),
            Ok(None) if Instant::now() < until => return true,
            Ok(None) => self.give_up(worker, &io::ErrorKind::TimedOut.into()),
            Err(error) => self.give_up(worker, &error),
        }
        false
    }

    fn give_up(&self, worker: usize, error: &io::Error) {
        let panic = Some(format!("no process could take the place of worker {worker}: {error}"));
        self.shared.events.send(Event::Ended { core: worker, panic });
    }
}
