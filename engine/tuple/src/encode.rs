//! Writing a tuple: what lies out of line first, field after field, then the root.
//!
//! The order is rkyv's own (children before parents, in the order of the fields); its validator insists on it. What is
//! different from rkyv's serialisers: every field needs just one number between its two steps, where its out-of-line
//! data lies ([`Stored`]), so nothing is boxed and a tuple of fixed size compiles to one reservation and its stores.
//!
//! On an error the output is as it was before.

use std::cell::Cell;
use std::mem::size_of;

use rkyv::Place;

use crate::field::Field;
use crate::{EncodeError, MAX_DEPTH};

/// The most bytes that one payload may have: rkyv's offsets are 32-bit and signed, and a string's length has 30 bits.
pub const MAX_PAYLOAD_BYTES: usize = (1 << 30) - 1;

/// Where the out-of-line data of a field starts, in bytes from the start of the payload; zero for a field without any.
pub type Stored = u32;

/// The place of one archived field in the output: its address, and its position in bytes from the payload's start.
#[derive(Debug)]
pub struct Slot<A> {
    pointer: *mut A,
    position: Stored,
}

impl<A> Clone for Slot<A> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Slot<A> {}

impl<A> Slot<A> {
    /// Where the field goes. Its bytes may be uninitialised until they are written.
    #[inline]
    #[must_use]
    pub fn pointer(self) -> *mut A {
        self.pointer
    }

    /// The part of this slot that starts `offset_bytes` after its start.
    ///
    /// # Safety
    ///
    /// A `B` lies at that offset within an `A`.
    #[inline]
    #[must_use]
    pub unsafe fn part<B>(self, offset_bytes: usize) -> Slot<B> {
        // SAFETY: in bounds, as the caller promises.
        let pointer = unsafe { self.pointer.byte_add(offset_bytes) }.cast::<B>();
        Slot { pointer, position: self.position + offset_bytes as Stored }
    }

    /// Fills the slot with zeros and hands it out as rkyv's own idea of a place.
    ///
    /// # Safety
    ///
    /// The slot is valid for writes.
    #[inline]
    #[must_use]
    pub unsafe fn zeroed(self) -> Place<A> {
        // SAFETY: valid for writes, as the caller promises; archived types have alignment 1; after the first line
        // every byte is initialised, which is what a place requires.
        unsafe {
            self.pointer.write_bytes(0, 1);
            Place::new_unchecked(self.position as usize, self.pointer)
        }
    }
}

/// The output of one tuple while it is written.
#[derive(Debug)]
pub struct Encoder<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    depth: usize,
    /// A stack: for each list that is being written, where the data of its items lies.
    stored: Vec<Stored>,
}

thread_local! {
    /// The stack of the last encoder that needed one, so that lists allocate nothing in steady state.
    static SPARE: Cell<Vec<Stored>> = const { Cell::new(Vec::new()) };
}

/// The largest stack that is kept, in entries: one huge tuple must not hold its memory for ever.
const MAX_SPARE_ENTRIES: usize = 1 << 16;

impl Drop for Encoder<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.stored.capacity() != 0 && self.stored.capacity() <= MAX_SPARE_ENTRIES {
            let mut stored = std::mem::take(&mut self.stored);
            stored.clear();
            // Fails only while the thread ends; then the stack is simply freed.
            let _ = SPARE.try_with(|spare| spare.set(stored));
        }
    }
}

impl<'o> Encoder<'o> {
    #[inline]
    fn new(out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        Encoder { out, start, depth: 0, stored: Vec::new() }
    }

    #[inline]
    fn written_bytes(&self) -> usize {
        self.out.len() - self.start
    }

    /// Makes sure that `bytes` more may be written.
    #[inline]
    fn allow(&self, bytes: usize) -> Result<(), EncodeError> {
        let total = self.written_bytes().saturating_add(bytes);
        if total > MAX_PAYLOAD_BYTES { Err(EncodeError::TooLarge { bytes: total }) } else { Ok(()) }
    }

