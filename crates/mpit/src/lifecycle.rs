//! Counted initialisation: `MPI_T_init_thread` and `MPI_T_finalize` (MPI 5.0, "Initialization and Finalization").

use std::sync::atomic::{AtomicU64, Ordering};

use crate::codes::{Error, Result};

/// How often the interface has been initialised and not yet finalized.
///
/// Any number of components of a program may initialise and finalize in any order; the interface is
/// usable while the count is not zero, and again after the next initialisation.
#[derive(Default, Debug)]
pub struct Lifecycle {
    count: AtomicU64,
}

impl Lifecycle {
    /// Not initialised.
    pub const fn new() -> Self {
        Self { count: AtomicU64::new(0) }
    }

    /// One more user. Returns `true` if this is the first.
    pub fn init(&self) -> bool {
        self.count.fetch_add(1, Ordering::AcqRel) == 0
    }

    /// One user less. Returns `true` if this was the last.
    ///
    /// # Errors
    /// [`Error::NOT_INITIALIZED`] if there is none.
    pub fn finalize(&self) -> Result<bool> {
        let less = |count: u64| count.checked_sub(1);
        match self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, less) {
            Ok(before) => Ok(before == 1),
            Err(_) => Err(Error::NOT_INITIALIZED),
        }
    }

    /// Number of users.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The check that every function of the interface begins with: one load.
    ///
    /// # Errors
    /// [`Error::NOT_INITIALIZED`] while there is no user.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.count() == 0 { Err(Error::NOT_INITIALIZED) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_is_usable_exactly_while_somebody_uses_it() {
        let lifecycle = Lifecycle::new();
        assert_eq!(lifecycle.check(), Err(Error::NOT_INITIALIZED));
        assert_eq!(lifecycle.finalize(), Err(Error::NOT_INITIALIZED));
        assert!(lifecycle.init());
        assert!(!lifecycle.init());
        assert_eq!(lifecycle.finalize(), Ok(false));
        assert_eq!(lifecycle.check(), Ok(()));
        assert_eq!(lifecycle.finalize(), Ok(true));
        assert_eq!(lifecycle.check(), Err(Error::NOT_INITIALIZED));
    }
}
