//! The listener for the time that blocking collectives take.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicPtr, Ordering};

/// Called with the handle of a communicator and the ticks that a blocking collective on it took.
pub type WaitListener = fn(u64, u64);

/// The listener; null if none.
static LISTENER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Sets the listener.
pub fn set(listener: Option<WaitListener>) {
    LISTENER.store(listener.map_or(std::ptr::null_mut(), |listener| listener as *mut ()), Ordering::Release);
}

/// Returns the listener, if any.
#[inline(always)]
pub fn get() -> Option<WaitListener> {
    let listener = LISTENER.load(Ordering::Acquire);
    // SAFETY: not null, so it is a function of this type, stored by `set`.
    (!listener.is_null()).then(|| unsafe { std::mem::transmute::<*mut (), WaitListener>(listener) })
}
