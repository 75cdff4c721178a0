//! A cache of communicators for the hooks of messages: a few words each, found by handle in a nanosecond.

use mpiscope_image::objects::{Comm, Life};
use std::cell::Cell;

/// Maximum number of communicators that are remembered.
const PLACES: usize = 64;

/// The communicators used last, by handle.
pub struct Lines([Line; PLACES]);

impl Default for Lines {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Line::default()))
    }
}

/// A remembered communicator.
#[derive(Default)]
pub struct Line {
    /// Its handle.
    pub handle: Cell<u64>,
    /// Uid of its record.
    pub uid: Cell<u64>,
    /// Its record.
    pub comm: Cell<Option<&'static Comm>>,
    /// Offset of its peer records in the image; zero if it has none.
    pub peers: Cell<u64>,
    /// Offset of its history in the image; zero if it has none.
    pub history: Cell<u64>,
}

impl Lines {
    /// Returns the place for a communicator, which another one may have.
    #[inline(always)]
    pub fn of(&self, raw: u64) -> Option<&Line> {
        self.0.get((raw.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % PLACES)
    }

    /// Returns the offset of the history of a communicator that was just looked up; zero if there is none yet.
    #[inline(always)]
    pub fn history(&self, raw: u64) -> u64 {
        self.of(raw).map_or(0, |line| line.history.get())
    }

    /// Like [`Self::history`], for a communicator that may no longer be remembered.
    #[inline(always)]
    pub fn known_history(&self, raw: u64) -> Option<u64> {
        self.of(raw).filter(|line| line.is_of(raw)).map(|line| line.history.get())
    }

    /// Records that the communicator now has a history.
    #[cold]
    pub fn has_history(&self, raw: u64, place: u64) {
        if let Some(line) = self.of(raw) {
            line.history.set(place);
        }
    }
}

impl Line {
    /// Whether this line is valid for the communicator that has this handle now.
    #[inline(always)]
    pub fn is_of(&self, raw: u64) -> bool {
        // The handle may have been freed and reused for another communicator.
        self.handle.get() == raw
            && self.comm.get().is_some_and(|comm| {
                comm.head.uid.get() == self.uid.get() && comm.head.life.get() == Life::LIVE.0
            })
    }
}
