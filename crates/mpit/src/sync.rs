//! The atomics of the model-checked parts: `std`'s, or loom's under `--cfg loom`.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

/// Separates two `SeqCst` operations on different words that must not be reordered. The language guarantees
/// that order; loom treats `SeqCst` operations as weaker and needs a fence.
#[inline(always)]
pub(crate) fn agree() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}
