//! How the time of threads and ranks is divided.
//!
//! * The time of a **rank** is a [`Window`]: from entering `MPI_Init` (before that, from its first MPI call)
//!   to leaving `MPI_Finalize`, or else to the end of the process or the time of observation.
//! * The time of a **thread** is the part of the window from its own first MPI call until it ends. Threads
//!   that never call MPI are not seen and do not count.
//! * The **MPI time** of a thread is that of its outermost calls, including the open one. Calls that are not
//!   [timed](super::timed) are not included.
//! * Its **polling time** is outside of calls (see [`polling`](super::polling)).
//! * A **share** is one of these times divided by thread time: of one thread, of all threads of a rank, or of
//!   all ranks. It never exceeds 1, and the shares of all functions add up to the share of MPI, unless
//!   callbacks of the program made calls inside other calls: such time counts for both functions.
//! * **Useful** is whatever is neither MPI nor polling: the rank's wall time multiplied by that share.

use super::ThreadView;
use crate::layout::{Clock, Process};

/// The time of a rank, in ticks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    #[allow(missing_docs)]
    pub begin: u64,
    #[allow(missing_docs)]
    pub end: u64,
}

impl Window {
    /// The window of a process that was observed, or ended, at `until`.
    pub fn of(process: Option<&Process>, clock: &Clock, until: u64) -> Self {
        let known = |ticks: u64| Some(ticks).filter(|ticks| *ticks != 0);
        let begin = process.and_then(|process| known(process.init_enter.get()));
        let end = process.and_then(|process| known(process.finalize_leave.get()));
        Self { begin: begin.unwrap_or(clock.start_ticks.get()), end: end.unwrap_or(until) }
    }

    /// Length of the window.
    pub fn ticks(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// How time was spent, in ticks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Time of threads.
    pub time: u64,
    /// Time in MPI.
    pub mpi: u64,
    /// Time between polls.
    pub polling: u64,
}

impl Share {
    /// The share of one thread.
    pub fn of_thread(thread: ThreadView<'_>, window: Window) -> Self {
        let present = match (thread.tid, thread.attached) {
            (0, 1..) => 0,
            (_, attached) => window.end.saturating_sub(attached.max(window.begin)),
        };
        let time = thread.lived.saturating_add(present).min(window.ticks());
        let mpi = thread.mpi_ticks.saturating_add(open(thread, window.end)).min(time);
        Self { time, mpi, polling: thread.polling.ticks.min(time - mpi) }
    }

    /// The share of all threads of a rank.
    pub fn of_rank<'a>(threads: impl Iterator<Item = ThreadView<'a>>, window: Window) -> Self {
        threads.map(|thread| Self::of_thread(thread, window)).fold(Self::default(), Self::with)
    }

    /// The sum of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            time: self.time.saturating_add(other.time),
            mpi: self.mpi.saturating_add(other.mpi),
            polling: self.polling.saturating_add(other.polling),
        }
    }

    /// MPI time as a fraction of the total.
    pub fn mpi_share(&self) -> f64 {
        part(self.mpi, self.time)
    }

    /// Polling time as a fraction of the total.
    pub fn polling_share(&self) -> f64 {
        part(self.polling, self.time)
    }

    /// The rest as a fraction of the total.
    pub fn useful_share(&self) -> f64 {
        part(self.time.saturating_sub(self.mpi).saturating_sub(self.polling), self.time)
    }
}

/// Duration of a thread's open call until `end`; zero without times.
pub fn open(thread: ThreadView<'_>, end: u64) -> u64 {
    let since = thread.open().map_or(0, |call| call.since.get());
    if since == 0 { 0 } else { end.saturating_sub(since) }
}

fn part(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (of as f64 / all as f64).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::super::Polling;
    use super::*;
    use crate::layout::Call;

    const WINDOW: Window = Window { begin: 100, end: 1100 };

    fn view(attached: u64, mpi_ticks: u64, call: Option<&Call>) -> ThreadView<'_> {
        ThreadView { index: 0, tid: 1, mpi_ticks, attached, lived: 0, polling: Polling::default(), call }
    }

    fn receiving(since: u64) -> Call {
        let call = Call::default();
        call.begin(3);
        call.since.set(since);
        call
    }

    #[test]
    fn threads_that_wait_at_the_same_time_never_exceed_the_whole() {
        let call = receiving(200);
        for count in [1, 2, 8] {
            let rank = Share::of_rank(std::iter::repeat_n(view(100, 20, Some(&call)), count), WINDOW);
            assert!((rank.mpi_share() - 0.92).abs() < 1e-9, "{count}: {rank:?}");
            assert!((rank.useful_share() - 0.08).abs() < 1e-9, "{count}: {rank:?}");
        }
    }

    #[test]
    fn a_thread_counts_from_its_first_call_until_its_end() {
        let late = Share::of_thread(view(600, 250, None), WINDOW);
        assert_eq!((late.time, late.mpi), (500, 250));
        let ended = ThreadView { tid: 0, lived: 10, ..view(600, 5, None) };
        assert_eq!(Share::of_thread(ended, WINDOW), Share { time: 10, mpi: 5, polling: 0 });
        let rank = Share::of_rank([view(100, 500, None), ended].into_iter(), WINDOW);
        assert!((rank.mpi_share() - 0.5).abs() < 1e-3, "a short-lived thread weighs little: {rank:?}");
    }

    #[test]
    fn polling_is_neither_mpi_nor_useful() {
        let polling = Polling { ticks: 300, ..Polling::default() };
        let share = Share::of_thread(ThreadView { polling, ..view(0, 200, None) }, WINDOW);
        let shares = (share.mpi_share(), share.polling_share(), share.useful_share());
        assert_eq!(shares, (0.2, 0.3, 0.5));
    }

    #[test]
    fn without_time_there_is_no_share() {
        let nothing = Share::of_rank(std::iter::empty(), Window { begin: 5, end: 5 });
        assert_eq!((nothing.mpi_share(), nothing.useful_share()), (0.0, 0.0));
    }
}
