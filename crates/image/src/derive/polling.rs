//! Loops over functions that test without waiting: `MPI_Test`, `MPI_Iprobe` and the like.
//!
//! A *poll* is such a call that found nothing. Successive polls of a thread, with no other call between them,
//! are a *run*; for each thread, the preload library records the length and start time of the current run. A
//! thread is *polling* while its run has at least [`LEAST`] polls and it computes for at most [`SPACING_NS`]
//! between two of them on average. It is then waiting, whether or not it happens to be inside the function at
//! this moment, and however long a call takes. A program that tests occasionally while it computes is not
//! polling.
//!
//! The time between two polls of a run is polling time if it is at most [`SPACING_NS`], or if the thread did
//! not run in between because another thread had its processor. It is outside of calls, so it is not MPI
//! time; nor is it useful computing.

use crate::layout::{Thread, ThreadHead};
use std::sync::atomic::{Ordering, fence};

/// Number of polls that make a loop.
pub const LEAST: u32 = 16;
/// Number of polls that suffice if nothing but time passed between them: a loop with pauses makes few.
pub const LEAST_SLOW: u32 = 5;
/// Maximum time between two polls of a loop, in nanoseconds.
pub const SPACING_NS: u64 = 100_000;

/// Whether a run tests one thing or several, as recorded for it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Several(pub u32);

impl Several {
    /// The same thing each time.
    pub const ONE: Self = Self(0);
    /// Several things, with the same function.
    pub const ALIKE: Self = Self(1);
    /// Several things, with different functions.
    pub const UNLIKE: Self = Self(2);

    /// The part of the hash from [`Call::asks_for`](crate::layout::Call::asks_for) that identifies the
    /// function.
    #[inline(always)]
    pub const fn function(asked: u64) -> u64 {
        asked & 0xffff
    }
}

/// The polls of a thread.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Polling {
    /// Ticks between polls.
    pub ticks: u64,
    /// When the current run began, in ticks.
    pub since: u64,
    /// When its latest poll returned, in ticks.
    pub latest: u64,
    /// Number of polls in the run.
    pub polls: u32,
    /// Number of calls that the thread had completed at the latest poll, truncated to 32 bits.
    pub polled: u32,
    /// Number of calls that it has completed now, likewise.
    pub completed: u32,
    /// The function that it is in, or was in last.
    pub function: Option<u32>,
    /// Whether it is inside that function.
    pub inside: bool,
    /// Ticks between polls of the current run that are not in `ticks`; `None` in older images.
    pub paused: Option<u64>,
}

/// Two counts that are read one after the other may differ by up to this number of calls.
const TORN: u32 = 2;
/// How often a changing record is read again.
const TRIES: u32 = 100;

impl Polling {
    /// From a record, or a copy of one; `paused` is
    /// [`Thread::polling_paused`](crate::layout::Thread::polling_paused).
    pub fn of(thread: &ThreadHead, paused: u64) -> Self {
        Self { paused: paused.checked_sub(1), ..Self::of_head(thread) }
    }

    fn of_head(thread: &ThreadHead) -> Self {
        for _ in 0..TRIES {
            let before = thread.call.seq.get();
            fence(Ordering::Acquire);
            let polling = Self::read(thread);
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && thread.call.seq.get() == before {
                return polling;
            }
            std::hint::spin_loop();
        }
        Self::read(thread)
    }

    /// The fields that a thread needs of its own run, which no other thread writes.
    #[inline(always)]
    pub fn of_own(thread: &Thread) -> Self {
        Self { paused: thread.polling_paused.get().checked_sub(1), ..Self::of_run(thread) }
    }

    #[inline(always)]
    fn of_run(thread: &ThreadHead) -> Self {
        Self {
            ticks: thread.polling_ticks.get(),
            since: thread.polling_since.get(),
            latest: thread.polling_latest.get(),
            polls: thread.polls.get(),
            polled: thread.polled.get(),
            ..Self::default()
        }
    }

