//! Loops over functions that ask and do not wait: `MPI_Test`, `MPI_Iprobe` and their like.
//!
//! A *poll* is such a call that found nothing. Polls of a thread that follow each other, with no other call between them,
//! are a *run*; the layer keeps for each thread how long the present run is and when it began. A thread is *polling* while
//! its run has [`LEAST`] polls and does not compute for longer than [`SPACING_NS`] between two of them on average: it waits, whether it
//! happens to be inside of the function at this moment or not, and however long a call takes. A program that asks now and then while it
//! computes is not polling.
//!
//! Time between two polls of a run that are nearer to each other than [`SPACING_NS`] is polling time, and so is time between them in
//! which the thread did not run since another one had its processor. It lies outside of calls, so it is no MPI time; it is no useful
//! computing either.

use crate::layout::{Thread, ThreadHead};
use std::sync::atomic::{Ordering, fence};

/// Polls that make a loop.
pub const LEAST: u32 = 16;
/// Polls after which a thread does nothing else, if nothing was between them but time: a loop that pauses makes few.
pub const LEAST_SLOW: u32 = 5;
/// What lies between two polls of one loop at most, in nanoseconds.
pub const SPACING_NS: u64 = 100_000;

/// For how many things a run asks: what the layer keeps of it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Several(pub u32);

impl Several {
    /// For the same thing each time.
    pub const ONE: Self = Self(0);
    /// For several, with the same function.
    pub const ALIKE: Self = Self(1);
    /// For several, with different functions.
    pub const UNLIKE: Self = Self(2);

    /// Of the number that [`Call::asks_for`](crate::layout::Call::asks_for) gives: the part that differs where the function does.
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
    /// When the present run began, in ticks.
    pub since: u64,
    /// When its latest poll returned, in ticks.
    pub latest: u64,
    /// How many polls it has.
    pub polls: u32,
    /// How many calls the thread had completed with the latest poll, cut off to 32 bits.
    pub polled: u32,
    /// How many it has completed, likewise.
    pub completed: u32,
    /// The function that it is in, or was in last.
    pub function: Option<u32>,
    /// Whether it is in it.
    pub inside: bool,
    /// Ticks between polls of the present run that are not in `ticks`; none in images from before.
    pub paused: Option<u64>,
}

/// By so many calls may two numbers differ that were read one after the other.
const TORN: u32 = 2;
/// How often a record that changes under our eyes is read again.
const TRIES: u32 = 100;

impl Polling {
    /// Of a record, or a copy of one; `paused` is [`Thread::polling_paused`](crate::layout::Thread::polling_paused).
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

    /// What the thread itself has to know of its run, which nobody else writes.
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

    /// The run after one more poll, which began and returned at these times and is the thread's call number `number`
    /// (counted from 1). `stood` is asked whether the thread did not run between them.
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

    /// Whether a poll that is the thread's call number `number` is one more of this run.
    #[inline(always)]
    pub fn goes_on_with(&self, number: u64) -> bool {
        self.polls != 0 && number as u32 == self.polled.wrapping_add(1)
    }

    /// How long the run took, if it was a loop.
    #[inline(always)]
    pub fn lasted(&self) -> Option<u64> {
        (self.polls >= LEAST_SLOW).then(|| self.latest.saturating_sub(self.since))
    }

    /// When the loop began that the thread is in at `now`, if it is in one. `polls` says which functions poll, `spacing` is
    /// [`SPACING_NS`] in ticks.
    pub fn began(&self, polls: impl Fn(u32) -> bool, now: u64, spacing: u64) -> Option<u64> {
        let each = self.pauses(now) / u64::from(self.polls.max(1));
        (self.is_run(polls, LEAST) && each <= spacing).then_some(self.since)
    }

    /// For how long it may have computed since the run began; for how long this lasts, where that is not known.
    fn pauses(&self, now: u64) -> u64 {
        let silence = if self.inside { 0 } else { now.saturating_sub(self.latest) };
        self.paused.map_or(now.saturating_sub(self.since), |paused| paused.saturating_add(silence))
    }

    /// When the loop began that the thread is in, however seldom it asks.
    pub fn asking_since(&self, polls: impl Fn(u32) -> bool) -> Option<u64> {
        self.is_run(polls, LEAST_SLOW).then_some(self.since)
    }

