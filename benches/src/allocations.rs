//! A global allocator that counts heap allocations.
//!
//! Linking this crate installs it in the program. Counting must not slow the engine that is measured, so each thread
//! adds to a counter on a cache line of its own: an uncontended addition, a few nanoseconds beside an allocation that
//! costs tens, and nothing at all where the engine allocates nothing. More than 256 threads share counters,
//! which costs speed but no exactness. Frees are not counted: what is asked is how often the heap is entered for a
//! new block, so `realloc` counts as one allocation.
//!
//! Errors: none; a failed allocation is the caller's, as with the system allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counters; threads beyond this number share them.
const COUNTERS: usize = 256;

/// One counter on its own pair of cache lines (CPUs prefetch lines in pairs).
#[repr(align(128))]
struct Counter(AtomicU64);

static ALLOCATIONS: [Counter; COUNTERS] = [const { Counter(AtomicU64::new(0)) }; COUNTERS];
static NEXT_COUNTER: AtomicUsize = AtomicUsize::new(0);

const UNASSIGNED: usize = usize::MAX;

thread_local! {
    // A constant initialiser and no destructor: reading it can neither allocate nor fail, also while a thread ends.
    static COUNTER: Cell<usize> = const { Cell::new(UNASSIGNED) };
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The system allocator with a count of its allocations. See the module.
struct CountingAllocator;

#[inline]
fn count_one() {
    let mut index = COUNTER.get();
    if index == UNASSIGNED {
        index = NEXT_COUNTER.fetch_add(1, Ordering::Relaxed) % COUNTERS;
        COUNTER.set(index);
    }
    ALLOCATIONS[index].0.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every method passes its arguments unchanged to `System`, which upholds the contract of `GlobalAlloc`; the
// counting beside it does not allocate, unwind or touch the block. The unit tests below drive each path.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller upholds `alloc`'s contract (a layout of non-zero size), which is `System`'s too.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller upholds `alloc_zeroed`'s contract (a layout of non-zero size), which is `System`'s too.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller passes a block that this allocator returned, hence `System` did, with its layout.
        unsafe { System.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size_bytes: usize) -> *mut u8 {
        count_one();
        // SAFETY: the caller passes a block that this allocator returned, hence `System` did, with its layout, and a
        // new size that is valid for it.
        unsafe { System.realloc(block, layout, new_size_bytes) }
    }
}

/// Heap allocations of this process since it started, over all threads.
///
/// Threads that allocate during the call may be counted or not.
pub fn total() -> u64 {
    ALLOCATIONS.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    /// Allocations of this thread alone, so that tests that run beside this one do not disturb it. Shared counters
    /// would; the test binary stays far below [`COUNTERS`] threads.
    fn of_this_thread() -> u64 {
        ALLOCATIONS[COUNTER.get() % COUNTERS].0.load(Ordering::Relaxed)
    }

    #[test]
    fn each_way_to_a_new_block_counts_once() {
        drop(black_box(Box::new(1_u8)));
        let before = of_this_thread();
        let mut bytes: Vec<u8> = black_box(Vec::with_capacity(10));
        assert_eq!(of_this_thread() - before, 1, "alloc");
        bytes.reserve_exact(1000);
        assert_eq!(of_this_thread() - before, 2, "an empty vector grows by a new block or by realloc: one either way");
        let zeroed = black_box(vec![0_u64; 100]);
        assert_eq!(of_this_thread() - before, 3, "alloc_zeroed");
        drop((bytes, zeroed));
        assert_eq!(of_this_thread() - before, 3, "frees do not count");
    }

    #[test]
    fn arithmetic_does_not_count_and_other_threads_do() {
        drop(black_box(Box::new(1_u8)));
        let before = of_this_thread();
        black_box((0..1000_u64).map(black_box).sum::<u64>());
        assert_eq!(of_this_thread(), before);

        let total_before = total();
        std::thread::spawn(|| (0..100).for_each(|index| drop(black_box(Box::new(index))))).join().unwrap();
        assert!(total() - total_before >= 100);
    }
}
