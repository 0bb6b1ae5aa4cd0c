//! Lists of one kind, and the view of them.

use std::fmt;

use rkyv::vec::{ArchivedVec, VecResolver};

use super::{Field, Item};
use crate::archived::ArchivedValue;
use crate::{EncodeError, Encoder, FieldRef, Kind, ListRef, Slot, Stored};

/// A list in a payload, read item by item as native values.
pub struct ListView<'v, T: Field> {
    items: Items<'v, T>,
}

enum Items<'v, T: Field> {
    Archived(&'v [T::Archived]),
    /// From a dynamic tuple: every item was found to fit when the view was made.
    Dynamic(&'v [ArchivedValue]),
}

impl<T: Field> Clone for ListView<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Field> Copy for ListView<'_, T> {}

impl<T: Field> Clone for Items<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Field> Copy for Items<'_, T> {}

impl<'v, T: Field> ListView<'v, T> {
    #[inline]
    fn archived(items: &'v [T::Archived]) -> Self {
        ListView { items: Items::Archived(items) }
    }

    #[inline]
    fn dynamic(value: &'v ArchivedValue) -> Option<Self> {
        let ArchivedValue::List(items) = value else { return None };
        let items = items.as_slice();
        let fits = items.iter().all(|item| T::from_dynamic(item).is_some());
        fits.then_some(ListView { items: Items::Dynamic(items) })
    }

    /// How many items there are.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        match self.items {
            Items::Archived(items) => items.len(),
            Items::Dynamic(items) => items.len(),
        }
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The item at that index, or `None` past the end.
    #[inline]
    #[must_use]
    pub fn get(self, index: usize) -> Option<T::Native<'v>> {
        match self.items {
            Items::Archived(items) => items.get(index).map(T::native),
            Items::Dynamic(items) => items.get(index).and_then(T::from_dynamic),
        }
    }

    /// The items in order.
    pub fn iter(self) -> impl Iterator<Item = T::Native<'v>> {
        (0..self.len()).map_while(move |index| self.get(index))
    }
}

impl<T: Field> fmt::Debug for ListView<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

macro_rules! list {
    ($type:ty) => {
        // SAFETY: `resolve` zeroes and then fills the slot; the kind names the kind of the items.
        unsafe impl<T: Item> Field for $type {
            type Archived = ArchivedVec<T::Archived>;
            type Native<'v> = ListView<'v, T>;

            const KIND: Kind = Kind::List(&T::KIND);
            const FIXED: bool = {
                // Two billion items without a byte would cost their sender nothing and their reader minutes.
                assert!(size_of::<T::Archived>() > 0, "the items of a list must have a size: use a number instead");
                false
            };
            const LEVELS: usize = 1 + T::LEVELS;

            #[inline]
            fn store(&self, encoder: &mut Encoder<'_>) -> Result<Stored, EncodeError> {
                encoder.list(self)
            }

            #[inline]
            unsafe fn resolve(&self, stored: Stored, slot: Slot<Self::Archived>) {
                // SAFETY: as the caller promises.
                let place = unsafe { slot.zeroed() };
                ArchivedVec::resolve_from_len(self.len(), VecResolver::from_pos(stored as usize), place);
            }

            #[inline]
            fn native(archived: &Self::Archived) -> Self::Native<'_> {
                ListView::archived(archived.as_slice())
            }

            #[inline]
            fn from_dynamic(value: &ArchivedValue) -> Option<Self::Native<'_>> {
                ListView::dynamic(value)
            }

            #[inline]
            fn field_ref(&self) -> FieldRef<'_> {
                FieldRef::List(ListRef::new(self))
            }

            #[inline]
            fn out_of_line_bytes(&self) -> usize {
                self.len().saturating_mul(size_of::<T::Archived>())
            }
        }
    };
}

list!(Vec<T>);
list!(&[T]);
