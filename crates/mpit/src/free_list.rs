//! A list of reusable slots: pushed from any context, including signal handlers, and popped by one allocator
//! at a time.
//!
//! It is a stack of indices. Freeing pushes a slot on top; the allocator pops the top under its lock. As
//! there is only one popper, the entries below the top cannot change before the exchange that removes it, so
//! there is no ABA problem.

use crate::sync::{AtomicU64, Ordering};

/// A slot's link in the list: the slot below it.
pub(crate) struct FreeLink(AtomicU64);

impl Default for FreeLink {
    fn default() -> Self {
        Self(AtomicU64::new(NONE))
    }
}

const NONE: u64 = 0;

/// The list: the index of the top slot plus one.
pub(crate) struct FreeList(AtomicU64);

impl FreeList {
    /// Creates an empty list.
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(NONE))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(NONE))
    }

    /// Pushes a slot that must not already be in the list. Async-signal-safe.
    pub(crate) fn push(&self, index: usize, link: &FreeLink) {
        let mut top = self.0.load(Ordering::Relaxed);
        loop {
            link.0.store(top, Ordering::Relaxed);
            let new = index as u64 + 1;
            match self.0.compare_exchange(top, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Pops the top slot. Only under the allocator's lock.
    pub(crate) fn pop<'a>(&self, link: impl Fn(usize) -> Option<&'a FreeLink>) -> Option<usize> {
        let mut top = self.0.load(Ordering::Acquire);
        loop {
            let index = usize::try_from(top.checked_sub(1)?).ok()?;
            let below = link(index)?.0.load(Ordering::Relaxed);
            match self.0.compare_exchange(top, below, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(index),
                Err(now) => top = now,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_slot_that_was_freed_last_is_used_first() {
        let links: [FreeLink; 3] = Default::default();
        let list = FreeList::new();
        assert_eq!(list.pop(|at| links.get(at)), None);
        for at in [0, 2, 1] {
            list.push(at, &links[at]);
        }
        assert_eq!(list.pop(|at| links.get(at)), Some(1));
        list.push(1, &links[1]);
        let rest: Vec<_> = std::iter::from_fn(|| list.pop(|at| links.get(at))).collect();
        assert_eq!(rest, [1, 2, 0]);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    #[test]
    fn slots_freed_by_two_threads_are_each_taken_once_by_an_allocator_that_also_frees() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let shared = Arc::new((FreeList::new(), [(); 3].map(|()| FreeLink::default())));
            let (list, links) = (&shared.0, &shared.1);
            list.push(0, &links[0]);
            let others: Vec<_> = [1, 2]
                .map(|at| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || shared.0.push(at, &shared.1[at]))
                })
                .into();
            let pop = || list.pop(|at| links.get(at));
            let first = pop().unwrap();
            list.push(first, &links[first]);
            others.into_iter().for_each(|other| other.join().unwrap());
            let mut taken: Vec<_> = std::iter::from_fn(pop).collect();
            taken.sort_unstable();
            assert_eq!(taken, [0, 1, 2]);
        });
    }
}
