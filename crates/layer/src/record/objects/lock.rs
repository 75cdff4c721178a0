//! The lock of a table: held for a few stores, and nearly free while only one thread calls MPI.
//!
//! An atomic exchange is a third of the cost of entering and freeing a datatype, and most processes call MPI
//! from one thread. So that thread takes the lock with plain stores: it sets the flag, then checks that it is
//! still alone. When a second thread makes its first call, it announces itself ([`attached`]) and makes the
//! kernel execute a memory barrier on every processor that runs the process (`membarrier`). So either the
//! first thread sees that it is no longer alone, or the second one sees its flag. From then on both use
//! exchanges. A third thread that arrives while the second waits for the kernel requests its own barrier.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

/// Whether more than one thread may be calling. True until the process is registered for barriers.
static SEVERAL: AtomicBool = AtomicBool::new(true);
/// Whether a barrier has completed, or is not needed. Only then may a new thread go on without one: another
/// thread that has just set [`SEVERAL`] may still be waiting for its own.
static FENCED: AtomicBool = AtomicBool::new(true);
/// Number of threads that have made a call.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// `membarrier`: a barrier on all processors that run this process.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes integer arguments only and changes no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers for barriers. Called once, before any thread has attached.
pub fn start() {
    if membarrier(REGISTER_PRIVATE_EXPEDITED) {
        FENCED.store(false, Ordering::SeqCst);
        SEVERAL.store(false, Ordering::SeqCst);
    }
}

/// A thread makes its first call. Must precede any locking by it.
pub fn attached() {
    if THREADS.fetch_add(1, Ordering::SeqCst) == 0 || FENCED.load(Ordering::Acquire) {
        return;
    }
    SEVERAL.store(true, Ordering::SeqCst);
    // Cannot fail after the registration; if it did, there would be no way back.
    membarrier(PRIVATE_EXPEDITED);
    FENCED.store(true, Ordering::Release);
}

/// Whether only one thread has made calls so far.
#[inline(always)]
pub fn alone() -> bool {
    !SEVERAL.load(Ordering::Relaxed)
}

/// A spin lock.
pub struct Lock(AtomicBool);

/// Holds the lock until dropped.
pub struct Held<'a>(&'a AtomicBool);

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Lock {
    /// Returns an unlocked lock.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Takes the lock.
    #[inline(always)]
    pub fn lock(&self) -> Held<'_> {
        if alone() {
            self.0.store(true, Ordering::Relaxed);
            // The barrier keeps the processor from reordering these two.
            compiler_fence(Ordering::SeqCst);
            if alone() {
                return Held(&self.0);
            }
            self.0.store(false, Ordering::Relaxed);
        }
        self.exchange()
    }

    fn exchange(&self) -> Held<'_> {
        let mut tries = 0u32;
        while self.0.swap(true, Ordering::Acquire) {
            tries += 1;
            wait(tries);
        }
        Held(&self.0)
    }

    /// Takes the lock if it becomes free within `tries` attempts.
    pub fn try_lock(&self, tries: u32) -> Option<Held<'_>> {
        (0..tries).find(|_| !self.0.swap(true, Ordering::Acquire)).map(|_| Held(&self.0))
    }
}

/// A value that only the holder of its lock can access.
pub struct Guarded<T> {
    lock: Lock,
    inner: UnsafeCell<T>,
}

// SAFETY: `inner` is only reached through `with`, which holds the lock.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Returns an unlocked value.
    pub const fn new(inner: T) -> Self {
        Self { lock: Lock::new(), inner: UnsafeCell::new(inner) }
    }

    /// Runs `change` under the lock, which is not reentrant.
    #[inline(always)]
    pub fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.lock.lock();
        // SAFETY: the lock is held, so this is the only reference.
        change(unsafe { &mut *self.inner.get() })
    }
}

/// Waits between two attempts: pauses the processor, and occasionally yields the thread.
#[cold]
pub fn wait(tries: u32) {
    if tries.is_multiple_of(64) {
        // SAFETY: no arguments. The holder may need this processor.
        unsafe { libc::sched_yield() };
    } else {
        std::hint::spin_loop();
    }
}
