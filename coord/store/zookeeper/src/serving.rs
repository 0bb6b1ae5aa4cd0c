//! One session of the crate, served until it is over.
//!
//! Everything is polled by hand in one order, so that an interruption is seen before anything that came after it: the
//! crate's task runs, then its state is looked at, then watches, then outcomes, then new operations. The crate cannot be
//! interrupted and connected again within one poll of its task, since a connection takes at least one wait.
//!
//! Invariants: a watch is held once, however often it is armed. Threading: the store's own thread.

use std::collections::BTreeSet;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_io::Timer;
use futures::StreamExt as _;
use futures::channel::mpsc::UnboundedReceiver;
use futures::future::{self, BoxFuture, Either, FutureExt as _};
use futures::stream::{FuturesOrdered, FuturesUnordered};
use ringstorm_store::operation::{Answer, Operation, Write};
use ringstorm_store::outcome::{Condition, Doubt, Outcome, Part};
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::{Change, Event, SessionEvent, SessionId, Ticket, WatchEvent, WatchKind};
use zookeeper_client::{Acls, Client, Error, MultiWriteError, MultiWriteResult, OneshotWatcher, SessionState};

use crate::convert;
use crate::store::IN_FLIGHT_MAX;
use crate::thread::{Sink, Submitted, Task};

/// How many new operations are taken before the crate runs again.
const SUBMITS_PER_POLL: usize = 1024;

/// What a watch is armed on.
type Watched = (ZnodePath, WatchKind);

/// What comes of an operation: its outcome, and the watch that it armed.
type Ended = (Ticket, Outcome, Option<(Watched, OneshotWatcher)>);

/// Why a session is served no longer.
pub(crate) enum End {
    /// Nobody can ask any more.
    Closed,
    /// It is over.
    Over,
    /// The crate's task ended without an end of the session: it failed in itself.
    Fault,
}

pub(crate) struct Serving<'a> {
    client: Client,
    session: SessionId,
    tasks: Vec<Task>,
    is_connected: bool,
    in_flight: FuturesOrdered<BoxFuture<'static, Ended>>,
    armed: BTreeSet<Watched>,
    watches: FuturesUnordered<BoxFuture<'static, (Watched, Option<Change>)>>,
    sink: &'a Sink,
}

