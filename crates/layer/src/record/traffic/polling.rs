//! Loops over functions that query without waiting: see [`mpiscope_image::derive::polling`].

use super::preempted;
use crate::base::speed;
use crate::interpose::frame::Call;
use crate::record::fortran_call_site;
use crate::record::traffic::scratch;
use mpi_abi::{Abi, Flags, f};
use mpiscope_image::derive::polling::Several;
use mpiscope_image::derive::{Polling, polling};
use mpiscope_image::layout::Thread;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// The value of [`spacing`], once known.
static SPACING: AtomicU64 = AtomicU64::new(0);

/// Returns the maximum time between two polls of one loop, in ticks.
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

/// The call has polled; `found` is nonzero if something had happened.
#[inline(always)]
pub fn asked<A: Abi>(call: &Call<A>, result: c_int, found: c_int) {
    let thread = call.thread();
    let nothing = found != 0 && tests_nothing(call);
    if result != A::SUCCESS || found != 0 && !nothing || call.since == 0 {
        // A run that is ended by other calls is recognized by their number.
        if thread.polls.get() >= polling::LEAST_SLOW {
            ended(thread);
        }
        thread.polls.set(0);
    } else if again(thread, call.since, call.returned()) {
        // The frames of a Fortran binding are open only now.
        thread.polled_from.set(fortran_call_site::here(call));
    }
}

/// Returns since when the thread has waited for what the call found: since the beginning of the loop that it
/// ends, if it polls rather than waits.
#[inline(always)]
pub fn waited_since<A: Abi>(call: &Call<A>) -> u64 {
    if call.thread().polls.get() < polling::LEAST { call.since } else { began(&call.aside()) }
}

#[cold]
#[inline(never)]
fn began<A: Abi>(call: &Call<A>) -> u64 {
    let (thread, run) = (call.thread(), Polling::of_own(call.thread()));
    let goes_on = run.polled == thread.call.completed.get() as u32;
    let asks = call.function().properties().flags.has(Flags::POLLING);
    let run = Polling { completed: run.polled, function: Some(call.function().0.into()), ..run };
    let began = if goes_on && asks { run.began(|_| true, call.since, spacing()) } else { None };
    began.unwrap_or(call.since)
}

/// Testing null requests, which are already complete, along with others is no progress for a loop.
#[cold]
#[inline(never)]
fn tests_nothing<A: Abi>(call: &Call<A>) -> bool {
    call.function() == f::MPI_Test && scratch::of(call).is_some_and(|scratch| scratch.tests_nothing)
}

/// The thread has polled once more and found nothing. Returns whether the call site must be noted: the run is
/// now long enough to be a loop, or polled for something else than before.
#[inline(never)]
fn again(thread: &Thread, began: u64, returned: u64) -> bool {
    let spacing = SPACING.load(Ordering::Relaxed);
    if spacing == 0 {
        return first(thread, began, returned);
    }
    let number = thread.call.completed.get().wrapping_add(1);
    let before = Polling::of_own(thread);
    let run = before.after((began, returned), number, spacing, || preempted::between(&before, spacing));
    if run.polls == preempted::FIRST
        || run.polls > preempted::FIRST && returned.saturating_sub(before.latest) > spacing
    {
        preempted::look();
    }
    let (first, asked) = (run.polls == 1, thread.call.asks_for(thread.waited[0].get()));
    let last = thread.asked.get();
    if first && before.polls >= polling::LEAST_SLOW {
        ended(thread);
    }
    let _open = thread.call.seq.open();
    if first {
        thread.asks_several.set(0);
    } else if asked != last {
        let same = Several::function(asked) == Several::function(last);
        let several = if same { Several::ALIKE } else { Several::UNLIKE };
        thread.asks_several.set(thread.asks_several.get().max(several.0));
    }
    thread.asked.set(asked);
    let other = run.polls == polling::LEAST_SLOW || run.polls > polling::LEAST_SLOW && asked != last;
    thread.polling_ticks.set(run.ticks);
    thread.polling_since.set(run.since);
    thread.polling_latest.set(run.latest);
    thread.polling_paused.set(run.paused.map_or(0, |paused| paused.saturating_add(1)));
    thread.polls.set(run.polls);
    thread.polled.set(run.polled);
    other
}

/// A run has ended, by what it polled for or by another call: a silence of this length does not mean that
/// nothing will come.
#[cold]
#[inline(never)]
fn ended(thread: &Thread) {
    let lasted = Polling::of_own(thread).lasted().unwrap_or(0);
    thread.longest_run.set(thread.longest_run.get().max(lasted));
}

/// [`again`] for the first time in this process.
#[cold]
#[inline(never)]
fn first(thread: &Thread, began: u64, returned: u64) -> bool {
    spacing();
    again(thread, began, returned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use mpiscope_image::layout::Thread;

    fn thread() -> &'static Thread {
        // SAFETY: a thread's record consists of words, so all zero is a valid value.
        #[allow(unsafe_code)]
        Box::leak(unsafe { Box::<Thread>::new_zeroed().assume_init() })
    }

    /// Polls this many times with a function, each time for the next of these tags; a poll takes 2 of every
    /// 10 ticks.
    fn ask(thread: &Thread, function: u32, tags: &[u64], times: u64) {
        for tag in tags.iter().cycle().take(times as usize) {
            thread.call.begin(function);
            thread.call.tag.set(*tag);
            let at = 10 * thread.call.completed.get();
            again(thread, at + 1, at + 3);
            thread.call.end(function);
            thread.call.completed.add_mine(1);
        }
    }

    #[test]
    fn the_longest_polling_run_that_another_call_ended_is_kept() {
        let thread = thread();
        ask(thread, 1, &[7], 100);
        assert_eq!(thread.longest_run.get(), 0, "it goes on");
        thread.call.completed.add_mine(1);
        ask(thread, 1, &[7], 20);
        assert_eq!(thread.longest_run.get(), 99 * 10 + 2);
        thread.call.completed.add_mine(1);
        ask(thread, 1, &[7], 1);
        assert_eq!(thread.longest_run.get(), 99 * 10 + 2, "a shorter one changes nothing");
    }

    #[test]
    fn polling_for_several_things_in_turn_is_distinguished_from_polling_for_one() {
        let thread = thread();
        ask(thread, 1, &[7], 20);
        assert_eq!(Several(thread.asks_several.get()), Several::ONE);
        ask(thread, 1, &[7, 8], 2);
        assert_eq!(Several(thread.asks_several.get()), Several::ALIKE);
        ask(thread, 2, &[8], 1);
        assert_eq!(Several(thread.asks_several.get()), Several::UNLIKE);
        ask(thread, 2, &[8], 20);
        assert_eq!(Several(thread.asks_several.get()), Several::UNLIKE, "it did so before in this run");
        thread.call.completed.add_mine(1);
        ask(thread, 2, &[8], 20);
        assert_eq!(Several(thread.asks_several.get()), Several::ONE, "a new run");
    }
}