    fn read(thread: &ThreadHead) -> Self {
        Self {
            completed: thread.call.completed.get() as u32,
            function: thread.call.open().or(thread.call.ended()),
            inside: thread.call.open().is_some(),
            ..Self::of_run(thread)
        }
    }

    /// The run after one more poll, which began and returned at these times and is the thread's call number
    /// `number` (counting from 1). `stood` returns whether the thread was not running between the polls.
    #[inline(always)]
    pub fn after(
        self,
        (began, returned): (u64, u64),
        number: u64,
        spacing: u64,
        stood: impl FnOnce() -> bool,
    ) -> Self {
        let (latest, polled) = (returned, number as u32);
        if !self.goes_on_with(number) {
            return Self { since: began, polls: 1, latest, polled, paused: Some(0), ..self };
        }
        let gap = began.saturating_sub(self.latest);
        let (polling, paused) = if gap <= spacing || stood() { (gap, 0) } else { (0, gap) };
        let (ticks, polls) = (self.ticks.saturating_add(polling), self.polls.saturating_add(1));
        let paused = self.paused.map(|before| before.saturating_add(paused));
        Self { ticks, polls, latest, polled, paused, ..self }
    }

    /// Whether a poll with call number `number` continues this run.
    #[inline(always)]
    pub fn goes_on_with(&self, number: u64) -> bool {
        self.polls != 0 && number as u32 == self.polled.wrapping_add(1)
    }

    /// Duration of the run, if it was a loop.
    #[inline(always)]
    pub fn lasted(&self) -> Option<u64> {
        (self.polls >= LEAST_SLOW).then(|| self.latest.saturating_sub(self.since))
    }

    /// When the loop that the thread is in at `now` began, if it is in one. `polls` returns whether a
    /// function polls; `spacing` is [`SPACING_NS`] in ticks.
    pub fn began(&self, polls: impl Fn(u32) -> bool, now: u64, spacing: u64) -> Option<u64> {
        let each = self.pauses(now) / u64::from(self.polls.max(1));
        (self.is_run(polls, LEAST) && each <= spacing).then_some(self.since)
    }

    /// How long the thread may have computed since the run began; if that is unknown, the duration of the
    /// run.
    fn pauses(&self, now: u64) -> u64 {
        let silence = if self.inside { 0 } else { now.saturating_sub(self.latest) };
        self.paused.map_or(now.saturating_sub(self.since), |paused| paused.saturating_add(silence))
    }

    /// When the loop that the thread is in began, however rarely it tests.
    pub fn asking_since(&self, polls: impl Fn(u32) -> bool) -> Option<u64> {
        self.is_run(polls, LEAST_SLOW).then_some(self.since)
    }

    /// Number of calls that the thread has completed, without those of its current run: this number does not
    /// change as long as a loop only tests. Truncated to 32 bits.
    pub fn steps(&self, polls: impl Fn(u32) -> bool) -> u32 {
        if self.is_run(polls, LEAST_SLOW) { self.polled.wrapping_sub(self.polls) } else { self.completed }
    }

