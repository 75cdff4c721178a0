//! Loops over functions that ask and do not wait: see [`mpiscope_image::derive::polling`].

use crate::base::speed;
use crate::interpose::frame::Call;
use mpi_abi::Abi;
use mpiscope_image::derive::{Polling, polling};
use std::ffi::c_int;
use std::sync::OnceLock;

/// What lies between two polls of one loop at most, in ticks.
pub fn spacing() -> u64 {
    static SPACING: OnceLock<u64> = OnceLock::new();
    *SPACING.get_or_init(|| speed::of_ns(polling::SPACING_NS))
}

/// The call has asked; `found` is not zero if something had happened.
pub fn asked<A: Abi>(call: &Call<A>, result: c_int, found: c_int) {
    let thread = call.thread();
    if result != A::SUCCESS || found != 0 || call.since == 0 {
        // Other calls follow, which is seen by their number.
        thread.polls.set(0);
        return;
    }
    let number = thread.call.completed.get().wrapping_add(1);
    let polls = Polling::of(thread).after((call.since, call.returned()), number, spacing());
    thread.call.seq.write(|| {
        thread.polling_ticks.set(polls.ticks);
        thread.polling_since.set(polls.since);
        thread.polling_latest.set(polls.latest);
        thread.polls.set(polls.polls);
        thread.polled.set(polls.polled);
    });
}
