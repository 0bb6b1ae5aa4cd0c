//! Groupings written by users.

use ringstorm_tuple::FieldRef;
use ringstorm_types::TaskId;

use crate::api::emittable::Emittable;

/// Chooses the receiving tasks of each tuple of one subscription. Each emitting task has its own instance.
pub trait CustomGrouping {
    /// Told once, before the first tuple, which tasks there are to choose from, in ascending order.
    fn prepare(&mut self, targets: &[TaskId]) {
        let _ = targets;
    }

    /// Pushes the positions (within the targets of [`CustomGrouping::prepare`]) of the tasks that get a copy.
    /// Positions out of range are ignored; no position means that nobody gets the tuple.
    fn choose(&mut self, tuple: &GroupedTuple<'_>, targets: &mut Vec<usize>);
}

/// A tuple as a grouping sees it, before it is serialised.
pub struct GroupedTuple<'a>(pub(crate) &'a dyn FieldsOf);

impl GroupedTuple<'_> {
    /// The field at an index of the stream's declared fields; `Null` behind the last.
    pub fn get(&self, index: usize) -> FieldRef<'_> {
        if index < self.0.count() { self.0.at(index) } else { FieldRef::Null }
    }
}

impl std::fmt::Debug for GroupedTuple<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries((0..self.0.count()).map(|index| self.0.at(index).to_string())).finish()
    }
}

/// The part of [`Emittable`] that is needed here and can be a trait object.
pub(crate) trait FieldsOf {
    fn count(&self) -> usize;
    fn at(&self, index: usize) -> FieldRef<'_>;
}

impl<E: Emittable> FieldsOf for E {
    fn count(&self) -> usize {
        self.field_count()
    }
    fn at(&self, index: usize) -> FieldRef<'_> {
        self.field(index)
    }
}