    /// Whether the thread has done nothing but poll, at least `least` times.
    fn is_run(&self, polls: impl Fn(u32) -> bool, least: u32) -> bool {
        // An open call is not among the completed ones, but may already have tested; and a loop may be so
        // fast that no two reads of its record are equal.
        let unbroken = self.completed.wrapping_sub(self.polled).cast_signed().unsigned_abs() <= TORN;
        unbroken && self.since != 0 && self.polls >= least && self.function.is_some_and(polls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACING: u64 = 100;

    /// A thread that polls every `step` ticks; a call takes 2.
    fn asking(polls: u64, step: u64) -> Polling {
        let mut polling = Polling { function: Some(7), ..Polling::default() };
        for n in 1..=polls {
            polling = polling.after((n * step, n * step + 2), n, SPACING, || false);
        }
        Polling { completed: polls as u32, ..polling }
    }

    fn is_poll(function: u32) -> bool {
        function == 7
    }

    #[test]
    fn a_thread_that_polls_repeatedly_has_been_polling_since_its_first_poll() {
        let polling = asking(20, 10);
        assert_eq!(polling.began(is_poll, 203, SPACING), Some(10));
        assert_eq!(polling.ticks, 19 * 8, "the time between the calls");
        let asked = Polling { completed: 19, ..polling };
        assert_eq!(asked.began(is_poll, 203, SPACING), Some(10), "the polling call has not returned");
        let other = Polling { function: Some(8), ..polling };
        assert_eq!(other.began(is_poll, 203, SPACING), None, "inside another function");
    }

    #[test]
    fn a_loop_that_only_polls_makes_no_progress() {
        let steps = |polls, step| asking(polls, step).steps(is_poll);
        assert_eq!((steps(20, 10), steps(5000, 10), steps(5000, 10_000)), (0, 0, 0));
        assert_eq!(steps(u64::from(LEAST_SLOW), 10_000), 0);
        assert_eq!(steps(u64::from(LEAST_SLOW) - 1, 10), LEAST_SLOW - 1, "not a loop yet");
        let on = Polling { completed: 23, ..asking(20, 10) };
        assert_eq!(on.steps(is_poll), 23);
    }

    #[test]
    fn a_thread_that_polls_occasionally_computes() {
        let polling = asking(20, 1000);
        assert_eq!(polling.began(is_poll, 20_003, SPACING), None);
        assert_eq!(polling.ticks, 0);
        assert_eq!(asking(u64::from(LEAST) - 1, 10).began(is_poll, 160, SPACING), None);
    }

    #[test]
    fn a_thread_with_long_calls_is_polling_too() {
        let mut polling = Polling { function: Some(7), ..Polling::default() };
        for n in 1..=20 {
            polling = polling.after((n * 10_000, n * 10_000 + 9990), n, SPACING, || false);
        }
        let polling = Polling { completed: 20, ..polling };
        assert_eq!(polling.began(is_poll, 210_000, SPACING), Some(10_000));
        assert_eq!(Polling { inside: true, ..polling }.began(is_poll, 900_000, SPACING), Some(10_000));
        assert_eq!(polling.began(is_poll, 900_000, SPACING), None, "it has computed since then");
        assert_eq!(Polling { paused: None, ..polling }.began(is_poll, 210_000, SPACING), None, "not known");
    }

    #[test]
    fn time_without_a_processor_is_polling_time_of_any_length() {
        let gap = |stood| asking(20, 10).after((10_202, 10_204), 21, SPACING, || stood);
        assert_eq!((gap(true).ticks, gap(false).ticks), (19 * 8 + 10_000, 19 * 8));
    }

    #[test]
    fn a_loop_with_pauses_is_recognized_after_a_few_polls() {
        assert_eq!(asking(u64::from(LEAST_SLOW), 100_000).asking_since(is_poll), Some(100_000));
        assert_eq!(asking(u64::from(LEAST_SLOW) - 1, 100_000).asking_since(is_poll), None);
    }

    #[test]
    fn a_thread_that_was_preempted_briefly_is_still_polling() {
        let polling = asking(10_000, 10);
        assert!(polling.began(is_poll, 100_000 + 50 * SPACING, SPACING).is_some());
        assert!(
            polling.began(is_poll, 100_000_000, SPACING).is_none(),
            "it has done something else since then"
        );
    }

    #[test]
    fn another_call_ends_the_loop() {
        let polling = asking(20, 10);
        assert_eq!(Polling { completed: 23, ..polling }.began(is_poll, 215, SPACING), None);
        let next = polling.after((220, 222), 22, SPACING, || true);
        assert_eq!((next.polls, next.since, next.ticks), (1, 220, polling.ticks));
    }
}
