//! Loops over functions that ask and do not wait: see [`mpiscope_image::derive::polling`].

use crate::base::speed;
use crate::interpose::frame::Call;
use mpi_abi::Abi;
use mpiscope_image::derive::{Polling, polling};
use mpiscope_image::layout::Thread;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// [`spacing`], once it is known.
static SPACING: AtomicU64 = AtomicU64::new(0);

/// What lies between two polls of one loop at most, in ticks.
pub fn spacing() -> u64 {
    match SPACING.load(Ordering::Relaxed) {
        0 => {
            let ticks = speed::of_ns(polling::SPACING_NS).max(1);
            SPACING.store(ticks, Ordering::Relaxed);
            ticks
        }
        ticks => ticks,
    }
}

/// The call has asked; `found` is not zero if something had happened.
#[inline(always)]
pub fn asked<A: Abi>(call: &Call<A>, result: c_int, found: c_int) {
    let thread = call.thread();
    if result != A::SUCCESS || found != 0 || call.since == 0 {
        // Other calls follow, which is seen by their number.
        thread.polls.set(0);
    } else {
        again(thread, call.since, call.returned());
    }
}

/// The thread has asked once more, and found nothing.
#[inline(never)]
fn again(thread: &Thread, began: u64, returned: u64) {
    let spacing = SPACING.load(Ordering::Relaxed);
    if spacing == 0 {
        return first(thread, began, returned);
    }
    let number = thread.call.completed.get().wrapping_add(1);
    let run = Polling::of_own(thread).after((began, returned), number, spacing);
    let _open = thread.call.seq.open();
    thread.polling_ticks.set(run.ticks);
    thread.polling_since.set(run.since);
    thread.polling_latest.set(run.latest);
    thread.polls.set(run.polls);
    thread.polled.set(run.polled);
}

/// The same for the first time in this process.
#[cold]
#[inline(never)]
fn first(thread: &Thread, began: u64, returned: u64) {
    spacing();
    again(thread, began, returned);
}
