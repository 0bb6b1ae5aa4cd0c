//! How much memory a piece of code had at most, counted for its thread only.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<i64> = const { Cell::new(0) };
}

/// The most bytes that were allocated at one time by what is called, besides those before it.
pub(crate) fn peak_bytes(body: impl FnOnce()) -> i64 {
    let before = LIVE_BYTES.get();
    PEAK_BYTES.set(before);
    body();
    PEAK_BYTES.get() - before
}

fn count(bytes: i64) {
    let live = LIVE_BYTES.get() + bytes;
    LIVE_BYTES.set(live);
    PEAK_BYTES.set(PEAK_BYTES.get().max(live));
}

struct Counting;

// SAFETY: every call goes to the system's allocator as it is. The counters are plain cells, which neither allocate nor
// have a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While it moves, both are there.
        count(size as i64);
        count(-(layout.size() as i64));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
