//! Puts other processes in the place of workers that have died.
//!
//! Threading: a thread of its own, which waits for news. Errors: told to the coordinator, which ends the run.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::{HELLO_LOOK, HELLO_TIMEOUT, News, Shared, WorkerCommand, accept, now_us};
use crate::core::status::Event;
use crate::worker::coordinator::Message;
use crate::worker::talk::ToWorker;

/// Puts other processes in the place of those that have died, one after another.
///
/// First every other worker forgets the one that died: what it has for it is lost, and what it will have from then on
/// waits for the new one. When all of them have, nothing can be lost with it any more without being known, and each spout
/// fails what it has pending. Then the new one is told what to do, and dialed.
pub(super) struct Replacer {
    pub(super) shared: Arc<Shared>,
    pub(super) listener: UnixListener,
    pub(super) command: WorkerCommand,
    pub(super) secret: Vec<u8>,
    pub(super) news: Receiver<News>,
}

impl Replacer {
    pub(super) fn run(mut self) {
        let mut waiting = VecDeque::new();
        loop {
            let next = waiting.pop_front().map_or_else(|| self.news.recv().ok(), Some);
            match next {
                Some(News::Died(worker)) => {
                    if let Err(error) = self.replace(worker, &mut waiting) {
                        let panic = Some(format!("no process could take the place of worker {worker}: {error}"));
                        let _ = self.shared.messages.send(Message::Core(Event::Ended { core: worker, panic }));
                    }
                }
                Some(News::Forgot { .. }) => {}
                Some(News::Stop) | None => return,
            }
        }
    }

    fn replace(&mut self, worker: usize, waiting: &mut VecDeque<News>) -> io::Result<()> {
        let incarnation = {
            let mut state = self.shared.worker(worker);
            state.incarnation = now_us().max(state.incarnation + 1);
            state.incarnation
        };
        // While the new process builds its topology, the others forget the old one.
        let process = (self.command)(worker, &self.shared.path.socket()).spawn()?;
        self.shared.worker(worker).process = Some(process);
        let mut others: BTreeSet<usize> = (0..self.shared.workers.len()).filter(|other| *other != worker).collect();
        others.retain(|other| self.shared.worker(*other).stream.is_some());
        for other in &others {
            self.shared.tell(*other, &ToWorker::Forget { worker, incarnation });
        }
        let until = Instant::now() + HELLO_TIMEOUT;
        let mut hello = None;
        while !others.is_empty() || hello.is_none() {
            match self.news.recv_timeout(HELLO_LOOK) {
                Ok(News::Forgot { by }) => drop(others.remove(&by)),
                Ok(News::Stop) => {
                    waiting.push_front(News::Stop);
                    return Ok(());
                }
                Ok(died) => waiting.push_back(died),
                Err(_) => {}
            }
            if hello.is_none() {
                hello = accept(&self.listener)?.filter(|(_, from, _)| *from == worker);
                let died = match &mut self.shared.worker(worker).process {
                    Some(process) => process.try_wait()?,
                    None => None,
                };
                if let Some(status) = died {
                    return Err(io::Error::other(format!("it ended before it was ready: {status}")));
                }
            }
            if Instant::now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        let Some((stream, _, address)) = hello else { return Ok(()) };
        {
            let mut state = self.shared.worker(worker);
            state.stream = Some(stream);
            state.address.clone_from(&address);
        }
        self.shared.set_up(worker, &self.secret)?;
        for other in (0..self.shared.workers.len()).filter(|other| *other != worker) {
            self.shared.tell(other, &ToWorker::Replaced { worker, address: address.clone() });
        }
        Ok(())
    }
}
