//! The registry: all published entries, in tables that only grow.
//!
//! A [`Registry`] is a value; a program creates as many as it needs, usually one `static`. Indices start at
//! 0, never change and are never reused, across any number of [`Registry::init`] and [`Registry::finalize`].
//! Every addition increases the update number ([`Registry::category_changed`]). Looking up an entry by index
//! takes no lock; only adding does.

mod categories;
pub(crate) mod named;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::category::Category;
use crate::codes::{Error, Result};
use crate::cvar::{Cvar, CvarHandleData, CvarInline};
use crate::enumeration::Enumeration;
use crate::event::{EventType, Registrations, Source};
use crate::lifecycle::Lifecycle;
use crate::pvar::{Pvar, PvarHandleData, PvarInline, Session};
use crate::slab::Slab;
use crate::table::{AppendVec, index};
use named::Named;

/// All published entries, and the sessions, handles and registrations of their users.
pub struct Registry {
    pub(crate) lifecycle: Lifecycle,
    // Handles come first, so that they are dropped before the entries they refer to.
    pub(crate) pvar_handles: Slab<PvarHandleData, PvarInline>,
    pub(crate) cvar_handles: Slab<CvarHandleData, CvarInline>,
    pub(crate) sessions: Slab<Session>,
    adding: Mutex<()>,
    update: AtomicU64,
    enumerations: AppendVec<Enumeration>,
    pub(crate) cvars: Named<Cvar>,
    pub(crate) pvars: Named<Pvar>,
    pub(crate) categories: Named<Category>,
    pub(crate) sources: AppendVec<Source>,
    pub(crate) events: Named<EventType>,
    pub(crate) registrations: Registrations,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// Creates an empty registry; can initialize a `static`.
    pub const fn new() -> Self {
        Self {
            lifecycle: Lifecycle::new(),
            adding: Mutex::new(()),
            update: AtomicU64::new(0),
            enumerations: AppendVec::new(),
            cvars: Named::new(),
            pvars: Named::new(),
            categories: Named::new(),
            sources: AppendVec::new(),
            events: Named::new(),
            sessions: Slab::new(),
            pvar_handles: Slab::new(),
            cvar_handles: Slab::new(),
            registrations: Registrations::new(),
        }
    }

    /// The initialization count, with the check at the start of every entry point.
    pub fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }

    pub(crate) fn adding(&self) -> MutexGuard<'_, ()> {
        self.adding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Must be called at the end of every addition.
    pub(crate) fn changed(&self) {
        self.update.fetch_add(1, Ordering::AcqRel);
    }

    /// The update number (`MPI_T_category_changed`): if two calls return the same number, nothing was added
    /// in between.
    ///
    /// It saturates at `i32::MAX`, the largest value of C's `int`.
    pub fn category_changed(&self) -> i32 {
        // Wait for an addition in progress, which readers may already see before it is counted.
        let _adding = self.adding();
        i32::try_from(self.update.load(Ordering::Acquire)).unwrap_or(i32::MAX)
    }

    /// Adds an enumeration and returns its index. Names of enumerations need not be unique.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`] if the name of the enumeration or of an item is empty.
    pub fn add_enumeration(&self, enumeration: Enumeration) -> Result<usize> {
        let unnamed = (0..enumeration.len()).any(|i| enumeration.get(i).is_none_or(|(_, n)| n.is_empty()));
        if enumeration.name().is_empty() || unnamed {
            return Err(Error::INVALID_NAME);
        }
        let _adding = self.adding();
        let index = self.enumerations.push(enumeration).map_err(|_| Error::MEMORY)?;
        self.changed();
        Ok(index)
    }

    /// Number of enumerations.
    pub fn enumeration_count(&self) -> usize {
        self.enumerations.len()
    }

    /// The enumeration at an index.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`].
    pub fn enumeration(&self, at: impl TryInto<usize>) -> Result<&Enumeration> {
        self.enumerations.get(index(at)?).ok_or(Error::INVALID_INDEX)
    }
}
