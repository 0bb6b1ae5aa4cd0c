//! A ring of cells between one producing and one consuming core, over the `disruptor` crate.
//!
//! The crate has the fast part right (one release store to publish, one acquire load to look) and needs care around it.
//! This wrapper upholds:
//!
//! * **Cells are swapped or filled by code that cannot panic.** A producer's item goes into the cell and the item that was
//!   read there a lap ago comes out, so that buffers recycle themselves; a panic within would end the process.
//! * **Nothing blocks.** Only the `try_` calls are used. A full ring is an error that leaves the item alone, a consumer
//!   that is gone is another. Dropping a producer never waits, since a poller has no thread to join.
//! * **A panic while reading loses nothing.** The crate's guard frees *all* the cells that it covers when it is dropped,
//!   read or not; [`Consumer::poll`] frees exactly those that were read, the one that panicked included.
//!
//! Threading: both ends are `Send` and neither is shared; each lives on one core at a time. Neither end wakes the other:
//! whoever publishes (or drops a producer) rings the consumer's [`Doorbell`](crate::Doorbell) afterwards, and in any case
//! before it waits for a full ring: a parked consumer that was not rung never makes room.
//!
//! An item stays in its cell until the producer comes round and swaps it out. A payload too large to be kept that long
//! is the item's own business: its type can let the reader take it out through a shared reference.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::Arc;

use disruptor::{
    BusySpin, EventPoller, MissingFreeSlots, Producer as _, SingleConsumerBarrier, SingleProducer,
    SingleProducerBarrier, build_single_producer,
};

use crate::ends::Ends;

/// The most cells that one ring may have.
pub const MAX_CELLS: usize = 1 << 20;

/// Why no ring was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The number of cells is not a power of two, is zero or is above [`MAX_CELLS`].
    #[error("a ring cannot have {cells} cells; use a power of two from 1 to {MAX_CELLS}")]
    Cells {
        /// The number that was asked for.
        cells: usize,
    },
}

/// Why an item was not published. The item is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Every cell holds an item that the consumer has not read yet: keep the item and try again after it has.
    #[error("the ring is full; try again when its consumer has read on")]
    Full,
    /// The consumer is gone and nobody will ever read: drop the producer.
    #[error("the ring's consumer is gone; nothing that is published here will be read")]
    Closed,
}

/// Makes a ring of `cells` cells, each holding `T::default()` at first.
///
/// # Errors
///
/// [`RingError::Cells`] unless `cells` is a power of two from 1 to [`MAX_CELLS`].
pub fn ring<T: Default + Send + Sync + 'static>(cells: usize) -> Result<(Producer<T>, Consumer<T>), RingError> {
    if !cells.is_power_of_two() || cells > MAX_CELLS {
        return Err(RingError::Cells { cells });
    }
    let ends = Arc::new(Ends::new());
    // The wait strategy is for threads that the crate manages; a poller has none.
    let (poller, builder) = build_single_producer(cells, T::default, BusySpin).new_event_poller();
    let producer = Producer {
        ring: RefCell::new(builder.build()),
        cells,
        published: 0,
        known_read: Cell::new(0),
        addresses: vec![0; cells].into(),
        ends: Arc::clone(&ends),
    };
    Ok((producer, Consumer { poller, ends }))
}

/// The end that publishes. Dropping it ends the stream: what is in the ring can still be read.
pub struct Producer<T> {
    /// In a cell because asking the crate how far the consumer is takes an exclusive borrow.
    ring: RefCell<SingleProducer<T, SingleConsumerBarrier>>,
    cells: usize,
    published: u64,
    /// How many items the consumer is known to have read: never more than it has.
    known_read: Cell<u64>,
    /// Where the cells lie, by number; 0 for those that were not used yet. Only for hints to the cache.
    addresses: Box<[usize]>,
    ends: Arc<Ends>,
}