    /// How many calls the thread has completed, without those of the run that it is in: this number stands still for as long as
    /// a loop only asks. Cut off to 32 bits.
    pub fn steps(&self, polls: impl Fn(u32) -> bool) -> u32 {
        if self.is_run(polls, LEAST_SLOW) { self.polled.wrapping_sub(self.polls) } else { self.completed }
    }

    /// Whether the thread has done nothing but ask, so many times at least.
    fn is_run(&self, polls: impl Fn(u32) -> bool, least: u32) -> bool {
        // An open call is not among the completed ones, but may have asked already; and a loop may be so fast that no two
        // looks at its record are equal.
        let unbroken = self.completed.wrapping_sub(self.polled).cast_signed().unsigned_abs() <= TORN;
        unbroken && self.since != 0 && self.polls >= least && self.function.is_some_and(polls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACING: u64 = 100;

    /// A thread that asks each `step` ticks; a call takes 2.
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
    fn a_thread_that_asks_again_and_again_is_polling_since_it_began() {
        let polling = asking(20, 10);
        assert_eq!(polling.began(is_poll, 203, SPACING), Some(10));
        assert_eq!(polling.ticks, 19 * 8, "what lies between the calls");
        let asked = Polling { completed: 19, ..polling };
        assert_eq!(asked.began(is_poll, 203, SPACING), Some(10), "the call that asked has not returned");
        let other = Polling { function: Some(8), ..polling };
        assert_eq!(other.began(is_poll, 203, SPACING), None, "inside of another function");
    }

    #[test]
    fn a_loop_that_only_asks_takes_no_steps() {
        let steps = |polls, step| asking(polls, step).steps(is_poll);
        assert_eq!((steps(20, 10), steps(5000, 10), steps(5000, 10_000)), (0, 0, 0));
        assert_eq!(steps(u64::from(LEAST_SLOW), 10_000), 0);
        assert_eq!(steps(u64::from(LEAST_SLOW) - 1, 10), LEAST_SLOW - 1, "no loop yet");
        let on = Polling { completed: 23, ..asking(20, 10) };
        assert_eq!(on.steps(is_poll), 23);
    }

    #[test]
    fn a_thread_that_asks_now_and_then_computes() {
        let polling = asking(20, 1000);
        assert_eq!(polling.began(is_poll, 20_003, SPACING), None);
        assert_eq!(polling.ticks, 0);
        assert_eq!(asking(u64::from(LEAST) - 1, 10).began(is_poll, 160, SPACING), None);
    }

    #[test]
    fn a_thread_whose_calls_take_long_is_polling_too() {
        let mut polling = Polling { function: Some(7), ..Polling::default() };
        for n in 1..=20 {
            polling = polling.after((n * 10_000, n * 10_000 + 9990), n, SPACING, || false);
        }
        let polling = Polling { completed: 20, ..polling };
        assert_eq!(polling.began(is_poll, 210_000, SPACING), Some(10_000));
        assert_eq!(Polling { inside: true, ..polling }.began(is_poll, 900_000, SPACING), Some(10_000));
        assert_eq!(polling.began(is_poll, 900_000, SPACING), None, "it computes since");
        assert_eq!(Polling { paused: None, ..polling }.began(is_poll, 210_000, SPACING), None, "not known");
    }

    #[test]
    fn time_without_a_processor_is_polling_time_however_long() {
        let gap = |stood| asking(20, 10).after((10_202, 10_204), 21, SPACING, || stood);
        assert_eq!((gap(true).ticks, gap(false).ticks), (19 * 8 + 10_000, 19 * 8));
    }

    #[test]
    fn a_loop_that_pauses_is_known_after_a_few_questions() {
        assert_eq!(asking(u64::from(LEAST_SLOW), 100_000).asking_since(is_poll), Some(100_000));
        assert_eq!(asking(u64::from(LEAST_SLOW) - 1, 100_000).asking_since(is_poll), None);
    }

    #[test]
    fn a_thread_that_lost_the_processor_for_a_moment_is_still_polling() {
        let polling = asking(10_000, 10);
        assert!(polling.began(is_poll, 100_000 + 50 * SPACING, SPACING).is_some());
        assert!(polling.began(is_poll, 100_000_000, SPACING).is_none(), "it does something else since");
    }

    #[test]
    fn another_call_ends_the_loop() {
        let polling = asking(20, 10);
        assert_eq!(Polling { completed: 23, ..polling }.began(is_poll, 215, SPACING), None);
        let next = polling.after((220, 222), 22, SPACING, || true);
        assert_eq!((next.polls, next.since, next.ticks), (1, 220, polling.ticks));
    }
}
