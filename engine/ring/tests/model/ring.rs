//! A ring with the disruptor's orderings, made of loom's atomics: two cells, one producer, one consumer.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use ringstorm_ring::ends::Ends;

const CELLS: usize = 2;

struct Shared {
    cells: [UnsafeCell<u32>; CELLS],
    published: AtomicUsize,
    read: AtomicUsize,
    ends: Ends,
}

pub(crate) struct Producer {
    shared: Arc<Shared>,
    published: usize,
}

pub(crate) struct Consumer {
    shared: Arc<Shared>,
    read: usize,
}

pub(crate) fn ring() -> (Producer, Consumer) {
    let shared = Arc::new(Shared {
        cells: [UnsafeCell::new(0), UnsafeCell::new(0)],
        published: AtomicUsize::new(0),
        read: AtomicUsize::new(0),
        ends: Ends::new(),
    });
    (Producer { shared: Arc::clone(&shared), published: 0 }, Consumer { shared, read: 0 })
}

impl Producer {
    #[allow(dead_code, reason = "not every test waits for room")]
    pub(crate) fn has_room(&self) -> bool {
        self.published - self.shared.read.load(Ordering::Acquire) < CELLS
    }

    /// Returns whether there was room.
    pub(crate) fn try_publish(&mut self, item: u32) -> bool {
        if self.published - self.shared.read.load(Ordering::Acquire) == CELLS {
            return false;
        }
        // SAFETY: the cell is free, since the consumer released it; loom checks exactly that.
        self.shared.cells[self.published % CELLS].with_mut(|cell| unsafe { *cell = item });
        self.published += 1;
        self.shared.published.store(self.published, Ordering::Release);
        true
    }

    pub(crate) fn consumer_is_gone(&self) -> bool {
        self.shared.ends.consumer_is_gone()
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.shared.ends.producer_leaves();
    }
}

impl Consumer {
    pub(crate) fn has_available(&self) -> bool {
        self.shared.published.load(Ordering::Acquire) > self.read
    }

    pub(crate) fn poll(&mut self) -> Option<u32> {
        if !self.has_available() {
            return None;
        }
        // SAFETY: the cell was published and is released below; loom checks exactly that.
        let item = self.shared.cells[self.read % CELLS].with(|cell| unsafe { *cell });
        self.read += 1;
        self.shared.read.store(self.read, Ordering::Release);
        Some(item)
    }

    pub(crate) fn producer_is_gone(&self) -> bool {
        self.shared.ends.producer_is_gone() && !self.has_available()
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.shared.ends.consumer_leaves();
    }
}
