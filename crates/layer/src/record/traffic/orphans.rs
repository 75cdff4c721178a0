//! Receives that the program freed while they were active.
//!
//! The end of such a receive is not reported. But receives on one communicator match in the order in which
//! they were posted: when a message that it would have taken goes to a receive that was posted later, or is
//! found by a probe, it must have got another message before. From then on it is no longer posted. Until then
//! it may still get its message.
//!
//! While there are any, hooks are not [quiet](super::state::Held), so that the usual case costs nothing.

use mpi_abi::Abi;
use mpiscope_image::traffic::{Request, RequestKind};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number that is tracked; for others the end is known when their handle is seen again, or at
/// finalization.
const MOST: usize = 64;

/// The tracked receives, oldest first.
pub struct Orphans {
    receives: [Cell<Option<&'static Request>>; MOST],
    count: AtomicUsize,
}

impl Default for Orphans {
    fn default() -> Self {
        Self { receives: [const { Cell::new(None) }; MOST], count: AtomicUsize::new(0) }
    }
}

impl Orphans {
    /// Whether there are any. One load, from any thread.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Returns them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &'static Request> {
        self.receives.iter().take(self.count.load(Ordering::Relaxed)).filter_map(Cell::get)
    }

    /// The program has freed an active request: tracks it. Returns whether it does.
    #[cold]
    pub fn add<A: Abi>(&self, request: &'static Request) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        let place = self.receives.get(count).filter(|_| may_be::<A>(request));
        if let Some(place) = place {
            place.set(Some(request));
            self.count.store(count + 1, Ordering::Relaxed);
        }
        place.is_some()
    }

    /// The end of a request is known: no longer tracks it. Returns whether it did.
    #[cold]
    pub fn remove(&self, request: &Request) -> bool {
        let Some(place) = self.iter().position(|known| std::ptr::eq(known, request)) else { return false };
        let behind = self.receives.iter().zip(self.receives.iter().skip(1)).skip(place);
        behind.for_each(|(place, next)| place.set(next.get()));
        self.count.store(self.count.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        true
    }
}

/// Whether later messages can pass by a request. A matched receive has its message, and partitioned ones
/// match when they are made.
pub fn may_be<A: Abi>(request: &Request) -> bool {
    matches!(RequestKind(request.kind.get()), RequestKind::RECV | RequestKind::SENDRECV)
        && request.peer.get().cast_signed() != A::PROC_NULL
}