    /// Writes bytes out of line.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`].
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<Stored, EncodeError> {
        self.allow(bytes.len())?;
        let position = self.written_bytes() as Stored;
        self.out.extend_from_slice(bytes);
        Ok(position)
    }

    /// Writes the items of a list out of line, first what they store themselves, then the items side by side.
    ///
    /// # Errors
    ///
    /// What the items return, and [`EncodeError::TooLarge`].
    #[inline]
    pub fn list<T: Field>(&mut self, items: &[T]) -> Result<Stored, EncodeError> {
        // An estimate that is never too high: an impossible length fails before it is walked.
        self.allow(items.len().saturating_mul(size_of::<T::Archived>()))?;
        if T::FIXED {
            // SAFETY: a fixed field stores nothing, and `resolve` initialises all of its slot.
            return unsafe { self.table(items.len(), |index, slot| items[index].resolve(0, slot)) };
        }
        let base = self.open();
        for item in items {
            let stored = item.store(self)?;
            self.stored.push(stored);
        }
        let all_stored = std::mem::take(&mut self.stored);
        // SAFETY: each item gets what its own `store` returned, and `resolve` initialises all of its slot.
        let position =
            unsafe { self.table(items.len(), |index, slot| items[index].resolve(all_stored[base + index], slot)) };
        self.stored = all_stored;
        self.stored.truncate(base);
        position
    }

    /// Writes the entries of a map out of line: keys and values that are stored and resolved like fields.
    ///
    /// # Errors
    ///
    /// What the keys and values return, and [`EncodeError::TooLarge`].
    pub(crate) fn map<K: Field, V: Field, A>(
        &mut self,
        entries: &[(K, V)],
        value_offset: usize,
    ) -> Result<Stored, EncodeError> {
        self.allow(entries.len().saturating_mul(size_of::<A>()))?;
        let base = self.open();
        for (key, value) in entries {
            let stored = key.store(self)?;
            self.stored.push(stored);
            let stored = value.store(self)?;
            self.stored.push(stored);
        }
        let all_stored = std::mem::take(&mut self.stored);
        // SAFETY: an entry is its key at the start and its value at `value_offset`, with nothing between; each gets
        // what its own `store` returned.
        let position = unsafe {
            self.table(entries.len(), |index, slot: Slot<A>| {
                let (key, value) = &entries[index];
                key.resolve(all_stored[base + 2 * index], slot.part(0));
                value.resolve(all_stored[base + 2 * index + 1], slot.part(value_offset));
            })
        };
        self.stored = all_stored;
        self.stored.truncate(base);
        position
    }

    /// Enters one level of dynamic nesting.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooDeep`], before the stack is in danger.
    // Not inlined, so that the loop over the values of a flat tuple stays small.
    #[inline(never)]
    pub(crate) fn nested(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<Stored, EncodeError>,
    ) -> Result<Stored, EncodeError> {
        if self.depth == MAX_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        self.depth += 1;
        let stored = write(self);
        self.depth -= 1;
        stored
    }

    /// The height of the stack, which is fetched when it is first needed.
    #[inline]
    fn open(&mut self) -> usize {
        if self.stored.capacity() == 0 {
            self.stored = SPARE.try_with(Cell::take).unwrap_or_default();
        }
        self.stored.len()
    }

    /// Appends `count` archived values side by side.
    ///
    /// # Safety
    ///
    /// `fill` initialises every byte of each slot that it is given.
    #[inline]
    unsafe fn table<A>(&mut self, count: usize, mut fill: impl FnMut(usize, Slot<A>)) -> Result<Stored, EncodeError> {
        let start = self.room::<A>(count)?;
        for index in 0..count {
            // SAFETY: within the room that was made.
            fill(index, unsafe { start.part(index * size_of::<A>()) });
        }
        // SAFETY: `fill` initialised all of it, as the caller promises; had it panicked, the length would not move.
        unsafe { self.commit::<A>(count) };
        Ok(start.position)
    }

