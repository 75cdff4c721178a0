//! Counted initialization: `MPI_T_init_thread` and `MPI_T_finalize` (MPI 5.0, "Initialization and Finalization").

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::codes::{Error, Result};

/// Number of initializations of the interface that have not been finalized.
///
/// Any number of components of a program may initialize and finalize the interface in any order. It is usable
/// while the count is not zero, and again after the next initialization.
#[derive(Default, Debug)]
pub struct Lifecycle {
    count: AtomicU64,
    /// Held during the transition from zero users to one, and from the last finalize until everything that
    /// users held has been freed, so that a user that arrives meanwhile does not lose the objects it creates.
    turning: Mutex<()>,
}

impl Lifecycle {
    /// Creates an uninitialized lifecycle.
    pub const fn new() -> Self {
        Self { count: AtomicU64::new(0), turning: Mutex::new(()) }
    }

    /// Adds a user. Returns `true` if it is the first.
    pub fn init(&self) -> bool {
        if self.change(|count| (count > 0).then_some(count.wrapping_add(1))).is_some() {
            return false;
        }
        let _turning = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        self.count.fetch_add(1, Ordering::AcqRel) == 0
    }

    /// Removes a user. Returns `true` if it was the last, after `free` has freed everything that users held;
    /// a concurrent [`Lifecycle::init`] waits for that. `free` must not call back into this object.
    ///
    /// # Errors
    /// [`Error::NOT_INITIALIZED`] if there is no user.
    pub fn finalize(&self, free: impl FnOnce()) -> Result<bool> {
        if self.change(|count| count.checked_sub(1).filter(|left| *left > 0)).is_some() {
            return Ok(false);
        }
        let _turning = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.change(|count| count.checked_sub(1)).ok_or(Error::NOT_INITIALIZED)?;
        if before == 1 {
            free();
        }
        Ok(before == 1)
    }

    /// Returns the count before the change, or `None` if `change` rejects it.
    fn change(&self, change: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
        self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).ok()
    }

    /// Number of users.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The check at the start of every function of the interface: one load.
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
    fn initialization_during_the_last_finalize_waits_until_everything_is_freed() {
        let (lifecycle, freed) = (Lifecycle::new(), AtomicU64::new(0));
        let (leaving, comes) = std::sync::mpsc::channel();
        lifecycle.init();
        std::thread::scope(|scope| {
            let (lifecycle, freed) = (&lifecycle, &freed);
            scope.spawn(move || {
                comes.recv().unwrap();
                assert!(lifecycle.init());
                assert_eq!(freed.load(Ordering::Acquire), 1, "objects created now would be freed");
            });
            let slowly = || {
                leaving.send(()).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(100));
                freed.store(1, Ordering::Release);
            };
            assert_eq!(lifecycle.finalize(slowly), Ok(true));
        });
    }

    #[test]
    fn the_interface_is_usable_exactly_while_it_is_initialized() {
        let lifecycle = Lifecycle::new();
        assert_eq!(lifecycle.check(), Err(Error::NOT_INITIALIZED));
        assert_eq!(lifecycle.finalize(|| ()), Err(Error::NOT_INITIALIZED));
        assert!(lifecycle.init());
        assert!(!lifecycle.init());
        assert_eq!(lifecycle.finalize(|| ()), Ok(false));
        assert_eq!(lifecycle.check(), Ok(()));
        assert_eq!(lifecycle.finalize(|| ()), Ok(true));
        assert_eq!(lifecycle.check(), Err(Error::NOT_INITIALIZED));
    }
}
