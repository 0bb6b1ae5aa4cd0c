//! A bounded queue from any threads to the tasks of a spout, which it wakes.
//!
//! Tasks take items in batches, one lock for each. An item counts against the capacity until the task says that it is
//! done with it, so that the bound is exact whatever is in a batch.
//!
//! Invariants: at most `capacity` items are queued or in a batch; an item is taken by exactly one task; after
//! [`Queue::close`] nothing waits for room any more; a task that was told to wait is woken by the next item.
//!
//! Threading: senders are any threads or async jobs; tasks never wait for a lock longer than a push or a pull of one
//! batch takes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    room: Condvar,
    capacity: usize,
    batch: usize,
}

struct State<T> {
    items: VecDeque<T>,
    /// Items in batches that tasks are not done with.
    taken: usize,
    /// No further items will come.
    ended: bool,
    /// Nobody takes items.
    closed: bool,
    /// Tasks that wait for an item.
    tasks: Vec<Waker>,
    /// Async senders that wait for room.
    senders: Vec<Waker>,
}

/// Why an item was not taken; it is handed back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused<T> {
    Full(T),
    Closed(T),
}

/// What a task got.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pulled {
    /// The batch has something.
    Items,
    /// Nothing now; the waker will be woken.
    Waiting,
    /// Nothing any more.
    Ended,
}

impl<T> Queue<T> {
    /// A queue for `capacity` items (at least 1), which tasks take `batch` at a time.
    pub(crate) fn new(capacity: usize, batch: usize) -> Self {
        let state = State {
            items: VecDeque::new(),
            taken: 0,
            ended: false,
            closed: false,
            tasks: Vec::new(),
            senders: Vec::new(),
        };
        Self { state: Mutex::new(state), room: Condvar::new(), capacity: capacity.max(1), batch: batch.max(1) }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing in here panics half-way, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_push_locked(&self, mut state: MutexGuard<'_, State<T>>, item: T) -> Result<(), Refused<T>> {
        if state.closed {
            return Err(Refused::Closed(item));
        }
        if state.items.len() + state.taken >= self.capacity {
            return Err(Refused::Full(item));
        }
        state.items.push_back(item);
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        tasks.into_iter().for_each(Waker::wake);
        Ok(())
    }

    pub(crate) fn try_push(&self, item: T) -> Result<(), Refused<T>> {
        self.try_push_locked(self.lock(), item)
    }

    /// Waits for room. An error hands the item back: the queue is closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let state = self.lock();
        let is_full = |state: &mut State<T>| !state.closed && state.items.len() + state.taken >= self.capacity;
        let state = self.room.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        match self.try_push_locked(state, item) {
            Ok(()) => Ok(()),
            Err(Refused::Full(item) | Refused::Closed(item)) => Err(item),
        }
    }

    /// Takes the item when there is room, else registers the waker for when there is.
    pub(crate) fn poll_push(&self, item: &mut Option<T>, context: &mut Context<'_>) -> Poll<Result<(), T>> {
        let Some(taken) = item.take() else { return Poll::Ready(Ok(())) };
        let mut state = self.lock();
        if !state.closed && state.items.len() + state.taken >= self.capacity {
            *item = Some(taken);
            register(&mut state.senders, context.waker());
            return Poll::Pending;
        }
        Poll::Ready(self.try_push_locked(state, taken).map_err(|(Refused::Full(item) | Refused::Closed(item))| item))
    }

    /// Gives back the room of `done` items of earlier batches and takes the next batch.
    pub(crate) fn pull(&self, batch: &mut VecDeque<T>, done: usize, waker: &Waker) -> Pulled {
        let mut state = self.lock();
        let count = state.items.len().min(self.batch);
        state.taken = state.taken.saturating_sub(done) + count;
        batch.extend(state.items.drain(..count));
        let pulled = match count {
            0 if state.ended => Pulled::Ended,
            0 => {
                register(&mut state.tasks, waker);
                Pulled::Waiting
            }
            _ => Pulled::Items,
        };
        let senders = if done > 0 { std::mem::take(&mut state.senders) } else { Vec::new() };
        drop(state);
        if done > 0 {
            self.room.notify_all();
            senders.into_iter().for_each(Waker::wake);
        }
        pulled
    }

    /// Gives back the room of items that a task took and will not work on.
    pub(crate) fn give_back(&self, done: usize) {
        let mut state = self.lock();
        state.taken = state.taken.saturating_sub(done);
        let senders = std::mem::take(&mut state.senders);
        drop(state);
        self.room.notify_all();
        senders.into_iter().for_each(Waker::wake);
    }

