//! A ring of provided buffers that the kernel takes from.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// `IOU_PBUF_RING_INC`: the kernel goes on in a buffer that it has not filled.
const INCREMENTAL: u16 = 2;
const PAGE_BYTES: usize = 4096;

/// Entries that belong to one io_uring; that is dropped before.
pub(crate) struct Group {
    entries: *mut BufRingEntry,
    count: u16,
    tail: u16,
}

impl Group {
    /// # Safety
    /// The io_uring is dropped before the group.
    pub(crate) unsafe fn new(ring: &IoUring, count: u16, incremental: bool) -> Self {
        // SAFETY: the layout is not empty; a zeroed entry is valid.
        let entries = unsafe { alloc_zeroed(Self::layout(count)) }.cast::<BufRingEntry>();
        if entries.is_null() {
            handle_alloc_error(Self::layout(count));
        }
        let flags = if incremental { INCREMENTAL } else { 0 };
        // SAFETY: the entries live as long as the group, and so longer than the io_uring.
        let registered = unsafe { ring.submitter().register_buf_ring_with_flags(entries as u64, count, 0, flags) };
        registered.expect("the kernel takes a ring of buffers (Linux 6.12 for incremental ones)");
        Self { entries, count, tail: 0 }
    }

    fn layout(count: u16) -> Layout {
        let bytes = usize::from(count) * size_of::<BufRingEntry>();
        Layout::from_size_align(bytes, PAGE_BYTES).expect("some pages")
    }

    /// Gives the kernel a buffer.
    ///
    /// # Safety
    /// It stays where it is until the kernel has said that it is done with it.
    pub(crate) unsafe fn give(&mut self, number: u16, buffer: *const u8, bytes: usize) {
        // SAFETY: the index is below the count. The kernel looks at an entry only when the tail is past it, and the tail
        // lies in the first one where `set_...` does not write.
        unsafe {
            let entry = &mut *self.entries.add(usize::from(self.tail % self.count));
            entry.set_addr(buffer as u64);
            entry.set_len(bytes as u32);
            entry.set_bid(number);
            self.tail = self.tail.wrapping_add(1);
            AtomicU16::from_ptr(BufRingEntry::tail(self.entries).cast_mut()).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; the io_uring is gone.
        unsafe { dealloc(self.entries.cast(), Self::layout(self.count)) };
    }
}
