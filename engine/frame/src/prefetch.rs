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
    ask_to_write(start.wrapping_add(offset));
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, offset);
}

/// Asks for the line at `offset` bytes from `start`, to be read. Any address will do.
#[inline(always)]
pub(crate) fn for_read(start: *const u8, offset: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    ask_to_read(start.wrapping_add(offset));
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, offset);
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn ask_to_read(address: *const u8) {
    // SAFETY: a prefetch is a hint; it never faults and changes no memory, whatever the address.
    unsafe { core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast()) };
}

/// The intrinsic would do where the compiler may assume the instruction, which for x86-64 as such it may not: it then asks
/// for a shared line, and the first store has to ask again.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn ask_to_write(address: *const u8) {
    // SAFETY: a prefetch is a hint; it never faults and changes no memory, whatever the address. CPUs without it take it
    // for a `nop`.
    unsafe {
        core::arch::asm!("prefetchw [{address}]", address = in(reg) address, options(nostack, preserves_flags, readonly));
    };
}
