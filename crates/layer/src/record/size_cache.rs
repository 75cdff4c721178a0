//! A per-thread cache of datatype sizes: see [`bytes`](crate::record::bytes).

use std::sync::atomic::{AtomicU64, Ordering};

/// Incremented when a datatype is freed, since its handle may be reused with another size.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// Number of sizes that a thread remembers.
const SLOTS: usize = 64;

/// Sizes of the datatypes that this thread used last, by handle.
pub struct SizeCache {
    epoch: AtomicU64,
    slots: [(AtomicU64, AtomicU64); SLOTS],
}

impl Default for SizeCache {
    fn default() -> Self {
        Self { epoch: AtomicU64::new(0), slots: [const { (AtomicU64::new(0), AtomicU64::new(0)) }; SLOTS] }
    }
}

impl SizeCache {
    /// Returns the size of the datatype with this handle, calling `ask` if it is not cached.
    #[inline]
    pub fn find(&self, handle: u64, ask: impl Fn() -> u64) -> u64 {
        let epoch = EPOCH.load(Ordering::Relaxed);
        if self.epoch.load(Ordering::Relaxed) != epoch {
            for (handle, _) in &self.slots {
                handle.store(0, Ordering::Relaxed);
            }
            self.epoch.store(epoch, Ordering::Relaxed);
        }
        let place = (handle >> 4 ^ handle >> 10 ^ handle) as usize % SLOTS;
        let Some((known, size)) = self.slots.get(place) else { return 0 };
        if known.load(Ordering::Relaxed) == handle {
            return size.load(Ordering::Relaxed);
        }
        let found = ask();
        size.store(found, Ordering::Relaxed);
        known.store(handle, Ordering::Relaxed);
        found
    }
}

/// Forgets all sizes in every thread. Called when a datatype without a record is freed; if there is a record,
/// the size is stored there.
pub fn forget() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}