    /// No further items will come: tasks are told once the queue is empty.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        tasks.into_iter().for_each(Waker::wake);
    }

    /// Somebody takes items (again).
    pub(crate) fn open(&self) {
        self.lock().closed = false;
    }

    /// Nobody takes items any more: what is queued is dropped, and whoever waits for room is told.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.taken = 0;
        let (items, senders) = (std::mem::take(&mut state.items), std::mem::take(&mut state.senders));
        drop(state);
        self.room.notify_all();
        senders.into_iter().for_each(Waker::wake);
        // Outside the lock, since dropping an item may run code that sends.
        drop(items);
    }
}

fn register(wakers: &mut Vec<Waker>, waker: &Waker) {
    if !wakers.iter().any(|known| known.will_wake(waker)) {
        wakers.push(waker.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn waker() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        (Arc::clone(&count), Waker::from(count))
    }

    #[test]
    fn items_count_until_they_are_done() {
        let queue = Queue::new(3, 2);
        let (_, waker) = waker();
        (0..3).for_each(|item| queue.try_push(item).unwrap());
        assert_eq!(queue.try_push(3), Err(Refused::Full(3)));
        let mut batch = VecDeque::new();
        assert_eq!(queue.pull(&mut batch, 0, &waker), Pulled::Items);
        assert_eq!(batch, [0, 1]);
        assert_eq!(queue.try_push(3), Err(Refused::Full(3)), "the batch still counts");
        batch.clear();
        assert_eq!(queue.pull(&mut batch, 2, &waker), Pulled::Items);
        assert_eq!(batch, [2]);
        assert_eq!([queue.try_push(3), queue.try_push(4)], [Ok(()), Ok(())]);
        assert_eq!(queue.try_push(5), Err(Refused::Full(5)));
    }

    #[test]
    fn tasks_and_senders_are_woken() {
        let queue = Queue::new(1, 1);
        let ((task_count, task), (sender_count, sender)) = (waker(), waker());
        let mut batch = VecDeque::new();
        assert_eq!(queue.pull(&mut batch, 0, &task), Pulled::Waiting);
        assert_eq!(queue.pull(&mut batch, 0, &task), Pulled::Waiting);
        queue.try_push('a').unwrap();
        assert_eq!(task_count.0.load(Ordering::SeqCst), 1, "registered once");
        let mut item = Some('b');
        assert_eq!(queue.poll_push(&mut item, &mut Context::from_waker(&sender)), Poll::Pending);
        assert_eq!(queue.pull(&mut batch, 0, &task), Pulled::Items);
        assert_eq!(sender_count.0.load(Ordering::SeqCst), 0);
        assert_eq!(queue.pull(&mut batch, 1, &task), Pulled::Waiting);
        assert_eq!(sender_count.0.load(Ordering::SeqCst), 1);
        assert_eq!(queue.poll_push(&mut item, &mut Context::from_waker(&sender)), Poll::Ready(Ok(())));
        queue.end();
        assert_eq!(queue.pull(&mut batch, 0, &task), Pulled::Items);
        assert_eq!(queue.pull(&mut batch, 1, &task), Pulled::Ended);
        assert_eq!(batch, ['a', 'b']);
    }

    #[test]
    fn closing_frees_a_blocked_sender() {
        let queue = Arc::new(Queue::new(1, 1));
        queue.push(1).unwrap();
        let blocked = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.push(2)
        });
        std::thread::sleep(std::time::Duration::from_millis(20));
        queue.close();
        assert_eq!(blocked.join().unwrap(), Err(2));
        assert_eq!(queue.try_push(3), Err(Refused::Closed(3)));
        queue.open();
        assert_eq!(queue.push(4), Ok(()), "what was queued is gone");
    }

    #[test]
    fn many_threads_lose_nothing() {
        let queue = Arc::new(Queue::new(4, 3));
        let senders: Vec<_> = (0..3)
            .map(|sender| {
                let queue = Arc::clone(&queue);
                std::thread::spawn(move || (0..1000).for_each(|item| queue.push(1000 * sender + item).unwrap()))
            })
            .collect();
        let (_, waker) = waker();
        let (mut seen, mut batch, mut done) = (Vec::new(), VecDeque::new(), 0);
        while seen.len() < 3000 {
            if queue.pull(&mut batch, done, &waker) != Pulled::Items {
                std::thread::yield_now();
            }
            done = batch.len();
            seen.extend(batch.drain(..));
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..3000));
    }
}