    /// Makes room for `count` archived values at the end of the output.
    #[inline]
    fn room<A>(&mut self, count: usize) -> Result<Slot<A>, EncodeError> {
        const { assert!(align_of::<A>() == 1, "archived types need rkyv's `unaligned` feature") };
        let bytes = count.saturating_mul(size_of::<A>());
        self.allow(bytes)?;
        self.out.reserve(bytes);
        let pointer = self.out.spare_capacity_mut().as_mut_ptr().cast();
        Ok(Slot { pointer, position: self.written_bytes() as Stored })
    }

    /// Counts the room as written.
    ///
    /// # Safety
    ///
    /// [`room`](Self::room) was made for as many, and every byte of it is initialised.
    #[inline]
    unsafe fn commit<A>(&mut self, count: usize) {
        // SAFETY: reserved and initialised, as the caller promises.
        unsafe { self.out.set_len(self.out.len() + count * size_of::<A>()) };
    }
}

/// Appends one tuple of at least `size_hint` bytes: `store` writes what lies out of line, then `fill` the root. If the tuple is `fixed`, nothing lies
/// out of line and `store` is not called.
///
/// # Errors
///
/// What `store` returns, and [`EncodeError::TooLarge`]; then `out` is as it was.
///
/// # Safety
///
/// `fill` initialises every byte of the root. If the tuple is `fixed`, it needs nothing to be stored.
#[inline]
pub unsafe fn encode<A, const FIELDS: usize>(
    out: &mut Vec<u8>,
    fixed: bool,
    size_hint: usize,
    store: impl FnOnce(&mut Encoder<'_>) -> Result<[Stored; FIELDS], EncodeError>,
    fill: impl FnOnce([Stored; FIELDS], Slot<A>),
) -> Result<(), EncodeError> {
    const {
        assert!(align_of::<A>() == 1, "archived types need rkyv's `unaligned` feature");
        assert!(size_of::<A>() <= MAX_PAYLOAD_BYTES, "the fixed part of a tuple is limited to 1 GiB");
    }
    if fixed {
        out.reserve(size_of::<A>());
        fill([0; FIELDS], Slot { pointer: out.spare_capacity_mut().as_mut_ptr().cast(), position: 0 });
        // SAFETY: reserved above, and `fill` initialised all of the root, as the caller promises.
        unsafe { out.set_len(out.len() + size_of::<A>()) };
        return Ok(());
    }
    if size_hint > MAX_PAYLOAD_BYTES {
        return Err(EncodeError::TooLarge { bytes: size_hint });
    }
    out.reserve(size_hint);
    let mut encoder = Encoder::new(out);
    let written = store(&mut encoder).and_then(|stored| {
        let slot = encoder.room::<A>(1)?;
        fill(stored, slot);
        // SAFETY: `fill` initialised all of the root, as the caller promises.
        unsafe { encoder.commit::<A>(1) };
        Ok(())
    });
    if written.is_err() {
        let start = encoder.start;
        encoder.out.truncate(start);
    }
    written
}

/// The root of a payload: the archived value at its end.
///
/// # Safety
///
/// The payload is one that [`encode`] wrote with this root, or that was validated as such.
#[inline]
#[must_use]
pub unsafe fn root<A>(payload: &[u8]) -> &A {
    const { assert!(align_of::<A>() == 1, "archived types need rkyv's `unaligned` feature") };
    debug_assert!(payload.len() >= size_of::<A>(), "the payload is shorter than its root");
    // SAFETY: the payload is at least as long as its root, which lies at its end and has no alignment.
    unsafe { &*payload.as_ptr().add(payload.len() - size_of::<A>()).cast::<A>() }
}
