//! Receives that the program freed while they were active.
//!
//! The end of such a receive is not reported. But receives on one communicator match in the order in which
//! they were posted: when a message that it would have taken goes to a receive that was posted later, or is
//! found by a probe, it must have got another message before. From then on it is no longer posted. Until then
//! it may still get its message.
//!
//! While there are any, hooks are not [quiet](super::state::Held), so that the usual case costs nothing.

use super::facts::Envelope;
use super::requests;
use super::state::{Held, State, reconsider};
use crate::interpose::frame::Call;
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

    fn iter(&self) -> impl Iterator<Item = &'static Request> {
        self.receives.iter().take(self.count.load(Ordering::Relaxed)).filter_map(Cell::get)
    }

    fn set_count(&self, count: usize) {
        self.count.store(count, Ordering::Relaxed);
        reconsider();
    }
}

/// Whether later messages can pass by a request. A matched receive has its message, and partitioned ones
/// match when they are made.
pub fn may_be<A: Abi>(request: &Request) -> bool {
    matches!(RequestKind(request.kind.get()), RequestKind::RECV | RequestKind::SENDRECV)
        && request.peer.get().cast_signed() != A::PROC_NULL
}

/// The program has freed an active request: tracks it.
#[cold]
pub fn add<A: Abi>(held: &State, request: &'static Request) {
    let orphans = &held.orphans;
    let count = orphans.count.load(Ordering::Relaxed);
    if let Some(place) = orphans.receives.get(count).filter(|_| may_be::<A>(request)) {
        place.set(Some(request));
        orphans.set_count(count + 1);
    }
}

/// The end of a request is known: no longer tracks it.
#[cold]
pub fn remove(held: &State, request: &Request) {
    let orphans = &held.orphans;
    let Some(place) = orphans.iter().position(|known| std::ptr::eq(known, request)) else { return };
    let behind = orphans.receives.iter().zip(orphans.receives.iter().skip(1)).skip(place);
    behind.for_each(|(place, next)| place.set(next.get()));
    orphans.set_count(orphans.count.load(Ordering::Relaxed).saturating_sub(1));
}

/// A message with this envelope went to the receive that was posted `at` that time as number `order` of the
/// process, or was found waiting for a receive: earlier receives that would have taken it have got another
/// message.
#[inline(never)]
pub fn passed_by<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    message: &Envelope,
    (at, order): (u64, u64),
) {
    let names = |named: u32, any: i32, value: i32| {
        named.cast_signed() == value && value >= 0 || named.cast_signed() == any
    };
    let passed = |request: &&'static Request| {
        request.head.parent.get() == message.comm
            && request.order.get() < order
            // With threads both may have been posted at once, unless this one was freed before the other
            // began.
            && (!held.is_multiple() || request.head.freed_at.get() <= at)
            && names(request.peer.get(), A::ANY_SOURCE, message.rank)
            && names(request.tag.get(), A::ANY_TAG, message.tag)
    };
    while let Some(request) = held.orphans.iter().find(passed) {
        remove(&held, request);
        requests::got_its_message(held, call, request);
    }
}
