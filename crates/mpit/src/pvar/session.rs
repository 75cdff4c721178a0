//! Performance experiment sessions.

use std::any::Any;
use std::sync::{Arc, Mutex};

use crate::slab::Occupant;

/// A session; its handles are those that name it.
#[derive(Default)]
pub(crate) struct Session {
    pub(super) attachment: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
    /// Lets the session be freed without a search through the handles of all sessions.
    pub(super) handles: Arc<Mutex<Handles>>,
}

/// Slots and generations of the session's handles; may include some that were freed individually.
#[derive(Default)]
pub(super) struct Handles {
    pub(super) known: Vec<(usize, u32)>,
    /// When `known` reaches this length, entries of freed handles are removed.
    limit: usize,
}

impl Handles {
    const FEW: usize = 16;

    pub(super) fn add(&mut self, handle: (usize, u32), is_live: impl Fn(usize, u32) -> bool) {
        if self.known.len() >= self.limit {
            self.known.retain(|(index, generation)| is_live(*index, *generation));
            self.limit = Self::FEW.max(2 * self.known.len());
        }
        self.known.push(handle);
    }
}

impl Occupant<()> for Session {
    fn retire(&self, (): &()) {}
}
