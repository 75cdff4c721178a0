//! The atomics of the parts that are model-checked: `std`'s, or loom's under `--cfg loom`.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

/// Between two `SeqCst` steps on different words that must not change places. By the language they do not; loom takes
/// them for weaker ones, and wants a fence.
#[inline(always)]
pub(crate) fn agree() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}
