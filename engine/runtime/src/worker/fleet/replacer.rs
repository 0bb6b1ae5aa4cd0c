//! Puts other processes in the place of workers that have died.
//!
//! Threading: a thread of its own, which waits for news. Errors: told to the coordinator, which ends the run.

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::{HELLO_LOOK, HELLO_TIMEOUT, News, Shared, WorkerCommand, accept, now_us};
use crate::core::status::Event;
use crate::worker::coordinator::Message;

/// Puts other processes in the place of those that have died, one after another.
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
                Some(News::Stop) | None => return,
            }
        }
    }

    fn replace(&mut self, worker: usize, waiting: &mut VecDeque<News>) -> io::Result<()> {
        {
            let mut state = self.shared.worker(worker);
            state.incarnation = now_us().max(state.incarnation + 1);
            state.address.clear();
        }
        self.shared.reassign(worker);
        let process = (self.command)(worker, &self.shared.path.socket()).spawn()?;
        self.shared.worker(worker).process = Some(process);
        let until = Instant::now() + HELLO_TIMEOUT;
        let (stream, address) = loop {
            match self.news.recv_timeout(HELLO_LOOK) {
                Ok(News::Stop) => {
                    waiting.push_front(News::Stop);
                    return Ok(());
                }
                Ok(died) => waiting.push_back(died),
                Err(_) => {}
            }
            if let Some((stream, _, address)) = accept(&self.listener)?.filter(|(_, from, _)| *from == worker) {
                break (stream, address);
            }
            let has_died = match &mut self.shared.worker(worker).process {
                Some(process) => process.try_wait()?.is_some(),
                None => false,
            };
            if has_died {
                // Whoever leads decides whether yet another is tried.
                let _ = self.shared.messages.send(Message::Core(Event::Died { core: worker }));
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
        };
        {
            let mut state = self.shared.worker(worker);
            state.stream = Some(stream);
            state.address = address;
        }
        self.shared.set_up(worker)?;
        self.shared.reassign(worker);
        Ok(())
    }
}