impl<T: Send + Sync + 'static> Producer<T> {
    /// Publishes `item` by swapping it with what lies in the next cell: a default at first, later an item that the
    /// consumer has read a lap ago, for the caller to reuse.
    ///
    /// `Ok` means that the item is in the ring, not that it will be read: the consumer may go at any time.
    ///
    /// # Errors
    ///
    /// [`PublishError::Closed`] when the consumer is gone, else [`PublishError::Full`] when no cell is free. The item is
    /// untouched in both cases.
    #[inline]
    pub fn try_publish(&mut self, item: &mut T) -> Result<(), PublishError> {
        self.try_publish_with(|cell| std::mem::swap(cell, item))
    }

    /// Publishes what `fill` makes of the next cell, which holds a default at first and later an item that the consumer
    /// has read a lap ago. `fill` is not called when nothing is published.
    ///
    /// `fill` must not panic: a cell that was claimed and not published would stand in the way of all later ones, so a
    /// panic ends the process.
    ///
    /// # Errors
    ///
    /// As for [`Producer::try_publish`].
    #[inline]
    pub fn try_publish_with(&mut self, fill: impl FnOnce(&mut T)) -> Result<(), PublishError> {
        if self.ends.consumer_is_gone() {
            return Err(PublishError::Closed);
        }
        let Self { ring, addresses, published, .. } = self;
        // The number of cells is a power of two.
        let cell_number = *published as usize & (addresses.len() - 1);
        let fill = |cell: &mut T| {
            addresses[cell_number] = std::ptr::from_mut(cell).addr();
            let mut abort = AbortOnPanic { is_armed: true };
            fill(cell);
            abort.is_armed = false;
        };
        match ring.get_mut().try_publish(fill) {
            Ok(_) => {
                *published += 1;
                Ok(())
            }
            Err(_) => Err(PublishError::Full),
        }
    }

    /// Whether everything published so far was read and its cell released. Looks at the consumer's cache line only
    /// while the answer may have changed.
    #[inline]
    pub fn consumer_has_read_all(&self) -> bool {
        self.unread_is_at_most(0)
    }

    /// Whether at most this many published items are not yet read. Looks at the consumer's cache line only while the
    /// answer may have changed.
    #[inline]
    pub fn unread_is_at_most(&self, items: u64) -> bool {
        self.published - self.known_read.get() <= items || self.published - self.read() <= items
    }

    /// Whether an item fits now. Looks at the consumer's cache line only when none fitted at the last look.
    #[inline]
    pub fn has_room(&self) -> bool {
        (self.published - self.known_read.get()) < self.cells as u64 || self.free_cells() > 0
    }

    /// The address of the cell that the next item goes to, 0 in the first lap. A hint for the cache and nothing else: the
    /// cell may still be the consumer's.
    #[inline]
    pub fn next_cell_address(&self) -> usize {
        self.addresses[self.published as usize & (self.addresses.len() - 1)]
    }

    /// How many more items fit now. More may fit by the time that the caller acts, never fewer.
    #[inline]
    pub fn free_cells(&self) -> usize {
        // At most `cells` items are published and not read, so the difference fits.
        self.cells - (self.published - self.read()) as usize
    }

    /// How many items were published in all.
    #[inline]
    pub fn published(&self) -> u64 {
        self.published
    }

    /// How many cells the ring has.
    #[inline]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Whether the consumer was dropped.
    #[inline]
    pub fn consumer_is_gone(&self) -> bool {
        self.ends.consumer_is_gone()
    }

    /// How many items the consumer has read, from its cache line.
    ///
    /// The crate keeps the consumer's position to itself, but a request for one cell more than there are is always
    /// refused, and the refusal says how many are missing. `position_probe_is_exact` tests that.
    #[inline]
    fn read(&self) -> u64 {
        let probe = self.ring.borrow_mut().try_batch_publish(self.cells + 1, |_| {});
        if let Err(MissingFreeSlots(missing)) = probe {
            let unread = missing - 1;
            self.known_read.set(self.published - unread);
        }
        self.known_read.get()
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.ends.producer_leaves();
    }
}

impl<T> std::fmt::Debug for Producer<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Producer")
            .field("cells", &self.cells)
            .field("published", &self.published)
            .field("known_read", &self.known_read)
            .finish_non_exhaustive()
    }
}

type Poller<T> = EventPoller<T, SingleProducerBarrier>;

/// The end that reads. Dropping it makes every later publish fail with [`PublishError::Closed`]; items that were not
/// read are dropped with the producer.
pub struct Consumer<T> {
    poller: Poller<T>,
    ends: Arc<Ends>,
}

impl<T: Send + Sync + 'static> Consumer<T> {
    /// Calls `read` for up to `limit` items in the order of publishing and returns for how many. Their cells are free
    /// for the producer when the call returns; so keep `limit` well below the number of cells if reading takes long.
    ///
    /// # Panics
    ///
    /// Only if `read` does. The items read so far, including the one whose `read` panicked, then count as read and all
    /// later ones are still there.
    #[inline]
    pub fn poll(&mut self, limit: usize, mut read: impl FnMut(&T)) -> usize {
        let mut release = ReleaseOnPanic { poller: &mut self.poller, read: 0 };
        // A limit of zero would get an empty guard and not an error.
        if limit == 0 {
            return 0;
        }
        let Ok(guard) = release.poller.take(limit as u64) else { return 0 };
        // Not dropped by unwinding, because that would free the cells that were not read as well.
        let mut guard = ManuallyDrop::new(guard);
        for item in &mut *guard {
            release.read += 1;
            read(item);
        }
        drop(ManuallyDrop::into_inner(guard));
        let read = release.read;
        release.read = 0;
        read as usize
    }

    /// Whether an item waits to be read. One acquire load of the producer's cache line.
    #[inline]
    pub fn has_available(&self) -> bool {
        self.poller.has_available()
    }

    /// Whether the stream is over: the producer was dropped and everything that it published was read.
    #[inline]
    pub fn producer_is_gone(&self) -> bool {
        // In this order: the flag is set after the last publish.
        self.ends.producer_is_gone() && !self.poller.has_available()
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.ends.consumer_leaves();
    }
}

impl<T> std::fmt::Debug for Consumer<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Consumer").field("ends", &self.ends).finish_non_exhaustive()
    }
}

/// Ends the process when unwinding drops it.
struct AbortOnPanic {
    is_armed: bool,
}

impl Drop for AbortOnPanic {
    #[inline]
    fn drop(&mut self) {
        if self.is_armed {
            std::process::abort();
        }
    }
}

/// Frees the cells of the items that were read when `read` unwinds, and only those.
struct ReleaseOnPanic<'a, T: Send + Sync + 'static> {
    poller: &'a mut Poller<T>,
    read: u64,
}

impl<T: Send + Sync + 'static> Drop for ReleaseOnPanic<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.read > 0 {
            // The guard of exactly these items; dropping it frees their cells.
            drop(self.poller.take(self.read));
        }
    }
}
