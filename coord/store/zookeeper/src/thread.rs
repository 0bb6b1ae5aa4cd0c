//! The store's own thread: opens a session, serves it, and opens the next when it is over.
//!
//! Threading: everything of the crate runs here, its session task included, which it hands to a spawner of ours.
//! Errors: told as session events; the next try follows after a pause.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_io::Timer;
use futures::channel::mpsc::UnboundedReceiver;
use futures::future::{BoxFuture, FutureExt as _, poll_fn};
use futures::{Future, StreamExt as _};
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::{Condition, Outcome};
use ringstorm_store::store::{Event, SessionEvent, SessionId, Ticket};
use zookeeper_client::{Client, Error};

use crate::serving::{End, Serving};
use crate::settings::Settings;

/// How long the end of a session may take when the store is dropped.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// An operation on its way here.
pub(crate) struct Submitted {
    pub(crate) ticket: Ticket,
    pub(crate) session: SessionId,
    pub(crate) operation: Operation,
}

/// Where events go.
pub(crate) struct Sink {
    events: Sender<Event>,
    notify: Box<dyn Fn() + Send>,
}

impl Sink {
    pub(crate) fn new(events: Sender<Event>, notify: impl Fn() + Send + 'static) -> Self {
        Self { events, notify: Box::new(notify) }
    }

    pub(crate) fn tell(&self, event: Event) {
        // Nobody listens when the store is being dropped.
        if self.events.send(event).is_ok() {
            (self.notify)();
        }
    }
}

/// A task of the crate. One that panics ends, and nothing else does: `spawns-core` sees to that.
pub(crate) type Task = BoxFuture<'static, ()>;

/// Takes the tasks that the crate would have somebody run.
#[derive(Default)]
struct Spawner(Mutex<Vec<Task>>);

impl Spawner {
    fn take(&self) -> Vec<Task> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl spawns_core::Spawn for Spawner {
    fn spawn(&self, task: spawns_core::Task) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::into_pin(task.future));
    }
}

/// What a panic says.
fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".into())
}

/// Serves until nobody can ask any more.
pub(crate) fn run(settings: &Settings, mut submitted: UnboundedReceiver<Submitted>, sink: &Sink) {
    let spawner = Spawner::default();
    let _scope = spawns_core::enter(&spawner);
    async_io::block_on(serve(settings, &mut submitted, sink, &spawner));
}

async fn serve(settings: &Settings, submitted: &mut UnboundedReceiver<Submitted>, sink: &Sink, spawner: &Spawner) {
    let mut pause = settings.retry_interval;
    loop {
        let attempt = AssertUnwindSafe(connect(settings)).catch_unwind();
        let connected = match until_closed(attempt, submitted, sink).await {
            None => return,
            Some(Ok(connected)) => connected.map_err(|error| error.to_string()),
            Some(Err(panic)) => Err(words_of(&*panic)),
        };
        let why = match connected {
            Ok(client) => {
                let opened = Instant::now();
                let mut serving = Serving::new(client, spawner.take(), sink);
                let end = poll_fn(|context| serving.poll(context, submitted)).await;
                match end {
                    End::Closed => return close(serving).await,
                    // At once, unless it ended as soon as it had begun.
                    End::Over if opened.elapsed() >= settings.retry_interval => {
                        pause = settings.retry_interval;
                        continue;
                    }
                    End::Over => "the last session was over as soon as it was open".to_owned(),
                    End::Fault => "the client library failed in itself, and the session with it".to_owned(),
                }
            }
            Err(why) => why,
        };
        let servers = settings.servers.join(", ");
        let why = format!("no session with ZooKeeper at {servers}: {why}; trying again in {pause:?}");
        sink.tell(Event::Session(SessionEvent::Unreachable { why }));
        if until_closed(Timer::after(pause), submitted, sink).await.is_none() {
            return;
        }
        pause = (pause * 2).min(settings.retry_ceiling.max(settings.retry_interval));
    }
}

async fn connect(settings: &Settings) -> Result<Client, Error> {
    let mut connector = Client::connector()
        .with_session_timeout(settings.session_timeout)
        .with_connection_timeout(settings.connection_timeout)
        .with_fail_eagerly();
    if let Some(credential) = &settings.credential {
        connector = connector.with_auth("digest", credential.payload().as_bytes());
    }
    connector.connect(&settings.servers.join(",")).await
}

/// Waits for something while there is no session: what is asked for is refused. `None` when nobody can ask any more.
async fn until_closed<T>(
    wanted: impl Future<Output = T>,
    submitted: &mut UnboundedReceiver<Submitted>,
    sink: &Sink,
) -> Option<T> {
    let mut wanted = std::pin::pin!(wanted);
    poll_fn(|context| {
        while let Poll::Ready(next) = submitted.poll_next_unpin(context) {
            let Some(Submitted { ticket, .. }) = next else { return Poll::Ready(None) };
            sink.tell(Event::Outcome { ticket, outcome: Outcome::failed(Condition::SessionOver) });
        }
        wanted.as_mut().poll(context).map(Some)
    })
    .await
}

/// Lets the crate close the session in good order, within a limit.
async fn close(serving: Serving<'_>) {
    let mut tasks = serving.into_tasks();
    let mut limit = Timer::after(CLOSE_LIMIT);
    poll_fn(|context: &mut Context<'_>| {
        tasks.retain_mut(|task| task.poll_unpin(context).is_pending());
        if tasks.is_empty() { Poll::Ready(()) } else { Pin::new(&mut limit).poll(context).map(drop) }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_task_of_the_library_that_panics_ends_alone() {
        let spawner = Spawner::default();
        let _scope = spawns_core::enter(&spawner);
        drop(spawns_core::spawn(async { panic!("a fault of somebody else") }));
        let mut tasks = spawner.take();
        assert!(tasks[0].poll_unpin(&mut Context::from_waker(Waker::noop())).is_ready());
    }
}
