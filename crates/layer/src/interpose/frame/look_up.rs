//! Functions that only look something up.
#![allow(unsafe_code)]

#[cfg(doc)]
use super::Call;
use crate::interpose::tls::Tls;
use mpi_abi::FunctionId;
use mpiscope_image::layout::Thread;

/// The frame of a function that only looks something up: reads no clock, and records only that the function
/// was called. The thread's record still shows its previous call.
pub struct LookUp {
    tls: &'static Tls,
    real: usize,
}

impl LookUp {
    /// Opens the frame: raises the depth.
    #[inline(always)]
    pub fn open() -> Self {
        let tls = Tls::get();
        tls.depth.set(1);
        Self { tls, real: tls.real() }
    }

    /// The thread-local data of this thread.
    #[inline(always)]
    pub fn tls(&self) -> &'static Tls {
        self.tls
    }

    /// The thread's record, unless this is its first call or is made by a user callback.
    #[inline(always)]
    pub fn usual_thread(&self) -> Option<&'static Thread> {
        usual_thread(self.tls)
    }

    /// Like [`Call::real`].
    ///
    /// # Safety
    ///
    /// `F` must be the C type of the function.
    #[inline(always)]
    pub unsafe fn real<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        // SAFETY: the gate stored the address of the real function, and the caller guarantees its type.
        unsafe { std::mem::transmute_copy(&self.real) }
    }

    /// Closes the frame.
    #[inline(always)]
    pub fn close(self) {
        // Looked up again, so that nothing needs to be saved across the library's function.
        Tls::get().leave();
    }
}

/// Counts a [look-up](LookUp).
#[inline(always)]
pub fn count_look_up(thread: &Thread, function: FunctionId) {
    if let Some(counter) = thread.counters.get(usize::from(function.0)) {
        counter.count.add_mine(1);
    }
    thread.call.completed.add_mine(1);
}

/// The thread's record, unless this is its first call or is made by a user callback.
#[inline(always)]
pub(super) fn usual_thread(tls: &Tls) -> Option<&'static Thread> {
    // SAFETY: null, or a record that lives as long as the process, stored when the thread was attached.
    unsafe { tls.thread.get().as_ref() }.filter(|_| tls.nested.get() == 0)
}
