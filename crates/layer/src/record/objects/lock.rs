//! The lock of a table: held for a few stores, and nearly free while only one thread calls MPI.
//!
//! An atomic exchange is a third of what it costs to enter and free a datatype, and most processes call MPI from one
//! thread. So that thread takes the lock with plain stores: it raises the flag, and looks whether it is still alone.
//! When a second thread makes its first call, it says so ([`attached`]) and has the kernel put a memory barrier on
//! every processor that runs the process (`membarrier`). So either the first thread saw that it is no longer
//! alone, or its raised flag is seen by the second. From then on both exchange. A third thread that comes while the second waits
//! for the kernel asks for a barrier of its own.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

/// Whether more than one thread may be calling. True until the kernel has promised the barrier.
static SEVERAL: AtomicBool = AtomicBool::new(true);
/// Whether the barrier is behind everybody, or nobody needs it. Only then may a thread go on without having asked for it: another
/// one that has just said that there are several may still be waiting for its own.
static FENCED: AtomicBool = AtomicBool::new(true);
/// Threads that have called so far.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// `membarrier`: a barrier on all processors that run this process.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call has integer arguments only and changes no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Asks the kernel for the barrier. Called once, before any thread has attached.
pub fn start() {
    if membarrier(REGISTER_PRIVATE_EXPEDITED) {
        FENCED.store(false, Ordering::SeqCst);
        SEVERAL.store(false, Ordering::SeqCst);
    }
}

/// A thread makes its first call. Comes before it takes any lock.
pub fn attached() {
    if THREADS.fetch_add(1, Ordering::SeqCst) == 0 || FENCED.load(Ordering::Acquire) {
        return;
    }
    SEVERAL.store(true, Ordering::SeqCst);
    // It was granted at registration; a kernel that fails now leaves us without a way back.
    membarrier(PRIVATE_EXPEDITED);
    FENCED.store(true, Ordering::Release);
}

/// Whether only one thread has called so far.
#[inline(always)]
pub fn alone() -> bool {
    !SEVERAL.load(Ordering::Relaxed)
}

/// A spin lock.
pub struct Lock(AtomicBool);

/// The lock, held.
pub struct Held<'a>(&'a AtomicBool);

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Lock {
    /// Nobody holds it.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Takes the lock.
    #[inline(always)]
    pub fn lock(&self) -> Held<'_> {
        if alone() {
            self.0.store(true, Ordering::Relaxed);
            // The order of these two at the processor is what the barrier is for.
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

    /// Takes the lock if it can be had within `tries`.
    pub fn try_lock(&self, tries: u32) -> Option<Held<'_>> {
        (0..tries).find(|_| !self.0.swap(true, Ordering::Acquire)).map(|_| Held(&self.0))
    }
}

/// Something that only the holder of its lock reaches.
pub struct Guarded<T> {
    lock: Lock,
    inner: UnsafeCell<T>,
}

// SAFETY: `inner` is only reached through `with`, which holds the lock.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Nobody holds it.
    pub const fn new(inner: T) -> Self {
        Self { lock: Lock::new(), inner: UnsafeCell::new(inner) }
    }

    /// Runs `change` under the lock. It must not come here again.
    #[inline(always)]
    pub fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.lock.lock();
        // SAFETY: the lock is held, so this is the only reference.
        change(unsafe { &mut *self.inner.get() })
    }
}

/// Between two tries: lets the processor rest, now and then also the thread.
#[cold]
pub fn wait(tries: u32) {
    if tries.is_multiple_of(64) {
        // SAFETY: no arguments. The holder may need this processor.
        unsafe { libc::sched_yield() };
    } else {
        std::hint::spin_loop();
    }
}
