//! Asks the cache for lines that are about to be written or read.
//!
//! The buffer of a frame was last read by another core. A store to such a line waits for it to change hands, stores leave
//! the CPU in order, and serialising a tuple makes many small ones: without help few lines are ever under way at once.
//! Asking some lines ahead takes the wait off the tuple's path.
#![expect(unsafe_code, reason = "a prefetch instruction is reachable only through an unsafe intrinsic")]

/// Bytes between the write and the line that is asked for: about ten tuples of 64 bytes.
pub(crate) const AHEAD_BYTES: usize = 640;

/// Asks for the line at `offset` bytes from `start`, to be written. Any address will do.
#[inline(always)]
pub fn for_write(start: *const u8, offset: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    ask::<{ core::arch::x86_64::_MM_HINT_ET0 }>(start, offset);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, offset);
}

/// Asks for the line at `offset` bytes from `start`, to be read. Any address will do.
#[inline(always)]
pub(crate) fn for_read(start: *const u8, offset: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    ask::<{ core::arch::x86_64::_MM_HINT_T0 }>(start, offset);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, offset);
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn ask<const HINT: i32>(start: *const u8, offset: usize) {
    // SAFETY: a prefetch is a hint; it never faults and changes no memory, whatever the address.
    unsafe { core::arch::x86_64::_mm_prefetch::<HINT>(start.wrapping_add(offset).cast()) };
}