impl<'a> Serving<'a> {
    pub(crate) fn new(client: Client, tasks: Vec<Task>, sink: &'a Sink) -> Self {
        let session = SessionId(client.session_id().0);
        let timeout = client.session_timeout();
        sink.tell(Event::Session(SessionEvent::Opened { session, timeout }));
        Self {
            client,
            session,
            tasks,
            is_connected: true,
            in_flight: FuturesOrdered::new(),
            armed: BTreeSet::new(),
            watches: FuturesUnordered::new(),
            sink,
        }
    }

    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
        submitted: &mut UnboundedReceiver<Submitted>,
    ) -> Poll<End> {
        self.tasks.retain_mut(|task| task.poll_unpin(context).is_pending());
        self.look_at_state();
        self.tell_watches(context);
        self.tell_outcomes(context);
        for _ in 0..SUBMITS_PER_POLL {
            match submitted.poll_next_unpin(context) {
                Poll::Ready(Some(submitted)) => self.submit(submitted),
                Poll::Ready(None) => return Poll::Ready(End::Closed),
                Poll::Pending => {
                    self.tell_outcomes(context);
                    return self.end();
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// The crate's tasks alone. Everything that keeps the session open goes.
    pub(crate) fn into_tasks(self) -> Vec<Task> {
        self.tasks
    }

    fn look_at_state(&mut self) {
        let session = self.session;
        let is_connected = !self.tasks.is_empty() && self.client.state() == SessionState::SyncConnected;
        match (self.is_connected, is_connected) {
            (true, false) => self.sink.tell(Event::Session(SessionEvent::Suspended { session })),
            (false, true) => {
                self.sink.tell(Event::Session(SessionEvent::Resumed { session }));
                // What the crate holds goes with its futures.
                self.watches = FuturesUnordered::new();
                for (path, kind) in std::mem::take(&mut self.armed) {
                    self.sink.tell(Event::Watch(WatchEvent { path, kind, change: Change::Missed }));
                }
            }
            _ => {}
        }
        self.is_connected = is_connected;
    }

    fn tell_watches(&mut self, context: &mut Context<'_>) {
        while let Poll::Ready(Some((watched, change))) = self.watches.poll_next_unpin(context) {
            self.armed.remove(&watched);
            let (path, kind) = watched;
            if let Some(change) = change {
                self.sink.tell(Event::Watch(WatchEvent { path, kind, change }));
            }
        }
    }

    fn tell_outcomes(&mut self, context: &mut Context<'_>) {
        let mut is_armed = false;
        while let Poll::Ready(Some((ticket, outcome, watch))) = self.in_flight.poll_next_unpin(context) {
            if let Some((watched, watcher)) = watch {
                // One that is armed already is told after this outcome, so that the second may go.
                if self.armed.insert(watched.clone()) {
                    let told = async move { (watched, convert::change(&watcher.changed().await)) };
                    self.watches.push(told.boxed());
                    is_armed = true;
                }
            }
            self.sink.tell(Event::Outcome { ticket, outcome });
        }
        if is_armed {
            self.tell_watches(context);
        }
    }

    fn end(&mut self) -> Poll<End> {
        if !self.tasks.is_empty() || !self.in_flight.is_empty() {
            return Poll::Pending;
        }
        self.sink.tell(Event::Session(SessionEvent::Expired { session: self.session }));
        Poll::Ready(if self.client.state().is_terminated() { End::Over } else { End::Fault })
    }

    fn submit(&mut self, Submitted { ticket, session, operation }: Submitted) {
        let refused = if let Err(condition) = operation.check() {
            Some(condition)
        } else if session != self.session || self.tasks.is_empty() {
            Some(Condition::SessionOver)
        } else if !self.is_connected {
            Some(Condition::NotConnected)
        } else if self.in_flight.len() >= IN_FLIGHT_MAX {
            Some(Condition::Overloaded)
        } else {
            None
        };
        let ended = match refused {
            Some(condition) => future::ready((ticket, Outcome::failed(condition), None)).boxed(),
            None => begin(self.client.clone(), ticket, operation),
        };
        self.in_flight.push_back(ended);
    }
}

/// Sends an operation. What comes of it is waited for as long as the session could last without a word.
fn begin(client: Client, ticket: Ticket, operation: Operation) -> BoxFuture<'static, Ended> {
    let limit: Duration = client.session_timeout();
    let mut performed = async move {
        match future::select(perform(client, operation).boxed(), Timer::after(limit)).await {
            Either::Left(((outcome, watch), _)) => (ticket, outcome, watch),
            Either::Right(_) => (ticket, Outcome::Unknown(Doubt::TimedOut), None),
        }
    }
    .boxed();
    // The first poll hands the request to the crate. It is done here, so that operations are sent in their order.
    match performed.poll_unpin(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ended) => future::ready(ended).boxed(),
        Poll::Pending => performed,
    }
}

async fn perform(client: Client, operation: Operation) -> (Outcome, Option<(Watched, OneshotWatcher)>) {
    let performed = match operation {
        Operation::Get { path, watch: true } => {
            let read = client.get_and_watch_data(path.as_str()).await;
            read.map(|(data, stat, watcher)| {
                let stat = convert::stat(&stat);
                (Answer::Data { data, stat }, Some(((path, WatchKind::Node), watcher)))
            })
        }
        Operation::Children { path, watch: true } => {
            let read = client.get_and_watch_children(path.as_str()).await;
            read.map(|(names, stat, watcher)| (children(names, &stat), Some(((path, WatchKind::Children), watcher))))
        }
        Operation::Exists { path, watch: true } => {
            let read = client.check_and_watch_stat(path.as_str()).await;
            read.map(|(stat, watcher)| {
                (Answer::Exists(stat.as_ref().map(convert::stat)), Some(((path, WatchKind::Node), watcher)))
            })
        }
        Operation::Multi { checks, writes } => return (multi(&client, &checks, &writes).await, None),
        other => unwatched(&client, other).await.map(|answer| (answer, None)),
    };
    match performed {
        Ok((answer, watch)) => (Outcome::Done(answer), watch),
        Err(error) => (convert::failed_or_unknown(&error, Part::Whole), None),
    }
}

/// Operations that arm nothing and have no parts.
async fn unwatched(client: &Client, operation: Operation) -> Result<Answer, Error> {
    match operation {
        Operation::Write(Write::Create { path, data, mode, acl }) => {
            let acls = convert::to_acls(&acl);
            let options = convert::create_mode(mode).with_acls(Acls::new(&acls));
            let (_, number) = client.create(path.as_str(), &data, &options).await?;
            let path = if mode.is_sequential() { numbered(&path, number)? } else { path };
            Ok(Answer::Created { path })
        }
        Operation::Write(Write::Set { path, data, version }) => {
            let stat = client.set_data(path.as_str(), &data, version).await?;
            Ok(Answer::Set { stat: convert::stat(&stat) })
        }
        Operation::Write(Write::Delete { path, version }) => {
            client.delete(path.as_str(), version).await?;
            Ok(Answer::Deleted)
        }
        Operation::Get { path, .. } => {
            let (data, stat) = client.get_data(path.as_str()).await?;
            Ok(Answer::Data { data, stat: convert::stat(&stat) })
        }
        Operation::Children { path, .. } => {
            let (names, stat) = client.get_children(path.as_str()).await?;
            Ok(children(names, &stat))
        }
        Operation::Exists { path, .. } => {
            let stat = client.check_stat(path.as_str()).await?;
            Ok(Answer::Exists(stat.as_ref().map(convert::stat)))
        }
        Operation::Acl { path } => {
            let (acl, stat) = client.get_acl(path.as_str()).await?;
            Ok(Answer::Acl { acl: convert::from_acls(&acl), stat: convert::stat(&stat) })
        }
        Operation::SetAcl { path, acl, version } => {
            let stat = client.set_acl(path.as_str(), &convert::to_acls(&acl), version).await?;
            Ok(Answer::AclSet { stat: convert::stat(&stat) })
        }
        Operation::Sync { path } => {
            client.sync(path.as_str()).await?;
            Ok(Answer::Synced)
        }
        Operation::Multi { .. } => unreachable!("it has parts"),
    }
}

fn children(mut names: Vec<String>, stat: &zookeeper_client::Stat) -> Answer {
    names.sort_unstable();
    Answer::Children { names, stat: convert::stat(stat) }
}

fn numbered(prefix: &ZnodePath, number: impl std::fmt::Display) -> Result<ZnodePath, Error> {
    let path = format!("{prefix}{number}");
    // The number is behind a path that was taken; only a server in a fault could break it.
    ZnodePath::new(&path).map_err(|error| Error::UnexpectedError(error.to_string()))
}

async fn multi(client: &Client, checks: &[ringstorm_store::operation::Check], writes: &[Write]) -> Outcome {
    let mut writer = client.new_multi_writer();
    for (index, check) in checks.iter().enumerate() {
        if let Err(error) = writer.add_check_version(check.path.as_str(), check.version.unwrap_or(-1)) {
            return convert::failed_or_unknown(&error, Part::Check(index));
        }
    }
    for (index, write) in writes.iter().enumerate() {
        let added = match write {
            Write::Create { path, data, mode, acl } => {
                let acls = convert::to_acls(acl);
                let options = convert::create_mode(*mode).with_acls(Acls::new(&acls));
                writer.add_create(path.as_str(), data, &options)
            }
            Write::Set { path, data, version } => writer.add_set_data(path.as_str(), data, *version),
            Write::Delete { path, version } => writer.add_delete(path.as_str(), *version),
        };
        if let Err(error) = added {
            return convert::failed_or_unknown(&error, Part::Write(index));
        }
    }
    let results = match writer.commit().await {
        Ok(results) => results,
        Err(MultiWriteError::RequestFailed { source }) => return convert::failed_or_unknown(&source, Part::Whole),
        Err(MultiWriteError::OperationFailed { index, source }) => {
            let part = index.checked_sub(checks.len()).map_or(Part::Check(index), Part::Write);
            return convert::failed_or_unknown(&source, part);
        }
    };
    let answers = results.into_iter().filter_map(|result| match result {
        MultiWriteResult::Check => None,
        MultiWriteResult::Create { path, .. } => {
            let path = ZnodePath::new(&path).map_err(|error| Error::UnexpectedError(error.to_string()));
            Some(path.map(|path| Answer::Created { path }))
        }
        MultiWriteResult::SetData { stat } => Some(Ok(Answer::Set { stat: convert::stat(&stat) })),
        MultiWriteResult::Delete => Some(Ok(Answer::Deleted)),
        other => Some(Err(Error::UnexpectedError(format!("an answer of another kind: {other:?}")))),
    });
    match answers.collect::<Result<Vec<_>, _>>() {
        Ok(answers) if answers.len() == writes.len() => Outcome::Done(Answer::Multi(answers)),
        Ok(_) => Outcome::Unknown(Doubt::Unreadable("fewer answers than writes".into())),
        Err(error) => convert::failed_or_unknown(&error, Part::Whole),
    }
}
