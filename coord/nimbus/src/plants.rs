//! Faults that can be put in on purpose, for the simulator to find.
//!
//! Each breaks one rule at the one place where it stands. Without the feature `planted-bugs` there are none, and each
//! question is answered with no.

/// Which faults are put in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plants {
    /// Assignments are written without a check that this nimbus still leads.
    #[cfg(feature = "planted-bugs")]
    pub unfenced_assignment: bool,
    /// A submission whose base may have been written is refused as if it had not.
    #[cfg(feature = "planted-bugs")]
    pub unknown_is_failed: bool,
    /// A place that could not be listed counts as empty in a clean-up.
    #[cfg(feature = "planted-bugs")]
    pub clean_up_after_failed_read: bool,
    /// A new leader does not look for what is being waited for.
    #[cfg(feature = "planted-bugs")]
    pub pending_rebalance_lost: bool,
    /// A round passes over the first topology that runs, so that its slots count as free.
    #[cfg(feature = "planted-bugs")]
    pub slot_given_twice: bool,
}

macro_rules! plants {
    ($($name:ident),*) => {
        impl Plants {
            $(
                #[cfg(feature = "planted-bugs")]
                pub(crate) const fn $name(self) -> bool {
                    self.$name
                }

                #[cfg(not(feature = "planted-bugs"))]
                pub(crate) const fn $name(self) -> bool {
                    false
                }
            )*
        }
    };
}

plants!(unknown_is_failed, clean_up_after_failed_read, pending_rebalance_lost, slot_given_twice);
